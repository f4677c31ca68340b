/**
 * What onnxruntime does not tell about a model, read from the model's own bytes: versions, producer, types and shapes of
 * inputs and outputs. The same walk refuses what would reach outside of the model: tensors kept in other files.
 * docs/spec/scoring.md#onnx-models
 */
import type { Field } from './wire.ts';
import { WireError, WireReader, contentOf, intOf, intsOf, textOf } from './wire.ts';

/** A dimension: a fixed one, a free one with a name, or a free one without. */
export type Dimension = number | string | null;

export interface OnnxValue {
  readonly name: string;
  /** Absent where the model does not say it: any shape is taken. Empty for a single value, and for what is not a tensor. */
  readonly shape?: readonly Dimension[];
  /** As onnxruntime spells it: `tensor(float)`, `seq(map(int64,tensor(float)))`. */
  readonly type: string;
}

/** A ZipMap at the end of the graph: it pairs each column of its input with a label. */
export interface ZipMap {
  readonly output: string;
  readonly labels: readonly string[];
  /** False for whole numbers. Both become texts in JSON. */
  readonly isText: boolean;
  /** The node in the model's bytes. */
  readonly node: Field;
  readonly input: string;
}

export interface ModelHead {
  /** Of the graph; may be empty. */
  readonly name: string;
  readonly modelVersion: bigint;
  readonly irVersion: number;
  readonly opsets: readonly { readonly domain: string; readonly version: bigint }[];
  readonly producerName: string;
  readonly producerVersion: string;
  /** Without those that the model itself has a value for. */
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly zipMaps: readonly ZipMap[];
  /** Where the graph is in the bytes. */
  readonly graph: Field;
}

/** Graphs lie in one another: branches, loops, functions. onnxruntime's own parser ends at 100 messages. */
const DEPTH_MAX = 30;
/** Inputs, outputs, dimensions of a value; what is described is also answered and kept. */
const VALUES_MAX = 10_000;
const DIMENSIONS_MAX = 64;
const LABELS_MAX = 1_000_000;
/** Types lie in one another: a sequence of maps of tensors. */
const TYPE_DEPTH_MAX = 8;

/** TensorProto.DataType as onnxruntime names them. */
const ELEMENT_TYPES: readonly (string | undefined)[] = [
  undefined,
  'float',
  'uint8',
  'int8',
  'uint16',
  'int16',
  'int32',
  'int64',
  'string',
  'bool',
  'float16',
  'double',
  'uint32',
  'uint64',
  'complex64',
  'complex128',
  'bfloat16',
  'float8e4m3fn',
  'float8e4m3fnuz',
  'float8e5m2',
  'float8e5m2fnuz',
  'uint4',
  'int4',
  'float4e2m1',
];

/** The fields of the messages of ONNX that are read here, by their numbers in onnx.proto. */
const MODEL = {
  irVersion: 1,
  producerName: 2,
  producerVersion: 3,
  modelVersion: 5,
  graph: 7,
  opset: 8,
  training: 20,
  functions: 25,
};
const GRAPH = { node: 1, name: 2, initializer: 5, input: 11, output: 12, sparseInitializer: 15 };
const NODE = { input: 1, output: 2, operator: 4, attribute: 5, domain: 7 };
const ATTRIBUTE = {
  name: 1,
  tensor: 5,
  graph: 6,
  ints: 8,
  strings: 9,
  tensors: 10,
  graphs: 11,
  sparse: 22,
  sparses: 23,
};
const TENSOR = { name: 8, externalData: 13, dataLocation: 14 };
const FUNCTION_NODE = 7;
const EXTERNAL = 1n;

/**
 * Reads the head of a model.
 * @param bytes of the whole file; the places in the answer refer to it.
 * @throws WireError with a reason when this is not an ONNX model, or one that keeps tensors in other files.
 */
export function readModelHead(bytes: Uint8Array): ModelHead {
  let graph: Field | undefined;
  let irVersion = 0n;
  let modelVersion = 0n;
  let producerName = '';
  let producerVersion = '';
  const opsets: { domain: string; version: bigint }[] = [];
  for (const field of fieldsOf(new WireReader(bytes))) {
    if (field.number === MODEL.irVersion) irVersion = intOf(field);
    else if (field.number === MODEL.modelVersion) modelVersion = intOf(field);
    else if (field.number === MODEL.producerName) producerName = textOf(bytes, field);
    else if (field.number === MODEL.producerVersion) producerVersion = textOf(bytes, field);
    else if (field.number === MODEL.opset) opsets.push(opsetOf(bytes, field));
    else if (field.number === MODEL.graph) {
      if (graph !== undefined) throw new WireError('the model has two graphs');
      graph = field;
    } else if (field.number === MODEL.functions) checkNodes(bytes, field, FUNCTION_NODE, 1);
    else if (field.number === MODEL.training)
      throw new WireError('the model has parts for training, which are not taken');
  }
  if (graph === undefined || irVersion < 1n) throw new WireError('the model has no graph');
  return {
    ...readGraph(bytes, graph),
    irVersion: Number(irVersion),
    modelVersion,
    opsets,
    producerName,
    producerVersion,
    graph,
  };
}

function* fieldsOf(reader: WireReader): Generator<Field, void, undefined> {
  for (let field = reader.next(); field !== undefined; field = reader.next()) yield field;
}

function opsetOf(bytes: Uint8Array, opset: Field): { domain: string; version: bigint } {
  let domain = '';
  let version = 0n;
  for (const field of fieldsOf(contentOf(bytes, opset))) {
    if (field.number === 1) domain = textOf(bytes, field);
    else if (field.number === 2) version = intOf(field);
  }
  return { domain, version };
}

function readGraph(bytes: Uint8Array, graph: Field): Pick<ModelHead, 'name' | 'inputs' | 'outputs' | 'zipMaps'> {
  let name = '';
  const inputs: OnnxValue[] = [];
  const outputs: OnnxValue[] = [];
  const initialized = new Set<string>();
  const zipMaps: ZipMap[] = [];
  for (const field of fieldsOf(contentOf(bytes, graph))) {
    if (field.number === GRAPH.name) name = textOf(bytes, field);
    else if (field.number === GRAPH.input) inputs.push(valueOf(bytes, field));
    else if (field.number === GRAPH.output) outputs.push(valueOf(bytes, field));
    else if (field.number === GRAPH.initializer) initialized.add(checkTensor(bytes, field));
    else if (field.number === GRAPH.sparseInitializer) checkSparse(bytes, field);
    else if (field.number === GRAPH.node) {
      const zipMap = checkNode(bytes, field, 1);
      if (zipMap !== undefined) zipMaps.push(zipMap);
    }
    if (inputs.length > VALUES_MAX + initialized.size || outputs.length > VALUES_MAX)
      throw new WireError(`the graph has more than ${VALUES_MAX} inputs or outputs`);
  }
  const outputNames = new Set(outputs.map((output) => output.name));
  return {
    name,
    inputs: inputs.filter((input) => !initialized.has(input.name)),
    outputs,
    zipMaps: zipMaps.filter(({ output }) => outputNames.has(output)),
  };
}

function checkNodes(bytes: Uint8Array, message: Field, nodeNumber: number, depth: number): void {
  if (depth > DEPTH_MAX) throw new WireError(`graphs lie more than ${DEPTH_MAX} deep in one another`);
  for (const field of fieldsOf(contentOf(bytes, message))) {
    if (field.number === nodeNumber) checkNode(bytes, field, depth);
    else if (nodeNumber !== GRAPH.node) continue;
    else if (field.number === GRAPH.initializer) checkTensor(bytes, field);
    else if (field.number === GRAPH.sparseInitializer) checkSparse(bytes, field);
  }
}

/** Checks all tensors of a node. @returns what it is when it is a ZipMap. */
function checkNode(bytes: Uint8Array, node: Field, depth: number): ZipMap | undefined {
  let operator = '';
  let domain = '';
  const inputs: string[] = [];
  const outputs: string[] = [];
  const attributes: Field[] = [];
  for (const field of fieldsOf(contentOf(bytes, node))) {
    if (field.number === NODE.operator) operator = textOf(bytes, field);
    else if (field.number === NODE.domain) domain = textOf(bytes, field);
    else if (field.number === NODE.input && inputs.length === 0) inputs.push(textOf(bytes, field));
    else if (field.number === NODE.output && outputs.length === 0) outputs.push(textOf(bytes, field));
    else if (field.number === NODE.attribute) {
      checkAttribute(bytes, field, depth);
      attributes.push(field);
    }
  }
  if (operator !== 'ZipMap' || domain !== 'ai.onnx.ml' || inputs.length === 0 || outputs.length === 0) return undefined;
  return { input: inputs[0], output: outputs[0], node, ...labelsOf(bytes, attributes) };
}

function checkAttribute(bytes: Uint8Array, attribute: Field, depth: number): void {
  for (const field of fieldsOf(contentOf(bytes, attribute))) {
    if (field.number === ATTRIBUTE.tensor || field.number === ATTRIBUTE.tensors) checkTensor(bytes, field);
    else if (field.number === ATTRIBUTE.sparse || field.number === ATTRIBUTE.sparses) checkSparse(bytes, field);
    else if (field.number === ATTRIBUTE.graph || field.number === ATTRIBUTE.graphs)
      checkNodes(bytes, field, GRAPH.node, depth + 1);
  }
}

/** @returns the tensor's name. */
function checkTensor(bytes: Uint8Array, tensor: Field): string {
  let name = '';
  for (const field of fieldsOf(contentOf(bytes, tensor))) {
    if (field.number === TENSOR.name) name = textOf(bytes, field);
    else if (
      field.number === TENSOR.externalData ||
      (field.number === TENSOR.dataLocation && intOf(field) === EXTERNAL)
    )
      throw new WireError('the model keeps tensors in other files; save it as one file');
  }
  return name;
}

function checkSparse(bytes: Uint8Array, sparse: Field): void {
  for (const field of fieldsOf(contentOf(bytes, sparse))) {
    if (field.number === 1 || field.number === 2) checkTensor(bytes, field);
  }
}

function labelsOf(bytes: Uint8Array, attributes: readonly Field[]): Pick<ZipMap, 'labels' | 'isText'> {
  const texts: string[] = [];
  const numbers: string[] = [];
  for (const attribute of attributes) {
    for (const field of fieldsOf(contentOf(bytes, attribute))) {
      if (field.number === ATTRIBUTE.strings) texts.push(textOf(bytes, field));
      else if (field.number === ATTRIBUTE.ints) for (const value of intsOf(bytes, field)) numbers.push(String(value));
      if (texts.length + numbers.length > LABELS_MAX)
        throw new WireError(`a ZipMap has more than ${LABELS_MAX} labels`);
    }
  }
  return texts.length > 0 ? { labels: texts, isText: true } : { labels: numbers, isText: false };
}

function valueOf(bytes: Uint8Array, value: Field): OnnxValue {
  let name = '';
  let type: Pick<OnnxValue, 'type' | 'shape'> = { type: 'unknown' };
  for (const field of fieldsOf(contentOf(bytes, value))) {
    if (field.number === 1) name = textOf(bytes, field);
    else if (field.number === 2) type = typeOf(bytes, field, 0);
  }
  return { name, ...type };
}

/** The kinds of TypeProto by their numbers, and how a type of another kind within one is numbered. */
const TENSOR_TYPE = 1;
const SEQUENCE_TYPE = 4;
const MAP_TYPE = 5;
const SPARSE_TYPE = 8;
const OPTIONAL_TYPE = 9;

function typeOf(bytes: Uint8Array, type: Field, depth: number): Pick<OnnxValue, 'type' | 'shape'> {
  if (depth > TYPE_DEPTH_MAX) throw new WireError(`types lie more than ${TYPE_DEPTH_MAX} deep in one another`);
  for (const field of fieldsOf(contentOf(bytes, type))) {
    if (field.number === TENSOR_TYPE) return tensorTypeOf(bytes, field, 'tensor');
    if (field.number === SPARSE_TYPE) return tensorTypeOf(bytes, field, 'sparse_tensor');
    if (field.number === SEQUENCE_TYPE) return { type: `seq(${innerType(bytes, field, 1, depth)})`, shape: [] };
    if (field.number === OPTIONAL_TYPE) return { type: `optional(${innerType(bytes, field, 1, depth)})`, shape: [] };
    if (field.number === MAP_TYPE) {
      const key = [...fieldsOf(contentOf(bytes, field))].find(({ number }) => number === 1);
      const keyType = key === undefined ? 'unknown' : elementType(intOf(key));
      return { type: `map(${keyType},${innerType(bytes, field, 2, depth)})`, shape: [] };
    }
  }
  return { type: 'unknown' };
}

function innerType(bytes: Uint8Array, type: Field, number: number, depth: number): string {
  for (const field of fieldsOf(contentOf(bytes, type))) {
    if (field.number === number) return typeOf(bytes, field, depth + 1).type;
  }
  return 'unknown';
}

function tensorTypeOf(bytes: Uint8Array, tensor: Field, kind: string): Pick<OnnxValue, 'type' | 'shape'> {
  let type = 'unknown';
  let shape: Dimension[] | undefined;
  for (const field of fieldsOf(contentOf(bytes, tensor))) {
    if (field.number === 1) type = elementType(intOf(field));
    else if (field.number === 2) shape = shapeOf(bytes, field);
  }
  return { type: `${kind}(${type})`, ...(shape === undefined ? {} : { shape }) };
}

const elementType = (value: bigint): string => ELEMENT_TYPES[Number(value)] ?? `unknown ${value}`;

function shapeOf(bytes: Uint8Array, shape: Field): Dimension[] {
  const dimensions: Dimension[] = [];
  for (const field of fieldsOf(contentOf(bytes, shape))) {
    if (field.number !== 1) continue;
    let dimension: Dimension = null;
    for (const part of fieldsOf(contentOf(bytes, field))) {
      if (part.number === 1) dimension = Number(intOf(part));
      else if (part.number === 2) dimension = textOf(bytes, part) || null;
    }
    // Some exporters write a free dimension as -1.
    dimensions.push(typeof dimension === 'number' && dimension < 0 ? null : dimension);
    if (dimensions.length > DIMENSIONS_MAX) throw new WireError(`a shape has more than ${DIMENSIONS_MAX} dimensions`);
  }
  return dimensions;
}
