/** From records of measurements to those of predictions (docs/spec/scoring.md#bindings). */
import t from 'tap';
import { formedText, tailBytesOf, withTail } from '../../../src/ingest/measurements/form.ts';
import { documentText } from '../../../src/ingest/measurements/record.ts';
import { parseMeasurement } from '../../../src/ingest/measurements/parse.ts';
import { InputReader } from '../../../src/scoring-workers/measurements/input-reader.ts';
import type { Plan } from '../../../src/scoring-workers/measurements/plan.ts';
import { scoreMeasurements } from '../../../src/scoring-workers/measurements/score.ts';
import type { InputRecord, OutputRecord } from '../../../src/scoring-workers/pmml/engine.ts';
import { measurementsOf, recordOf } from '../../helpers/scoring/measured.ts';

const inputs = [
  { name: 'a', type: 'oven', series: 't' },
  { name: '__proto__', type: 'door', series: 'open' },
];
const ONE = recordOf({ type: 'x', document: '{"a":"ü"}', values: { 'oven.t': 1, 'door.open': 2, 'oven.open': 9 } });
const PART = recordOf({ type: 'x', values: { 'oven.t': 1 } });
const TYPED = recordOf({ type: 'door', values: { 'oven.t': 1, 'else.open': 4, 'oven.t2': 5 } });
const NONE = recordOf({ type: 'x', values: { 'fridge.t': 1 } });
/** Its type is its fragment, which is not written twice. */
const PLAIN = recordOf({ type: 'oven', values: { 'oven.t': 3, 'oven.t2': 4 } });

t.test('values by fragment or type, and series', async (t) => {
  const all = new InputReader({ inputs, allowsMissing: false });
  t.same(Object.entries(all.read(ONE, 0) ?? {}), [
    ['a', 1],
    ['__proto__', 2],
  ]);
  t.same(Object.entries(all.read(TYPED, 0) ?? {}), [
    ['a', 1],
    ['__proto__', 4],
  ]);
  t.equal(all.read(PART, 0), undefined, 'an input is missing');
  const some = new InputReader({ inputs, allowsMissing: true });
  t.same(Object.entries(some.read(PART, 0) ?? {}), [
    ['a', 1],
    ['__proto__', null],
  ]);
  t.same(Object.entries(some.read(Buffer.concat([ONE, PLAIN]), ONE.length) ?? {})[0], ['a', 3], 'of the second record');
  t.equal(some.read(NONE, 0), undefined, 'all are missing');
});

/** Tells what it was given. */
const model = (apply: (record: InputRecord) => OutputRecord) => ({ begin: () => undefined, apply });
const plan: Plan = {
  inputs: [{ name: 'a', type: 'oven', series: 't' }],
  allowsMissing: false,
  measurement: {
    type: 'risk "ä"',
    fragment: 'risk',
    outputs: [
      { name: 'p', series: 'p' },
      { name: 'state', series: 's' },
      { name: 'absent', series: 'absent' },
    ],
    mark: '{"depth":1}',
  },
  event: 'state',
  alarm: 'p',
};

t.test('predictions are measurements of the same device, time and mode', async (t) => {
  const records = Buffer.concat([
    recordOf({ source: 7, time: 1_000, values: { 'oven.t': 1 } }),
    recordOf({ values: { 'oven.other': 1 } }),
    recordOf({ values: { 'oven.t': -1 } }),
    recordOf({ source: 8, time: 2_000, mode: 1, values: { 'oven.t': 2 } }),
  ]);
  const scored: OutputRecord[] = [];
  const measured = scoreMeasurements(
    model(({ a }) =>
      a === -1
        ? { p: null, state: null, absent: null }
        : { p: Number(a) / 4, state: a === 1 ? 'tëxt' : true, absent: null },
    ),
    records,
    plan,
    (output) => scored.push(output),
  );
  t.match(measured, { scored: 2, incomplete: 1, refused: 1 });
  t.equal(scored.length, 3, 'each one is counted by the metrics');
  t.same(measured.told, {
    sources: [7, 8],
    times: [1_000, 2_000],
    modes: [0, 1],
    events: ['tëxt', true],
    alarms: [0.25, 0.5],
  });
  const written = [...measurementsOf(measured.records)];
  t.match(written, [
    { tenant: 1, source: 7, time: 1_000, mode: 0, type: 'risk "ä"' },
    { tenant: 1, source: 8, time: 2_000, mode: 1, type: 'risk "ä"' },
  ]);
  t.equal(
    documentText(written[0]!),
    '{"time":"1970-01-01T00:00:01.000Z","source":{"id":"7"},"type":"risk \\"ä\\"","risk":{"p":{"value":0.25},"s":"tëxt"},"c8y_Scoring":{"depth":1}}',
  );
  for (const one of written)
    t.match(parseMeasurement(documentText(one)), { values: one.values, time: one.time }, 'as if it had been sent');
});

t.test('columns and the mark give a prediction of numbers', async (t) => {
  const values = [0, -0, 3, -7, 0.1, -1e-7, 1e21, 2 ** 53, 123_456_789_012];
  const records = Buffer.concat(values.map((a) => recordOf({ source: 7, time: 1_234, values: { 'oven.t': a } })));
  const outputs = [
    { name: 'p', series: 'p "ü"' },
    { name: 'q', series: '1' },
  ];
  const measurement = { type: 'risk "ä"', fragment: 'ri\tsk', outputs, mark: '{"depth":1,"model":"ö"}' };
  const apply = model(({ a }) => ({ p: a ?? null, q: a === 3 ? 'text' : a === 0 ? null : 1 }));
  const measured = scoreMeasurements(apply, records, { ...plan, measurement }, () => undefined);
  const tailed = [...measurementsOf(measured.records)].map((one) => {
    const tail = Buffer.from(one.document)
      .subarray(-1 - tailBytesOf(one.form), -1)
      .toString();
    if (one.form === 0) return '';
    t.equal(withTail(formedText({ ...one, sourceId: String(one.source) }, one.form), tail), one.document);
    return tail;
  });
  const mark = `"c8y_Scoring":${measurement.mark}`;
  t.same(tailed, [mark, mark, '', mark, mark, mark, mark, mark, mark], 'all but the one with a text');
});

t.test('predictions are in the room of the task where they fit', async (t) => {
  const records = Buffer.concat([recordOf({ source: 1 }), recordOf({ source: 2 })]);
  const run = (room?: Uint8Array) =>
    scoreMeasurements(
      model(() => ({ p: 1 })),
      records,
      plan,
      () => undefined,
      room,
    );
  const { records: wanted, roomBytes: none } = run();
  t.equal(none, 0);
  for (const length of [4_096, wanted.length - 1, 8, 0]) {
    const room = new Uint8Array(new SharedArrayBuffer(length));
    const { records: found, roomBytes } = run(room);
    const fits = roomBytes > 0;
    t.equal(fits, length === 4_096);
    t.same(Buffer.from(fits ? room.subarray(0, roomBytes) : found), Buffer.from(wanted));
  }
});

t.test('times before 1970, and of other seconds', async (t) => {
  const times = [-1, -1_001, 0, 999, 1_000, 59_007, Date.parse('2299-12-31T23:59:59.999Z')];
  const records = Buffer.concat(times.map((time) => recordOf({ time })));
  const { records: written } = scoreMeasurements(
    model(() => ({ p: 1 })),
    records,
    plan,
    () => undefined,
  );
  t.same(
    Array.from(measurementsOf(written), (one) => JSON.parse(documentText(one)).time),
    times.map((time) => new Date(time).toISOString()),
  );
});

t.test('many and long outputs', async (t) => {
  const records = Buffer.concat(Array.from({ length: 500 }, (_, index) => recordOf({ source: index + 1 })));
  const long = 'ü'.repeat(5_000);
  const measured = scoreMeasurements(
    model(() => ({ p: 1e300, state: long })),
    records,
    plan,
    () => undefined,
  );
  const written = [...measurementsOf(measured.records)];
  t.equal(written.length, 500);
  t.equal(JSON.parse(documentText(written[499]!)).risk.s.length, 1_000, 'cut');
  t.equal(written[499]!.source, 500);
});

t.test('predictions are bounded, texts are cut', async (t) => {
  const text = '\u0001'.repeat(2_000);
  const outputs = Array.from({ length: 100 }, (_, index) => ({ name: `o${index}`, series: `s${index}` }));
  const large: Plan = { ...plan, measurement: { ...plan.measurement!, outputs }, event: 'o0', alarm: 'o0' };
  const fill = (value: string): OutputRecord => Object.fromEntries(outputs.map(({ name }) => [name, value]));
  const records = Buffer.concat(Array.from({ length: 70 }, () => recordOf()));
  const score = (value: string) =>
    scoreMeasurements(
      model(() => fill(value)),
      records,
      large,
      () => undefined,
    );
  t.match(score(text), { scored: 70, tooLarge: 70, records: { length: 0 } }, 'each has more than 512 KiB');
  const many = score(text.slice(0, 800));
  t.match(many, { scored: 70, refused: 0, told: { events: { length: 70 } } });
  t.ok(many.records.length <= 16_777_216);
  t.equal([...measurementsOf(many.records)].length + many.tooLarge, 70);
  t.ok(many.tooLarge > 0);
  t.equal((score('x'.repeat(5_000)).told.events[0] as string).length, 1_001, 'longer than any that is compared');
});
