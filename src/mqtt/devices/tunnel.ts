/** What a connection keeps of SmartREST 1.0 (one-rows.ts), and the port that carries rows out. */
import { setMaxListeners } from 'node:events';
import type { Principal } from '../../model/access/principal.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';

/** Collections that are remembered for a connection: by them a filter with wildcards brings operations. */
const XIDS_MAX = 20;

/** Who sends rows on `…/ul/<xid>`. */
export interface TunnelSender {
  readonly principal: Principal;
  readonly xid: string;
  readonly mode: ProcessingMode;
  readonly remoteAddress: string;
  /** Aborts when the connection has ended. */
  readonly signal: AbortSignal;
}

/**
 * Carries out a body of rows, which is read before this returns. @returns the rows of the answer, '' for none; what
 * fails is one of them: it never rejects.
 */
export type RowRunner = (body: Buffer, sender: TunnelSender) => Promise<string>;

/** The X-Ids of a connection, and its end for what runs for it. */
export class TunnelState {
  readonly #xids = new Set<string>();
  #abort: AbortController | undefined;

  /** The connection has used the collection. @returns whether it is one more of those that are remembered. */
  used(xid: string): boolean {
    const isNew = this.#xids.size < XIDS_MAX && !this.#xids.has(xid);
    if (isNew) this.#xids.add(xid);
    return isNew;
  }

  /** Those that it has used. */
  get xids(): Iterable<string> {
    return this.#xids;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      // Each row may run queries.
      setMaxListeners(0, this.#abort.signal);
    }
    return this.#abort.signal;
  }

  close(): void {
    this.#abort?.abort();
  }
}
