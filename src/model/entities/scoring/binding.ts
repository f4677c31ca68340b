/** A binding of a model to measurements (docs/spec/scoring.md#bindings), of `scoringBinding` under its padded id. */
import type { RecordCollection } from '../../commands/collections.ts';
import type { AlarmSeverity } from '../alarm.ts';
import type { ModelKind } from './model.ts';

export const SCORING_BINDINGS: RecordCollection = 'scoringBinding';
/** Id of the sum over the bindings of a tenant. */
export const BINDINGS_TOTAL_ID = 'total';

/** Names of the outputs of a model, and what they are called in the measurement. */
export type SeriesNames = Readonly<Record<string, string>>;

export interface MeasurementOutput {
  readonly type: string;
  readonly fragment: string;
  /** Absent: all outputs of the model under their names. */
  readonly outputs?: SeriesNames;
}

export interface EventOutput {
  readonly type: string;
  /** `{value}` stands for the value of the output. */
  readonly text: string;
  /** Absent: the first output of the model. */
  readonly output?: string;
  /** An event for each measurement, not only when the value has changed. */
  readonly isForEach: boolean;
}

export interface AlarmOutput {
  readonly type: string;
  readonly severity: AlarmSeverity;
  readonly text: string;
  /** Absent: the first output of the model. */
  readonly output?: string;
  /** Raised above this number, cleared below `clearBelow`; or raised while the output equals a text. */
  readonly above?: number;
  readonly clearBelow?: number;
  readonly equals?: string;
}

export interface BindingOutput {
  readonly measurement?: MeasurementOutput;
  readonly event?: EventOutput;
  readonly alarm?: AlarmOutput;
}

export interface BindingConfiguration {
  readonly bindingName: string;
  readonly modelName: string;
  readonly modelKind: ModelKind;
  /** Type or fragment that a measurement has. */
  readonly measurementType?: string;
  readonly groupOrDeviceId?: string;
  /** Input of the model → `<measurementType>.<seriesName>.value`. */
  readonly modelToDeviceMappings: Readonly<Record<string, string>>;
  /** Measurements without a value of some input are scored too. */
  readonly allowsMissing: boolean;
  /** Measurements that bindings have made are scored too. */
  readonly scoresPredictions: boolean;
  readonly isActive: boolean;
  readonly output: BindingOutput;
}

export interface StoredBinding extends BindingConfiguration {
  readonly id: number;
  /** ISO 8601. */
  readonly creationTime: string;
  readonly lastUpdated: string;
  /** Who made it. */
  readonly user: string;
  /** Whether `groupOrDeviceId` is a group. */
  readonly isGroup: boolean;
}

const DIGITS = 16;
/** So that records are listed in the order of their ids. */
export const bindingRecordId = (id: number): string => String(id).padStart(DIGITS, '0');
