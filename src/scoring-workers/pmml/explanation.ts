import type { TopModel } from './compile.ts';
import type { InputRecord } from './engine.ts';
import { asText, isTarget } from './fields/mining-field.ts';
import { InvalidRecord, type Row } from './fields/row.ts';
import { type DataType, textOf, type Value } from './fields/types.ts';
import type { Prediction } from './models/model.ts';

/** Lines of an explanation beside those of its results, and their characters: a large ensemble visits many nodes. */
const LINES_MAX = 100_000;
const CHARACTERS_MAX = 8 * 1_048_576;

/** Lines up to the bounds; then one that says that further ones are cut. */
export class Trace {
  readonly lines: string[] = [];
  #characters = 0;
  #isCut = false;

  line(text: string): void {
    if (this.#isCut) return;
    this.#characters += text.length;
    this.#isCut = this.lines.length >= LINES_MAX || this.#characters > CHARACTERS_MAX;
    this.lines.push(this.#isCut ? '… cut' : text);
  }
}

/**
 * How a record came to its result, in the line kinds of docs/spec/scoring.md#explanation. The record was evaluated just
 * before.
 */
export function explainRecord(given: {
  readonly top: TopModel;
  readonly row: Row;
  readonly record: InputRecord;
  readonly outputs: readonly {
    readonly name: string;
    readonly type: DataType | undefined;
    value(row: Row): Value | undefined;
  }[];
}): string {
  const { top, row, record } = given;
  const trace = new Trace();
  const fields = top.miningFields.filter((field) => !isTarget(field));
  for (const { name } of fields) {
    const raw = Object.hasOwn(record, name) ? record[name] : undefined;
    trace.line(
      `[${name}] := ${raw === undefined || raw === null ? 'missing' : asText(raw)} (${typeName(top.typeOf(name))})`,
    );
  }
  trace.line('');
  trace.line('[MiningSchema]');
  for (const field of fields) {
    const compiled = top.scope.find(field.name, field.element);
    if (compiled !== undefined) trace.line(`[${field.name}] := ${shownValue(compiled.value(row), compiled.type)}`);
  }
  trace.line('');
  for (const line of derivedLines(top, row)) trace.line(line);
  top.model.explain?.(row, trace);
  const results = [
    '',
    '[Output]',
    ...resultLines(top.model.prediction, top.model.target?.type),
    ...given.outputs.map(({ name, type, value }) => `[${name}] := ${shownValue(valueOf(value, row), type)}`),
  ];
  return `${trace.lines.join('\n')}\n${results.join('\n')}\n`;
}

/** Values of the derived fields of the model that it uses. */
function derivedLines({ derived, scope }: TopModel, row: Row): string[] {
  const fields = derived.flatMap((name) => scope.known(name) ?? []);
  if (fields.length === 0) return [];
  const lines = fields.map(({ name, type, value }) => `[${name}] := ${shownValue(valueOf(value, row), type)}`);
  return ['[LocalTransformations]', ...lines, ''];
}

/** What the model says by itself, whether its document has outputs for it or not. */
function resultLines(prediction: Prediction, type: DataType | undefined): string[] {
  const lines = [`The [predictedValue] is [${shownValue(prediction.value, type)}]`];
  if (prediction.display !== undefined) lines.push(`The [predictedDisplayValue] is [${prediction.display} (STRING)]`);
  const each = (name: string, numbers: Float64Array): void => {
    prediction.categories.forEach((category, i) => {
      const number = numbers[i] as number;
      if (!Number.isNaN(number))
        lines.push(`The [${name}] of [${shownValue(category, type)}] is [${shownValue(number, 'double')}]`);
    });
  };
  each('probability', prediction.probabilities);
  each('confidence', prediction.confidences);
  if (prediction.entityId !== undefined) lines.push(`The [entityId] is [${prediction.entityId} (STRING)]`);
  if (!Number.isNaN(prediction.affinity))
    lines.push(`The [affinity] is [${shownValue(prediction.affinity, 'double')}]`);
  prediction.reasonCodes.forEach((code, i) => {
    lines.push(`The [reasonCode] of rank [${i + 1}] is [${code} (STRING)]`);
  });
  return lines;
}

function valueOf(value: (row: Row) => Value | undefined, row: Row): Value | undefined {
  try {
    return value(row);
  } catch (error) {
    if (error instanceof InvalidRecord) return undefined;
    throw error;
  }
}

const typeName = (type: DataType | undefined): string => (type ?? 'string').toUpperCase();

/** `X (STRING)`; a real number with its point, as `1.0 (DOUBLE)`. */
function shownValue(value: Value | undefined, type: DataType | undefined): string {
  if (value === undefined) return `missing (${typeName(type)})`;
  const own = typeof value === 'string' ? 'string' : typeof value === 'boolean' ? 'boolean' : type;
  const isReal =
    typeof value === 'number' && (own === 'double' || own === 'float' || own === undefined || own === 'string');
  const text = isReal && Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : textOf(value, own);
  return `${text} (${isReal ? typeName(own === 'float' ? 'float' : 'double') : typeName(own)})`;
}
