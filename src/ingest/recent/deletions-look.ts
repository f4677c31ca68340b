/** Looks for deletions that keep measurements out of memory: those of an earlier process, and those whose end is not told. */
import { BackgroundLoop } from '../../pacing/background-loop.ts';
import type { Log } from '../../ports/log.ts';
import type { RecentMeasurements } from './measurements.ts';

/** Between two looks. */
const LOOK_MS = 1_000;
/** A deletion that takes longer is told of. */
const WARN_MS = 5 * 60_000;
/** Deletions that a warning names. */
const NAMED_MAX = 20;

export interface DeletionsLookOptions {
  readonly recent: Pick<RecentMeasurements, 'waiting' | 'look' | 'now'>;
  /** Tenants of whom the history deletes measurements; undefined when that is not known. */
  readonly deleting: () => Promise<ReadonlySet<number> | undefined>;
  readonly log: Pick<Log, 'warn'>;
}

export class DeletionsLook {
  readonly #options: DeletionsLookOptions;
  readonly #loop = new BackgroundLoop();
  /** When the deletions began to be waited for, in ms since 1970. */
  #since: number | undefined;
  #isWarned = false;
  #isAway = false;

  constructor(options: DeletionsLookOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop.repeat(
      LOOK_MS,
      () => this.look(),
      (error) => this.#noteFailure(error as Error),
    );
  }

  /** Resolves when nothing is under way: the history is asked until its client is closed. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async look(): Promise<void> {
    const { recent, deleting } = this.#options;
    if (recent.waiting.length > 0) {
      try {
        recent.look(await deleting());
        this.#isAway = false;
      } catch (error) {
        this.#noteFailure(error as Error);
      }
    }
    this.#warn(recent.waiting);
  }

  #noteFailure({ message }: Error): void {
    if (!this.#isAway && !this.#loop.isStopped)
      this.#options.log.warn(
        { error: message },
        'the history does not say whether it deletes measurements; asking again',
      );
    this.#isAway = true;
  }

  #warn(waiting: readonly string[]): void {
    const { recent, log } = this.#options;
    if (waiting.length === 0) {
      this.#since = undefined;
      this.#isWarned = false;
      return;
    }
    this.#since ??= recent.now();
    if (this.#isWarned || recent.now() - this.#since < WARN_MS) return;
    this.#isWarned = true;
    log.warn(
      { deletions: waiting.slice(0, NAMED_MAX), count: waiting.length },
      `the history has been deleting measurements for ${WARN_MS / 60_000} minutes: queries of the newest ones go to the engine meanwhile; system.mutations tells how far it is`,
    );
  }
}
