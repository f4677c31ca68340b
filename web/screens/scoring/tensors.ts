/** Tensors of ONNX models: what a form shows of an input, and what is sent for its text. */

export interface Tensor {
  readonly name: string;
  /** A free dimension is its name, or null; a shape that the model does not say is null. */
  readonly shape: readonly (number | string | null)[] | null;
  /** `tensor(float)`. */
  readonly type: string;
}

export interface OnnxModel {
  readonly modelName: string;
  readonly modelVersion: number | string;
  readonly onnxVersion: string;
  readonly opsetVersions: readonly string[];
  readonly producerName: string;
  readonly producerVersion: string;
  readonly isActive: boolean;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

/** A text that is not a tensor, of this input. */
export class TensorError extends Error {
  readonly input: string;

  constructor(input: string) {
    super(input);
    this.input = input;
  }
}

/** Values that a form is filled with at the beginning; larger tensors begin empty. */
const FILLED_MAX = 64;

export const shapeText = ({ shape }: Tensor): string =>
  shape === null ? '' : `[${shape.map((size) => size ?? '?').join(', ')}]`;

/** A tensor of the shape as JSON, with 1 for free dimensions; '' where that is too long for a form. */
export function exampleOf({ shape, type }: Tensor): string {
  if (shape === null) return '';
  const sizes = shape.map((size) => (typeof size === 'number' ? size : 1));
  if (sizes.reduce((product, size) => product * size, 1) > FILLED_MAX) return '';
  const one: unknown = type.includes('string') ? '' : type.includes('bool') ? false : 0;
  const filled = (level: number): unknown =>
    level === sizes.length ? one : Array.from({ length: sizes[level] }, () => filled(level + 1));
  return JSON.stringify(filled(0));
}

/**
 * The body of a request: JSON texts as they were written, so that numbers keep their digits; values without brackets as a
 * list, or as rows with one line each. @throws TensorError.
 */
export function bodyOf(inputs: readonly Tensor[], texts: Readonly<Record<string, string>>): string {
  const members = inputs.map((input) => `${JSON.stringify(input.name)}:${jsonOf(input, texts[input.name] ?? '')}`);
  return `{${members.join()}}`;
}

function jsonOf({ name, shape, type }: Tensor, text: string): string {
  const trimmed = text.trim();
  try {
    JSON.parse(trimmed);
    // A single number may still be a list of one.
    if (trimmed.startsWith('[') || shape?.length === 0 || shape === null) return trimmed;
  } catch {
    if (trimmed === '' || trimmed.startsWith('[')) throw new TensorError(name);
  }
  const rank = shape?.length ?? 1;
  const rows = trimmed.split('\n').map((line) => `[${valuesOf(name, type, line)}]`);
  if (rank === 2) return `[${rows.join()}]`;
  if (rank > 2 || rows.length > 1) throw new TensorError(name);
  return rank === 1 ? rows[0] : valuesOf(name, type, trimmed);
}

/** Values of a line, between commas or blanks; texts between commas. */
function valuesOf(name: string, type: string, line: string): string {
  if (type.includes('string'))
    return line
      .split(',')
      .map((one) => JSON.stringify(one.trim()))
      .join();
  const parts = line.split(/[\s,;]+/).filter((part) => part !== '');
  for (const part of parts)
    if (!/^(?:true|false|[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/i.test(part)) throw new TensorError(name);
  return parts.map((part) => (/^[tf]/i.test(part) ? part.toLowerCase() : numberText(part))).join();
}

/** A number as JSON writes it. */
const numberText = (part: string): string =>
  /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(part) ? part : String(Number(part));

/** Names of the values of a row, as bindings map them: `x` of the shape [N], `x[0]` and on of [N, 3]. */
export const columnsOf = (tensors: readonly Tensor[]): readonly string[] =>
  tensors.flatMap(({ name, shape }) => {
    const width = shape?.length === 2 ? shape[1] : undefined;
    return typeof width === 'number' ? Array.from({ length: width }, (_, index) => `${name}[${index}]`) : [name];
  });
