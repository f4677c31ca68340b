import type { DataField } from './data-field.ts';
import { type Field, store } from './field.ts';
import { type MiningField, Treatment } from './mining-field.ts';
import type { Row } from './row.ts';
import { castInput } from './types.ts';

/** Puts the value that a record has for a field into the row. */
export interface Input {
  readonly name: string;
  load(row: Row, raw: unknown): void;
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
  const isPlain =
    data.valid.length === 0 &&
    data.intervals.length === 0 &&
    data.missingTexts.size === 0 &&
    data.invalidTexts.size === 0;
  if (field.type !== 'double' || takesCollections || !isPlain || mining.outliers !== 'asIs')
    return { name: field.name, load: general };
  return {
    name: field.name,
    load: (row, raw) => {
      // A number that is one: nothing is to be done with it. Slots of numbers never hold values, so there is none to take out.
      if (typeof raw === 'number' && raw === raw) row.numbers[slot] = raw;
      else general(row, raw);
    },
  };
}

/** The actual value of a target, which a record may hold, for residuals: what cannot be one is missing. */
export function makeTargetInput(field: Field): Input {
  const { slot, dictionary } = field;
  return {
    name: field.name,
    load: (row, raw) =>
      store(row, slot, raw === undefined || raw === null ? undefined : castInput(raw, field.type), dictionary),
  };
}
