/**
 * A part of a running server. The server is a list of them: a new service is a new file in this folder and an entry in
 * that list.
 */
import type { RecordListener } from '../cores/core.ts';

export interface Part {
  /** Told of changed records of a tenant after their commit, before the answer. */
  readonly recordsChanged?: RecordListener;
  /** Begins what runs by the clock; called when all ports are open. */
  start?(): void;
  /** Ends it. What waits for a store longer than the server waits goes on from stored state at the next start. */
  stop?(): Promise<unknown> | void;
}
