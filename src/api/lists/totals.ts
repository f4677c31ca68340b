/** Counts of lists, as answers. */
import type { HistoryFilter, MutableTable } from '../../history/filter.ts';
import { countDocuments } from '../../history/totals.ts';
import type { ApiRequest } from '../request/request.ts';
import { listReaders } from './readers.ts';

/** What a count of alarms or events tells users who see a part of the inventory alone (docs/spec/alarms.md#lists). */
const COUNT_OF_PART_MAX = 100;

/** @returns how many rows match, for an answer. */
export async function countText(request: ApiRequest, table: MutableTable, filter: HistoryFilter): Promise<string> {
  const total = await countDocuments(listReaders(request), table, filter);
  return String(filter.isOfPart ? Math.min(total, COUNT_OF_PART_MAX) : total);
}
