/** Tasks of a Python worker; the bytes that the script gets are the content that comes before the task. */

/** `pre` gets the body of a request as bytes; `post` gets the outputs of a model, from JSON of `ScriptOutput`. */
export type Stage = 'pre' | 'post';

export type ScriptTask =
  | { readonly kind: 'check'; readonly source: string; readonly name: string }
  | { readonly kind: 'run'; readonly source: string; readonly name: string; readonly stage: Stage };

/** What the runner in Python answers. */
export type RunnerAnswer =
  | { readonly result: unknown }
  | { readonly fault: 'input' | 'model' | 'memory'; readonly text: string };
