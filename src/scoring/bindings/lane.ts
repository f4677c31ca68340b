/**
 * The measurements of one binding on their way through its model: gathered for a moment, scored in a few tasks at once,
 * and handed over in the order in which they came.
 */
import type { Measured } from '../../scoring-workers/measurements/plan.ts';
import type { Log } from '../../ports/log.ts';
import { type Chunk, ChunkList, type TenantBacklog } from './backlog.ts';
import type { Delivered } from './delivery.ts';
import { shownFault } from '../shown-fault.ts';
import { isOfValues } from './value-errors.ts';

/** Tasks of one binding at once: one is prepared and one is handed over while others are scored. */
const IN_FLIGHT_MAX = 4;
/** After a failure the next task waits, each time twice as long. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** At most one line of the log in this time. */
const LOG_INTERVAL_MS = 10_000;

/** Measurements by what became of them. */
export interface LaneCounts {
  received: number;
  /** Predictions that the binding does not score; they are not `received`. */
  leftOut: number;
  scored: number;
  /** Without a value that the model needs. */
  incomplete: number;
  /** Their values are not valid for the model. */
  refused: number;
  /** Too many waited, or the binding changed while they did. */
  shed: number;
  failed: number;
  lastError: string | null;
  /** ISO 8601. */
  lastErrorTime: string | null;
}

export const newCounts = (): LaneCounts => ({
  received: 0,
  leftOut: 0,
  scored: 0,
  incomplete: 0,
  refused: 0,
  shed: 0,
  failed: 0,
  lastError: null,
  lastErrorTime: null,
});

export type Outcome = 'scored' | 'incomplete' | 'refused' | 'shed' | 'failed';

export interface LaneOptions {
  readonly backlog: TenantBacklog;
  readonly counts: LaneCounts;
  readonly score: (chunk: Chunk) => Promise<Measured>;
  /** Whether predictions are written to the room of their chunk. */
  readonly hasRoom: boolean;
  /** Until when the model refuses all, ms since 1970; undefined: it does not. */
  readonly pausedUntil: () => number | undefined;
  /**
   * Hands predictions over. Called for one chunk after the other; resolves when the next one may follow.
   * `durable` resolves when nothing of them is under way any more.
   */
  readonly deliver: (measured: Measured, depth: number) => Promise<Delivered>;
  readonly onOutcome: (outcome: Outcome, count: number) => void;
  /** Time from the first measurement of a chunk until its predictions are handed over. */
  readonly onDelivered: (seconds: number, count: number) => void;
  /** Resolves when the lane before it has handed everything over: its results come first. */
  readonly after?: Promise<void> | undefined;
  /** For the log. */
  readonly subject: { readonly tenant: number; readonly binding: number };
  readonly log: Log;
  readonly now: () => number;
  readonly clock: () => number;
}

export class Lane {
  readonly #options: LaneOptions;
  readonly #chunks: ChunkList;
  #inFlight = 0;
  /** Resolves when the chunk before the next one has been handed over. */
  #last: Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #retryAt = 0;
  #logAt = Number.NEGATIVE_INFINITY;
  #isEnded = false;
  #onIdle: (() => void) | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#last = options.after ?? Promise.resolve();
    this.#chunks = new ChunkList(options.backlog, (count) => this.#count('shed', count));
  }

  /** Takes a copy of a record. @param depth of predictions, 0 of what devices measured */
  offer(records: Buffer, at: number, depth: number): void {
    this.#options.counts.received += 1;
    if (this.#isEnded) return this.#count('shed', 1);
    this.#chunks.add(records, at, depth);
    if (this.#timer !== undefined) return;
    if (this.#inFlight === 0) this.#pumpIn(this.#options.backlog.beginPause());
    else if (this.#chunks.waitingCount > 0 && this.#inFlight < IN_FLIGHT_MAX) this.#pumpIn(0);
  }

  /**
   * Takes no more. @param drops what waits is given up, else it is scored. @returns when nothing is under way any more
   */
  async end(drops: boolean): Promise<void> {
    this.#isEnded = true;
    if (drops) this.#clear();
    if (this.#inFlight > 0 || !this.#chunks.isEmpty)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
        this.#pump(true);
      });
    clearTimeout(this.#timer);
    this.#chunks.end();
    await this.#last;
  }

  #clear(): void {
    this.#count('shed', this.#chunks.clear());
  }

  #pumpIn(ms: number): void {
    const wait = Math.max(0, ms, this.#retryAt - this.#options.clock());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#pump(true);
    }, wait);
    this.#timer.unref();
  }

  /** @param takesOpen whether a chunk goes that is not full: it has waited for its time */
  #pump(takesOpen: boolean): void {
    const { clock, now, backlog, pausedUntil } = this.#options;
    const until = pausedUntil();
    if (until !== undefined) this.#retryAt = Math.max(this.#retryAt, clock() + until - now());
    if (this.#retryAt > clock()) {
      // A lane that ends makes no second try.
      if (this.#isEnded) this.#clear();
      else if (!this.#chunks.isEmpty && this.#timer === undefined) this.#pumpIn(0);
    } else {
      while (this.#inFlight < IN_FLIGHT_MAX) {
        const chunk = this.#chunks.take(takesOpen && this.#inFlight === 0);
        if (chunk === undefined) break;
        void this.#run(chunk);
      }
      const { openSince } = this.#chunks;
      if (this.#inFlight === 0 && openSince !== undefined && this.#timer === undefined)
        this.#pumpIn(openSince + backlog.beginPause() - clock());
    }
    if (this.#inFlight === 0 && this.#chunks.isEmpty) this.#onIdle?.();
  }

  /** Never rejects. */
  async #run(chunk: Chunk): Promise<void> {
    const { score, hasRoom, deliver, onDelivered, clock } = this.#options;
    this.#inFlight += 1;
    const before = this.#last;
    let isHandedOver = (): void => undefined;
    const handedOver = new Promise<void>((resolve) => {
      isHandedOver = resolve;
    });
    // A task that fails early does not let the next one overtake those before it.
    this.#last = before.then(() => handedOver);
    let isScored = false;
    if (hasRoom) this.#chunks.makeRoom(chunk);
    try {
      const measured = await score(chunk);
      isScored = true;
      await before;
      const { durable, failure } = await deliver(measured, chunk.depth);
      isHandedOver();
      await durable;
      onDelivered((clock() - chunk.since) / 1_000, measured.scored);
      this.#count('scored', measured.scored);
      this.#count('incomplete', measured.incomplete);
      this.#count('refused', measured.refused);
      // Predictions are stored, and only an event or alarm beside them is not.
      if (failure !== undefined) this.#failed(failure, 0);
      else this.#failures = 0;
    } catch (error) {
      this.#failed(error as Error, chunk.count);
    } finally {
      isHandedOver();
      this.#inFlight -= 1;
      this.#chunks.release(chunk, isScored);
      this.#pump(this.#isEnded);
    }
  }

  /** @param count of measurements without a result. The lane pauses unless it is the values that the model does not take. */
  #failed(error: Error, count: number): void {
    const { counts, log, subject, now, clock } = this.#options;
    this.#count('failed', count);
    counts.lastError = shownFault(error);
    counts.lastErrorTime = new Date(now()).toISOString();
    let retryMs = 0;
    // Of tasks at once one counts.
    if (!isOfValues(error) && this.#retryAt <= clock()) {
      retryMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** this.#failures);
      this.#failures += 1;
      this.#retryAt = clock() + retryMs;
    }
    if (clock() < this.#logAt) return;
    this.#logAt = clock() + LOG_INTERVAL_MS;
    const what =
      count === 0
        ? 'events or alarms of a binding could not be stored'
        : 'measurements could not be scored by a binding';
    log.warn({ err: error, ...subject, count, retryMs }, what);
  }

  #count(outcome: Outcome, count: number): void {
    if (count === 0) return;
    this.#options.counts[outcome] += count;
    this.#options.onOutcome(outcome, count);
  }
}
