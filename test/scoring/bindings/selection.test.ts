/** Which bindings take a measurement, and that predictions are not scored for ever (docs/spec/scoring.md#bindings). */
import t from 'tap';
import { DEPTH_MAX, markText } from '../../../src/scoring/bindings/mark.ts';
import { type Candidate, Selection } from '../../../src/scoring/bindings/selection.ts';
import { recordOf, type TestMeasurement } from '../../helpers/scoring/measured.ts';

/** Names of the bindings that take it, with the depth. */
function takenBy(candidates: Readonly<Record<string, Partial<Candidate>>>, ...records: TestMeasurement[]): string[] {
  const taken: string[] = [];
  const selection = new Selection(
    Object.entries(candidates).map(([name, candidate]) => ({
      names: ['oven'],
      devices: undefined,
      scoresPredictions: false,
      offer: (_records, _at, depth) => taken.push(`${name}${depth}`),
      leaveOut: () => taken.push(`not ${name}`),
      ...candidate,
    })),
  );
  for (const record of records) {
    // Somewhere in a group.
    const before = recordOf({ type: 'before', values: { 'x.y': 1 } });
    selection.offer(Buffer.concat([before, recordOf(record)]), before.length);
  }
  return taken;
}

t.test('by type or fragment, and device', async (t) => {
  const by = (names: string[], record: TestMeasurement) => takenBy({ a: { names } }, record);
  t.same(by(['oven'], { type: 'oven', values: {} }), ['a0'], 'its type');
  t.same(by(['oven'], { type: 'x', values: { 'a.b': 1, 'oven.t': 1 } }), ['a0'], 'a fragment');
  t.same(by(['oven', 'door'], { type: 'oven', values: { 'door.t': 1, 'door.u': 1 } }), ['a0'], 'once');
  t.same(by(['oven'], { type: 'oven2', values: { 'ove.n': 1 } }), []);
  t.same(by(['öfen'], { type: 'öfen' }), ['a0']);
  const devices = new Set([7]);
  t.same(takenBy({ a: { devices }, b: {} }, { source: 7 }, { source: 8 }), ['a0', 'b0', 'b0']);
});

t.test('marked measurements only where the binding says so, up to a depth', async (t) => {
  const marked = (depth: number): TestMeasurement => ({
    document: `{"type":"oven","c8y_Scoring":${markText({ depth, model: 'm', version: 'v', bindingId: '1' })}}`,
  });
  const candidates = { no: {}, yes: { scoresPredictions: true } };
  t.same(takenBy(candidates, { document: '{"type":"oven","note":"c8y_Score"}' }), ['no0', 'yes0']);
  t.same(takenBy(candidates, marked(1)), ['not no', 'yes1']);
  t.same(takenBy(candidates, marked(DEPTH_MAX - 1)), ['not no', `yes${DEPTH_MAX - 1}`]);
  t.same(takenBy(candidates, marked(DEPTH_MAX)), ['not no', 'not yes']);
  for (const document of [
    '{"c8y_Scoring":{}}',
    '{"c8y_Scoring":{"depth":-1}}',
    '{"a":{"c8y_Scoring":1},"b":"\\"{","c8y_Scoring" : {"depth":1}}',
    '{"c8y_Scoring":{"depth":',
  ])
    t.same(takenBy(candidates, { document }), ['not no', 'not yes'], `not as the server writes it: ${document}`);
  for (const document of [
    '{"note":"c8y_Scoring"}',
    '{"notes":["c8y_Scoring"],"a":{"c8y_Scoring":{"depth":1}}}',
    '{"\\"c8y_Scoring":{"depth":1}}',
    '{"note":"\\"c8y_Scoring\\": {"}',
    '{"c8y_Scoring"',
  ])
    t.same(takenBy(candidates, { document }), ['no0', 'yes0'], `no mark: ${document}`);
});
