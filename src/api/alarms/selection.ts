/**
 * Which alarms a list, a count or a change is about (docs/spec/alarms.md#lists): as a value that can be stored, and as
 * a condition.
 */
import Type from 'typebox';
import { ALARM_SEVERITIES, ALARM_STATUSES, OPEN_ALARM_STATUSES } from '../../model/entities/alarm.ts';
import type { ApiRequest } from '../request/request.ts';
import { addSources, sourceSelection } from '../lists/hierarchy.ts';
import type { SourceSelection } from '../lists/hierarchy.ts';
import { HistoryFilter } from '../lists/filter.ts';
import { accessOf, conditionOfAccess } from '../lists/owner.ts';
import type { Access } from '../lists/owner.ts';
import { CREATED, HIERARCHY, LAST_UPDATED, RANGE, SOURCE, flag, list } from '../request/schema/query-parameters.ts';

export const ALARM_FILTERS = {
  ...SOURCE,
  ...HIERARCHY,
  status: list(Type.Enum([...ALARM_STATUSES]), 'Statuses, comma separated'),
  severity: list(Type.Enum([...ALARM_SEVERITIES]), 'Severities, comma separated'),
  type: list(Type.String(), 'Types, comma separated'),
  resolved: flag('true: CLEARED; false: ACTIVE and ACKNOWLEDGED; wins over status'),
  ...RANGE,
  ...CREATED,
  ...LAST_UPDATED,
};

type Range = readonly [from: number | null, to: number | null];

/** Empty lists and nulls select everything. Times in ms since 1970. */
export interface AlarmSelection extends SourceSelection {
  readonly statuses: readonly string[];
  readonly severities: readonly string[];
  readonly types: readonly string[];
  readonly time: Range;
  readonly created: Range;
  readonly lastUpdated: Range;
  /** Of who has no global role: only alarms of what he may reach. */
  readonly access?: Access;
}

export async function alarmSelection(request: ApiRequest): Promise<AlarmSelection> {
  const { query } = request;
  const range = (name: string): Range => [query.time(`${name}From`) ?? null, query.time(`${name}To`) ?? null];
  return {
    ...(await sourceSelection(request)),
    statuses: query.isTrue('resolved')
      ? ['CLEARED']
      : query.isFalse('resolved')
        ? OPEN_ALARM_STATUSES
        : query.list('status'),
    severities: query.list('severity'),
    types: query.list('type'),
    time: range('date'),
    created: range('created'),
    lastUpdated: range('lastUpdated'),
    ...(request.isPrivileged ? {} : { access: accessOf(request) }),
  };
}

export function alarmFilter(tenant: number, selection: AlarmSelection): HistoryFilter {
  const filter = new HistoryFilter(tenant);
  addSources(filter, selection);
  const time = (column: string, [from, to]: Range): void =>
    void filter.time(column, from ?? undefined, to ?? undefined);
  if (selection.access !== undefined) filter.ofPart(conditionOfAccess(selection.access, filter, 'source'));
  time('time', selection.time);
  time('creation_time', selection.created);
  time('last_updated', selection.lastUpdated);
  return filter
    .textIn('status', selection.statuses)
    .textIn('severity', selection.severities)
    .textIn('type', selection.types);
}
