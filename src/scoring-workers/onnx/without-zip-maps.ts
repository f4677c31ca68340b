/**
 * A model whose ZipMaps hand on the tensor that they would pair with labels: onnxruntime-node returns tensors only, so
 * the pairs are made here, from the labels that `readModelHead` found. docs/spec/scoring.md#onnx-models
 */
import type { ModelHead } from './model-head.ts';
import { WireReader, WireWriter, contentOf, textOf } from './wire.ts';

const MODEL_GRAPH = 7;
const MODEL_OPSET = 8;
const GRAPH_OUTPUT = 12;
/** Knows Identity for all types; used where the model names no version for the main operators. */
const IDENTITY_OPSET = 13;
const TENSOR_OF_FLOATS = 1;

/** @returns the same bytes when the model has no ZipMap among its outputs; else a copy. */
export function withoutZipMaps(bytes: Uint8Array, head: ModelHead): Uint8Array {
  if (head.zipMaps.length === 0) return bytes;
  const model = new WireWriter();
  const graph = graphWithoutZipMaps(bytes, head);
  const reader = new WireReader(bytes);
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    if (field.number === MODEL_GRAPH) model.message(MODEL_GRAPH, graph);
    else model.raw(bytes.subarray(field.start, field.end));
  }
  const knowsIdentity = head.opsets.some(({ domain }) => domain === '' || domain === 'ai.onnx');
  if (!knowsIdentity) model.message(MODEL_OPSET, new WireWriter().text(1, '').int(2, IDENTITY_OPSET));
  return model.join();
}

function graphWithoutZipMaps(bytes: Uint8Array, head: ModelHead): WireWriter {
  const graph = new WireWriter();
  const byStart = new Map(head.zipMaps.map((zipMap) => [zipMap.node.start, zipMap]));
  const outputs = new Set(head.zipMaps.map(({ output }) => output));
  const reader = contentOf(bytes, head.graph);
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    const zipMap = byStart.get(field.start);
    if (zipMap !== undefined) {
      graph.message(1, new WireWriter().text(1, zipMap.input).text(2, zipMap.output).text(4, 'Identity'));
      continue;
    }
    const name = field.number === GRAPH_OUTPUT ? nameOfValue(bytes, field) : undefined;
    if (name === undefined || !outputs.has(name)) {
      graph.raw(bytes.subarray(field.start, field.end));
      continue;
    }
    const tensor = new WireWriter().int(1, TENSOR_OF_FLOATS);
    graph.message(GRAPH_OUTPUT, new WireWriter().text(1, name).message(2, new WireWriter().message(1, tensor)));
  }
  return graph;
}

function nameOfValue(bytes: Uint8Array, value: Parameters<typeof contentOf>[1]): string {
  const reader = contentOf(bytes, value);
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    if (field.number === 1) return textOf(bytes, field);
  }
  return '';
}
