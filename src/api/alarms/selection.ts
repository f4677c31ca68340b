/** Which alarms the filters of a request select (docs/spec/alarms.md#lists). */
import Type from 'typebox';
import { ALARM_SEVERITIES, ALARM_STATUSES, OPEN_ALARM_STATUSES } from '../../model/entities/alarm.ts';
import type { ApiRequest } from '../request/request.ts';
import type { AlarmSelection, TimeRange } from '../../history/alarm-selection.ts';
import { sourceSelection } from '../lists/hierarchy.ts';
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

/** Without what the user may reach: lists and changes add theirs. */
export async function alarmSelection(request: ApiRequest): Promise<AlarmSelection> {
  const { query } = request;
  const range = (name: string): TimeRange => [query.time(`${name}From`) ?? null, query.time(`${name}To`) ?? null];
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
  };
}
