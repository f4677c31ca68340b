/**
 * Finds the ancestors of the sources of notifications and hands the notifications on in the order of their publication,
 * even when the hierarchy answers later. One for each tenant and area with channels that show descendants.
 */
import type { Log } from '../../ports/log.ts';
import type { OutgoingNotification } from './message.ts';
import type { Clock } from './clock.ts';

/** Knows what stands above a managed object. */
export interface HierarchyPort {
  /** @returns the ids of all ancestors by every kind of child link, in any order, without `id` itself. */
  ancestors(tenant: number, id: string): readonly string[] | Promise<readonly string[]>;
}

export interface AncestorLookupOptions {
  readonly hierarchy: HierarchyPort;
  readonly tenant: number;
  readonly maximumMessages: number;
  readonly maximumBytes: number;
  readonly clock: Clock;
  readonly log: Log;
  /** @returns what is waited for before the notification is handed on; undefined when it can go at once. */
  readonly prepare?: ((outgoing: OutgoingNotification) => Promise<void> | undefined) | undefined;
  /** Called in order; `ids` are the source and its ancestors. */
  readonly deliver: (outgoing: OutgoingNotification, ids: readonly string[]) => void;
  /** A notification was dropped because too many wait. */
  readonly onLost: () => void;
}

/** A notification whose ancestors are not known yet. */
interface Waiting {
  readonly outgoing: OutgoingNotification;
  /** Asked for already; the others are asked for when it is their turn. */
  readonly found: Promise<readonly string[]> | undefined;
  readonly sizeBytes: number;
}

export class AncestorLookup {
  readonly #options: AncestorLookupOptions;
  /** Answers of this turn of the event loop: what is published together often has one source. */
  readonly #answers = new Map<string, readonly string[]>();
  #waiting: Waiting[] = [];
  #waitingCount = 0;
  #waitingBytes = 0;
  #isWaiting = false;
  #failureCount = 0;

  constructor(options: AncestorLookupOptions) {
    this.#options = options;
  }

  /** Delivers at once when the hierarchy answers at once and nothing waits; otherwise in order, later. */
  route(outgoing: OutgoingNotification): void {
    if (this.#isWaiting) {
      this.#keep(outgoing);
      return;
    }
    const found = this.#prepared(outgoing);
    if (!isPromise(found)) {
      this.#options.deliver(outgoing, found);
      return;
    }
    this.#isWaiting = true;
    this.#keep(outgoing, found);
    void this.#drain();
  }

  /** Encodes now: what the notification was made from may be gone when its turn comes. */
  #keep(outgoing: OutgoingNotification, found?: Promise<readonly string[]>): void {
    const sizeBytes = Buffer.byteLength(outgoing.payload(undefined));
    const { maximumMessages, maximumBytes } = this.#options;
    if (this.#waitingCount >= maximumMessages || this.#waitingBytes + sizeBytes > maximumBytes) {
      this.#options.onLost();
      return;
    }
    this.#waiting.push({ outgoing, found, sizeBytes });
    this.#waitingCount += 1;
    this.#waitingBytes += sizeBytes;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      for (const { outgoing, found, sizeBytes } of batch) {
        const ids = await (found ?? this.#prepared(outgoing));
        this.#waitingCount -= 1;
        this.#waitingBytes -= sizeBytes;
        this.#deliver(outgoing, ids);
      }
    }
    this.#isWaiting = false;
  }

  #deliver(outgoing: OutgoingNotification, ids: readonly string[]): void {
    try {
      this.#options.deliver(outgoing, ids);
    } catch (error) {
      this.#noteFailure(error);
    }
  }

  /** The source and its ancestors, when the notification is ready for them. */
  #prepared(outgoing: OutgoingNotification): readonly string[] | Promise<readonly string[]> {
    const { source } = outgoing.notification;
    const found = this.#find(source);
    const ready = this.#options.prepare?.(outgoing);
    if (ready === undefined) return found;
    return ready.catch((error: unknown) => this.#noteFailure(error, source)).then(() => found);
  }

  #find(source: string): readonly string[] | Promise<readonly string[]> {
    const known = this.#answers.get(source);
    if (known !== undefined) return known;
    try {
      const found = this.#options.hierarchy.ancestors(this.#options.tenant, source);
      if (!isPromise(found)) return this.#remember(source, found);
      return found.then(
        (ancestors) => this.#remember(source, ancestors),
        (error) => this.#noteFailure(error, source),
      );
    } catch (error) {
      return this.#noteFailure(error, source);
    }
  }

  #remember(source: string, ancestors: readonly string[]): readonly string[] {
    const ids = [source, ...ancestors];
    if (this.#answers.size === 0) this.#options.clock.setImmediate(() => this.#answers.clear());
    this.#answers.set(source, ids);
    return ids;
  }

  /** @returns the source alone: who watches it gets the notification nevertheless. */
  #noteFailure(error: unknown, source?: string): readonly string[] {
    this.#failureCount += 1;
    // One of a thousand: the hierarchy fails for all when it fails.
    if (this.#failureCount % 1_000 === 1) {
      this.#options.log.error(
        { err: error, tenant: this.#options.tenant, source, failures: this.#failureCount },
        'what stands above a source could not be read: channels with children miss its notifications',
      );
    }
    return source === undefined ? [] : [source];
  }
}

function isPromise(value: readonly string[] | Promise<readonly string[]>): value is Promise<readonly string[]> {
  return !Array.isArray(value);
}
