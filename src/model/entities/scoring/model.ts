/** A model as its record keeps it (docs/spec/scoring.md#models). */
import type { RecordCollection } from '../../commands/collections.ts';

export const SCORING_MODELS: RecordCollection = 'scoringModel';
export const SCORING_RESOURCES: RecordCollection = 'scoringResource';
/** Groups, pipelines and what else names models: `<kind>\n<name>`. */
export const SCORING_RECORDS: RecordCollection = 'scoring';
/** Id of the sum over the records of a collection. */
export const SCORING_TOTAL_ID = 'total';

const MODEL_KINDS = ['pmml', 'onnx'] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

/** Of `scoringModel`, under `<kind>\n<name>`; what clients are shown of it lies elsewhere (`informationId`). */
export interface StoredModel {
  readonly name: string;
  /** Key of the uploaded content, which is new with each upload: a model never changes under one key. */
  readonly blob: string;
  /** Of the content as it was uploaded. */
  readonly bytes: number;
  /** Of the compiled form, about. */
  readonly compiledBytes: number;
  readonly isActive: boolean;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Milliseconds since 1970: its predictions are counted from then on. Absent: from its creation. */
  readonly activatedAt?: number;
  /** What it does, such as `classification`; of PMML. */
  readonly functionName?: string;
  /** Names of the lookup tables that it reads. */
  readonly tables?: readonly string[];
  /** Names of the uploaded functions that it calls. */
  readonly functions?: readonly string[];
  /** Records before one that it looks back to; absent: none. */
  readonly lookBack?: number;
}

export const CUSTOM_FUNCTIONS = 'Custom Functions';
export const LOOKUP_TABLES = 'Lookup Tables';
/** Python, of a pipeline. */
export const SCRIPT = 'Script';
/** What a resource of a type is named by. */
export const RESOURCE_IDENTIFIERS: Readonly<Record<string, string>> = {
  [CUSTOM_FUNCTIONS]: 'Function Namespace',
  [LOOKUP_TABLES]: 'Table Name',
};

/** Of `scoringResource`, under `<kind>\n<file name>`. */
export interface StoredResource {
  readonly fileName: string;
  readonly blob: string;
  readonly bytes: number;
  /** `Custom Functions`, `Lookup Tables` or `Script`. */
  readonly type: string;
  /** Names of functions or tables in it. */
  readonly names: readonly string[];
}

export const modelId = (kind: ModelKind, name: string): string => `${kind}\n${name}`;
/** In `scoring`, of the text that shows the model: it may be long, and lists of models do not read it. */
export const informationId = (kind: ModelKind, name: string): string => `information\n${kind}\n${name}`;

/** Contents that a stored text names. */
export function scoringBlobs(text: string, id: string): string[] {
  if (id === SCORING_TOTAL_ID) return [];
  return [(JSON.parse(text) as StoredModel | StoredResource).blob];
}
