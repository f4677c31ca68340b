/** What a task predicted, for the metrics of the model (docs/spec/scoring.md#metrics). */
import type { ScoringModel } from '../pmml/engine.ts';
import type { PredictionCounts } from '../protocol.ts';

/** Classes that are counted by name; further ones are counted together. */
const CLASSES_MAX = 1_000;
const FURTHER = 'others';

export class CountedPredictions {
  readonly #classes = new Map<string, number>();
  readonly #numbers: number[] = [];
  readonly #counts: (model: ScoringModel) => void;

  constructor({ information: { functionName } }: ScoringModel) {
    if (functionName === 'classification') this.#counts = (model) => this.#countClass(model.lastPrediction());
    else if (functionName === 'regression') this.#counts = (model) => this.#countNumber(model.lastPrediction());
    else this.#counts = () => undefined;
  }

  /** The record that the model scored last. */
  add(model: ScoringModel): void {
    this.#counts(model);
  }

  get counts(): PredictionCounts {
    return { classes: [...this.#classes], numbers: Float64Array.from(this.#numbers) };
  }

  #countClass(predicted: string | number | boolean | undefined): void {
    if (predicted === undefined) return;
    const text = String(predicted);
    const name = this.#classes.has(text) || this.#classes.size < CLASSES_MAX ? text : FURTHER;
    this.#classes.set(name, (this.#classes.get(name) ?? 0) + 1);
  }

  #countNumber(predicted: string | number | boolean | undefined): void {
    if (typeof predicted === 'number' && !Number.isNaN(predicted)) this.#numbers.push(predicted);
  }
}
