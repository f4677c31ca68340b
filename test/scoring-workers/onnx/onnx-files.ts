/** ONNX models made for tests, put together as protocol buffers. docs/spec/scoring.md#onnx-models */
import { WireWriter } from '../../../src/scoring-workers/onnx/wire.ts';

/** Numbers of TensorProto.DataType. */
export const ELEMENT = {
  float: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  double: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
} as const;

export type Shape = readonly (number | string)[];

/** A named tensor as graphs declare it. */
export function value(name: string, element: number, shape?: Shape): WireWriter {
  const tensor = new WireWriter().int(1, element);
  if (shape !== undefined) {
    const dims = new WireWriter();
    for (const dimension of shape)
      dims.message(
        1,
        typeof dimension === 'number' ? new WireWriter().int(1, dimension) : new WireWriter().text(2, dimension),
      );
    tensor.message(2, dims);
  }
  return new WireWriter().text(1, name).message(2, new WireWriter().message(1, tensor));
}

export interface NodeOptions {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly domain?: string;
  /** Whole messages of AttributeProto. */
  readonly attributes?: readonly WireWriter[];
}

export function node(operator: string, { inputs, outputs, domain = '', attributes = [] }: NodeOptions): WireWriter {
  const writer = new WireWriter();
  for (const input of inputs) writer.text(1, input);
  for (const output of outputs) writer.text(2, output);
  writer.text(4, operator);
  for (const attribute of attributes) writer.message(5, attribute);
  return domain === '' ? writer : writer.text(7, domain);
}

export const graphAttribute = (name: string, graph: WireWriter): WireWriter =>
  new WireWriter().text(1, name).message(6, graph).int(20, 5);

/** A tensor of whole numbers that is part of a model. */
export function longs(name: string, numbers: readonly number[], dims: readonly number[]): WireWriter {
  const tensor = new WireWriter();
  for (const dimension of dims) tensor.int(1, dimension);
  tensor.int(2, ELEMENT.int64);
  for (const number of numbers) tensor.int(7, number);
  return tensor.text(8, name);
}

export interface GraphOptions {
  readonly name?: string;
  readonly nodes: readonly WireWriter[];
  readonly inputs: readonly WireWriter[];
  readonly outputs: readonly WireWriter[];
  readonly initializers?: readonly WireWriter[];
}

export function graph({ name = 'test', nodes, inputs, outputs, initializers = [] }: GraphOptions): WireWriter {
  const writer = new WireWriter();
  for (const one of nodes) writer.message(1, one);
  writer.text(2, name);
  for (const one of initializers) writer.message(5, one);
  for (const one of inputs) writer.message(11, one);
  for (const one of outputs) writer.message(12, one);
  return writer;
}

export interface ModelOptions {
  readonly opset?: number;
  readonly domains?: readonly string[];
}

export function model(
  given: GraphOptions,
  { opset = 17, domains = ['', 'ai.onnx.ml'] }: ModelOptions = {},
): Uint8Array {
  const writer = new WireWriter().int(1, 8).text(2, 'tests').text(3, '1.0').int(5, 3).message(7, graph(given));
  for (const domain of domains) writer.message(8, new WireWriter().text(1, domain).int(2, domain === '' ? opset : 3));
  return writer.join();
}

/** Hands its input on. */
export const identity = (element: number, shape: Shape = ['N', 2]): Uint8Array =>
  model({
    nodes: [node('Identity', { inputs: ['x'], outputs: ['y'] })],
    inputs: [value('x', element, shape)],
    outputs: [value('y', element, shape)],
  });

/** Asks the runtime for a tensor with as many numbers as the input says. */
export const allocator = (): Uint8Array =>
  model({
    nodes: [node('ConstantOfShape', { inputs: ['shape'], outputs: ['y'] })],
    inputs: [value('shape', ELEMENT.int64, [1])],
    outputs: [value('y', ELEMENT.float, ['N'])],
  });

/** Counts without end. */
export function endless(): Uint8Array {
  const body = graph({
    name: 'body',
    nodes: [
      node('Identity', { inputs: ['before'], outputs: ['after'] }),
      node('Add', { inputs: ['sum', 'sum'], outputs: ['next'] }),
    ],
    inputs: [value('turn', ELEMENT.int64, []), value('before', ELEMENT.bool, []), value('sum', ELEMENT.int64, [1])],
    outputs: [value('after', ELEMENT.bool, []), value('next', ELEMENT.int64, [1])],
  });
  return model({
    nodes: [node('Loop', { inputs: ['', 'goesOn', 'x'], outputs: ['y'], attributes: [graphAttribute('body', body)] })],
    inputs: [value('goesOn', ELEMENT.bool, []), value('x', ELEMENT.int64, [1])],
    outputs: [value('y', ELEMENT.int64, [1])],
  });
}
