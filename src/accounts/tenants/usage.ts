/**
 * What tenants use (docs/spec/statistics.md): counted in memory by day and written down every minute as increments, so
 * that the nodes of a cluster add up. A crash loses the last minute at most. Sizes (devices, storage) are asked from
 * the history three times a day.
 */
import { USAGE_COUNTERS, deviceCounts, storageBytes } from '../../history/usage.ts';
import type { UsageCounter } from '../../history/usage.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { Notification } from '../../ports/live-bus.ts';
import type { Log } from '../../ports/log.ts';

export type UsageCounts = Record<UsageCounter, number>;

const FLUSH_MS = 60_000;
const SIZES_MS = 8 * 3_600_000;
/** Asked again by who reads statistics. */
const SIZES_AGE_MAX_MS = 60_000;
const DAY_MS = 86_400_000;

const CREATED: Readonly<Partial<Record<Notification['area'], UsageCounter>>> = {
  alarms: 'alarms_created',
  events: 'events_created',
  managedobjects: 'inventories_created',
};
const UPDATED: Readonly<Partial<Record<Notification['area'], UsageCounter>>> = {
  alarms: 'alarms_updated',
  events: 'events_updated',
  managedobjects: 'inventories_updated',
};

/** The day in UTC, `YYYY-MM-DD`. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const none = (): UsageCounts => Object.fromEntries(USAGE_COUNTERS.map((name) => [name, 0])) as UsageCounts;

export interface UsageOptions {
  readonly insert: (table: 'tenant_usage' | 'tenant_sizes', texts: readonly string[]) => Promise<void>;
  readonly history: Pick<HistoryReader, 'query'>;
  /** The history stands still for a backup: what is counted waits. */
  readonly isPaused?: () => boolean;
  /** Numbers of the tenants that exist. */
  readonly tenants: () => Iterable<number>;
  /** Whether this process asks for the sizes of a tenant. */
  readonly isMine: (tenant: number) => boolean;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class Usage {
  readonly #options: UsageOptions;
  /** Of the present day. */
  #counts = new Map<number, UsageCounts>();
  /** First moment of the next day. */
  #dayEnds: number;
  #day: string;
  /** Rows of days that are over, and those that could not be written: at most one for each tenant and day. */
  #waiting = new Map<string, { readonly tenant: number; readonly day: string; readonly counts: UsageCounts }>();
  readonly #sizesAt = new Map<number, number>();
  /** The counts that were used last: most calls come in runs of one tenant. */
  #lastTenant = -1;
  #last: UsageCounts = none();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #sizesDue: number;

  constructor(options: UsageOptions) {
    this.#options = options;
    const now = options.now();
    this.#day = dayOf(now);
    this.#dayEnds = (Math.floor(now / DAY_MS) + 1) * DAY_MS;
    this.#sizesDue = now + FLUSH_MS;
  }

  count(tenant: number, counter: UsageCounter, by = 1): void {
    if (tenant === this.#lastTenant) {
      this.#last[counter] += by;
      return;
    }
    if (tenant === 0) return;
    let counts = this.#counts.get(tenant);
    if (counts === undefined) {
      counts = none();
      this.#counts.set(tenant, counts);
    }
    counts[counter] += by;
    this.#lastTenant = tenant;
    this.#last = counts;
  }

  /** What an actor has done. */
  changed({ tenant, area, action }: Pick<Notification, 'tenant' | 'area' | 'action'>): void {
    const counter = action === 'CREATE' ? CREATED[area] : action === 'UPDATE' ? UPDATED[area] : undefined;
    if (counter !== undefined) this.count(tenant, counter);
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running = this.#running
        .then(() => this.step())
        .catch((error: Error) => {
          this.#options.log.warn(
            { error: error.message, retryMs: FLUSH_MS },
            'usage statistics could not be written; they are kept',
          );
        });
    }, FLUSH_MS);
    this.#timer.unref();
  }

  /** Writes the rest; what cannot be written then is lost. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    await this.flush().catch((error: Error) => {
      this.#options.log.warn({ error: error.message }, 'the last usage statistics could not be written');
    });
  }

  async step(): Promise<void> {
    const { tenants, isMine, isPaused, now } = this.#options;
    if (isPaused?.() === true) return;
    await this.flush();
    if (now() < this.#sizesDue) return;
    this.#sizesDue = now() + SIZES_MS;
    for (const tenant of tenants()) if (isMine(tenant)) await this.refreshSizes(tenant);
  }

  /** Writes the increments since the last time. */
  async flush(): Promise<void> {
    this.#collect();
    const known = new Set(this.#options.tenants());
    const rows = [...this.#waiting.values()].filter(({ tenant }) => known.has(tenant));
    this.#waiting = new Map();
    if (rows.length === 0) return;
    try {
      await this.#options.insert(
        'tenant_usage',
        rows.map(({ tenant, day, counts }) => JSON.stringify({ tenant, day, ...counts })),
      );
    } catch (error) {
      for (const { tenant, day, counts } of rows) this.#wait(tenant, day, counts);
      throw error;
    }
  }

  /** Asks for devices and storage of a tenant, unless that was done a moment ago. */
  async refreshSizes(tenant: number): Promise<void> {
    const { history, insert, now } = this.#options;
    const asked = this.#sizesAt.get(tenant);
    if (asked !== undefined && now() - asked < SIZES_AGE_MAX_MS) return;
    const devices = await deviceCounts(history, tenant);
    const storage_size = await storageBytes(history, tenant);
    await insert('tenant_sizes', [
      JSON.stringify({ tenant, day: dayOf(now()), ...devices, storage_size, version: now() }),
    ]);
    this.#sizesAt.set(tenant, now());
  }

  #collect(): void {
    const { now } = this.#options;
    for (const [tenant, counts] of this.#counts) this.#wait(tenant, this.#day, counts);
    this.#counts = new Map();
    this.#lastTenant = -1;
    if (now() < this.#dayEnds) return;
    this.#day = dayOf(now());
    this.#dayEnds = (Math.floor(now() / DAY_MS) + 1) * DAY_MS;
  }

  #wait(tenant: number, day: string, counts: UsageCounts): void {
    const key = `${tenant}/${day}`;
    const known = this.#waiting.get(key)?.counts ?? none();
    for (const name of USAGE_COUNTERS) known[name] += counts[name];
    this.#waiting.set(key, { tenant, day, counts: known });
  }
}
