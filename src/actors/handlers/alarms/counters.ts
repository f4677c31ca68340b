/** `c8y_ActiveAlarmsStatus` of a source: how many alarms of each severity are open (docs/spec/alarms.md#counters). */
import { isOpenStatus } from '../../../model/entities/alarm.ts';
import { ALARMS_FRAGMENT } from '../../../model/entities/availability.ts';
import { splitMembers, stringMember } from '../../../model/documents/json-document.ts';
import type { Members } from '../../../model/documents/json-document.ts';
import { followAlarms } from '../inventory/availability-state.ts';
import type { ActorContext } from '../../runtime/context.ts';
import { writeManagedObject } from '../inventory/managed-object.ts';
import { openIds } from './open-alarms.ts';

const SEVERITIES = ['critical', 'major', 'minor', 'warning'] as const;
type Counts = Record<(typeof SEVERITIES)[number], number>;

const openSeverity = (alarm: Members | undefined): string =>
  alarm !== undefined && isOpenStatus(stringMember(alarm, 'status') ?? 'ACTIVE')
    ? (stringMember(alarm, 'severity') ?? '').toLowerCase()
    : '';

/**
 * An alarm of the source changes. To be called before the alarm is put: an object without counters gets them from what
 * is open.
 * @param before undefined for a new alarm. @param after undefined for one that is deleted.
 */
export function countAlarm(
  context: ActorContext,
  source: string,
  before: Members | undefined,
  after: Members | undefined,
): void {
  const [was, becomes] = [openSeverity(before), openSeverity(after)];
  const text = context.get('managedObject', source);
  if (was === becomes || text === undefined) return;
  const members = splitMembers(text);
  const counts = countsOf(members) ?? countOpen(context, source);
  for (const severity of SEVERITIES) {
    counts[severity] = Math.max(0, counts[severity] + (severity === becomes ? 1 : 0) - (severity === was ? 1 : 0));
  }
  members.set(ALARMS_FRAGMENT, JSON.stringify(counts));
  followAlarms(context, source, members);
  writeManagedObject(context, source, members, 'UPDATE');
}

function countsOf(members: Members): Counts | undefined {
  const text = members.get(ALARMS_FRAGMENT);
  if (text?.startsWith('{') !== true) return undefined;
  const stored = splitMembers(text);
  const count = (name: string): number => Number(stored.get(name) ?? 0) || 0;
  return { critical: count('critical'), major: count('major'), minor: count('minor'), warning: count('warning') };
}

/** Alarms that are open before this command. */
function countOpen(context: ActorContext, source: string): Counts {
  const counts: Counts = { critical: 0, major: 0, minor: 0, warning: 0 };
  for (const { value } of context.list('openAlarm', `${source}\n`)) {
    for (const id of openIds(context, value)) {
      const text = context.get('alarm', id);
      const severity = text === undefined ? '' : openSeverity(splitMembers(text));
      if (severity in counts) counts[severity as keyof Counts] += 1;
    }
  }
  return counts;
}
