/**
 * One ONNX model in the memory of this process: described, applied, released. Runs in a worker process only: the
 * runtime computes on the calling thread, and a hostile model may end the process.
 */
import type { InferenceSession as Session } from 'onnxruntime-node';
import { columnOf, isColumnOf, requireNarrow } from './columns.ts';
import type { ElementType } from './elements.ts';
import type { ModelHead, OnnxValue, ZipMap } from './model-head.ts';
import { readModelHead } from './model-head.ts';
import type { OnnxInput, TensorValue } from './tensors.ts';
import { ELEMENTS_MAX, InputError, elementTypeOf, nestedOf, rowsOf, shortText, tensorOf } from './tensors.ts';
import { WireError } from './wire.ts';
import { withoutZipMaps } from './without-zip-maps.ts';

/** The file is not a model that can be loaded; the text says why. */
export class ModelError extends Error {}

/** What of a model is kept beside its file. */
export interface OnnxDescription {
  /** The name of the graph; may be empty. */
  readonly name: string;
  readonly modelVersion: number | string;
  readonly irVersion: number;
  readonly opsetVersions: readonly string[];
  readonly producerName: string;
  readonly producerVersion: string;
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
}

/** An output for a script: the array with its type and shape; without these where it is not a tensor. */
export interface ScriptOutput {
  readonly name: string;
  readonly type?: string;
  readonly shape?: readonly number[];
  readonly data: unknown;
}

interface OnnxOutput {
  readonly name: string;
  readonly elementType: ElementType;
  readonly zipMap: ZipMap | undefined;
}
interface OnnxResult {
  readonly output: OnnxOutput;
  readonly value: TensorValue;
}

/** `run` sees names as properties of plain objects. */
const FORBIDDEN_NAME = '__proto__';
/** Names of inputs that a message shows. */
const SHOWN_NAMES_MAX = 20;
const DESCRIBED_TEXT_LENGTH_MAX = 1_000;

/** Loaded on first use: 50 MB, and 0.1 s and more. */
let runtime: Promise<typeof import('onnxruntime-node')> | undefined;

export function loadRuntime(): Promise<typeof import('onnxruntime-node')> {
  // Tensors of halves are bits here: the binding does not know the array that Node 24 has for them.
  Reflect.deleteProperty(globalThis, 'Float16Array');
  runtime ??= import('onnxruntime-node').catch((error: unknown) => {
    runtime = undefined;
    throw new Error(
      `onnxruntime-node cannot be loaded on ${process.platform} ${process.arch}: ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  return runtime;
}

export class OnnxModel {
  readonly #head: ModelHead;
  readonly #session: Session;
  readonly #tensor: typeof import('onnxruntime-node')['Tensor'];
  readonly #inputs: ReadonlyMap<string, OnnxInput>;
  readonly #outputs: readonly OnnxOutput[];
  readonly #outputNames: readonly string[];

  private constructor(head: ModelHead, session: Session, tensor: typeof import('onnxruntime-node')['Tensor']) {
    this.#head = head;
    this.#session = session;
    this.#tensor = tensor;
    this.#inputs = new Map(head.inputs.map((input) => [input.name, { ...input, elementType: requiredTypeOf(input) }]));
    this.#outputs = head.outputs.map((output) => {
      const zipMap = head.zipMaps.find((one) => one.output === output.name);
      return { name: output.name, elementType: requiredTypeOf(zipMap === undefined ? output : ZIP_MAPPED), zipMap };
    });
    this.#outputNames = head.outputs.map(({ name }) => name);
  }

  /** @throws ModelError for bytes that are not a model, or one that the runtime does not take. */
  static async load(bytes: Uint8Array): Promise<OnnxModel> {
    const head = readHead(bytes);
    const { InferenceSession, Tensor } = await loadRuntime();
    let session: Session;
    try {
      session = await InferenceSession.create(withoutZipMaps(bytes, head), {
        intraOpNumThreads: 1,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        graphOptimizationLevel: 'all',
        // An arena keeps what the largest run took.
        enableCpuMemArena: false,
        // Faults only: what a model makes the runtime write does not belong into the server's log.
        logSeverityLevel: 4,
      });
    } catch (error) {
      throw new ModelError(reasonOf(error));
    }
    return new OnnxModel(head, session, Tensor);
  }

  describe(): OnnxDescription {
    const { name, modelVersion, irVersion, opsets, producerName, producerVersion, inputs, outputs } = this.#head;
    const version = Number(modelVersion);
    return {
      name,
      modelVersion: Number.isSafeInteger(version) ? version : String(modelVersion),
      irVersion,
      opsetVersions: [...new Set(opsets.map((opset) => `${opset.domain || 'ai.onnx'} v${opset.version}`))],
      producerName: producerName.slice(0, DESCRIBED_TEXT_LENGTH_MAX),
      producerVersion: producerVersion.slice(0, DESCRIBED_TEXT_LENGTH_MAX),
      inputs,
      outputs,
    };
  }

  /**
   * Computes all outputs, in the order of the graph.
   * @param body an object from the names of the inputs to nested arrays.
   * @throws InputError when the body does not fit the inputs, or the runtime refuses the values.
   */
  async apply(body: unknown): Promise<readonly OnnxResult[]> {
    const feeds = this.#feedsOf(body);
    let results: Awaited<ReturnType<Session['run']>>;
    try {
      results = await this.#session.run(feeds as Parameters<Session['run']>[0], this.#outputNames);
    } catch (error) {
      throw new InputError(reasonOf(error));
    }
    let elements = 0;
    return this.#outputs.map((output) => {
      const { type: runtimeName, data, dims, size } = results[output.name];
      elements += size;
      if (elements > ELEMENTS_MAX) throw new InputError(`The outputs have more than ${ELEMENTS_MAX} elements.`);
      if (output.elementType.runtimeName !== runtimeName)
        throw new InputError(`The output '${output.name}' came with elements of the type ${runtimeName}.`);
      return { output, value: { type: output.elementType, data: data as TensorValue['data'], dims } };
    });
  }

  /** The answer of `apply` as JSON: an object from the names of the outputs to nested arrays. */
  async applyToJson(body: unknown): Promise<string> {
    const results = await this.apply(body);
    const members = results.map((result) => `${JSON.stringify(result.output.name)}:${JSON.stringify(jsonOf(result))}`);
    return `{${members.join(',')}}`;
  }

  /**
   * Values of single outputs and columns as JSON: an object from the names to a value for each row.
   * @throws InputError also for rows that are too wide
   */
  async applyToColumns(body: unknown, names: readonly string[]): Promise<string> {
    const columns = Object.create(null) as Record<string, unknown[] | null>;
    for (const result of await this.apply(body)) {
      const { name: output } = result.output;
      const wanted = names.filter((name) => isColumnOf(name, output));
      if (wanted.length === 0) continue;
      requireNarrow(output, result.value.dims);
      const rows = jsonOf(result);
      for (const name of wanted) columns[name] = columnOf(rows, name.slice(output.length));
    }
    return JSON.stringify(columns);
  }

  /** The answer of `apply` for a script. */
  async applyToScript(body: unknown): Promise<ScriptOutput[]> {
    return (await this.apply(body)).map((result) => {
      const { output, value } = result;
      const shown = output.zipMap === undefined ? { type: value.type.runtimeName, shape: value.dims } : {};
      return { name: output.name, ...shown, data: jsonOf(result) };
    });
  }

  async release(): Promise<void> {
    await this.#session.release();
  }

  #feedsOf(body: unknown): Record<string, unknown> {
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw new InputError(`The body is not an object of the inputs ${this.#inputNames()}.`);
    const unknown = Object.keys(body).find((name) => !this.#inputs.has(name));
    if (unknown !== undefined)
      throw new InputError(`The model has no input ${shortText(unknown)}; its inputs are ${this.#inputNames()}.`);
    const feeds: Record<string, unknown> = {};
    const free = new Map<string, number>();
    for (const [name, input] of this.#inputs) {
      if (!Object.hasOwn(body, name))
        throw new InputError(`The input '${name}' is missing; the inputs are ${this.#inputNames()}.`);
      const { type, data, dims } = tensorOf(input, (body as Record<string, unknown>)[name], free);
      feeds[name] = new this.#tensor(type.runtimeName as 'float32', data as Float32Array, dims);
    }
    return feeds;
  }

  #inputNames(): string {
    const names = [...this.#inputs.keys()];
    const shown = names.slice(0, SHOWN_NAMES_MAX).map((name) => `'${name}'`);
    return `${shown.join(', ')}${names.length > shown.length ? ', …' : ''}`;
  }
}

const jsonOf = ({ output: { zipMap }, value }: OnnxResult): unknown =>
  zipMap === undefined ? nestedOf(value) : rowsOf(zipMap, value);

/** What a ZipMap pairs with its labels. */
const ZIP_MAPPED = { name: '', type: 'tensor(float)' };

/** `readHead` has refused values of other types. */
function requiredTypeOf(value: OnnxValue): ElementType {
  const type = elementTypeOf(value);
  if (type === undefined) throw new Error(`the value ${value.name} has the type ${value.type}`);
  return type;
}

function readHead(bytes: Uint8Array): ModelHead {
  try {
    const head = readModelHead(bytes);
    const zipMapped = new Set(head.zipMaps.map(({ output }) => output));
    for (const value of [...head.inputs, ...head.outputs]) {
      if (value.name === FORBIDDEN_NAME) throw new ModelError(`the model has a value with the name ${FORBIDDEN_NAME}`);
      if (elementTypeOf(value) === undefined && !zipMapped.has(value.name))
        throw new ModelError(
          `the value '${value.name}' has the type ${value.type}; inputs and outputs are tensors of numbers, booleans or texts, and outputs also what ZipMap makes`,
        );
    }
    return head;
  } catch (error) {
    throw error instanceof WireError ? new ModelError(error.message) : error;
  }
}

const REASON_LENGTH_MAX = 500;

/** The runtime throws texts and errors; some name files of its own build. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\/\S*?\/([\w.-]+\.(?:cc|h)(?::\d+)?)/g, '$1').slice(0, REASON_LENGTH_MAX);
}
