/** Which alarms a list, a count or a change is about, as a value that can be stored (docs/spec/alarms.md#lists). */
import type { HistoryReader } from '../ports/history-reader.ts';
import { conditionOfAccess } from './access.ts';
import type { Access } from './access.ts';
import { addBefore } from './deletion.ts';
import { HistoryFilter } from './filter.ts';
import { addSources } from './objects-below.ts';
import type { SourceSelection } from './objects-below.ts';
import { addParameters } from './parameters.ts';

export type TimeRange = readonly [from: number | null, to: number | null];

/** Empty lists and nulls select everything. Times in ms since 1970. */
export interface AlarmSelection extends SourceSelection {
  readonly statuses: readonly string[];
  readonly severities: readonly string[];
  readonly types: readonly string[];
  readonly time: TimeRange;
  readonly created: TimeRange;
  readonly lastUpdated: TimeRange;
  /** Of a user without a global role: only alarms of what he may reach. */
  readonly access?: Access;
}

export function alarmFilter(tenant: number, selection: AlarmSelection): HistoryFilter {
  const filter = new HistoryFilter(tenant);
  addSources(filter, selection);
  if (selection.access !== undefined) filter.ofPart(conditionOfAccess(selection.access, filter, 'source'));
  const range = (name: string, [from, to]: TimeRange): object => ({
    [`${name}From`]: from ?? undefined,
    [`${name}To`]: to ?? undefined,
  });
  return addParameters(filter, 'alarms', {
    ...range('date', selection.time),
    ...range('created', selection.created),
    ...range('lastUpdated', selection.lastUpdated),
    status: selection.statuses,
    severity: selection.severities,
    type: selection.types,
  });
}

/** A change of many alarms: what it selects of those that were there when it came. */
export interface AlarmsToChange {
  readonly selection: AlarmSelection;
  /**
   * Sequence of the command that stored it: alarms that were changed since have a later version, whatever the clocks of
   * the nodes say.
   */
  readonly seq: number;
  /** By the clock of the gateway, ms since 1970: alarms that were created later are not selected. */
  readonly requestedAt: number;
}

/** Ids of the records of such changes begin so, in the collection `job` of the tenant. */
export const BULK_CHANGE_PREFIX = 'alarms/';
/** Changes of one tenant that are under way at once; more are refused. */
export const BULK_CHANGES_MAX = 50;

/** Such a change as it is stored: PUT writes it, `src/jobs/alarms/bulk-changes.ts` carries it out. */
export interface BulkAlarmChange extends AlarmsToChange {
  readonly status: string;
  readonly user: string;
  readonly application?: string;
  /** Id of the last alarm that is done; ids ascend. */
  readonly after: number;
}

/** The first alarms behind the id `after`, by id. */
export function alarmsToChange(
  history: HistoryReader,
  tenant: number,
  { selection, seq, requestedAt }: AlarmsToChange,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<{ id: number; source: number }[]> {
  const filter = alarmFilter(tenant, selection);
  addBefore(filter, seq, requestedAt).add(`id > ${filter.bind('UInt64', after)}`);
  return history.query<{ id: number; source: number }>(
    filter.statement(
      ['alarms'],
      `SELECT id, source FROM alarms FINAL WHERE ${filter.where} ORDER BY id LIMIT ${limit}`,
    ),
  );
}
