/** What the server and its scoring workers tell each other: plain values, since errors and classes lose their fields. */
import type { MessagePort } from 'node:worker_threads';
import type { MeasuredColumn } from '../model/entities/scoring/measured-values.ts';
import type { ModelInformation } from './pmml/engine.ts';
import type { Problem } from './pmml/document/problems.ts';
import type { MeasuredInRoom, Plan } from './measurements/plan.ts';

export type RecordFormat = 'csv' | 'json';

/** Which compiled model: the version is new with each upload. */
export interface ModelKey {
  readonly tenant: number;
  readonly name: string;
  readonly version: string;
}

/** Contents of a model and of the resources that it uses: lookup tables, and functions. */
export interface ModelSource {
  readonly model: MessagePort;
  readonly resources: readonly { readonly fileName: string; readonly port: MessagePort }[];
}

interface OfModel {
  readonly key: ModelKey;
  /** Sent when the worker has said that it has not got the model (`missing`). */
  readonly source?: ModelSource;
  /** Of `newMark`: tells which function runs, of a model that has some. */
  readonly mark?: Uint8Array;
}

/** Reads an uploaded model, and compiles it to see whether it can be used. */
export interface CheckTask {
  readonly kind: 'check';
  readonly source: ModelSource;
  /** A serialised model has to be of this version then. */
  readonly isUpload: boolean;
  /** The first look: something stands in for the resources that the model asks for. */
  readonly isFirst: boolean;
}
/** A document that is shown with its problems is held whole. */
export const ANNOTATED_BYTES_MAX = 256 * 1_048_576;
/** Writes a document with its problems as comments. */
export interface AnnotateTask {
  readonly kind: 'annotate';
  readonly port: MessagePort;
  readonly problems: readonly Problem[];
}
/** Scores single records, each a JSON text. */
export interface ApplyTask extends OfModel {
  readonly kind: 'apply';
  readonly records: readonly string[];
}
export interface ExplainTask extends OfModel {
  readonly kind: 'explain';
  readonly record: string;
}
/** Scores records of a batch. */
export interface BatchTask extends OfModel {
  readonly kind: 'batch';
  /** Whole records: lines of CSV, or elements of a JSON array with their commas. UTF-8. */
  readonly input: Uint8Array;
  readonly format: RecordFormat;
  /** Names of the fields, of CSV. */
  readonly columns: readonly string[];
  readonly output: RecordFormat;
  /** Names of the output columns, of CSV. */
  readonly outputs: readonly string[];
  /** Records at the beginning that the model looks back to: their outputs are those of another task. */
  readonly before: number;
  /** Of CSV: the input's columns in front, and what is to be compared (docs/spec/scoring.md#groups). */
  readonly detail?: DetailRules;
}
/** Scores measurements of the journal. */
export interface MeasurementsTask extends OfModel {
  readonly kind: 'measurements';
  /** MEASUREMENT records, one behind the other; all of them are whole. */
  readonly records: Uint8Array;
  readonly plan: Plan;
  /** Shared memory for the predictions; what does not fit comes back in bytes of its own. */
  readonly room?: Uint8Array | undefined;
}
/** How a prediction, the first output, is compared with what the record expects. */
export interface DetailRules {
  /** Column with what is expected. */
  readonly expected: string;
  /** From which score on, 0 to 1, it counts as a match. */
  readonly matchScore: number;
}
/** Scores values of measurements, for a page of results. */
export interface ValuesTask extends OfModel {
  readonly kind: 'values';
  /** Rows of `ValueRows`, by source and time. */
  readonly rows: Uint8Array;
  /** Inputs of the model with their columns, of which the rows have the places. */
  readonly inputs: readonly (MeasuredColumn & { readonly input: string })[];
  /** What the results call the model, and the list of times. */
  readonly name: string;
  readonly timesName: string;
  /** Records at the beginning that the model looks back to: their results are those of another task. */
  readonly before: number;
  /** Records of a page, and those that the first one still takes. */
  readonly page: { readonly size: number; readonly left: number };
}
/** Whether a text holds series that can be clustered. */
export interface SeriesTask {
  readonly kind: 'series';
  /** JSON, UTF-8. */
  readonly text: Uint8Array;
}
/** Clusters the series of a text. */
export interface TrainTask {
  readonly kind: 'train';
  readonly text: Uint8Array;
}
/** Reads a resource: what is in it. */
export interface InspectTask {
  readonly kind: 'inspect';
  readonly fileName: string;
  readonly port: MessagePort;
}

export type Task =
  | CheckTask
  | AnnotateTask
  | ApplyTask
  | ExplainTask
  | BatchTask
  | MeasurementsTask
  | ValuesTask
  | InspectTask
  | SeriesTask
  | TrainTask;

/** Predictions of one task, for the metrics. */
export interface PredictionCounts {
  /** By class, of a classification. */
  readonly classes: readonly (readonly [name: string, count: number])[];
  /** Of a regression. */
  readonly numbers: Float64Array;
}

/** What a model takes of resources, by name. */
export interface ModelUses {
  readonly tables: readonly string[];
  readonly functions: readonly string[];
}

export interface CheckAnswer {
  readonly kind: 'checked';
  readonly information: ModelInformation | undefined;
  readonly modelName: string | undefined;
  readonly bytes: number;
  /** As in `ScoringModel`. */
  readonly lookBack: number;
  readonly problems: readonly Problem[];
  /** Lookup tables and functions that the model asked for. */
  readonly uses: ModelUses;
}
/** The worker has not got the model: the task comes again with its source. */
export interface MissingAnswer {
  readonly kind: 'missing';
}
export interface TextsAnswer {
  readonly kind: 'texts';
  /** Outputs of each record as JSON; undefined: the record is not a JSON object. */
  readonly texts: readonly (string | undefined)[];
  /** Why records were refused, by their places, from 0. */
  readonly refusals: readonly (readonly [index: number, reason: string])[];
  readonly predictions: PredictionCounts;
}
export interface TextAnswer {
  readonly kind: 'text';
  readonly text: string | undefined;
}
export interface BatchAnswer {
  readonly kind: 'batch';
  readonly output: Uint8Array;
  readonly count: number;
  readonly predictions: PredictionCounts;
}
export interface MeasuredAnswer extends MeasuredInRoom {
  readonly kind: 'measured';
  readonly predictions: PredictionCounts;
}
/** Results of a `ValuesTask`: the text of each piece, one behind the other, UTF-8. */
export interface ValuesAnswer {
  readonly kind: 'values';
  readonly output: Uint8Array;
  readonly pieces: readonly ValuesPiece[];
  readonly count: number;
  readonly predictions: PredictionCounts;
}
/** Records that follow one another, of one device and one page. */
export interface ValuesPiece {
  readonly deviceId: string;
  readonly records: number;
  /** Of its text. */
  readonly bytes: number;
  /** Records that the model refused. */
  readonly refused: number;
  /** Inputs, by their number, that no record of the device in this task up to here has a value of. */
  readonly unseen: readonly number[];
}
/** The record of this number, from 1 in the task's input, cannot be read. */
export interface BadRecordAnswer {
  readonly kind: 'bad-record';
  readonly record: number;
  readonly reason: string;
  /** It can be read; the model fails at it. */
  readonly isRefused: boolean;
  /** In the task's input, of CSV. */
  readonly place?: { readonly line: number; readonly position?: number };
}
export interface InspectAnswer {
  readonly kind: 'inspected';
  readonly type: string;
  readonly names: readonly string[];
}
export interface DocumentAnswer {
  readonly kind: 'document';
  readonly document: Uint8Array;
}
export interface SeriesAnswer {
  readonly kind: 'series';
  readonly count: number;
}
export interface TrainedAnswer {
  readonly kind: 'trained';
  /** `[{centroid, members}]` as JSON, UTF-8. */
  readonly clusters: Uint8Array;
}
/** What was sent cannot be used: a fault of its sender. */
export interface RefusedAnswer {
  readonly kind: 'refused';
  readonly reason: 'xml' | 'content' | 'too-long' | 'not-annotated' | 'model' | 'memory';
  readonly message: string;
}
/** The worker itself failed: a fault of the server. */
export interface FailedAnswer {
  readonly kind: 'failed';
  /** With the stack, for the log. */
  readonly message: string;
}

export type Answer =
  | CheckAnswer
  | MissingAnswer
  | TextsAnswer
  | TextAnswer
  | BatchAnswer
  | MeasuredAnswer
  | ValuesAnswer
  | BadRecordAnswer
  | InspectAnswer
  | SeriesAnswer
  | TrainedAnswer
  | DocumentAnswer
  | RefusedAnswer
  | FailedAnswer;

/** Settings of a worker. */
export interface WorkerSettings {
  /** Bytes of compiled models that one worker keeps. */
  readonly modelBytesMax: number;
  /** Bytes of one content, unpacked. */
  readonly contentBytesMax: number;
  /** Instead of ANNOTATED_BYTES_MAX; lower, in tests. */
  readonly annotatedBytesMax?: number;
  readonly version: string;
  /** Name of the channel of `ChannelMessage`. */
  readonly channel: string;
}

/** Sent to all workers: models that are gone. */
export interface DropMessage {
  readonly kind: 'drop';
  readonly tenant: number;
  /** Undefined: all of the tenant. */
  readonly name: string | undefined;
}

/** Sent by a worker: what the compiled models of a tenant take in it from now on. */
export interface LoadedMessage {
  readonly kind: 'loaded';
  readonly thread: number;
  readonly tenant: number;
  readonly bytes: number;
}

/** What the server and its workers tell each other beside tasks. */
export type ChannelMessage = DropMessage | LoadedMessage;
