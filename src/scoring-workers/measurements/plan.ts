/** How a binding reads measurements and what it makes of predictions: plain values, which go to a worker with each task. */

/** An input of a model, and the values of measurements that it takes. */
export interface PlannedInput {
  readonly name: string;
  /** Type or fragment of the measurement. */
  readonly type: string;
  readonly series: string;
}

export interface PlannedOutput {
  readonly name: string;
  /** Series, or member where the value is not a number. */
  readonly series: string;
}

/** The measurement that a prediction becomes. */
export interface PlannedMeasurement {
  readonly type: string;
  readonly fragment: string;
  readonly outputs: readonly PlannedOutput[];
  /** JSON text of the fragment that marks it. */
  readonly mark: string;
}

export interface Plan {
  readonly inputs: readonly PlannedInput[];
  /** Measurements without a value of some input are scored too, but not those without any. */
  readonly allowsMissing: boolean;
  readonly measurement?: PlannedMeasurement;
  /** Names of the outputs whose values events and alarms are about. */
  readonly event?: string;
  readonly alarm?: string;
}

/** A value of an output. */
export type OutputValue = string | number | boolean | null;

/** What events and alarms are made of: a value of each array for each scored measurement. */
export interface ToldValues {
  readonly sources: readonly number[];
  /** ms since 1970. */
  readonly times: readonly number[];
  /** Processing modes. */
  readonly modes: readonly number[];
  readonly events: readonly OutputValue[];
  readonly alarms: readonly OutputValue[];
}

/** What became of the measurements of one task. */
export interface Measured {
  /** MEASUREMENT records of predictions, one behind the other, without id and time of receipt. */
  readonly records: Uint8Array;
  readonly scored: number;
  /** Without a value that the model needs. */
  readonly incomplete: number;
  /** All outputs were missing: the values are not valid for the model. */
  readonly refused: number;
  /** Of the scored ones: what would become a measurement is too large for one, or for all of the task. */
  readonly tooLarge: number;
  readonly told: ToldValues;
}

/** As a worker answers. */
export interface MeasuredInRoom extends Measured {
  /** Bytes at the beginning of the room of the task that have the records; 0: `records` has them. */
  readonly roomBytes: number;
}

/** Fragment that marks a prediction. */
export const MARK = 'c8y_Scoring';
/** Of a value that is not a number; a longer one is cut. */
export const TEXT_CHARACTERS_MAX = 1_000;
/** Of a measurement that a prediction becomes, and of all of one task, in bytes. */
export const PREDICTION_BYTES_MAX = 524_288;
export const PREDICTIONS_BYTES_MAX = 16_777_216;
