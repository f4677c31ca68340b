/** What the server and its worker processes say to each other. One task at a time; its answer comes before the next. */

/** First argument of each worker's process, by which it is known. */
export const WORKER_MARK = 'scoring-worker';

/** Bytes that belong to the next task, in order; the child keeps them until it comes. */
export interface ContentMessage {
  readonly content: Uint8Array;
}
export interface TaskMessage<Task = unknown> {
  readonly task: Task;
}
export type ToWorker = ContentMessage | TaskMessage;

/**
 * Why a task has no result: the request does not fit, the model or script is not one, it takes more memory than the
 * process may have, more time than it is given, or the worker itself is at fault.
 */
export type FaultKind = 'input' | 'model' | 'memory' | 'time' | 'internal';
export type FromWorker =
  | { readonly result: unknown }
  /** `isLast`: the worker takes no further task. */
  | { readonly fault: FaultKind; readonly text: string; readonly isLast: boolean };

/** A task that a worker has answered with a fault. */
export class WorkerFault extends Error {
  readonly kind: FaultKind;

  constructor(kind: FaultKind, text: string) {
    super(text);
    this.kind = kind;
  }
}
