/** What a query of the history reads, so that it waits for no other rows. */
import type { DataDelete } from '../../model/commands/deletion.ts';
import type { JournalCommand } from '../journal/command-record.ts';

export interface HistoryQuery {
  readonly tables: readonly string[];
  /** The only source whose measurements it reads. */
  readonly source?: number | undefined;
  /** The only tenant whose rows it reads. */
  readonly tenant?: number | undefined;
}

/** Whether the query may show what a DELETE removes. */
export function isConcerned({ tables, tenant }: HistoryQuery, deletion: JournalCommand): boolean {
  return (tenant === undefined || tenant === deletion.tenant) && tables.includes((deletion.body as DataDelete).table);
}
