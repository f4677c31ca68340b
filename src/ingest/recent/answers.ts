/**
 * Answers of the history about objects, events, alarms and operations: which entities are on a page of a list, and
 * totals. One is kept until a row is decided of what it is about, a table of a tenant or of one source in it. Dashboards
 * ask the same again and again, mostly when nothing has changed. On a single node only, which sees all rows.
 */
import { LRUCache } from 'lru-cache';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { HistoryRow } from '../../ports/stores/history-writer.ts';
import type { DataDelete } from '../../model/commands/deletion.ts';
import { readableCommand } from '../journal/command-record.ts';
import { kindAt, nextAt, tenantAt } from '../journal/record-layout.ts';
import type { HistoryStatement } from '../../ports/history-reader.ts';
import type { KnownAnswers } from '../../ports/known-answers.ts';

/** Memory of all; beyond it the tenant with most of it loses what was asked for longest ago. */
const BYTES_MAX = 16 * 1024 * 1024;
/** Of one; larger ones are not kept. */
const ANSWER_BYTES_MAX = 256 * 1024;
/** Estimate of what one takes beside its name and value. */
const ENTRY_BYTES = 500;
/** Tables whose every change is a row that an actor decides. */
const TABLES: ReadonlySet<string> = new Set(['managed_objects', 'events', 'alarms', 'operations']);
/** How rows begin (actors/runtime/rows.ts). */
const ROW = /^\{"tenant":(\d+),"id":\d+(?:,"source":(\d+))?/;

interface Entry {
  readonly name: string;
  /** What it is about: `<table>/` and, if that is all it reads of the table, the source. */
  readonly places: readonly string[];
  value: unknown;
  bytes: number;
  /** Something has changed since it was asked for. */
  isOver: boolean;
}

/** @returns undefined for what is not kept. */
function placesOf({ tables, source }: HistoryStatement): string[] | undefined {
  if (tables.length === 0 || !tables.every((table) => TABLES.has(table))) return undefined;
  // Objects decide about rights, whatever the source.
  return tables.map((table) => `${table}/${table === 'managed_objects' ? '' : (source ?? '')}`);
}

/** Those of a tenant. */
class TenantAnswers {
  readonly known: LRUCache<string, Entry>;
  /** Those that are known, and those that are being asked for. */
  readonly #byPlace = new Map<string, Set<Entry>>();

  constructor(bytesMax: number) {
    this.known = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: (entry) => {
        this.leave(entry);
      },
    });
  }

  get isEmpty(): boolean {
    return this.#byPlace.size === 0;
  }
  get bytes(): number {
    return this.known.calculatedSize;
  }

  enter(entry: Entry): void {
    for (const place of entry.places) {
      const entries = this.#byPlace.get(place);
      if (entries === undefined) this.#byPlace.set(place, new Set([entry]));
      else entries.add(entry);
    }
  }

  leave(entry: Entry): void {
    for (const place of entry.places) {
      const entries = this.#byPlace.get(place);
      entries?.delete(entry);
      if (entries?.size === 0) this.#byPlace.delete(place);
    }
  }

  takeRow(table: string, source: string | undefined): void {
    this.#end(`${table}/`);
    if (source !== undefined) this.#end(`${table}/${source}`);
    else if (table !== 'managed_objects') this.endAll(`${table}/`);
  }

  endAll(begin: string): void {
    for (const place of [...this.#byPlace.keys()]) if (place.startsWith(begin)) this.#end(place);
  }

  #end(place: string): void {
    for (const entry of [...(this.#byPlace.get(place) ?? [])]) {
      entry.isOver = true;
      if (this.known.peek(entry.name) === entry) this.known.delete(entry.name);
      else this.leave(entry);
    }
  }
}

export class RecentAnswers implements KnownAnswers {
  answeredCount = 0;
  askedCount = 0;
  readonly #bytesMax: number;
  readonly #tenants = new Map<number, TenantAnswers>();

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    let bytes = 0;
    for (const of of this.#tenants.values()) bytes += of.bytes;
    return bytes;
  }

  async answer<Value>(
    statement: HistoryStatement,
    read: () => Promise<Value>,
    bytesOf: (value: Value) => number,
  ): Promise<Value> {
    const { tenant, sql, params } = statement;
    const places = placesOf(statement);
    if (tenant === undefined || places === undefined) return read();
    const name = JSON.stringify([sql, params]);
    const known = this.#tenants.get(tenant)?.known.get(name);
    if (known !== undefined) {
      this.answeredCount += 1;
      return known.value as Value;
    }
    this.askedCount += 1;
    const of = this.#tenants.get(tenant) ?? new TenantAnswers(this.#bytesMax);
    this.#tenants.set(tenant, of);
    const entry: Entry = { name, places, value: undefined, bytes: 0, isOver: false };
    of.enter(entry);
    let isKept = false;
    try {
      const value = await read();
      entry.value = value;
      entry.bytes = ENTRY_BYTES + 2 * name.length + bytesOf(value);
      isKept = !entry.isOver && entry.bytes <= ANSWER_BYTES_MAX;
      return value;
    } finally {
      if (isKept) of.known.set(name, entry);
      else of.leave(entry);
      this.#cut();
      this.#tidy(tenant);
    }
  }

  /**
   * Takes a group that was decided, before anything of it is acknowledged.
   * @param records may change after the call.
   */
  take(records: Buffer, rows: readonly HistoryRow[]): void {
    if (this.#tenants.size === 0) return;
    for (const { table, text } of rows) if (TABLES.has(table)) this.#takeRow(table, text);
    // What a DELETE removes is waited for by who asks behind it, and its rows come later.
    for (let at = 0; at < records.length; at = nextAt(records, at)) {
      const kind = kindAt(records, at);
      if (kind !== COMMAND.DATA_DELETE && kind !== COMMAND.SOURCE_DELETE) continue;
      const tenant = tenantAt(records, at);
      const of = this.#tenants.get(tenant);
      if (of === undefined) continue;
      // Of a deleted source, all tables have some.
      const body = kind === COMMAND.DATA_DELETE ? readableCommand(records, at, 0)?.body : undefined;
      of.endAll(body === undefined ? '' : `${(body as DataDelete).table}/`);
      this.#tidy(tenant);
    }
  }

  #takeRow(table: string, text: string): void {
    const [, tenant, source] = ROW.exec(text) ?? [];
    if (tenant === undefined) throw new Error(`a row of ${table} without its tenant`);
    this.#tenants.get(Number(tenant))?.takeRow(table, source);
    this.#tidy(Number(tenant));
  }

  #cut(): void {
    while (this.bytes > this.#bytesMax) {
      let [largest] = this.#tenants.values();
      for (const of of this.#tenants.values()) if (largest === undefined || of.bytes > largest.bytes) largest = of;
      largest?.known.pop();
    }
  }

  #tidy(tenant: number): void {
    if (this.#tenants.get(tenant)?.isEmpty === true) this.#tenants.delete(tenant);
  }
}
