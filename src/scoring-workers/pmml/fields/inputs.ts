import type { DataField } from './data-field.ts';
import { type Field, store } from './field.ts';
import { type MiningField, Treatment } from './mining-field.ts';
import { InvalidRecord, type Row } from './row.ts';
import { castInput } from './types.ts';

/** Puts the value that a record has for a field into the row. */
export interface Input {
  readonly name: string;
  /** Where a number goes as it is, without a look at what it means; undefined where there is more to do. */
  readonly plainSlot?: number;
  load(row: Row, raw: unknown): void;
  /** Leaves the field without a value. */
  clear(row: Row): void;
}

/**
 * @param takesCollections whether the model works on collections; others take an array of one value for that value
 * @throws PmmlError where the mining field is not what its data field allows
 */
export function makeInput(field: Field, mining: MiningField, data: DataField, takesCollections: boolean): Input {
  const treatment = new Treatment(mining, field.type, data);
  const { slot, dictionary } = field;
  const general = (row: Row, raw: unknown): void => {
    const given = Array.isArray(raw) && raw.length === 1 && !takesCollections ? raw[0] : raw;
    store(row, slot, treatment.ofInput(given), dictionary);
  };
  const clear = (row: Row): void => store(row, slot, undefined, dictionary);
  const isPlain =
    data.valid.length === 0 && data.intervals.length === 0 && data.missing.size === 0 && data.invalid.size === 0;
  if (field.type !== 'double' || takesCollections || !isPlain || mining.outliers !== 'asIs')
    return { name: field.name, load: general, clear };
  return { name: field.name, plainSlot: slot, load: general, clear };
}

/** Inputs of one generated function: a longer one is not optimised. */
const INPUTS_OF_FUNCTION = 100;

/** Puts the values that a record has into a row. */
export type Loader = (row: Row, record: Readonly<Record<string, unknown>>) => void;

/**
 * A function that reads every input of a record. It is generated, so that each member has a place of its own in the code: a
 * loop over names reads members ten times slower. Names stand in it as JSON texts and nothing else of the document does.
 */
export function makeLoader(inputs: readonly Input[]): Loader {
  const parts: Loader[] = [];
  for (let at = 0; at < inputs.length; at += INPUTS_OF_FUNCTION)
    parts.push(loaderOf(inputs.slice(at, at + INPUTS_OF_FUNCTION)));
  const [first] = parts;
  if (first !== undefined && parts.length === 1)
    return (row, record) => {
      if (row.collections.length > 0) row.dropCollections();
      first(row, record);
    };
  return (row, record) => {
    if (row.collections.length > 0) row.dropCollections();
    for (let i = 0; i < parts.length; i++) (parts[i] as Loader)(row, record);
  };
}

/** Loads what a record has that is refused; inputs that refuse it are without a value. */
export function loadRefused(inputs: readonly Input[], row: Row, record: Readonly<Record<string, unknown>>): void {
  row.dropCollections();
  for (const input of inputs)
    try {
      input.load(row, Object.hasOwn(record, input.name) ? record[input.name] : undefined);
    } catch (error) {
      if (!(error instanceof InvalidRecord)) throw error;
      input.clear(row);
    }
}

/** A text as it may stand in generated code. */
export function literal(text: string): string {
  return JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

function loaderOf(inputs: readonly Input[]): Loader {
  const lines = inputs.map(({ name, plainSlot }, i) => {
    const member = literal(name);
    // Names that every object has by its prototype are read only where the record holds them itself.
    const read =
      name in Object.prototype
        ? `Object.hasOwn(record, ${member}) ? record[${member}] : undefined`
        : `record[${member}]`;
    const load = `inputs[${i}].load(row, value);`;
    return plainSlot === undefined
      ? `value = ${read}; ${load}`
      : `value = ${read}; if (typeof value === 'number' && value === value) numbers[${plainSlot}] = value; else ${load}`;
  });
  const body = `'use strict'; return (row, record) => { const numbers = row.numbers; let value; ${lines.join('\n')} };`;
  return new Function('inputs', body)(inputs) as Loader;
}

/** The actual value of a target, which a record may hold, for residuals: what cannot be one is missing. */
export function makeTargetInput(field: Field): Input {
  const { slot, dictionary } = field;
  return {
    name: field.name,
    load: (row, raw) =>
      store(row, slot, raw === undefined || raw === null ? undefined : castInput(raw, field.type), dictionary),
    clear: (row) => store(row, slot, undefined, dictionary),
  };
}
