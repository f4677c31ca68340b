/**
 * The data of managed objects that are gone (docs/spec/inventory.md#deleting). Nothing comes for such a source any
 * more, so its data is deleted at any later time as well: what many deletions leave is carried out together, each table
 * once, where each for itself would hold up lists.
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { DataDelete, SourceDelete } from '../../model/commands/deletion.ts';
import { readableCommand } from '../journal/command-record.ts';
import type { JournalCommand } from '../journal/command-record.ts';
import { kindAt, nextAt } from '../journal/record-layout.ts';
import type { HistoryQuery } from '../../ports/history-reader.ts';

/** Sources of one deletion: their ids are a value of its statements. */
export const SOURCES_AT_ONCE = 1_000;
/** Commands that are kept; with more a block is full. */
const COMMANDS_MAX = 10_000;
const TABLES = ['measurements', 'events', 'alarms', 'operations'] as const satisfies readonly DataDelete['table'][];

const sourceOf = ({ body }: JournalCommand): string => (body as SourceDelete).source;

/**
 * @param commands SOURCE_DELETE, in their order. @returns what deletes the data of all of them: DATA_DELETE by `source`
 * or `sources`.
 */
export function deletionsOf(commands: readonly JournalCommand[]): JournalCommand[] {
  const groups = new Map<string, JournalCommand[]>();
  for (const command of commands) {
    const key = `${command.tenant} ${command.mode}`;
    const last = groups.get(key);
    if (last === undefined) groups.set(key, [command]);
    else last.push(command);
  }
  const deletions: JournalCommand[] = [];
  for (const group of groups.values()) {
    for (let start = 0; start < group.length; start += SOURCES_AT_ONCE) {
      const some = group.slice(start, start + SOURCES_AT_ONCE);
      const ids = [...new Set(some.map(sourceOf))];
      const filter: DataDelete['filter'] = ids.length === 1 ? { source: ids[0] } : { sources: ids.join(',') };
      for (const table of TABLES) {
        const body: DataDelete = { table, filter };
        deletions.push({ ...some[some.length - 1], kind: COMMAND.DATA_DELETE, body });
      }
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
export class GoneSources {
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
  concerns({ tables, tenant, source }: HistoryQuery): boolean {
    if (this.#commands.length === 0 || !TABLES.some((table) => tables.includes(table))) return false;
    return this.#commands.some(
      (command) =>
        (tenant === undefined || tenant === command.tenant) &&
        (source === undefined || Number(sourceOf(command)) === source),
    );
  }

  clear(): void {
    this.#commands = [];
  }
}
