/**
 * Availability of a device as the monitor has found it (docs/spec/availability.md): its fragments, and the alarm about
 * its silence.
 */
import type { AvailabilitySet } from '../../model/commands/entities.ts';
import {
  AVAILABILITY_FRAGMENTS,
  UNAVAILABILITY_ALARM,
  UNAVAILABILITY_TEXT,
  fitAvailability,
  statusMember,
} from '../../model/entities/availability.ts';
import type { AvailabilityState } from '../../model/entities/availability.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { joinMembers, splitMembers } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { createAlarm, updateAlarmOfType } from './alarms/alarm.ts';
import { SERVER_USER, availabilityOf, putAvailability } from './inventory/availability-state.ts';
import type { ActorContext } from '../runtime/context.ts';
import { parentsOf } from './inventory/managed-object.ts';
import { managedObjectRow } from '../runtime/rows.ts';

export function setAvailability(context: ActorContext, body: AvailabilitySet): undefined {
  const id = String(context.command.key);
  const text = context.get('managedObject', id);
  const before = availabilityOf(context, id);
  if (text === undefined) {
    if (before !== undefined) context.remove('availability', id);
    return undefined;
  }
  const isMonitored = before?.interval !== undefined && before.interval > 0;
  const connection = body.connection ?? before?.connection;
  const state: AvailabilityState = {
    ...(before?.interval === undefined ? {} : { interval: before.interval }),
    lastMessage: Math.max(before?.lastMessage ?? 0, body.lastMessage),
    isSilent: isMonitored && body.isSilent,
    ...(connection === undefined ? {} : { connection }),
  };
  putAvailability(context, id, state);
  writeFragments(context, id, splitMembers(text), state);
  // Behind the fragments: the alarm changes the same document.
  if (isMonitored && state.isSilent !== before?.isSilent) tellSilence(context, id, state.isSilent, body.alarmId);
  return undefined;
}

/**
 * A sign of life does not change the object: `lastUpdated` stays (docs/spec/availability.md#messages). Subscribers
 * are told of changed states.
 */
function writeFragments(context: ActorContext, id: string, members: Members, state: AvailabilityState): void {
  const statuses = (): string =>
    [AVAILABILITY_FRAGMENTS.STATUS, AVAILABILITY_FRAGMENTS.CONNECTION]
      .map((name) => statusMember(members, name))
      .join();
  const before = statuses();
  if (!fitAvailability(members, state)) return;
  const text = joinMembers(members);
  context.put('managedObject', id, text);
  context.row(managedObjectRow(context.command, id, members, parentsOf(context, id)));
  if (statuses() !== before) context.notify('managedobjects', id, 'UPDATE', text);
}

function tellSilence(context: ActorContext, id: string, isSilent: boolean, alarmId: string | undefined): void {
  const open = context.get('openAlarm', `${id}\n${UNAVAILABILITY_ALARM}`);
  if (!isSilent) {
    if (open !== undefined)
      updateAlarmOfType(context, { type: UNAVAILABILITY_ALARM, doc: '{"status":"CLEARED"}', user: SERVER_USER });
    return;
  }
  // An alarm that a user raised, or that was not cleared, tells it already.
  if (open !== undefined || alarmId === undefined) return;
  const time = context.command.receivedAt;
  const doc = JSON.stringify({ type: UNAVAILABILITY_ALARM, time: formatTime(time), text: UNAVAILABILITY_TEXT });
  createAlarm(context, {
    id: alarmId,
    type: UNAVAILABILITY_ALARM,
    time,
    severity: 'MAJOR',
    status: 'ACTIVE',
    doc,
    user: SERVER_USER,
  });
}
