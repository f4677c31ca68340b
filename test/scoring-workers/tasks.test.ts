/** What a scoring worker does with its tasks, with a model of the test's own. */
import t from 'tap';
import { sendContent } from '../../src/scoring-workers/content/source-port.ts';
import { FunctionError } from '../../src/scoring-workers/functions/sandbox.ts';
import type { InputRecord, ScoringModel } from '../../src/scoring-workers/pmml/engine.ts';
import type { BatchTask, ModelSource, Task } from '../../src/scoring-workers/protocol.ts';
import { LoadedBytes } from '../../src/scoring-workers/loaded-bytes.ts';
import { LoadedModels } from '../../src/scoring-workers/worker/loaded-models.ts';
import { WorkerTasks, type ModelEngine } from '../../src/scoring-workers/worker/tasks.ts';
import { recordOf } from '../helpers/scoring/measured.ts';
import { valueRows } from '../helpers/value-rows.ts';

/** Doubles `x`; its document says how many bytes it takes, or what is wrong with it. */
function modelOf(bytes: number, functionName = 'regression'): ScoringModel {
  let last: number | undefined;
  return {
    information: {
      modelName: 'M',
      description: '',
      version: '4.4',
      functionName,
      inputFields: [],
      outputFields: [{ usage: 'OUTPUT', name: 'y', type: 'DOUBLE' }],
    },
    bytes,
    begin: () => undefined,
    apply: (record: InputRecord) => {
      if (record['x'] === -1) throw new FunctionError('negative');
      last = record['x'] === undefined ? undefined : 2 * Number(record['x']);
      return { y: last ?? null, text: `a "b"` };
    },
    lastPrediction: () => last,
    explain: () => 'line\n',
  };
}

const engine: ModelEngine = {
  begin: () => {
    let text = '';
    return {
      write: (chunk) => {
        text += Buffer.from(chunk).toString();
      },
      end: () => {
        if (text === 'xml') throw Object.assign(new Error('no XML'), { name: 'XmlError' });
        if (text === 'fault') throw new TypeError('a fault');
        return { model: modelOf(Number(text)), modelName: 'M', version: '4.4', problems: [] };
      },
    };
  },
};

const SETTINGS = { modelBytesMax: 100, contentBytesMax: 1_000, version: '1', channel: 'c' };
const KEY = { tenant: 1, name: 'M', version: 'v' };

async function* text(content: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}
const sourceOf = (content: string): ModelSource => ({ model: sendContent(text(content)).port, resources: [] });

t.test('a model is sent once, and the record is scored', async (t) => {
  const tasks = new WorkerTasks(engine, SETTINGS);
  const task: Task = { kind: 'apply', key: KEY, records: ['{"x":1}', '[{"x":[2]}]', 'x', '5', '{}'] };
  t.same(await tasks.run(task), { kind: 'missing' });
  t.match(await tasks.run({ ...task, source: sourceOf('10') }), { kind: 'texts' });
  const answer: any = await tasks.run(task);
  t.same(
    answer.texts.map((one: string | undefined) => one && JSON.parse(one).y),
    [2, 4, undefined, undefined, null],
  );
  t.same([...answer.predictions.numbers], [2, 4]);
  const some = await tasks.run({ ...task, records: ['{"x":1}', '{"x":-1}', '{"x":2}'] });
  t.match(some, { kind: 'texts', texts: [/2/, undefined, /4/], refusals: [[1, 'negative']] }, 'of one record');
  t.same(await tasks.run({ kind: 'explain', key: KEY, record: '{}' }), { kind: 'text', text: 'line\n' });
  tasks.loaded.drop(1, 'M');
  t.equal(tasks.loaded.bytes, 0);
});

t.test('records of different requests are series of their own', async (t) => {
  let begun = 0;
  const counting: ModelEngine = {
    begin: () => ({
      write: () => undefined,
      end: () => {
        const model = { ...modelOf(1), begin: () => void (begun += 1), apply: () => ({ begun }) };
        return { model, modelName: 'M', version: '4.4', problems: [] };
      },
    }),
  };
  const tasks = new WorkerTasks(counting, SETTINGS);
  const answer = await tasks.run({ kind: 'apply', key: KEY, source: sourceOf(''), records: ['{}', '{}', '{}'] });
  t.match(answer, { texts: ['{"begun":1}', '{"begun":2}', '{"begun":3}'] });
});

t.test('values at which a function fails are one record of a run', async (t) => {
  const tasks = new WorkerTasks(engine, SETTINGS);
  const rows = [1, -1, 2].map((value, time) => ({ source: 7, time, fragment: 1, series: 1, value }));
  const answer: any = await tasks.run({
    kind: 'values',
    key: KEY,
    source: sourceOf('10'),
    rows: valueRows(rows),
    inputs: [{ input: 'x', type: 'pump', series: 'a' }],
    name: 'M',
    timesName: 'times',
    before: 0,
    page: { size: 10, left: 10 },
  });
  t.match(answer, { kind: 'values', count: 3, pieces: [{ deviceId: '7', records: 3, refused: 1 }] });
  t.same(JSON.parse(Buffer.from(answer.output).toString()).outputRecords.y, [2, null, 4]);
  t.same([...answer.predictions.numbers], [2, 4]);
});

t.test('values at which a function fails are those of one measurement', async (t) => {
  const tasks = new WorkerTasks(engine, SETTINGS);
  const answer = await tasks.run({
    kind: 'measurements',
    key: KEY,
    source: sourceOf('10'),
    records: Buffer.concat([1, -1, 2].map((value) => recordOf({ values: { 'oven.t': value } }))),
    plan: { inputs: [{ name: 'x', type: 'oven', series: 't' }], allowsMissing: false, alarm: 'y' },
  });
  t.match(answer, { kind: 'measured', scored: 2, refused: 1, told: { alarms: [2, 4] } });
  t.same([...(answer as any).predictions.numbers], [2, 4]);
});

t.test('what is wrong with an upload is told, and a fault is no refusal', async (t) => {
  const tasks = new WorkerTasks(engine, SETTINGS);
  const check = (content: string): Promise<unknown> =>
    tasks.run({ kind: 'check', source: sourceOf(content), isUpload: true, isFirst: true });
  t.match(await check('10'), { kind: 'checked', bytes: 10, modelName: 'M' });
  t.match(await check('xml'), { kind: 'refused', reason: 'xml' });
  t.match(await check('101'), { kind: 'refused', reason: 'memory', message: /101 bytes/ });
  t.match(await check('1'.repeat(1_001)), { kind: 'refused', reason: 'too-long' });
  t.match(await check('millrace-model 2\n'), { kind: 'refused', reason: 'content' });
  t.match(await check('fault'), { kind: 'failed', message: /TypeError: a fault/ });
});

t.test('a document with more fields than a model may have is refused by their number', async (t) => {
  const inputFields = Array.from({ length: 100_000 }, (_, index) => ({
    usage: 'ACTIVE',
    name: `x${index}`,
    type: 'DOUBLE',
  }));
  const model = modelOf(1);
  const wide: ModelEngine = {
    begin: () => ({
      write: () => undefined,
      end: () => ({
        model: { ...model, information: { ...model.information, inputFields } },
        modelName: 'M',
        version: '4.4',
        problems: [],
      }),
    }),
  };
  const tasks = new WorkerTasks(wide, SETTINGS);
  t.match(await tasks.run({ kind: 'check', source: sourceOf(''), isUpload: true, isFirst: true }), {
    kind: 'refused',
    reason: 'model',
    message: 'it has 100001 fields; a model may have 50000',
  });
});

const batch = async (part: Partial<BatchTask>): Promise<any> => {
  const tasks = new WorkerTasks(engine, SETTINGS);
  const answer: any = await tasks.run({
    kind: 'batch',
    key: KEY,
    source: sourceOf('10'),
    input: Buffer.from('1,a\n2,b\n'),
    format: 'csv',
    columns: ['x', '__proto__'],
    output: 'csv',
    outputs: ['y', 'text'],
    before: 0,
    ...part,
  });
  return answer.kind === 'batch' ? Buffer.from(answer.output).toString() : answer;
};

t.test('batches in both forms', async (t) => {
  t.equal(await batch({}), '2,"a ""b"""\n4,"a ""b"""\n');
  t.equal(await batch({ input: Buffer.from('"1","a\n"\n,b\n') }), '2,"a ""b"""\n,"a ""b"""\n');
  const json: Partial<BatchTask> = { format: 'json', input: Buffer.from('{"x":1},\n{"x":null}'), output: 'json' };
  t.equal(await batch(json), '{"y":2,"text":"a \\"b\\""},{"y":0,"text":"a \\"b\\""}');
  t.equal(await batch({ before: 1 }), '4,"a ""b"""\n', 'records in front have no outputs');
  const detail = { expected: 'e', matchScore: 0.9 };
  t.equal(
    await batch({ input: Buffer.from('1,2\n2,5\n3,\n'), columns: ['x', 'e'], detail }),
    '1,2,2,2,1,true\n2,5,5,4,0.8,false\n3,,,6,0,false\n',
  );
});

t.test('the record that cannot be read is told by its number', async (t) => {
  t.match(await batch({ input: Buffer.from('1,a\n\n2\n') }), {
    kind: 'bad-record',
    record: 2,
    reason: /1 values/,
    place: { line: 3 },
  });
  t.match(await batch({ input: Buffer.from('1,"a"\n2,b"c"\n') }), {
    kind: 'bad-record',
    record: 2,
    reason: /not surrounded by double quotes$/,
    place: { line: 2, position: 4 },
  });
  t.same(await batch({ format: 'json', input: Buffer.from('{"x":1},{"x":-1}') }), {
    kind: 'bad-record',
    record: 2,
    reason: 'negative',
    isRefused: true,
  });
  const input = Buffer.from('{"x":1},{"x":y},{"x":2}');
  t.match(await batch({ format: 'json', input }), { kind: 'bad-record', record: 2 });
});

t.test('models beyond the bound are unloaded, first those of a tenant with more than its share', async (t) => {
  const told = new Map<number, number>();
  const loaded = new LoadedModels(100, (tenant, bytes) => void told.set(tenant, bytes));
  const add = (tenant: number, name: string, bytes: number): void =>
    loaded.add({ tenant, name, version: 'v' }, modelOf(bytes));
  const has = (): string =>
    [...'abcdef'].filter((name) => [1, 2].some((tenant) => loaded.get({ tenant, name, version: 'v' }))).join('');
  add(2, 'f', 10);
  for (const name of 'abc') add(1, name, 30);
  t.equal(has(), 'abcf');
  add(1, 'd', 30);
  t.equal(has(), 'bcdf', 'the own oldest goes, not that of another tenant');
  add(2, 'e', 30);
  t.equal(has(), 'cdef', 'the one that was used longest ago');
  t.equal(loaded.bytes, 100);
  t.throws(() => add(1, 'a', 101), RangeError);
  loaded.drop(1, undefined);
  t.equal(loaded.bytes, 40);
  t.same(
    [...told],
    [
      [2, 40],
      [1, 0],
    ],
    'what each tenant has is told',
  );
});

t.test('what models take is the sum over the threads that run', async (t) => {
  const bytes = new LoadedBytes();
  const take = (thread: number, tenant: number, count: number, alive = [1, 2]): void =>
    bytes.take({ kind: 'loaded', thread, tenant, bytes: count }, alive);
  take(1, 7, 10);
  take(2, 7, 5);
  take(2, 8, 3);
  take(3, 7, 100);
  t.equal(bytes.of(7, [1, 2]), 15);
  take(1, 7, 0);
  t.equal(bytes.of(7, [1, 2]), 5);
  t.equal(bytes.of(8, [1]), 0, 'thread 2 has ended');
  t.equal(bytes.of(7, [1, 2]), 0);
});

t.test('a model whose functions do not end in order is unloaded all the same', async (t) => {
  const loaded = new LoadedModels(100);
  const held = {
    bytes: 60,
    isBroken: false,
    close: () => {
      throw new Error('a fault');
    },
  };
  loaded.add({ tenant: 1, name: 'a', version: 'v' }, modelOf(10), held);
  loaded.add({ tenant: 1, name: 'b', version: 'v' }, modelOf(90));
  t.equal(loaded.bytes, 90);
  t.equal(loaded.get({ tenant: 1, name: 'a', version: 'v' }), undefined);
});

t.test('a document that is too long to be shown with its problems tells the first', async (t) => {
  const tasks = new WorkerTasks(engine, { ...SETTINGS, annotatedBytesMax: 9 });
  const problem = (line: number, severity: 'error' | 'warning') =>
    ({ severity, element: 'Node', line, offset: line, text: 'is bad' }) as const;
  t.same(
    await tasks.run({
      kind: 'annotate',
      port: sendContent(text('<'.repeat(10))).port,
      problems: [problem(9, 'error'), problem(5, 'error'), problem(1, 'warning')],
    }),
    { kind: 'refused', reason: 'not-annotated', message: 'Node (line 5): is bad' },
  );
});
