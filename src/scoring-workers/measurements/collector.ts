/** Gathers what a model makes of the measurements of one task. */
import { keyAt, modeAt, OFFSET_TIME } from '../../ingest/journal/record-layout.ts';
import type { OutputRecord } from '../pmml/engine.ts';
import { type MeasuredInRoom, type OutputValue, type Plan, TEXT_CHARACTERS_MAX } from './plan.ts';
import { PredictionWriter } from './prediction-writer.ts';

const NO_RECORDS = new Uint8Array();

export class Collector {
  readonly #plan: Plan;
  readonly #writer: PredictionWriter | undefined;
  readonly #sources: number[] = [];
  readonly #times: number[] = [];
  readonly #modes: number[] = [];
  readonly #events: OutputValue[] = [];
  readonly #alarms: OutputValue[] = [];
  #scored = 0;
  #incomplete = 0;
  #refused = 0;
  #tooLarge = 0;

  /** @param room see PredictionWriter */
  constructor(plan: Plan, room?: Uint8Array) {
    this.#plan = plan;
    this.#writer = plan.measurement === undefined ? undefined : new PredictionWriter(plan.measurement, room);
  }

  /** A measurement lacks a value that the model needs. */
  addIncomplete(): void {
    this.#incomplete += 1;
  }

  /** A measurement is not valid for the model. */
  addRefused(): void {
    this.#refused += 1;
  }

  /** @param at of the MEASUREMENT record that was scored */
  add(records: Buffer, at: number, outputs: OutputRecord): void {
    if (isRefused(outputs)) {
      this.addRefused();
      return;
    }
    this.#scored += 1;
    if (this.#writer?.write(records, at, outputs) === false) this.#tooLarge += 1;
    const { event, alarm } = this.#plan;
    if (event === undefined && alarm === undefined) return;
    this.#sources.push(keyAt(records, at));
    this.#times.push(records.readDoubleLE(at + OFFSET_TIME));
    this.#modes.push(modeAt(records, at));
    if (event !== undefined) this.#events.push(valueOf(outputs[event]));
    if (alarm !== undefined) this.#alarms.push(valueOf(outputs[alarm]));
  }

  /** To be called once, behind the last record. */
  measured(): MeasuredInRoom {
    const written = this.#writer?.end() ?? 0;
    const isInRoom = typeof written === 'number';
    return {
      records: isInRoom ? NO_RECORDS : written,
      roomBytes: isInRoom ? written : 0,
      scored: this.#scored,
      incomplete: this.#incomplete,
      refused: this.#refused,
      tooLarge: this.#tooLarge,
      told: {
        sources: this.#sources,
        times: this.#times,
        modes: this.#modes,
        events: this.#events,
        alarms: this.#alarms,
      },
    };
  }
}

/** All outputs of a record that a model refuses are missing. */
function isRefused(outputs: OutputRecord): boolean {
  for (const name in outputs) if (outputs[name] !== null && outputs[name] !== undefined) return false;
  return true;
}

/** A text that is cut stays longer than one that a binding compares it with. */
function valueOf(value: unknown): OutputValue {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, TEXT_CHARACTERS_MAX + 1);
}
