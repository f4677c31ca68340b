import type { Problem } from './document/problems.ts';
import type { CustomFunction } from './fields/scope.ts';

/** A field of a model as its information shows it (docs/spec/scoring.md#models). */
export interface FieldInformation {
  /** Usage of the mining field in capitals, `OUTPUT` of outputs. */
  readonly usage: string;
  readonly name: string;
  /** PMML data type in capitals. */
  readonly type: string;
}

export interface ModelInformation {
  /** `modelName` of the model element; undefined where it has none. */
  readonly modelName: string | undefined;
  readonly description: string;
  /** PMML version of the document, such as `4.4`. */
  readonly version: string;
  readonly inputFields: readonly FieldInformation[];
  readonly outputFields: readonly FieldInformation[];
  readonly functionName: string;
}

/** Values of a record by field; missing ones may be left out or be null. */
export type InputRecord = Readonly<Record<string, unknown>>;
/** Values of a result by output field; a missing one is null. */
export type OutputRecord = Record<string, unknown>;

/** A compiled PMML model. Not re-entrant: one thread scores one record after the other with it. */
export interface ScoringModel {
  readonly information: ModelInformation;
  /** Bytes of the compiled form, about. */
  readonly bytes: number;
  /**
   * Names of all members that it reads of a record; true where a number does as well as its text. Absent: not known, so
   * that a record has all members, as texts.
   */
  readonly inputs?: ReadonlyMap<string, boolean>;
  /** How many records before one it looks back to (`Lag`); absent: none. */
  readonly lookBack?: number;
  /** The next record begins a new series: what looks back to earlier records (`Lag`) sees none of those before. */
  begin(): void;
  /** Scores one record. A record that the model refuses (invalid values) has only missing outputs. */
  apply(record: InputRecord): OutputRecord;
  /** The predicted value of the record that was scored last, for the metrics: a category, a number, or undefined. */
  lastPrediction(): string | number | boolean | undefined;
  /** Scores one record and tells how, in the lines of docs/spec/scoring.md#explanation. */
  explain(record: InputRecord): string;
}

/** A table of an uploaded spreadsheet, which `MapValues` names by `TableLocator`: rows of texts by column. */
export interface LookupTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface ReadOptions {
  /** Tables of uploaded spreadsheets by name. */
  readonly table?: (name: string) => LookupTable | undefined;
  /** Uploaded functions by the name that an Apply gives. */
  readonly customFunction?: (name: string) => CustomFunction | undefined;
}

/** What became of a document: a model where there are no errors. */
export interface ReadResult {
  readonly model: ScoringModel | undefined;
  /** Name that the document gives its model, even where it is refused. */
  readonly modelName: string | undefined;
  readonly version: string | undefined;
  readonly problems: readonly Problem[];
}
