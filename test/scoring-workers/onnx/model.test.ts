/** One ONNX model in this process: what is told about it, every type of elements, and what does not fit. */
import t from 'tap';
import type { Test } from 'tap';
import { ELEMENT_TYPES } from '../../../src/scoring-workers/onnx/elements.ts';
import { fromHalf, toHalf } from '../../../src/scoring-workers/onnx/half.ts';
import { ModelError, OnnxModel } from '../../../src/scoring-workers/onnx/model.ts';
import { WireWriter } from '../../../src/scoring-workers/onnx/wire.ts';
import { ELEMENT, graph, graphAttribute, identity, longs, model, node, value } from './onnx-files.ts';

const load = async (t: Test, bytes: Uint8Array): Promise<OnnxModel> => {
  const loaded = await OnnxModel.load(bytes);
  t.teardown(() => loaded.release());
  return loaded;
};

t.test('a description has what the file says', async (t) => {
  const loaded = await load(
    t,
    model({
      name: 'sum of two',
      nodes: [node('Add', { inputs: ['a', 'b'], outputs: ['c'] })],
      inputs: [value('a', ELEMENT.float, ['N', 2]), value('b', ELEMENT.float), value('fixed', ELEMENT.int64, [2])],
      outputs: [value('c', ELEMENT.float, ['N', 2])],
      initializers: [longs('fixed', [1, 2], [2])],
    }),
  );
  t.same(loaded.describe(), {
    name: 'sum of two',
    modelVersion: 3,
    irVersion: 8,
    opsetVersions: ['ai.onnx v17', 'ai.onnx.ml v3'],
    producerName: 'tests',
    producerVersion: '1.0',
    inputs: [
      { name: 'a', shape: ['N', 2], type: 'tensor(float)' },
      { name: 'b', type: 'tensor(float)' },
    ],
    outputs: [{ name: 'c', shape: ['N', 2], type: 'tensor(float)' }],
  });
});

t.test('every type goes in and comes out', async (t) => {
  const big = '9007199254740993';
  const cases: Readonly<Record<string, readonly [given: unknown[], got?: unknown[]]>> = {
    float: [
      [0.5, 'NaN'],
      [0.5, 'NaN'],
    ],
    double: [['-Infinity', 0.1]],
    float16: [[0.5, 'Infinity']],
    int8: [[-128, 127]],
    uint8: [[0, 255]],
    int16: [[-32768, 32767]],
    uint16: [[0, 65535]],
    int32: [[-2147483648, 2147483647]],
    uint32: [[0, 4294967295]],
    int64: [
      ['-9223372036854775808', '7'],
      ['-9223372036854775808', 7],
    ],
    uint64: [['18446744073709551615', big]],
    bool: [
      [true, 0],
      [true, false],
    ],
    string: [['ä', '']],
  };
  t.same(Object.keys(cases).sort(), [...ELEMENT_TYPES.keys()].sort(), 'all that are passed');
  for (const [name, [given, got = given]] of Object.entries(cases)) {
    const loaded = await load(t, identity(ELEMENT[name as keyof typeof ELEMENT]));
    t.same(JSON.parse(await loaded.applyToJson({ x: [given, given] })), { y: [got, got] }, name);
  }
  const scalar = await load(t, identity(ELEMENT.double, []));
  t.equal(await scalar.applyToJson({ x: 4.25 }), '{"y":4.25}', 'a single value');
  const none = await load(t, identity(ELEMENT.float, [0, 2]));
  t.equal(
    await none.applyToJson({ x: [] }).catch((error: Error) => error.message),
    "The input 'x' has the shape [0,2]; the given one is [0].",
  );
});

t.test('halves', async (t) => {
  for (const [half, number] of [
    [0x0000, 0],
    [0x8000, -0],
    [0x3c00, 1],
    [0x0001, 2 ** -24],
    [0x03ff, 1023 * 2 ** -24],
    [0x0400, 2 ** -14],
    [0x7bff, 65_504],
    [0xc000, -2],
  ] as const) {
    t.equal(fromHalf(half), number);
    t.equal(toHalf(number), half);
  }
  t.equal(toHalf(65_520), 0x7c00, 'too large');
  t.equal(toHalf(1 + 2 ** -11), 0x3c00, 'half way: the even one');
  t.equal(toHalf(1 + 3 * 2 ** -11), 0x3c02);
  t.equal(toHalf(1.9999999), 0x4000, 'into the next power of two');
});

t.test('what does not fit is named with what is expected', async (t) => {
  const loaded = await load(
    t,
    model({
      nodes: [node('MatMul', { inputs: ['a', 'b'], outputs: ['c'] })],
      inputs: [value('a', ELEMENT.float, ['N', 3]), value('b', ELEMENT.float, [3, 'N'])],
      outputs: [value('c', ELEMENT.float, ['N', 'N'])],
    }),
  );
  const b = [[1], [2], [3]];
  const cases: readonly (readonly [body: unknown, text: string])[] = [
    [[1], "The body is not an object of the inputs 'a', 'b'."],
    [null, "The body is not an object of the inputs 'a', 'b'."],
    [{ a: [[1, 2, 3]] }, "The input 'b' is missing; the inputs are 'a', 'b'."],
    [{ a: [], b, z: 1 }, `The model has no input "z"; its inputs are 'a', 'b'.`],
    [JSON.parse('{"__proto__":1}'), `The model has no input "__proto__"; its inputs are 'a', 'b'.`],
    [{ a: [[1, 2]], b }, "The input 'a' has the shape [N,3]; the given one is [1,2]."],
    [
      { a: JSON.parse('['.repeat(200) + ']'.repeat(200)), b },
      `The input 'a' has the shape [N,3]; the given one is [${'1,'.repeat(16)}…].`,
    ],
    [{ a: 1, b }, "The input 'a' has the shape [N,3]; the given one is []."],
    [
      {
        a: [
          [1, 2, 3],
          [4, 5, 6],
        ],
        b,
      },
      "The input 'b' has the shape [3,N], where N is 2 in another input; the given one is [3,1].",
    ],
    [
      {
        a: [
          [1, 2, 3],
          [4, 5],
        ],
        b,
      },
      "The arrays of the input 'a' have different lengths: the shape [2,3] of the first ones wants 3 at each place of level 1.",
    ],
    [
      { a: [[1, 2, null]], b },
      `The input 'a' has the type tensor(float) and takes numbers, "NaN", "Infinity" and "-Infinity"; element 2 is null.`,
    ],
    [
      { a: [[1, 2, [3]]], b },
      `The input 'a' has the type tensor(float) and takes numbers, "NaN", "Infinity" and "-Infinity"; element 2 is [3].`,
    ],
  ];
  for (const [body, text] of cases) await t.rejects(loaded.apply(body), { message: text }, text);
  const long = await load(t, identity(ELEMENT.int64, ['N']));
  for (const wrong of [2 ** 53, 0.5, '1.5', '9223372036854775808', true, ''])
    await t.rejects(
      long.apply({ x: [wrong] }),
      { message: /takes whole numbers from .* as texts beyond/ },
      String(wrong),
    );
  t.equal(await loaded.applyToJson({ a: [[1, 0, 0]], b }), '{"c":[[1]]}', 'and the next request works');
  t.equal(await loaded.applyToColumns({ a: [[1, 0, 0]], b }, ['c', 'other']), '{"c":[1]}', 'of a binding');
});

t.test('pairs of ZipMap', async (t) => {
  const texts = new WireWriter().text(1, 'classlabels_strings').text(9, 'cold').text(9, '__proto__').int(20, 8);
  const declared = new WireWriter()
    .text(1, 'z')
    .message(
      2,
      new WireWriter().message(
        4,
        new WireWriter().message(
          1,
          new WireWriter().message(
            5,
            new WireWriter().int(1, ELEMENT.string).message(2, new WireWriter().message(1, new WireWriter().int(1, 1))),
          ),
        ),
      ),
    );
  const zipMap = node('ZipMap', { inputs: ['p'], outputs: ['z'], domain: 'ai.onnx.ml', attributes: [texts] });
  for (const domains of [['', 'ai.onnx.ml'], ['ai.onnx.ml']]) {
    const loaded = await load(
      t,
      model({ nodes: [zipMap], inputs: [value('p', ELEMENT.float, ['N', 2])], outputs: [declared] }, { domains }),
    );
    t.same(loaded.describe().outputs, [{ name: 'z', shape: [], type: 'seq(map(string,tensor(float)))' }]);
    t.equal(
      await loaded.applyToJson({
        p: [
          [0.25, 0.75],
          [1, 0],
        ],
      }),
      '{"z":[{"cold":0.25,"__proto__":0.75},{"cold":1,"__proto__":0}]}',
    );
  }
});

t.test('what is not a model, or not one to load', async (t) => {
  const nested = (depth: number): WireWriter =>
    graph({
      name: 'g',
      nodes:
        depth === 0
          ? []
          : [
              node('If', {
                inputs: ['c'],
                outputs: ['y'],
                attributes: [graphAttribute('then_branch', nested(depth - 1))],
              }),
            ],
      inputs: [],
      outputs: [],
    });
  const external = longs('w', [1], [1]).message(13, new WireWriter().text(1, 'location').text(2, '../../etc/passwd'));
  const good = identity(ELEMENT.float);
  const cases: readonly (readonly [Uint8Array, RegExp])[] = [
    [new Uint8Array(0), /no graph/],
    [Buffer.from('garbage'), /byte 0/],
    [good.subarray(0, good.length - 3), /ends behind its message/],
    [Buffer.from(`08${'ff'.repeat(12)}`, 'hex'), /more than 10 bytes/],
    [Buffer.from('0a', 'hex'), /ends behind its message/],
    [new WireWriter().int(1, 8).message(7, nested(40)).join(), /more than 30 deep/],
    [
      model({
        nodes: [node('Identity', { inputs: ['w'], outputs: ['y'] })],
        inputs: [],
        outputs: [value('y', ELEMENT.int64, [1])],
        initializers: [external],
      }),
      /tensors in other files/,
    ],
    [identity(ELEMENT.bfloat16), /value 'x' has the type tensor\(bfloat16\)/],
    [
      model({
        nodes: [node('NoSuchOperator', { inputs: ['x'], outputs: ['y'] })],
        inputs: [value('x', 1)],
        outputs: [value('y', 1)],
      }),
      /NoSuchOperator/,
    ],
    [
      model({
        nodes: [node('Identity', { inputs: ['x'], outputs: ['__proto__'] })],
        inputs: [value('x', 1)],
        outputs: [value('__proto__', 1)],
      }),
      /__proto__/,
    ],
  ];
  for (const [bytes, text] of cases) {
    const error = await OnnxModel.load(bytes).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    t.ok(error instanceof ModelError, `refused as a model: ${String(error)}`);
    t.match((error as Error).message, text);
  }
});
