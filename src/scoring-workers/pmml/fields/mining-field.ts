import { type Element, PmmlError } from '../document/element.ts';
import type { DataField } from './data-field.ts';
import { InvalidRecord } from './row.ts';
import { castInput, castText, type DataType, type OpType, textOf, type Value } from './types.ts';
import { opTypeOf } from './data-field.ts';

export const USAGES = [
  'active',
  'predicted',
  'target',
  'supplementary',
  'group',
  'order',
  'frequencyWeight',
  'analysisWeight',
] as const;

export type Usage = (typeof USAGES)[number];

/** A field of a MiningSchema: how a model uses it and what it does with missing, invalid and outlying values. */
export interface MiningField {
  readonly element: Element;
  readonly name: string;
  readonly usage: Usage;
  readonly optype: OpType | undefined;
  readonly outliers: 'asIs' | 'asMissingValues' | 'asExtremeValues';
  readonly low: number;
  readonly high: number;
  readonly missingReplacement: string | undefined;
  readonly isMissingInvalid: boolean;
  readonly invalid: 'returnInvalid' | 'asIs' | 'asMissing' | 'asValue';
  readonly invalidReplacement: string | undefined;
}

export function readMiningField(element: Element): MiningField {
  const missing = element.oneOf(
    'missingValueTreatment',
    ['asIs', 'asMean', 'asMode', 'asMedian', 'asValue', 'returnInvalid', 'x-returnInvalid'] as const,
    'asIs',
  );
  const invalid = element.oneOf(
    'invalidValueTreatment',
    ['returnInvalid', 'asIs', 'asMissing', 'asValue'] as const,
    'returnInvalid',
  );
  const invalidReplacement =
    element.attribute('invalidValueReplacement') ?? element.attribute('x-invalidValueReplacement');
  return {
    element,
    name: element.required('name'),
    usage: element.oneOf('usageType', USAGES, 'active'),
    optype: opTypeOf(element),
    outliers: element.oneOf('outliers', ['asIs', 'asMissingValues', 'asExtremeValues'] as const, 'asIs'),
    low: element.number('lowValue', Number.NEGATIVE_INFINITY),
    high: element.number('highValue', Number.POSITIVE_INFINITY),
    missingReplacement: element.attribute('missingValueReplacement'),
    isMissingInvalid: missing === 'returnInvalid' || missing === 'x-returnInvalid',
    // Before PMML 4.4 a replacement beside `asIs` said what `asValue` says.
    invalid: invalid === 'asIs' && invalidReplacement !== undefined ? 'asValue' : invalid,
    invalidReplacement,
  };
}

export const isTarget = (field: MiningField): boolean => field.usage === 'predicted' || field.usage === 'target';

/** Whether a model that is in another one changes what it takes over. */
export function changesValues(field: MiningField): boolean {
  return (
    field.outliers !== 'asIs' ||
    field.missingReplacement !== undefined ||
    field.isMissingInvalid ||
    field.element.attribute('invalidValueTreatment') === 'asMissing' ||
    field.invalid === 'asValue'
  );
}

/**
 * What a mining field makes of values, in the order of the standard: missing marks, invalid values, outliers, replacement
 * of missing ones.
 */
export class Treatment {
  readonly #data: DataField | undefined;
  readonly #field: MiningField;
  readonly #type: DataType;
  readonly #missing: Value | undefined;
  readonly #invalid: Value | undefined;

  /** @throws PmmlError where a replacement is not of the field's type */
  constructor(field: MiningField, type: DataType, data: DataField | undefined) {
    this.#field = field;
    this.#type = type;
    this.#data = data;
    this.#missing = replacement(field, 'missingValueReplacement', field.missingReplacement, type);
    this.#invalid = replacement(field, 'invalidValueReplacement', field.invalidReplacement, type);
    if (field.invalid === 'asValue' && this.#invalid === undefined)
      throw new PmmlError(
        field.element,
        "'invalidValueTreatment' is 'asValue', but 'invalidValueReplacement' is missing",
      );
  }

  /**
   * A value as it came in.
   *
   * @throws InvalidRecord where the model is not to be applied to such a record
   */
  ofInput(raw: unknown): Value | undefined {
    if (raw === undefined || raw === null) return this.ofMissing();
    if (isDeeper(raw, NESTING_MAX)) return this.ofInvalid(undefined, raw);
    if (Array.isArray(raw)) return this.#ofCollection(raw);
    const data = this.#data;
    const value = castInput(raw, this.#type);
    if (data === undefined) return value === undefined ? this.ofInvalid(value, raw) : this.#ofValue(value, raw, true);
    const mark = value ?? asText(raw);
    if (data.missing.size > 0 && data.missing.has(mark)) return this.ofMissing();
    if (value === undefined) return this.ofInvalid(value, raw);
    return this.#ofValue(value, raw, !data.invalid.has(mark) && data.isValid(value));
  }

  #ofValue(value: Value, raw: unknown, isValid: boolean): Value | undefined {
    return isValid && !(typeof value === 'number' && Number.isNaN(value))
      ? this.ofOutlier(value)
      : this.ofInvalid(value, raw);
  }

  /**
   * Each value is treated alone; those that are missing are left out, and those that are not declared stay. Values that come
   * together are lists of their own.
   */
  #ofCollection(raw: readonly unknown[]): Value {
    const values: Value[] = [];
    for (const one of raw) {
      if (one === null || one === undefined) continue;
      const value = Array.isArray(one) ? this.#ofCollection(one) : this.#ofMember(one);
      if (value !== undefined) values.push(value);
    }
    return values;
  }

  #ofMember(raw: unknown): Value | undefined {
    const value = castInput(raw, this.#type);
    if (value === undefined || this.#field.invalid !== 'returnInvalid') return this.ofInput(raw);
    return this.#data?.missing.has(value) === true ? this.ofMissing() : this.ofOutlier(value);
  }

  ofInvalid(value: Value | undefined, raw: unknown): Value | undefined {
    switch (this.#field.invalid) {
      case 'asIs':
        // What is not of the type cannot be kept as it is.
        return value === undefined || (typeof value === 'number' && Number.isNaN(value))
          ? this.ofMissing()
          : this.ofOutlier(value);
      case 'asMissing':
        return this.ofMissing();
      case 'asValue':
        return this.#invalid;
      default:
        throw new InvalidRecord(`${this.#field.name}: '${asText(raw)}' is not a valid value`);
    }
  }

  ofOutlier(value: Value): Value | undefined {
    const field = this.#field;
    if (field.outliers === 'asIs' || typeof value !== 'number') return value;
    if (value >= field.low && value <= field.high) return value;
    if (field.outliers === 'asMissingValues') return this.ofMissing();
    return value < field.low ? field.low : field.high;
  }

  ofMissing(): Value | undefined {
    if (this.#field.isMissingInvalid) throw new InvalidRecord(`${this.#field.name}: the value is missing`);
    return this.#missing;
  }

  /** A value that a model around this one has prepared already. */
  ofPrepared(value: Value | undefined): Value | undefined {
    if (value === undefined) return this.ofMissing();
    const data = this.#data;
    if (
      data !== undefined &&
      this.#field.invalid !== 'returnInvalid' &&
      this.#field.invalid !== 'asIs' &&
      !data.isValid(value)
    )
      return this.ofInvalid(value, value);
    return this.ofOutlier(value);
  }
}

function replacement(field: MiningField, name: string, text: string | undefined, type: DataType): Value | undefined {
  if (text === undefined) return undefined;
  const value = castText(text, type === 'integer' ? 'double' : type);
  if (value === undefined) throw new PmmlError(field.element, `'${name}' is '${text}', which is no ${type}`);
  return value;
}

/** Of a value of a record; a request may nest thousands. */
const NESTING_MAX = 64;

function isDeeper(value: unknown, steps: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return steps === 0 || Object.values(value).some((one) => isDeeper(one, steps - 1));
}

/** A value of a record as messages and explanations show it. */
export function asText(raw: unknown): string {
  if (isDeeper(raw, NESTING_MAX)) return `(nested deeper than ${NESTING_MAX})`;
  if (typeof raw === 'string') return raw;
  if (typeof raw === 'number' || typeof raw === 'boolean') return textOf(raw, undefined);
  return raw === undefined ? 'undefined' : (JSON.stringify(raw) ?? 'undefined');
}
