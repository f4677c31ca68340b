/** What a managed object's actor keeps about its availability (docs/spec/availability.md). */
import { UNAVAILABILITY_ALARM, fitAvailability, requiredInterval } from '../../../model/entities/availability.ts';
import type { AvailabilityState } from '../../../model/entities/availability.ts';
import { COMMAND } from '../../../model/commands/kinds.ts';
import type { Members } from '../../../model/documents/json-document.ts';
import type { ActorContext } from '../../runtime/context.ts';

/** Who raises and clears alarms about silence. */
export const SERVER_USER = 'system';

export function availabilityOf(context: ActorContext, id: string): AvailabilityState | undefined {
  const text = context.get('availability', id);
  return text === undefined ? undefined : (JSON.parse(text) as AvailabilityState);
}

export function putAvailability(context: ActorContext, id: string, state: AvailabilityState): void {
  const text = JSON.stringify(state);
  if (context.get('availability', id) !== text) context.put('availability', id, text);
}

/**
 * The object is being written: its required interval may have come, changed or gone. Sets the server's fragments in
 * `members`.
 */
export function followRequiredInterval(context: ActorContext, id: string, members: Members): void {
  const interval = requiredInterval(members);
  const stored = availabilityOf(context, id);
  if (interval === undefined && stored === undefined) return;
  const { interval: _, ...others } = stored ?? { lastMessage: context.command.receivedAt, isSilent: false };
  const isMonitored = interval !== undefined && interval > 0;
  const state: AvailabilityState = {
    ...(interval === undefined ? {} : { interval }),
    ...others,
    isSilent: isMonitored && others.isSilent,
  };
  putAvailability(context, id, state);
  fitAvailability(members, state);
  if (others.isSilent && !state.isSilent) endSilence(context, id);
}

/**
 * The availability of the device is not watched any more. By a command of its own: the object, which has the counters
 * of alarms, is being written.
 */
function endSilence(context: ActorContext, id: string): void {
  if (context.get('openAlarm', `${id}\n${UNAVAILABILITY_ALARM}`) === undefined) return;
  context.send({
    kind: COMMAND.ALARM_OF_TYPE_UPDATE,
    key: Number(id),
    body: { type: UNAVAILABILITY_ALARM, doc: '{"status":"CLEARED"}', user: SERVER_USER },
  });
}

/** The alarms of the object have changed. Of a device without a state nothing is known but that a message has come. */
export function followAlarms(context: ActorContext, id: string, members: Members): void {
  fitAvailability(members, availabilityOf(context, id) ?? { lastMessage: context.command.receivedAt, isSilent: false });
}
