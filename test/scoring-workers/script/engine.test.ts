/** Python scripts, in both engines: what they get and return, what they cannot reach, and what ends them. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import t from 'tap';
import type { Test } from 'tap';
import { Turns } from '../../../src/pacing/turns.ts';
import type { WorkerProgram } from '../../../src/scoring-workers/processes/worker-process.ts';
import { ScriptEngine } from '../../../src/scoring-workers/script/engine.ts';
import { pyodideProgram } from '../../../src/scoring-workers/script/pyodide.ts';
import { systemProgram } from '../../../src/scoring-workers/script/system.ts';
import type { Stage } from '../../../src/scoring-workers/script/tasks.ts';
import { silentLog } from '../../helpers/stores/nats-server.ts';
import { missing } from '../../helpers/tools.ts';

const MEMORY_BYTES_MAX = 96 * 2 ** 20;
/** Longer than any of these scripts takes on a busy machine, but for the one that never ends. */
const TIME_MS_MAX = 8_000;
const USER = { tenant: 1, user: 'ann' };

type Run = (source: string, stage?: Stage, content?: string, tenant?: number) => Promise<unknown>;

function engineOf(t: Test, program: WorkerProgram): { engine: ScriptEngine; run: Run } {
  const turns = new Turns({
    refusals: { count: () => undefined },
    running: { all: 2 },
    waiting: { all: 100, ofUser: 100 },
    limits: { all: 'scoring/scripts-waiting', ofUser: 'scoring/scripts-waiting-of-user' },
  });
  const engine = new ScriptEngine({ log: silentLog, turns, program, processes: 2, timeMsMax: TIME_MS_MAX });
  t.teardown(() => engine.stop());
  const run: Run = async (source, stage = 'pre', content = 'abc', tenant = 1) => {
    const script = { name: 's.py', source: `def process(content):\n${source.replace(/^/gm, '  ')}` };
    const answer = await engine.run({ ...USER, tenant }, script, stage, Buffer.from(content));
    return JSON.parse(Buffer.from(answer).toString()) as unknown;
  };
  return { engine, run };
}

const OUTPUTS = JSON.stringify([
  { name: 'label', type: 'int64', shape: [2], data: ['9007199254740993', 1] },
  {
    name: 'scores',
    type: 'float32',
    shape: [2, 2],
    data: [
      [0.5, 'NaN'],
      [0, '-Infinity'],
    ],
  },
  { name: 'pairs', data: [{ a: 0.25 }] },
]);

/** What both engines do alike. */
async function checkEngine(t: Test, program: WorkerProgram): Promise<{ engine: ScriptEngine; run: Run }> {
  const { engine, run } = engineOf(t, program);
  t.same(await run('return {"x": [len(content), content[:1].decode(), (1, 2.5), None, True]}'), {
    x: [3, 'a', [1, 2.5], null, true],
  });
  t.same(await run('return {"x": [float("nan"), float("-inf"), 2**60]}'), {
    x: ['NaN', '-Infinity', '1152921504606846976'],
  });
  t.same(
    await run(
      'return [int(content[0][0]) - 2**53, content["scores"].tolist(), list(content["scores"].shape), content["pairs"], content.keys()]',
      'post',
      OUTPUTS,
    ),
    [
      1,
      [
        [0.5, 'NaN'],
        [0, '-Infinity'],
      ],
      [2, 2],
      [{ a: 0.25 }],
      ['label', 'scores', 'pairs'],
    ],
  );
  t.equal(await run('pass', 'post', OUTPUTS), null, 'a script may return nothing');

  const faults: readonly (readonly [source: string, text: RegExp, kind?: string])[] = [
    ['return [1]', /returned a value of the type list; before a model it returns a dict/],
    ['x = 1\nreturn 1 / 0', /failed: ZeroDivisionError: division by zero \(line 3\)/],
    ['return {"x": object()}', /a value of the type object is not JSON/],
    ['x = {}\nx["x"] = x\nreturn x', /Circular reference|recursion/],
    ['return open("/etc/passwd").read()', /FileNotFoundError/],
    ['open("/usr/lib/x", "w").write("y" * 10)\nreturn open("/etc/shadow").read()', /Error/],
    ['import sys\nsys.exit(3)', /failed: SystemExit: 3/],
    ['x = []\nwhile True: x.append(bytearray(10_000_000))', /needed more memory than it may have/, 'memory'],
  ];
  for (const [source, text, kind = 'input'] of faults) await t.rejects(run(source), { kind, message: text }, source);
  t.same(await run('import os\nreturn {"x": [name for name in os.environ if "MILLRACE" in name or name == "SHELL"]}'), {
    x: [],
  });

  const connections: unknown[] = [];
  const server = createServer((socket) => connections.push(socket.destroy())).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  await run(
    `import socket\ns = socket.socket()\ns.settimeout(1)\ns.connect(("127.0.0.1", ${port}))\ns.send(b"x")\nreturn {"x": str(s.recv(1))}`,
  ).catch(() => undefined);
  t.same(connections, [], 'no network');

  await run('import builtins\nbuiltins.left = 5\nreturn {}');
  t.same(await run('import builtins\nreturn {"x": getattr(builtins, "left", 0)}'), { x: 5 }, 'the same interpreter');
  t.same(
    await run('import builtins\nreturn {"x": getattr(builtins, "left", 0)}', 'pre', '', 2),
    { x: 0 },
    'another tenant has another one',
  );
  await t.rejects(run('import os\nos._exit(3)', 'pre', '', 2), { kind: 'input', message: /ended its interpreter/ });
  t.same(await run('return {"x": [1]}', 'pre', '', 2), { x: [1] }, 'the next request works');

  t.same(
    await engine.check(USER, {
      name: 'a.py',
      source:
        'import json, no_such.thing\ntry:\n  import perhaps\nexcept ImportError:\n  pass\ndef process(c):\n  from other import x\n',
    }),
    ['no_such', 'other'],
  );
  for (const [source, text] of [
    ['def process(c) pass', /^line 1: /],
    ['def other(c): pass', /no function process/],
    ['', /no function process/],
    [`def process(c):\n  return ${'('.repeat(5_000)}`, /./],
    ['\0', /null bytes/],
  ] as const)
    await t.rejects(
      engine.check(USER, { name: 'a.py', source }),
      { kind: 'model', message: text },
      source.slice(0, 40),
    );
  return { engine, run };
}

t.test('Python as WebAssembly', async (t) => {
  const wheels = mkdtempSync(join(tmpdir(), 'millrace-wheels-'));
  t.teardown(() => rmSync(wheels, { recursive: true }));
  writeFileSync(
    join(wheels, 'tiny_wheel-1.0-py3-none-any.whl'),
    zipSync({
      'tiny_wheel/__init__.py': strToU8('ANSWER = 42'),
      'tiny_wheel-1.0.dist-info/METADATA': strToU8('Metadata-Version: 2.1\nName: tiny-wheel\nVersion: 1.0\n'),
      'tiny_wheel-1.0.dist-info/WHEEL': strToU8('Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n'),
      'tiny_wheel-1.0.dist-info/RECORD': strToU8(''),
    }),
  );
  const program = pyodideProgram({ memoryBytesMax: MEMORY_BYTES_MAX, wheelsFolder: wheels });
  const { engine, run } = await checkEngine(t, program);
  t.same(await engine.check(USER, { name: 'a.py', source: 'import tiny_wheel, numpy\nprocess = tiny_wheel' }), [
    'numpy',
  ]);
  t.same(await run('import tiny_wheel\nreturn {"x": tiny_wheel.ANSWER}'), { x: 42 }, 'a wheel of the folder');
  for (const name of ['js', 'pyodide', 'pyodide_js', '_pyodide_core', 'pyodide.code', 'ctypes'])
    await t.rejects(run(`import ${name}\nreturn {}`), { message: /scripts have no way to JavaScript/ }, name);
  await t.rejects(run('import subprocess\nreturn {"x": subprocess.run(["/bin/true"]).returncode}'), {
    message: /does not support processes/,
  });
  await t.rejects(
    run(
      [
        'import gc, sys',
        'sys.meta_path.pop(0)',
        'for one in gc.get_objects():',
        '  if type(one).__name__ == "JsProxy":',
        '    return {"x": str(one.constructor.constructor("return process.version")())}',
        'raise ValueError("no proxies are left")',
      ].join('\n'),
    ),
    { message: /no proxies are left|Code generation from strings disallowed|EvalError|has no attribute/ },
  );
  await t.rejects(run('while True: pass'), {
    message: `The script 's.py' was ended: it needed more than ${TIME_MS_MAX} ms.`,
  });
});

t.test(
  'Python of the machine',
  { skip: missing('bwrap', '/usr/bin/python3', '/usr/bin/python3:numpy', '/usr/bin/python3:PIL') },
  async (t) => {
    const program = systemProgram({ memoryBytesMax: 4 * MEMORY_BYTES_MAX });
    const { run } = await checkEngine(t, program);
    t.same(
      await run(
        'import numpy as np\nreturn {"x": np.arange(4, dtype=np.float32).reshape(2, 2), "n": np.float64("nan")}',
      ),
      {
        x: [
          [0, 1],
          [2, 3],
        ],
        n: 'NaN',
      },
    );
    t.same(
      await run('import numpy as np\nreturn [str(content[0].dtype), int(np.argmax(content[1]))]', 'post', OUTPUTS),
      ['int64', 1],
    );
    t.same(
      await run(
        'from PIL import Image\nimport io\nim = Image.new("RGB", (4, 2))\nout = io.BytesIO()\nim.save(out, "PNG")\nreturn {"x": Image.open(out).resize((2, 1)).size}',
      ),
      { x: [2, 1] },
    );
  },
);
