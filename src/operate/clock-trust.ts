/**
 * Tells whether the wall clock can be believed by what deletes data by age. The credible time is the newest confirmed
 * time, which is kept as a record and so in the journal, plus what a clock that counts since the machine's boot has
 * counted since. A wall clock that differs by more than the limit was set, when the boot's clock has counted all the
 * time, and is never believed by itself. After another boot nothing has counted: the clock is believed after it ran
 * steadily, with the server, for the settling time. A machine that was off for months waits once, not for ever.
 */
import { UNATTRIBUTED } from '../ports/refusals.ts';
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import type { CommandPort } from '../ports/command-port.ts';
import type { DocumentReader } from '../ports/document-reader.ts';
import type { RecordChange } from '../model/commands/records.ts';
import { PlatformError } from '../model/errors.ts';
import type { Log } from '../ports/log.ts';
import type { Refusals } from '../ports/refusals.ts';
import { RETENTION_RULES } from '../model/entities/retention.ts';
import type { ExpiryClock } from '../model/sessions/expiry.ts';
import { SERVER_WIDE } from '../model/commands/keys.ts';
import { changeRecords } from '../records/records.ts';

export const CLOCK_KEY = 'clock';
export const CLOCK_LIMIT = 'retention/clock';
/** The record is read, and both clocks are compared with it, at most this often, and at once when they part. */
const LOOK_MS = 30_000;
const PART_MS = 60_000;
/** A confirmed time is written down this often. */
const MARK_EVERY_MS = 600_000;
const WARN_EVERY_MS = 3_600_000;
/**
 * The credible time follows a wall clock within the limit by this share of the time that passes, so that many small
 * steps are one large one.
 */
const SLEW_SHARE = 0.01;
const HOUR_MS = 3_600_000;

/**
 * A clock that no user sets: it counts on while the machine sleeps. `boot` names the start of the machine that it counts
 * from.
 */
export interface SteadyClock {
  readonly boot: string;
  now(): number;
}

/** As stored. Times are ms since 1970, `up` is of the steady clock of `boot`. */
interface Mark {
  readonly wall: number;
  readonly boot: string;
  readonly up: number;
  /** The other time that a clock shows, and how long a server ran with it. */
  readonly pending?: { readonly wall: number; readonly ranMs: number };
}

export interface ClockTrustOptions {
  readonly commands: CommandPort;
  readonly documents: DocumentReader;
  readonly now: () => number;
  readonly steady: SteadyClock;
  /** Difference that is believed at once. */
  readonly differenceMaxMs: number;
  /** Time with a server running after which a larger one is believed. */
  readonly settleMs: number;
  /** For a server that has no record yet: the newest time that its data tell; undefined for a new server. */
  readonly newestKnown: () => Promise<number | undefined>;
  readonly refusals: Refusals;
  readonly log: Log;
}

interface Both {
  readonly wall: number;
  readonly up: number;
}

export class ClockTrust implements ExpiryClock {
  readonly #options: ClockTrustOptions;
  /** The newest confirmed time of this process. */
  #credible: Both | undefined;
  #looked: Both | undefined;
  #looking: Promise<void> | undefined;
  #isWaiting = false;
  #warnedAt = -Infinity;

  constructor(options: ClockTrustOptions) {
    this.#options = options;
  }

  /** At the last look. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  get isBelieved(): boolean {
    return !this.#isWaiting && this.#isTogether(this.#both());
  }

  /** @returns the wall clock's time, or undefined while it is not believed. */
  async read(): Promise<number | undefined> {
    const both = this.#both();
    const isRecent = both.up - (this.#looked?.up ?? -Infinity) < LOOK_MS && this.#isTogether(both);
    if (!isRecent)
      await (this.#looking ??= this.#look(both).finally(() => {
        this.#looking = undefined;
      }));
    return this.#isWaiting ? undefined : both.wall;
  }

  #both(): Both {
    return { wall: this.#options.now(), up: this.#options.steady.now() };
  }

  /** Whether no clock was set since the last look. */
  #isTogether({ wall, up }: Both): boolean {
    const looked = this.#looked;
    return looked !== undefined && Math.abs(wall - looked.wall - (up - looked.up)) < PART_MS;
  }

  async #look(both: Both): Promise<void> {
    const { documents, differenceMaxMs, newestKnown, steady } = this.#options;
    const text = await documents.get(RETENTION_RULES, SERVER_WIDE, CLOCK_KEY);
    const mark =
      text === undefined ? { wall: (await newestKnown()) ?? both.wall, boot: '', up: 0 } : (JSON.parse(text) as Mark);
    const before = this.#looked;
    this.#looked = both;
    const known = this.#credible ?? (mark.boot === steady.boot && mark.up <= both.up ? mark : undefined);
    const expected = known === undefined ? mark.wall : known.wall + both.up - known.up;
    const difference = both.wall - expected;
    if (Math.abs(difference) <= differenceMaxMs) {
      const slewMax = known === undefined ? Infinity : (both.up - known.up) * SLEW_SHARE;
      this.#confirm({ wall: expected + Math.max(-slewMax, Math.min(slewMax, difference)), up: both.up });
      const isOld = this.#credible!.wall - mark.wall >= MARK_EVERY_MS;
      if (text === undefined || isOld || mark.pending !== undefined)
        await this.#write(text, this.#markOf(this.#credible!));
      return;
    }
    await this.#wait(both, before, { text, mark, difference, wasSet: known !== undefined });
  }

  /** Goes on waiting, or believes the clock when it has settled. */
  async #wait(
    both: Both,
    before: Both | undefined,
    { text, mark, difference, wasSet }: { text: string | undefined; mark: Mark; difference: number; wasSet: boolean },
  ): Promise<void> {
    const { differenceMaxMs, settleMs, refusals, log } = this.#options;
    const passedMs = before === undefined ? 0 : both.up - before.up;
    const hasJumped = before !== undefined && Math.abs(both.wall - before.wall - passedMs) > differenceMaxMs;
    const { pending } = mark;
    const sinceMs = pending === undefined || hasJumped ? 0 : both.wall - pending.wall;
    const isSame = pending !== undefined && !wasSet && !hasJumped && sinceMs >= -differenceMaxMs;
    // Of several nodes each adds what passed since any of them wrote it down.
    const ranMs = isSame ? pending.ranMs + Math.max(0, Math.min(sinceMs, passedMs)) : 0;
    const days = (difference / HOUR_MS / 24).toFixed(1);
    if (ranMs >= settleMs) {
      log.warn(
        { differenceMs: difference, ranMs },
        'the clock is believed from now on: it ran steadily since it differed from the journal',
      );
      this.#isWaiting = false;
      this.#confirm(both);
      await this.#write(text, this.#markOf(both));
      return;
    }
    if (!this.#isWaiting) refusals.count(CLOCK_LIMIT, UNATTRIBUTED);
    if (!this.#isWaiting || both.up - this.#warnedAt >= WARN_EVERY_MS) {
      this.#warnedAt = both.up;
      log.warn(
        {
          limit: CLOCK_LIMIT,
          clock: textOf(both.wall),
          expected: textOf(both.wall - difference),
          differenceMs: difference,
          differenceMaxMs,
          ...(wasSet ? {} : { waitsMs: settleMs - ranMs }),
        },
        `retention and the end of MQTT sessions wait: the clock differs by ${days} days from the journal's newest time; set the clock, ` +
          'or start with --retention-clock-settle-ms 0 when it is right',
      );
    }
    this.#isWaiting = true;
    await this.#write(text, { wall: mark.wall, boot: mark.boot, up: mark.up, pending: { wall: both.wall, ranMs } });
  }

  #confirm(both: Both): void {
    this.#credible = both;
    if (this.#isWaiting)
      this.#options.log.info(
        { clock: textOf(both.wall) },
        'the clock agrees with the journal: what waited for it goes on',
      );
    this.#isWaiting = false;
  }

  #markOf({ wall, up }: Both): Mark {
    return { wall: Math.round(wall), boot: this.#options.steady.boot, up: Math.round(up) };
  }

  async #write(expected: string | undefined, mark: Mark): Promise<void> {
    const { log } = this.#options;
    const change: RecordChange = { collection: RETENTION_RULES, id: CLOCK_KEY, expected, value: JSON.stringify(mark) };
    try {
      await changeRecords(this.#options, SERVER_WIDE, [change]);
    } catch (error) {
      // Another node wrote it, or nothing can be written now: the next look tries again.
      if (error instanceof PlatformError)
        log.debug({ error: error.message }, 'the confirmed time was not written down');
      else throw error;
    }
  }
}

const textOf = (time: number): string => {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString();
};

/** The time since the machine's boot: setting the wall clock does not change it. */
export function machineClock(): SteadyClock {
  let boot = '';
  try {
    boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Without /proc each start of the server counts as a start of the machine.
    boot = `${process.pid}-${performance.timeOrigin}`;
  }
  return { boot, now: () => uptime() * 1_000 };
}
