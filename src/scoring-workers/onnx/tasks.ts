/** Tasks of an ONNX worker. A model is known by a key of the server's making: tenant, name and version. */
import type { OnnxDescription, ScriptOutput } from './model.ts';

/** All outputs as JSON or for a script; or the values of the outputs and columns of these names. */
export type AnswerForm = 'json' | 'script' | { readonly columns: readonly string[] };

export type OnnxTask =
  /** Loads the content, describes it, and lets it go again. */
  | { readonly kind: 'describe' }
  /** Loads the content under a key, unless it is there. */
  | { readonly kind: 'load'; readonly key: string }
  /** The content is the request's body; `form` says for whom the answer is. */
  | { readonly kind: 'apply'; readonly key: string; readonly form: AnswerForm }
  | { readonly kind: 'release'; readonly keys: readonly string[] };

export interface OnnxLoaded {
  /** What the process has grown by, in bytes. */
  readonly memoryBytes: number;
}

export interface OnnxResults {
  readonly describe: OnnxDescription;
  readonly load: OnnxLoaded;
  /** JSON as bytes: an object for `json` and columns, an array of `ScriptOutput` for `script`. */
  readonly apply: Uint8Array;
  /** Models that are still loaded. */
  readonly release: number;
}

export type { OnnxDescription, ScriptOutput };
