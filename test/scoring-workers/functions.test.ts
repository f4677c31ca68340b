/** Functions of uploaded JavaScript: what they may do, and what ends them (docs/spec/scoring.md#javascript-functions). */
import t from 'tap';
import { FunctionLibrary } from '../../src/scoring-workers/functions/library.ts';
import { FUNCTIONS_BYTES_MAX, FunctionFile } from '../../src/scoring-workers/functions/sandbox.ts';
import { type FunctionTimes, FunctionWatch, markedName, newMark } from '../../src/scoring-workers/functions/watch.ts';
import { readPmml } from '../../src/scoring-workers/pmml/read.ts';
import { inspectResource } from '../../src/scoring-workers/resources/resources.ts';

/** Those of the server would take seconds. */
const TIMES: FunctionTimes = { taskMsMax: 5_000, callMsMax: 20, startMsMax: 1_000 };

const SOURCE = `const names = ['process', 'require', 'fetch', 'setTimeout', 'WebAssembly', 'Worker', 'Date', 'console', 'std', 'os'];
export const add = (a, b) => a + b;
export function kind(value) { return typeof value + String(value); }
export function found() { return names.filter((name) => typeof globalThis[name] !== 'undefined').join() + typeof Math.random; }
export function loop() { for (;;); }
export function deep(n) { return deep(n + 1) + 1; }
export function large() { const all = []; for (;;) all.push('x'.repeat(100000) + all.length); }
export function fails(x) {
  throw new TypeError('bad ' + x);
}
export function throwsText() { throw 'no'; }
export const long = () => 'x'.repeat(65537);
export function object() { return { a: 1 }; }
export async function later() { return 1; }
export const catastrophic = () => /^(a+)+$/.test('a'.repeat(50) + 'b');
export function result(name) { return { missing: null, nothing: undefined, nan: NaN, yes: true, infinite: Infinity, text: 'é' }[name]; }
export const constant = 5;
`;

async function* content(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

t.test('functions of values', async (t) => {
  const watch = new FunctionWatch(TIMES);
  const file = await FunctionFile.open('geo.js', SOURCE, watch);
  t.teardown(() => file.close());
  t.ok(file.names.includes('add') && !file.names.includes('constant'), 'functions are listed, constants are not');
  t.equal(file.call('add', [1, 2.5]), 3.5);
  t.equal(file.call('add', ['a', 1]), 'a1');
  t.same(
    [1, 'x', true, false, null].map((value) => file.call('kind', [value])),
    ['number1', 'stringx', 'booleantrue', 'booleanfalse', 'objectnull'],
  );
  t.same(
    ['missing', 'nothing', 'nan', 'yes', 'infinite', 'text'].map((name) => file.call('result', [name])),
    [undefined, undefined, undefined, true, Number.POSITIVE_INFINITY, 'é'],
  );
  t.equal(file.call('found', []), 'undefined', 'nothing of the server, no clock, no random numbers');

  const refused = (name: string): string => {
    // A task of its own.
    watch.begin(undefined);
    try {
      return `no error: ${String(file.call(name, [1]))}`;
    } catch (error) {
      return (error as Error).message;
    }
  };
  t.equal(refused('fails'), "the function 'fails' of geo.js failed in line 9: TypeError: bad 1");
  t.equal(refused('throwsText'), "the function 'throwsText' of geo.js failed: it throws 'no'");
  t.match(refused('loop'), /'loop' of geo.js failed in line 5: it takes longer than 20 ms/);
  t.match(refused('catastrophic'), /it takes longer than 20 ms/);
  t.match(refused('deep'), /in line 6: InternalError: stack overflow/);
  t.equal(file.call('add', [1, 2]), 3, 'the others go on');
  t.match(refused('object'), /returned a value of type object; it may return a number, a string, a boolean or null/);
  t.match(refused('long'), /returned 65537 characters; it may return 65536/);
  t.match(refused('later'), /returned a value of type object/);
  t.match(refused('constant'), /the function 'constant' of geo.js is missing/);
  t.match(refused('large'), /in line 7: it (needs more than 16777216 bytes)/);
  t.ok(file.isBroken, 'what has used up its memory is opened again');
});

t.test('files that cannot be used', async (t) => {
  const reasonOf = (source: string): Promise<string> =>
    inspectResource('f.js', content(source), 1e9).then(
      () => 'none',
      ({ name, message }: Error) => `${name}: ${message}`,
    );
  t.match(
    await reasonOf('export const a = () => 1;\nexport const b = 1 + ;'),
    /ContentError: f.js cannot be used in line 2: SyntaxError/,
  );
  t.match(await reasonOf("import fs from 'fs'; export const a = () => 1;"), /could not load module 'fs'/);
  t.match(await reasonOf('const a = 1;'), /f.js exports no function/);
  t.match(await reasonOf('await 1; export const a = () => 1;'), /has 'await' outside of functions/);
  await t.rejects(FunctionFile.open('f.js', 'for (;;);', new FunctionWatch({ ...TIMES, startMsMax: 20 })), {
    message: /it takes longer than 20 ms/,
  });
  t.match(await reasonOf(`//${'x'.repeat(1_048_576)}`), /more than 1048576 bytes/);
  t.same(await inspectResource('geo.js', content('export const far = () => 1;'), 1e9), {
    type: 'Custom Functions',
    names: ['geo:far'],
  });
});

const PMML = (
  apply: string,
): string => `<PMML version="4.4"><Header/><DataDictionary><DataField name="x" optype="continuous" dataType="double"/>
<DataField name="day" optype="ordinal" dataType="date"/></DataDictionary>
<RegressionModel functionName="regression"><MiningSchema><MiningField name="x"/><MiningField name="day"/></MiningSchema><Output>
<OutputField name="out" optype="continuous" dataType="string" feature="transformedValue">${apply}</OutputField></Output>
<RegressionTable intercept="1"/></RegressionModel></PMML>`;

t.test('a model calls them by their names, with their namespace or without', async (t) => {
  const library = new FunctionLibrary(2 * FUNCTIONS_BYTES_MAX, new FunctionWatch());
  t.teardown(() => library.close());
  await library.add(
    'geo.js',
    'export const twice = (x) => x === null ? "none" : 2 * x; export const show = (x) => typeof x + x;',
  );
  await library.add('other.js', 'export const show = () => 1; export const fails = () => { throw new Error("no"); };');
  const modelOf = (apply: string) => readPmml([PMML(apply)], { customFunction: (name) => library.find(name) });
  const outputOf = (apply: string, record: object): unknown => modelOf(apply).model?.apply(record as never)['out'];
  const call = (name: string, argument: string): string =>
    `<Apply function="${name}"><FieldRef field="${argument}"/></Apply>`;
  t.equal(outputOf(call('geo:twice', 'x'), { x: 4 }), '8');
  t.equal(outputOf(call('twice', 'x'), {}), 'none', 'a missing value is null');
  t.equal(
    outputOf(`<Apply function="+">${call('twice', 'x')}<Constant dataType="double">1</Constant></Apply>`, { x: 4 }),
    '9',
  );
  t.equal(outputOf(call('geo:show', 'day'), { day: '2026-11-26' }), 'string2026-11-26');
  t.match(
    modelOf(call('show', 'x')).problems.map(({ text }) => text),
    [
      /'function' is 'show', which is neither .* nor exported by one uploaded \.js file; functions of JAR files are not run/,
    ],
    'two files export it',
  );
  await t.rejects(library.add('third.js', 'export const f = () => 1;'), {
    name: 'FunctionError',
    message: 'third.js cannot be opened: 3 files of functions take 50331648 bytes; a worker has 33554432 for a model',
  });
  const failing = modelOf(call('fails', 'x')).model;
  t.throws(() => failing?.apply({ x: 1 }), /the function 'fails' of other.js failed in line 1: Error: no/);
});

t.test('the calls of one task have a time together, and the running function is marked', async (t) => {
  const watch = new FunctionWatch({ ...TIMES, taskMsMax: 80 });
  const file = await FunctionFile.open('geo.js', SOURCE, watch);
  t.teardown(() => file.close());
  const mark = newMark();
  watch.begin(mark);
  let calls = 0;
  const messageOf = (): string => {
    try {
      file.call('loop', []);
    } catch (error) {
      calls++;
      return (error as Error).message;
    }
    return '';
  };
  let message = messageOf();
  t.match(message, /it takes longer than 20 ms/);
  while (calls < 10 && !message.includes('of one task')) message = messageOf();
  t.match(message, /the functions of one task take longer than 80 ms/);
  t.ok(calls <= 5, `${calls} calls`);
  t.throws(() => file.call('add', [1, 2]), { message: /of one task .* the last is 'add' of geo.js/ });
  t.equal(markedName(mark), undefined);
  watch.begin(mark);
  t.equal(file.call('add', [1, 2]), 3, 'the next task has its own');
  t.equal(
    watch.during(Buffer.from('loop of geo.js'), () => markedName(mark)),
    'loop of geo.js',
  );
});
