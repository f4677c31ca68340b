/** The record of a model that the values of a measurement make. */
import type { DecodedMeasurement } from '../../ingest/measurements/record.ts';
import type { InputRecord } from '../pmml/engine.ts';
import type { Plan, PlannedInput } from './plan.ts';

export class InputReader {
  readonly #bySeries = new Map<string, PlannedInput[]>();
  readonly #count: number;
  readonly #allowsMissing: boolean;

  constructor({ inputs, allowsMissing }: Pick<Plan, 'inputs' | 'allowsMissing'>) {
    for (const input of inputs) this.#bySeries.set(input.series, [...(this.#bySeries.get(input.series) ?? []), input]);
    this.#count = inputs.length;
    this.#allowsMissing = allowsMissing;
  }

  /**
   * The first part of a mapping is the type of the measurement or the fragment of the value. Of values with equal names
   * the last one counts. @returns undefined where the measurement lacks a value that is needed.
   */
  read({ type, values }: Pick<DecodedMeasurement, 'type' | 'values'>): InputRecord | undefined {
    // Without a prototype: a field may be called `__proto__`.
    const record = Object.create(null) as Record<string, number>;
    let found = 0;
    for (const { fragment, series, value } of values) {
      const inputs = this.#bySeries.get(series);
      if (inputs === undefined) continue;
      for (const input of inputs) {
        if (input.type !== fragment && input.type !== type) continue;
        if (record[input.name] === undefined) found += 1;
        record[input.name] = value;
      }
    }
    return found === this.#count || (found > 0 && this.#allowsMissing) ? record : undefined;
  }
}
