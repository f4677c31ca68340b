/** What a connection keeps of SmartREST 1.0 (one-rows.ts), and the port that carries rows out. */
import { setMaxListeners } from 'node:events';
import type { Principal } from '../../model/access/principal.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';

/** Before the X-Id of the topic on which operations are pushed. */
export const OPERATIONS_TOPIC = 's/ol/';
/** Collections by which one connection receives operations. */
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

  /** The connection has used the collection. */
  used(xid: string): void {
    if (this.#xids.size < XIDS_MAX) this.#xids.add(xid);
  }

  /**
   * By which collections operations become rows: those that filters name; of a filter with wildcards those that the
   * connection has used.
   */
  receiving(filters: Iterable<string>): readonly string[] {
    const named = new Set<string>();
    for (const filter of filters) {
      const xid = filter.startsWith(OPERATIONS_TOPIC) ? filter.slice(OPERATIONS_TOPIC.length) : '+';
      if (!/[+#]/.test(xid)) named.add(xid);
      else for (const used of this.#xids) named.add(used);
    }
    return [...named].slice(0, XIDS_MAX);
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
