/** Deletions that a query of the history waits for. */
import type { DataDelete } from '../../model/commands/deletion.ts';
import type { HistoryQuery } from '../../ports/history-reader.ts';
import type { JournalCommand } from '../journal/command-record.ts';

/** Whether the query may show what a DELETE removes. */
export function isConcerned({ tables, tenant }: HistoryQuery, deletion: JournalCommand): boolean {
  return (tenant === undefined || tenant === deletion.tenant) && tables.includes((deletion.body as DataDelete).table);
}
