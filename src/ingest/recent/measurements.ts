/**
 * What is asked for again and again of measurements: the newest and the oldest ones of a source, the newest of a
 * whole tenant, and how many a source has. It is answered without the history store, and without bringing into it what has just come.
 * An entry is filled by the first who asks (history/measurements/recent-page.ts), takes what comes behind that from the
 * groups of the journal, and ends with a deletion of its tenant. On a single node only, which sees all that is stored.
 */
import { sourcesOf } from '../../model/commands/deletion.ts';
import type { DataDelete, SourceDelete } from '../../model/commands/deletion.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import { readableCommand } from '../journal/command-record.ts';
import type { JournalCommand } from '../journal/command-record.ts';
import type { QuarantineEntry } from '../../ports/stores/quarantine.ts';
import { OFFSET_ID, OFFSET_TIME, keyAt, kindAt, modeAt, nextAt, tenantAt } from '../journal/record-layout.ts';
import { decodeMeasurement, isWholeMeasurement } from '../measurements/record.ts';
import type { DeletionWatch } from '../../ports/deletion-watch.ts';
import type {
  Edge,
  EdgeFound,
  EdgeOf,
  RecentMeasurement,
  RecentRange,
  RecentReader,
} from '../../ports/recent-measurements.ts';
import { RecentList, bytesOf } from './list.ts';

/**
 * Memory of all entries, and their number. Beyond one of both the tenant with most of it loses the entry that it asked
 * for longest ago.
 */
const BYTES_MAX = 64 * 1024 * 1024;
const ENTRIES_MAX = 4_096;
/** Larger pages are not kept. */
const PAGE_MAX = 500;
/**
 * What an entry takes since it was last read; with more it ends. One takes 1 to 2 µs, a query of the engine 10 to 90 ms
 * (2026-11-26).
 */
const UNREAD_MAX = 10_000;
/** Of what comes while the history is asked, a part of the memory of all; with more nothing is kept. */
const ADDED_BYTES_MAX = 4 * 1024 * 1024;
/** Of one list, in parts of the memory of all; what is larger is not kept. */
const LIST_SHARE = 8;
/** What is not kept is not asked for again in this time. */
const UNKEPT_MS = 10 * 60_000;
/** Estimate of what an entry takes beside its measurements. */
const ENTRY_BYTES = 500;
/** Place of what is of a whole tenant: no source has this id. */
const OF_TENANT = 0;
/** The store may begin a statement this long after its caller was told of an error: a request to it takes no longer. */
const LEFT_MS = 60_000;
/** Name of what an earlier process began. */
const EARLIER = 'earlier';

/** What comes while the history is asked, of which its answer may have a part. */
interface Filling {
  added: RecentMeasurement[];
  bytes: number;
  /** What the history tells is not kept. */
  isVoid: boolean;
}

/** What is not kept: pages of this size and larger ones. */
interface Unkept {
  readonly page: number;
  /** ms since 1970. */
  readonly until: number;
}

class Entry {
  newest: RecentList | undefined;
  oldest: RecentList | undefined;
  total: number | undefined;
  readonly unkept: Partial<Record<Edge, Unkept>> = {};
  filling: Filling | undefined;
  /** Taken since it was last read. */
  unread = 0;

  get isEmpty(): boolean {
    const { newest, oldest, total, unkept } = this;
    return (newest ?? oldest ?? total ?? unkept.newest ?? unkept.oldest) === undefined;
  }
  get bytes(): number {
    return ENTRY_BYTES + (this.newest?.bytes ?? 0) + (this.oldest?.bytes ?? 0) + (this.filling?.bytes ?? 0);
  }
}

/** A deletion under way. */
interface Hold {
  /** Undefined for all. */
  readonly sources: ReadonlySet<number> | undefined;
  /** When it was left, in ms since 1970; Infinity while `release` is promised. */
  readonly leftAt: number;
}

/** Of one tenant. */
class TenantEntries {
  /** By source or OF_TENANT, in the order in which they were last asked for. */
  readonly entries = new Map<number, Entry>();
  /** By name. */
  readonly holds = new Map<string, Hold>();
  bytes = 0;

  isHeld(key: number): boolean {
    for (const { sources } of this.holds.values())
      if (sources === undefined || key === OF_TENANT || sources.has(key)) return true;
    return false;
  }
}

/** @returns undefined when nothing can be told from it. */
function listOf(edge: Edge, { page, measurements, isWhole }: EdgeFound): RecentList | undefined {
  if (measurements === undefined || (measurements.length === 0 && !isWhole)) return undefined;
  return new RecentList(edge, page, measurements, isWhole);
}

export class RecentMeasurements implements RecentReader, DeletionWatch {
  readonly pageMax = PAGE_MAX;
  /** Pages and totals that were answered, and those for which the history is asked. */
  answeredCount = 0;
  askedCount = 0;
  bytes = 0;
  /** ms since 1970. */
  readonly now: () => number;
  readonly #bytesMax: number;
  readonly #tenants = new Map<number, TenantEntries>();
  #entriesCount = 0;
  /** Until the first `look`: a deletion that an earlier process began may still remove rows. */
  #isClosed = true;

  constructor(now: () => number, bytesMax = BYTES_MAX) {
    this.now = now;
    this.#bytesMax = bytesMax;
  }

  find({ tenant, source, edge }: EdgeOf, range: RecentRange): readonly RecentMeasurement[] | undefined {
    const entry = this.#tenants.get(tenant)?.entries.get(source ?? OF_TENANT);
    const found = this.#counted(entry?.[edge]?.find(range));
    // One that does not answer ends, though it is asked.
    if (entry !== undefined && found !== undefined) {
      entry.unread = 0;
      this.#entryOf(tenant, source);
    }
    return found;
  }

  has({ tenant, source, edge }: EdgeOf, page: number): boolean {
    const entry = this.#entryOf(tenant, source);
    const unkept = entry?.unkept[edge];
    if (unkept !== undefined && page >= unkept.page && this.now() < unkept.until) return true;
    return (entry?.[edge]?.page ?? 0) >= page;
  }

  total(tenant: number, source: number): number | undefined {
    return this.#counted(this.#entryOf(tenant, source)?.total);
  }

  async edge(
    { tenant, source, edge }: EdgeOf,
    range: RecentRange,
    read: () => Promise<EdgeFound>,
  ): Promise<readonly RecentMeasurement[] | undefined> {
    const told = await this.#filled(tenant, source ?? OF_TENANT, read, (entry, found, { added }) => {
      const list = listOf(edge, found);
      for (const item of added) if (list?.reaches(item.time, item.id) === true) list.add(item);
      if (list === undefined || list.bytes > this.#bytesMax / LIST_SHARE) {
        entry.unkept[edge] = { page: found.page, until: this.now() + UNKEPT_MS };
      } else {
        entry[edge] = list;
        if ((entry.unkept[edge]?.page ?? 0) <= found.page) delete entry.unkept[edge];
        entry.unread = 0;
      }
    });
    return listOf(edge, told)?.find(range);
  }

  async counted(tenant: number, source: number, read: () => Promise<number>): Promise<number> {
    return this.#filled(tenant, source, read, (entry, total, { added }) => {
      if (added.length === 0) entry.total = total;
    });
  }

  async #filled<Found>(
    tenant: number,
    key: number,
    read: () => Promise<Found>,
    keep: (entry: Entry, found: Found, filling: Filling) => void,
  ): Promise<Found> {
    const filling: Filling = { added: [], bytes: 0, isVoid: false };
    const begun = this.#begin(tenant, key, filling);
    if (begun === undefined) return read();
    const { of, entry } = begun;
    try {
      const found = await read();
      if (!filling.isVoid) this.#resized(of, entry, () => keep(entry, found, filling));
      return found;
    } finally {
      if (!filling.isVoid) {
        this.#resized(of, entry, () => {
          entry.filling = undefined;
        });
        if (entry.isEmpty) this.#remove(tenant, of, key);
      }
      this.#cut();
    }
  }

  /** @returns undefined when nothing is to be kept: during deletions, or as another query is under way for it. */
  #begin(tenant: number, key: number, filling: Filling): { of: TenantEntries; entry: Entry } | undefined {
    const of = this.#tenants.get(tenant) ?? new TenantEntries();
    const known = of.entries.get(key);
    if (this.#isClosed || of.isHeld(key) || known?.filling !== undefined) return undefined;
    const entry = known ?? new Entry();
    entry.filling = filling;
    this.#tenants.set(tenant, of);
    if (known === undefined) {
      of.entries.set(key, entry);
      this.#entriesCount += 1;
      this.#grow(of, entry.bytes);
      this.#cut();
    }
    return { of, entry };
  }

  /**
   * Takes a group that was decided, before anything of it is acknowledged.
   * @param records may change after the call.
   */
  take(records: Buffer): void {
    if (this.#tenants.size === 0) return;
    const view = new DataView(records.buffer, records.byteOffset, records.length);
    for (let at = 0; at < records.length; at = nextAt(records, at)) {
      const tenant = tenantAt(records, at);
      const of = this.#tenants.get(tenant);
      if (of === undefined) continue;
      const kind = kindAt(records, at);
      if (kind === COMMAND.MEASUREMENT) {
        if (!isStored(modeAt(records, at)) || !isWholeMeasurement(view, at)) continue;
        const source = keyAt(records, at);
        this.#takeInto(tenant, of, source, records, at);
        this.#takeInto(tenant, of, OF_TENANT, records, at);
      } else if (kind === COMMAND.DATA_DELETE || kind === COMMAND.SOURCE_DELETE) {
        this.#takeDeletion(readableCommand(records, at, 0));
      }
    }
    this.#cut();
  }

  /** @param command undefined for one that cannot be read, which deletes nothing. */
  #takeDeletion(command: JournalCommand | undefined): void {
    if (command === undefined) return;
    const { tenant, kind, body } = command;
    if (kind === COMMAND.SOURCE_DELETE) {
      this.forget(tenant, [Number((body as SourceDelete).source)]);
    } else {
      const { table, filter } = body as DataDelete;
      if (table === 'measurements') this.forget(tenant, sourcesOf(filter));
    }
  }

  #takeInto(tenant: number, of: TenantEntries, key: number, records: Buffer, at: number): void {
    const entry = of.entries.get(key);
    if (entry === undefined) return;
    const { newest, oldest, filling } = entry;
    if (entry.total !== undefined) entry.total += 1;
    const [time, id] = [records.readDoubleLE(at + OFFSET_TIME), records.readDoubleLE(at + OFFSET_ID)];
    const lists = [newest, oldest].filter((list) => list?.reaches(time, id) === true);
    if (lists.length === 0 && filling === undefined) return;
    // Who asked for it waits.
    if (filling === undefined) entry.unread += 1;
    if (entry.unread > UNREAD_MAX) {
      this.#remove(tenant, of, key);
      return;
    }
    const item = decodeMeasurement(records, at);
    this.#resized(of, entry, () => {
      for (const list of lists) list?.add(item);
      if (filling === undefined) return;
      filling.added.push(item);
      filling.bytes += bytesOf(item);
    });
    if (filling !== undefined && filling.bytes > ADDED_BYTES_MAX) this.#remove(tenant, of, key);
  }

  /**
   * What is known, and what is being asked, is not true any more: of the sources and of the tenant's own list; of all
   * without them.
   */
  forget(tenant: number, sources?: Iterable<number>): void {
    const of = this.#tenants.get(tenant);
    if (of === undefined) return;
    for (const key of sources === undefined ? [...of.entries.keys()] : [...sources, OF_TENANT])
      this.#remove(tenant, of, key);
  }

  /** What is set aside is not in the history: it is not told from memory either. */
  setAside({ kind, row }: QuarantineEntry): void {
    if (kind !== 'measurement') return;
    const { tenant, source } = row as { readonly tenant: number; readonly source: number };
    this.forget(tenant, [source]);
  }

  hold(tenant: number, deletion: string, sources?: readonly number[]): void {
    this.#hold(tenant, deletion, {
      sources: sources === undefined ? undefined : new Set(sources),
      leftAt: Infinity,
    });
  }

  leave(tenant: number, deletion: string): void {
    const held = this.#tenants.get(tenant)?.holds.get(deletion);
    if (held !== undefined) this.#hold(tenant, deletion, { ...held, leftAt: this.now() });
  }

  release(tenant: number, deletion: string): void {
    const of = this.#tenants.get(tenant);
    if (of === undefined) return;
    of.holds.delete(deletion);
    this.#tidy(tenant, of);
  }

  /** Names of deletions that keep measurements out of memory until `look`, each behind its tenant. */
  get waiting(): readonly string[] {
    if (this.#isClosed) return ['all tenants'];
    return [...this.#tenants].flatMap(([tenant, { holds }]) =>
      [...holds].filter(([, { leftAt }]) => leftAt < Infinity).map(([deletion]) => `tenant ${tenant}: ${deletion}`),
    );
  }

  /**
   * Told of whom the history deletes measurements: what was left of others holds nothing up.
   * @param tenants undefined when that is not known.
   */
  look(tenants: ReadonlySet<number> | undefined): void {
    if (tenants === undefined) return;
    if (this.#isClosed)
      for (const tenant of tenants) this.#hold(tenant, EARLIER, { sources: undefined, leftAt: -Infinity });
    this.#isClosed = false;
    const until = this.now() - LEFT_MS;
    for (const [tenant, of] of [...this.#tenants]) {
      if (tenants.has(tenant)) continue;
      for (const [deletion, { leftAt }] of of.holds) if (leftAt <= until) of.holds.delete(deletion);
      this.#tidy(tenant, of);
    }
  }

  #hold(tenant: number, deletion: string, hold: Hold): void {
    this.forget(tenant, hold.sources);
    const of = this.#tenants.get(tenant) ?? new TenantEntries();
    of.holds.set(deletion, hold);
    this.#tenants.set(tenant, of);
  }

  #entryOf(tenant: number, source: number | undefined): Entry | undefined {
    const entries = this.#tenants.get(tenant)?.entries;
    const key = source ?? OF_TENANT;
    const entry = entries?.get(key);
    if (entries === undefined || entry === undefined) return undefined;
    entries.delete(key);
    entries.set(key, entry);
    return entry;
  }

  #counted<Known>(known: Known | undefined): Known | undefined {
    if (known === undefined) this.askedCount += 1;
    else this.answeredCount += 1;
    return known;
  }

  #resized(of: TenantEntries, entry: Entry, change: () => void): void {
    const before = entry.bytes;
    change();
    this.#grow(of, entry.bytes - before);
  }

  #grow(of: TenantEntries, bytes: number): void {
    of.bytes += bytes;
    this.bytes += bytes;
  }

  #remove(tenant: number, of: TenantEntries, key: number): void {
    const entry = of.entries.get(key);
    if (entry === undefined) return;
    if (entry.filling !== undefined) {
      entry.filling.isVoid = true;
      entry.filling.added = [];
    }
    of.entries.delete(key);
    this.#entriesCount -= 1;
    this.#grow(of, -entry.bytes);
    this.#tidy(tenant, of);
  }

  #tidy(tenant: number, { entries, holds }: TenantEntries): void {
    if (entries.size === 0 && holds.size === 0) this.#tenants.delete(tenant);
  }

  #cut(): void {
    for (;;) {
      const isTooMuch = this.bytes > this.#bytesMax;
      if (!isTooMuch && this.#entriesCount <= ENTRIES_MAX) return;
      const sizeOf = ({ bytes, entries }: TenantEntries): number => (isTooMuch ? bytes : entries.size);
      let [tenant, largest] = [0, new TenantEntries()];
      for (const [number, of] of this.#tenants) if (sizeOf(of) > sizeOf(largest)) [tenant, largest] = [number, of];
      const [first] = largest.entries.keys();
      if (first === undefined) return;
      this.#remove(tenant, largest, first);
    }
  }
}
