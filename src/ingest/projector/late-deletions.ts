/**
 * Deletions that may come later than their place in the journal: of the data of deleted managed objects
 * (docs/spec/inventory.md#deleting), and of single measurements by their ids. Nothing is added to either behind them.
 * Many are carried out together, each table once; one by one they would hold up the lists of all tenants.
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { DataDelete, SourceDelete } from '../../model/commands/deletion.ts';
import { formatTime, parseTime } from '../../model/documents/iso-time.ts';
import { readableCommand } from '../journal/command-record.ts';
import type { JournalCommand } from '../journal/command-record.ts';
import { kindAt, nextAt } from '../journal/record-layout.ts';
import { isConcerned } from './history-query.ts';
import type { HistoryQuery } from '../../ports/history-reader.ts';

/** Sources, or measurements, of one deletion: their ids are a value of its statements. */
export const SOURCES_AT_ONCE = 1_000;
/** Commands that are kept; with more a block is full. */
const COMMANDS_MAX = 10_000;
const TABLES = ['measurements', 'events', 'alarms', 'operations'] as const satisfies readonly DataDelete['table'][];

/** What may stand beside the id of a measurement: where it lies in the table. */
const OF_ONE: readonly string[] = ['id', 'source', 'dateFrom', 'dateTo'];

const sourceOf = ({ body }: JournalCommand): string => (body as SourceDelete).source;
const filterOf = ({ body }: JournalCommand): DataDelete['filter'] => (body as DataDelete).filter;

/** Whether the command deletes one measurement by its id. */
export function isOfOneMeasurement({ kind, body }: JournalCommand): boolean {
  if (kind !== COMMAND.DATA_DELETE) return false;
  const { table, filter } = body as DataDelete;
  return (
    table === 'measurements' && filter.id !== undefined && Object.keys(filter).every((name) => OF_ONE.includes(name))
  );
}

/** What is carried out together: of one tenant and mode, of measurements also of one source. */
function groupOf(command: JournalCommand): string {
  const place = `${command.tenant} ${command.mode}`;
  return command.kind === COMMAND.SOURCE_DELETE ? place : `${place} ${filterOf(command).source ?? ''}`;
}

/** Dates from the first measurement to the last; none where a command lacks one. */
function datesOf(filters: readonly DataDelete['filter'][]): DataDelete['filter'] {
  const times = filters.flatMap(({ dateFrom, dateTo }) =>
    [dateFrom, dateTo].map((text) => parseTime(text ?? '') ?? NaN),
  );
  if (times.some(Number.isNaN)) return {};
  return { dateFrom: formatTime(Math.min(...times)), dateTo: formatTime(Math.max(...times)) };
}

function bodiesOf(commands: readonly JournalCommand[]): DataDelete[] {
  const [{ kind, body }] = commands;
  if (kind === COMMAND.SOURCE_DELETE) {
    const ids = [...new Set(commands.map(sourceOf))];
    const filter: DataDelete['filter'] = ids.length === 1 ? { source: ids[0] } : { sources: ids.join(',') };
    return TABLES.map((table) => ({ table, filter }));
  }
  if (commands.length === 1) return [body as DataDelete];
  const filters = commands.map(filterOf);
  const ids = [...new Set(filters.map(({ id }) => id))].join(',');
  const [{ source }] = filters;
  return [{ table: 'measurements', filter: { ids, ...(source === undefined ? {} : { source }), ...datesOf(filters) } }];
}

/**
 * @param commands SOURCE_DELETE, or DATA_DELETE of single measurements, in their order.
 * @returns what deletes the data of all of them: DATA_DELETE by `source`, `sources`, `id` or `ids`.
 */
export function deletionsOf(commands: readonly JournalCommand[]): JournalCommand[] {
  const groups = new Map<string, JournalCommand[]>();
  for (const command of commands) {
    const key = groupOf(command);
    const last = groups.get(key);
    if (last === undefined) groups.set(key, [command]);
    else last.push(command);
  }
  const deletions: JournalCommand[] = [];
  for (const group of groups.values()) {
    for (let start = 0; start < group.length; start += SOURCES_AT_ONCE) {
      const some = group.slice(start, start + SOURCES_AT_ONCE);
      for (const body of bodiesOf(some)) deletions.push({ ...some[some.length - 1], kind: COMMAND.DATA_DELETE, body });
    }
  }
  return deletions;
}

/** SOURCE_DELETE among records of a group, with sequences in (after, through]; what cannot be read deletes nothing. */
export function sourceDeletions(records: Buffer, firstSeq: number, after: number, through: number): JournalCommand[] {
  const found: JournalCommand[] = [];
  let seq = firstSeq;
  for (let at = 0; at < records.length && seq <= through; at = nextAt(records, at), seq += 1) {
    const command =
      seq > after && kindAt(records, at) === COMMAND.SOURCE_DELETE ? readableCommand(records, at, seq) : undefined;
    if (command !== undefined) found.push(command);
  }
  return found;
}

/** Those of a block. */
export class LateDeletions {
  #commands: JournalCommand[] = [];

  get isFull(): boolean {
    return this.#commands.length >= COMMANDS_MAX;
  }
  get deletions(): JournalCommand[] {
    return deletionsOf(this.#commands);
  }

  add(command: JournalCommand): void {
    this.#commands.push(command);
  }

  /** Whether the query may show what is still to be deleted. */
  concerns(query: HistoryQuery): boolean {
    const { tables, tenant, source } = query;
    return this.#commands.some((command) =>
      command.kind === COMMAND.SOURCE_DELETE
        ? TABLES.some((table) => tables.includes(table)) &&
          (tenant === undefined || tenant === command.tenant) &&
          (source === undefined || Number(sourceOf(command)) === source)
        : isConcerned(query, command),
    );
  }

  clear(): void {
    this.#commands = [];
  }
}
