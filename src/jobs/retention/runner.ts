/**
 * Carries out retention runs: each night, on request, and early when the disk fills up. A run is a
 * record of the tenant with its plan; each part of it is counted and written down, removed, and ticked off, so that a
 * crash neither forgets nor counts anything twice.
 */
import { UNATTRIBUTED } from '../../ports/refusals.ts';
import { BackgroundLoop } from '../../pacing/background-loop.ts';
import type { AuditEntry, RecordChange } from '../../model/commands/records.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import {
  RETENTION_RULES,
  RULES_MAX,
  RULE_PREFIX,
  RUNS_KEPT,
  RUN_PREFIX,
  STATE_KEY,
  describeRun,
  lastNight,
  mayOverlap,
  plannedItems,
  rulesOf,
  runKey,
  unsavedRule,
} from '../../model/entities/retention.ts';
import type {
  IsWanted,
  RetentionItem,
  RetentionRun,
  RetentionState,
  RetentionStore,
  RunTrigger,
  RunWish,
} from '../../model/entities/retention.ts';
import { CLOCK_LIMIT } from '../../operate/clock-trust.ts';
import { changeRecords, isChangedMeanwhile, retried } from '../../records/records.ts';

/** Between two steps while a run is under way. */
const PAUSE_MS = 10;
/**
 * Parts without data that are ticked off together: the record of a run with many rules is large, and is written anew
 * each time.
 */
const TICKED_AT_ONCE_MAX = 10;
/** Until the schedule is looked at again. */
const IDLE_MS = 30_000;
/** After a step that failed, and how often one part is tried before the run fails. */
const RETRY_MS = 1_000;
const TRIES_MAX = 30;
/** Between two early runs of a tenant. */
const EARLY_EVERY_MS = 3_600_000;
/** Targets whose data a dry run leaves out; with more it counts what they share with others twice. */
const OTHERS_MAX = 20;
/** Of the message of a failure that is kept. */
const FAILURE_LENGTH_MAX = 500;
export const LOW_DISK_LIMIT = 'retention/disk-free';
const HELD_LIMIT = 'retention/disk-full';
/** A run waits an hour for space; the next one has the rules of its time. */
const HELD_MAX_MS = 3_600_000;
const DAY_MS = 86_400_000;
const TENANTS_ASKED_MAX = 1_000;

export interface RetentionRunnerOptions {
  readonly commands: CommandPort;
  readonly documents: DocumentReader;
  readonly store: RetentionStore;
  readonly ids: IdSource;
  /** Numbers of the tenants. */
  readonly tenants: () => Iterable<number>;
  /** Whether this process owns the records of the tenant. */
  readonly isMine: (tenant: number) => boolean;
  /** O'clock, UTC. */
  readonly hour: number;
  /** Days of the rule that a tenant begins with; 0 for none. */
  readonly defaultDays: number;
  /** Below `warnBytes` there is a warning, and a run of all tenants when `isEarly`. */
  readonly disk: { readonly freeBytes: () => number; readonly warnBytes: number; readonly isEarly: boolean };
  /** Nothing is planned or removed while it gives no time. */
  readonly clock: { read(): Promise<number | undefined> };
  readonly refusals: Refusals;
  readonly log: Log;
  /** ms since 1970. */
  readonly now: () => number;
}

/**
 * Items of a run that wait for free space, since when and why; all of them are tried again at `retryAt`. Times are ms
 * since 1970.
 */
interface Held {
  readonly items: ReadonlySet<number>;
  readonly since: number;
  readonly retryAt: number;
  readonly error: PlatformError;
}
interface Stored<Value> {
  readonly text: string;
  readonly value: Value;
}

export class RetentionRunner {
  /** Entities and records that were removed. */
  removedCount = 0;
  isDiskLow = false;
  readonly #options: RetentionRunnerOptions;
  /** Tenant -> attempts of the part under way that failed. */
  readonly #failures = new Map<number, number>();
  readonly #earlyAt = new Map<number, number>();
  /** Tenant -> what of its run waits for free space. */
  readonly #held = new Map<number, Held>();
  readonly #loop = new BackgroundLoop();

  constructor(options: RetentionRunnerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop.repeat(
      RETRY_MS,
      async () => {
        const isMore = await this.step();
        return this.#failures.size > 0 ? RETRY_MS : isMore ? PAUSE_MS : IDLE_MS;
      },
      (error) => {
        this.#options.log.warn(
          { err: error, retryMs: RETRY_MS },
          'the due retention runs could not be read; trying again',
        );
      },
    );
  }

  /** Resolves when nothing is under way any more. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** To be told of all changed records. */
  recordsChanged(changes: readonly RecordChange[]): void {
    if (changes.some(({ collection, id }) => collection === RETENTION_RULES && id === STATE_KEY)) this.#loop.wake();
  }

  /** Begins what is due and does one part of each run under way. @returns whether there is more to do at once. */
  async step(): Promise<boolean> {
    const { tenants, isMine } = this.#options;
    this.#lookAtDisk();
    if ((await this.#options.clock.read()) === undefined) return false;
    let isMore = false;
    for (const tenant of tenants()) {
      if (this.#loop.isStopped) return false;
      if (!isMine(tenant)) {
        this.#failures.delete(tenant);
        this.#held.delete(tenant);
        continue;
      }
      try {
        if (await this.#tenant(tenant)) isMore = true;
        this.#failures.delete(tenant);
      } catch (error) {
        // Another writer changed it meanwhile: the next step reads it again.
        if (isChangedMeanwhile(error)) isMore = true;
        else await this.#failed(tenant, error as Error);
      }
    }
    return isMore;
  }

  /**
   * Plans a run.
   * @throws PlatformError `retention/running` when there is one already, 503 `records/changes-at-once`,
   * `retention/clock`. @returns its id.
   */
  begin(tenant: number, trigger: RunTrigger, options: RunWish): Promise<string> {
    return retried(this.#options, async () => {
      const state = await this.#state(tenant);
      const doneFor = state?.value.doneFor ?? lastNight(this.#options.now(), this.#options.hour);
      return this.#begin(tenant, state, { trigger, ...options }, doneFor);
    });
  }

  #lookAtDisk(): void {
    const { disk, log, refusals } = this.#options;
    const freeBytes = disk.freeBytes();
    const isLow = freeBytes < disk.warnBytes;
    if (isLow && !this.isDiskLow) {
      refusals.count(LOW_DISK_LIMIT, UNATTRIBUTED);
      const what = disk.isEarly
        ? 'the disk fills up: retention runs early'
        : 'the disk fills up: shorten the retention rules, or set retention-early';
      log.warn({ freeBytes, warnBytes: disk.warnBytes }, what);
    }
    this.isDiskLow = isLow;
  }

  /** @returns whether a run is under way. */
  async #tenant(tenant: number): Promise<boolean> {
    const { hour, now, disk } = this.#options;
    const state = await this.#state(tenant);
    const night = lastNight(now(), hour);
    if (state === undefined) {
      // A new tenant, or a new server: it begins with the next night.
      await changeRecords(this.#options, tenant, [
        { collection: RETENTION_RULES, id: STATE_KEY, expected: undefined, value: JSON.stringify({ doneFor: night }) },
      ]);
      return false;
    }
    if (state.value.active !== undefined) return this.#advance(tenant, state, state.value.active);
    if (night > state.value.doneFor) {
      await this.#begin(tenant, state, { trigger: 'SCHEDULE', isDryRun: false }, night);
      return true;
    }
    if (!this.isDiskLow || !disk.isEarly || now() - (this.#earlyAt.get(tenant) ?? -Infinity) < EARLY_EVERY_MS)
      return false;
    this.#earlyAt.set(tenant, now());
    await this.#begin(tenant, state, { trigger: 'DISK', isDryRun: false }, state.value.doneFor);
    return true;
  }

  async #begin(
    tenant: number,
    state: Stored<RetentionState> | undefined,
    { rule, ...run }: RunWish & { readonly trigger: RunTrigger },
    doneFor: number,
  ): Promise<string> {
    const { documents, defaultDays } = this.#options;
    // First of all: a run under way waits with the clock, so its id alone would make the caller wait in vain.
    const startedAt = await this.#options.clock.read();
    if (startedAt === undefined) {
      this.#options.refusals.count(CLOCK_LIMIT, { tenant });
      throw refusedBy(CLOCK_LIMIT);
    }
    if (state?.value.active !== undefined) throw new PlatformError('retention/running', { id: state.value.active });
    const rules =
      rule === undefined
        ? rulesOf(await documents.list(RETENTION_RULES, tenant, RULE_PREFIX, { limit: RULES_MAX + 1 }), defaultDays)
        : [unsavedRule(rule)];
    const id = String(await this.#options.ids.nextInOrder());
    const planned: RetentionRun = { ...run, status: 'RUNNING', startedAt, items: plannedItems(rules, startedAt) };
    const next: RetentionState = { doneFor, active: id };
    const runs = await documents.list(RETENTION_RULES, tenant, RUN_PREFIX, { limit: RUNS_KEPT * 2 });
    const old = runs
      .slice(0, Math.max(0, runs.length + 1 - RUNS_KEPT))
      .map(
        ({ id: key, value }) => ({ collection: RETENTION_RULES, id: key, expected: value, value: undefined }) as const,
      );
    await changeRecords(this.#options, tenant, [
      { collection: RETENTION_RULES, id: STATE_KEY, expected: state?.text, value: JSON.stringify(next) },
      { collection: RETENTION_RULES, id: runKey(id), expected: undefined, value: JSON.stringify(planned) },
      ...old,
    ]);
    return id;
  }

  /** Does the next part of a run. @returns whether more is to do. */
  async #advance(tenant: number, state: Stored<RetentionState>, id: string): Promise<boolean> {
    const text = await this.#options.documents.get(RETENTION_RULES, tenant, runKey(id));
    const run = text === undefined ? undefined : (JSON.parse(text) as RetentionRun);
    if (text === undefined || run?.status !== 'RUNNING') {
      await this.#canceled(tenant, state, { id, text, run });
      return false;
    }
    const held = this.#held.get(tenant);
    const now = this.#options.now();
    if (held !== undefined && held.retryAt > now) return false;
    const nextIndex = (from: number): number =>
      run.items.findIndex(({ isDone }, at) => at >= from && !isDone && held?.items.has(at) !== true);
    const first = nextIndex(0);
    if (first < 0) {
      if (held === undefined || held.items.size === 0)
        await this.#end(tenant, state, { id, text, run }, { status: 'COMPLETED' });
      else if (now - held.since >= HELD_MAX_MS)
        await this.#end(tenant, state, { id, text, run }, { status: 'FAILED', failure: held.error.message });
      else this.#held.set(tenant, { ...held, items: new Set(), retryAt: now + IDLE_MS });
      return false;
    }
    const isWanted = async (): Promise<boolean> =>
      !this.#loop.isStopped && (await this.#options.documents.get(RETENTION_RULES, tenant, runKey(id))) === text;
    let { items } = run;
    for (
      let index = first, looks = 0;
      index >= 0 && looks < TICKED_AT_ONCE_MAX;
      index = nextIndex(index + 1), looks += 1
    ) {
      let item: RetentionItem | undefined;
      try {
        item = await this.#part(tenant, run, index, isWanted);
      } catch (error) {
        if (!(error instanceof PlatformError) || error.code !== 'general/disk-full') throw error;
        this.#hold(tenant, index, error);
        break;
      }
      // Canceled meanwhile, unless the process stops: the next step tells what was removed.
      if (item === undefined) return !this.#loop.isStopped;
      items = items.with(index, item);
      if (!item.isDone) break;
    }
    if (items === run.items) return true;
    const next = { ...run, items };
    await changeRecords(this.#options, tenant, [
      { collection: RETENTION_RULES, id: runKey(id), expected: text, value: JSON.stringify(next) },
    ]);
    this.removedCount += sumOf(next) - sumOf(run);
    return true;
  }

  /** What frees space without taking any first goes on. */
  #hold(tenant: number, index: number, error: PlatformError): void {
    const { refusals, log, now } = this.#options;
    const held = this.#held.get(tenant);
    if (held === undefined)
      log.warn(
        { err: error, tenant, retryMs: IDLE_MS },
        'a part of a retention run waits for free space; others go on',
      );
    this.#held.set(tenant, {
      items: new Set([...(held?.items ?? []), index]),
      since: held?.since ?? now(),
      retryAt: 0,
      error,
    });
    refusals.count(HELD_LIMIT, { tenant, reason: error.message });
  }

  /** A request ended the run: its record gets what was removed of the part that was under way. */
  async #canceled(
    tenant: number,
    state: Stored<RetentionState>,
    { id, text, run }: { id: string; text: string | undefined; run: RetentionRun | undefined },
  ): Promise<void> {
    this.#held.delete(tenant);
    const { active: _, ...others } = state.value;
    const changes: RecordChange[] = [
      { collection: RETENTION_RULES, id: STATE_KEY, expected: state.text, value: JSON.stringify(others) },
    ];
    if (run === undefined) return changeRecords(this.#options, tenant, changes);
    const index = run.items.findIndex(({ pending }) => pending !== undefined);
    let ended = run;
    if (index >= 0) {
      const { pending = { through: '', count: 0 }, ...item } = run.items[index];
      const left = await this.#options.store.remove(tenant, item, item.after, pending.through, () => false);
      const removed = Math.max(0, pending.count - left);
      ended = { ...run, items: run.items.with(index, { ...item, count: item.count + removed }) };
      changes.push({ collection: RETENTION_RULES, id: runKey(id), expected: text, value: JSON.stringify(ended) });
    }
    await changeRecords(this.#options, tenant, changes, run.isDryRun ? [] : [auditOf(id, ended)]);
    this.removedCount += sumOf(ended) - sumOf(run);
  }

  /**
   * Plans a part, or removes the one that is planned. @returns the item as it is then; undefined when it is not wanted
   * any more.
   */
  async #part(
    tenant: number,
    run: RetentionRun,
    index: number,
    isWanted: IsWanted,
  ): Promise<RetentionItem | undefined> {
    const { store } = this.#options;
    const { pending, ...item } = run.items[index];
    if (pending === undefined) {
      const others = run.isDryRun
        ? run.items
            .slice(0, index)
            .filter((other) => mayOverlap(other, item))
            .slice(0, OTHERS_MAX)
        : [];
      const chunk = await store.next(tenant, item, item.after, others);
      if (chunk === undefined) return { ...item, isDone: true };
      return run.isDryRun
        ? { ...item, after: chunk.through, count: item.count + chunk.count }
        : { ...item, pending: chunk };
    }
    if ((await store.remove(tenant, item, item.after, pending.through, isWanted)) > 0) return undefined;
    return { ...item, after: pending.through, count: item.count + pending.count };
  }

  async #end(
    tenant: number,
    state: Stored<RetentionState>,
    { id, text, run }: { id: string; text: string; run: RetentionRun },
    result: Pick<RetentionRun, 'status' | 'failure'>,
  ): Promise<void> {
    this.#held.delete(tenant);
    const ended: RetentionRun = { ...run, ...result, endedAt: this.#options.now() };
    const { active: _, ...others } = state.value;
    await changeRecords(
      this.#options,
      tenant,
      [
        { collection: RETENTION_RULES, id: STATE_KEY, expected: state.text, value: JSON.stringify(others) },
        { collection: RETENTION_RULES, id: runKey(id), expected: text, value: JSON.stringify(ended) },
      ],
      run.isDryRun ? [] : [auditOf(id, ended)],
    );
  }

  /** One tenant does not hold up the others, one part not all nights. */
  async #failed(tenant: number, error: Error): Promise<void> {
    const tries = (this.#failures.get(tenant) ?? 0) + 1;
    this.#failures.set(tenant, tries);
    this.#options.log.warn(
      { err: error, tenant, tries, retryMs: RETRY_MS },
      'a step of a retention run failed; trying again',
    );
    if (tries < TRIES_MAX) return;
    this.#failures.delete(tenant);
    const state = await this.#state(tenant);
    const id = state?.value.active;
    const text = id === undefined ? undefined : await this.#options.documents.get(RETENTION_RULES, tenant, runKey(id));
    if (state === undefined || id === undefined || text === undefined) return;
    const failure = error.message.slice(0, FAILURE_LENGTH_MAX);
    await this.#end(tenant, state, { id, text, run: JSON.parse(text) as RetentionRun }, { status: 'FAILED', failure });
  }

  async #state(tenant: number): Promise<Stored<RetentionState> | undefined> {
    const text = await this.#options.documents.get(RETENTION_RULES, tenant, STATE_KEY);
    return text === undefined ? undefined : { text, value: JSON.parse(text) as RetentionState };
  }
}

/**
 * For a server that has kept no confirmed time yet: the end of the newest day that a run took care of, in the first
 * tenants.
 * @param journalTime of the newest record that the journal had at the start: the later one counts.
 */
export async function newestRetentionDay(
  documents: DocumentReader,
  tenants: Iterable<number>,
  journalTime?: number,
): Promise<number | undefined> {
  let newest = journalTime;
  let count = 0;
  for (const tenant of tenants) {
    count += 1;
    if (count > TENANTS_ASKED_MAX) break;
    const text = await documents.get(RETENTION_RULES, tenant, STATE_KEY);
    if (text !== undefined) newest = Math.max(newest ?? 0, (JSON.parse(text) as RetentionState).doneFor + DAY_MS);
  }
  return newest;
}

const sumOf = ({ items, isDryRun }: RetentionRun): number =>
  isDryRun ? 0 : items.reduce((sum, { count }) => sum + count, 0);

const auditOf = (id: string, run: RetentionRun): AuditEntry => ({
  type: 'SYSTEM',
  activity: 'Retention run',
  text: describeRun(run),
  source: id,
  ...(run.user === undefined ? {} : { user: run.user }),
  ...(run.status === 'FAILED' ? { severity: 'MAJOR' } : {}),
});
