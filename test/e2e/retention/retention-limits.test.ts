/** The largest rules of retention that are taken, and many changes of them at once. */
import t from 'tap';
import { eventually, startServer } from '../../helpers/running/server.ts';

const RULES = '/retention/retentions';
const RUNS = '/retention/runs';
const RULES_MAX = 100;

const server = await startServer(t, { flags: ['--retention-default-days', '60'] });
const { rest } = server;
const rules = async (): Promise<{ id: string }[]> => (await rest.read(`${RULES}?pageSize=2000`)).retentionRules;

t.test('no more rules than the bound, however many come at once', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: RULES_MAX + 20 }, (_, index) =>
      rest.post(RULES, { dataType: 'EVENT', type: `t${index}`, maximumAge: 7 }),
    ),
  );
  t.same([...new Set(answers.map(({ status }) => status))].sort(), [201, 422]);
  t.equal(answers.filter(({ status }) => status === 201).length, RULES_MAX);
  t.match(answers.find(({ status }) => status === 422)?.json, {
    error: 'retention/Unprocessable Entity',
    message: /at most 100 retention rules \(retention\/rules\)/,
  });
  await Promise.all((await rules()).map(({ id }) => rest.delete(`${RULES}/${id}`)));
  t.same(await rules(), []);
});

t.test('as many and as long as they may be they are applied, and the end of the run is written down', async (t) => {
  const long = '"'.repeat(200);
  const isTaken = async (name: string): Promise<boolean> =>
    (await rest.post(RULES, { dataType: '*', type: name, source: name, fragmentType: name, maximumAge: 3650 }))
      .status === 201;
  let count = 0;
  while (count < RULES_MAX && (await isTaken(long))) count += 1;
  t.ok(count > 20 && count < RULES_MAX, `${count} of long names`);
  t.match(
    (await rest.post(RULES, { dataType: '*', type: long, source: long, fragmentType: long, maximumAge: 1 })).json,
    { message: /retention\/rules-bytes/ },
  );
  const [{ id: first }] = await rules();
  t.match(
    (
      await rest.put(`${RULES}/${first}`, {
        type: '\\'.repeat(256),
        source: '\\'.repeat(256),
        fragmentType: '\\'.repeat(256),
      })
    ).json,
    { message: /retention\/rules-bytes/ },
  );
  t.equal((await rest.put(`${RULES}/${first}`, { type: 'x' })).status, 200, 'what makes them smaller is taken');
  const { id } = await rest.create(RUNS, {});
  const run = await eventually(
    'the run is over',
    async () => {
      const found = await rest.read(`${RUNS}/${id}`);
      return found.status !== 'RUNNING' && found;
    },
    60_000,
  );
  t.match(run, { status: 'COMPLETED', total: 0 });
  t.equal(run.results.length, count * 6);
});

t.test('nothing was complained about', async (t) =>
  t.same(
    server.complaints.filter((line) => !line.includes('"limit":"retention/rules')),
    [],
  ),
);
