/** ONNX in processes of their own: what a model does to its process stays there, and memory comes back. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import t from 'tap';
import type { Test } from 'tap';
import { OnnxEngine } from '../../../src/scoring-workers/onnx/engine.ts';
import type { OnnxEngineOptions, StoredModel } from '../../../src/scoring-workers/onnx/engine.ts';
import { Turns } from '../../../src/pacing/turns.ts';
import { WireWriter } from '../../../src/scoring-workers/onnx/wire.ts';
import { silentLog } from '../../helpers/stores/nats-server.ts';
import { until } from '../../helpers/until.ts';
import { ELEMENT, allocator, endless, identity, model, node, value } from './onnx-files.ts';

/** What the runtime says of a shape that is no shape, and of one that is too large. */
const REFUSED = { message: /bad_alloc|[Tt]ensor|overflow|shape|negative|allocat/ };
const USER = { tenant: 1, user: 'ann' };
const MIB = 2 ** 20;

function engineOf(t: Test, options: Partial<OnnxEngineOptions> = {}): OnnxEngine {
  const processes = options.processes ?? 1;
  const turns = new Turns({
    refusals: { count: () => undefined },
    running: { all: processes },
    waiting: { all: 100, ofUser: 100 },
    limits: { all: 'scoring/onnx-waiting', ofUser: 'scoring/onnx-waiting-of-user' },
  });
  const engine = new OnnxEngine({
    log: silentLog,
    turns,
    processes,
    memoryBytesMax: 1024 * MIB,
    timeMsMax: 60_000,
    ...options,
  });
  t.teardown(() => engine.stop());
  return engine;
}

const stored = (key: string, bytes: Uint8Array): StoredModel => ({
  key,
  bytes: bytes.length,
  content: async () => parts(bytes),
});
async function* parts(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += MIB) yield bytes.subarray(at, at + MIB);
}
const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const read = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());
const echo = stored('1/echo/1', identity(ELEMENT.float));

/** Adds so many numbers that lie in the file, four bytes each. */
function large(count: number): Uint8Array {
  const weights = new WireWriter().int(1, count).int(2, ELEMENT.float);
  const raw = new WireWriter().raw(new Uint8Array(count * 4));
  weights.message(9, raw).text(8, 'w');
  return model({
    nodes: [
      node('Add', { inputs: ['w', 'x'], outputs: ['sum'] }),
      node('ReduceMax', { inputs: ['sum'], outputs: ['y'] }),
    ],
    inputs: [value('x', ELEMENT.float, [1])],
    outputs: [value('y', ELEMENT.float)],
    initializers: [weights],
  });
}

t.test('a model that is released while it is loaded does not stay', async (t) => {
  const engine = engineOf(t);
  const applied = engine.apply(USER, echo, json({ x: [[1, 2]] }));
  await until('its process has begun', () => engine.processIds.length === 1);
  await engine.release(echo.key);
  t.same(read(await applied), { y: [[1, 2]] }, 'the task under way ends as it would have');
  t.equal(engine.loadedBytes, 0);
  await until('a process without models ends', () => engine.processIds.length === 0);
});

t.test('a model is described, applied, and let go', async (t) => {
  const engine = engineOf(t);
  t.same(engine.processIds, [], 'nothing runs before the first task');
  t.match(await engine.describe(USER, parts(identity(ELEMENT.float))), {
    name: 'test',
    opsetVersions: ['ai.onnx v17', 'ai.onnx.ml v3'],
  });
  t.same(read(await engine.apply(USER, echo, json({ x: [[1, 2]] }))), { y: [[1, 2]] });
  t.same(read(await engine.apply(USER, echo, json({ x: [[1, 2]] }), 'script')), [
    { name: 'y', type: 'float32', shape: [1, 2], data: [[1, 2]] },
  ]);
  await t.rejects(engine.apply(USER, echo, Buffer.from('{"x"')), { kind: 'input', message: 'Invalid json format.' });
  await t.rejects(engine.describe(USER, parts(Buffer.from('garbage'))), { message: /byte 0/ });
  const folder = `/proc/${engine.processIds[0]}/fd`;
  const open = readdirSync(folder).map((name) => readlinkSync(`${folder}/${name}`));
  t.ok(open.length > 3);
  t.same(
    open.filter((name) => name.includes('onnxruntime.db')),
    [],
    'the runtime keeps nothing for its vendor',
  );
});

t.test('what a model takes of memory is free when it is released', async (t) => {
  const engine = engineOf(t);
  await engine.apply(USER, echo, json({ x: [[1, 2]] }));
  const pid = engine.processIds[0];
  const rssMib = (): number => Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  const before = rssMib();
  const file = large(8 * MIB);
  const big = stored('1/big/1', file);
  t.same(read(await engine.apply(USER, big, json({ x: [2] }))), { y: [2] });
  const loaded = rssMib();
  t.ok(loaded > before + 28, `loaded: ${before} MiB, then ${loaded}`);
  t.ok(engine.loadedBytes >= file.length);
  await engine.release(big.key);
  await until('the memory of a model that was released', () => rssMib() < loaded - 24);
  t.equal(engine.processIds[0], pid, 'the other model stays loaded');
  await engine.release(echo.key);
  await until('the end of a process without models', () => engine.processIds.length === 0);
});

t.test('models beyond the bound give way to those that are used', async (t) => {
  const engine = engineOf(t, { memoryBytesMax: 512 * MIB });
  const use = async (name: string): Promise<void> => {
    const file = { ...stored(name, identity(ELEMENT.float)), bytes: 100 * MIB };
    t.same(read(await engine.apply(USER, file, json({ x: [[1, 2]] }))), { y: [[1, 2]] }, name);
    t.ok(engine.loadedBytes <= 256 * MIB, `${engine.loadedBytes} bytes are loaded`);
  };
  for (const name of ['a', 'b', 'a', 'c', 'b', 'a']) await use(name);
});

t.test('a model that asks for too much, ends its process or never ends takes nothing along', async (t) => {
  const engine = engineOf(t, { processes: 2, timeMsMax: 3_000 });
  const huge = stored('huge', allocator());
  t.same(read(await engine.apply(USER, huge, json({ shape: [2] }))), { y: [0, 0] });
  for (const size of [2 ** 33, 2 ** 50, '9223372036854775807', -1])
    await t.rejects(engine.apply(USER, huge, json({ shape: [size] })), REFUSED, `a tensor of ${size}`);
  t.same(read(await engine.apply(USER, huge, json({ shape: [1] }))), { y: [0] }, 'in the same process');

  const never = engine.apply(USER, stored('endless', endless()), json({ goesOn: true, x: [1] }));
  await until('a process for the endless one', () => engine.processIds.length === 2);
  t.same(read(await engine.apply(USER, echo, json({ x: [[5, 6]] }))), { y: [[5, 6]] }, 'others go on');
  await t.rejects(never, { message: /its time was over/ });

  const waiting = engine.apply(USER, stored('endless', endless()), json({ goesOn: true, x: [1] }));
  const failed = t.rejects(waiting, { message: /ended with SIGABRT/ }, 'a crash is told');
  await until('another process', () => engine.processIds.length === 2);
  process.kill(engine.processIds.at(-1) as number, 'SIGABRT');
  await failed;
  t.same(read(await engine.apply(USER, echo, json({ x: [[7, 8]] }))), { y: [[7, 8]] }, 'and is replaced');
});

t.test('a client that leaves ends what takes long', async (t) => {
  const engine = engineOf(t);
  const leaving = new AbortController();
  const user = { ...USER, signal: leaving.signal };
  const loop = stored('endless', endless());
  t.same(read(await engine.apply(user, loop, json({ goesOn: false, x: [1] }))), { y: [1] }, 'loaded');
  const told = t.rejects(engine.apply(user, loop, json({ goesOn: true, x: [1] })), { message: /its client has left/ });
  await new Promise(setImmediate);
  leaving.abort(new Error('gone'));
  await told;
});

t.test('hostile files', async (t) => {
  const engine = engineOf(t, { timeMsMax: 20_000 });
  const cyclic = model({
    nodes: [node('Add', { inputs: ['b', 'x'], outputs: ['a'] }), node('Add', { inputs: ['a', 'x'], outputs: ['b'] })],
    inputs: [value('x', ELEMENT.float, [1])],
    outputs: [value('a', ELEMENT.float, [1])],
  });
  const wide = model({
    nodes: [node('Identity', { inputs: ['w'], outputs: ['y'] })],
    inputs: [],
    outputs: [value('y', ELEMENT.float)],
    initializers: [
      new WireWriter()
        .int(1, 2 ** 40)
        .int(1, 2 ** 40)
        .int(2, ELEMENT.float)
        .text(8, 'w'),
    ],
  });
  const good = Buffer.from(identity(ELEMENT.float));
  const broken = Array.from({ length: 60 }, (_, index) => {
    const copy = Buffer.from(good);
    copy[(index * 7) % copy.length] ^= 1 << (index % 8);
    return copy;
  });
  let refused = 0;
  for (const bytes of [cyclic, wide, ...broken]) {
    const told = await engine.describe(USER, parts(bytes)).then(
      () => 'described',
      (error: { kind?: string }) => error.kind ?? String(error),
    );
    if (told === 'model') refused++;
    else t.equal(told, 'described');
  }
  t.ok(refused > 20, `${refused} were refused`);
  t.same(read(await engine.apply(USER, echo, json({ x: [[1, 2]] }))), { y: [[1, 2]] }, 'the next request works');
});
