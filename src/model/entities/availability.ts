/** Availability of devices (docs/spec/availability.md): the rules that need nothing but values. */
import { joinMembers, splitMembers, stringMember } from '../documents/json-document.ts';
import type { Members } from '../documents/json-document.ts';
import { formatTime } from '../documents/iso-time.ts';

export type AvailabilityStatus = 'AVAILABLE' | 'UNAVAILABLE' | 'MAINTENANCE' | 'NOT_MONITORED';
export type ConnectionStatus = 'CONNECTED' | 'DISCONNECTED';

/** What the server keeps about a device beside its document: collection `availability`. */
export interface AvailabilityState {
  /** Minutes; absent for devices that are not monitored. 0 or less is maintenance. */
  readonly interval?: number;
  /** Milliseconds since 1970. In memory there may be a later one. */
  readonly lastMessage: number;
  /** No message came within the interval. */
  readonly isSilent: boolean;
  /** Absent for devices that never held a push connection. */
  readonly connection?: ConnectionStatus;
}

/** `c8y_RequiredAvailability.responseInterval`, minutes. */
const INTERVAL_MIN = -32_768;
const INTERVAL_MAX = 32_767;

/** Fragments that only the server writes. */
export const AVAILABILITY_FRAGMENTS = {
  REQUIRED: 'c8y_RequiredAvailability',
  STATUS: 'c8y_Availability',
  CONNECTION: 'c8y_Connection',
} as const;
export const ALARMS_FRAGMENT = 'c8y_ActiveAlarmsStatus';
export const UNAVAILABILITY_ALARM = 'c8y_UnavailabilityAlarm';
export const UNAVAILABILITY_TEXT = 'No data received from the device within required interval.';

/**
 * The required interval, which devices send as a number or as a text. A value outside of the range is clamped in
 * `members`.
 * @returns undefined for objects without one.
 */
export function requiredInterval(members: Members): number | undefined {
  const required = members.get(AVAILABILITY_FRAGMENTS.REQUIRED);
  if (required === undefined || !required.startsWith('{')) return undefined;
  const inside = splitMembers(required);
  const text = inside.get('responseInterval');
  if (text === undefined || !/^"?-?\d+(\.\d+)?"?$/.test(text)) return undefined;
  const sent = Number(text.replaceAll('"', ''));
  const clamped = Math.min(INTERVAL_MAX, Math.max(INTERVAL_MIN, sent));
  if (clamped !== sent) {
    inside.set('responseInterval', String(clamped));
    members.set(AVAILABILITY_FRAGMENTS.REQUIRED, joinMembers(inside));
  }
  return clamped;
}

/**
 * An open alarm with severity CRITICAL makes its source device unavailable, whether it is monitored or not
 * (docs/spec/availability.md#critical-alarms).
 */
function hasCriticalAlarm(members: Members): boolean {
  const status = members.get(ALARMS_FRAGMENT);
  const isDevice = members.has('c8y_IsDevice') || members.has(AVAILABILITY_FRAGMENTS.REQUIRED);
  return isDevice && status?.startsWith('{') === true && Number(splitMembers(status).get('critical') ?? 0) > 0;
}

export function statusOf(state: AvailabilityState, hasCritical: boolean): AvailabilityStatus {
  if (state.interval === undefined) return hasCritical ? 'UNAVAILABLE' : 'NOT_MONITORED';
  if (state.interval <= 0) return 'MAINTENANCE';
  return state.isSilent || hasCritical ? 'UNAVAILABLE' : 'AVAILABLE';
}

/** Whether the interval has passed since `lastMessage`. */
export const isSilentSince = (interval: number | undefined, lastMessage: number, now: number): boolean =>
  interval !== undefined && interval > 0 && now - lastMessage > interval * 60_000;

/** Writes the fragments of the state into a document. @returns whether anything changed. */
export function fitAvailability(members: Members, state: AvailabilityState): boolean {
  const before = [members.get(AVAILABILITY_FRAGMENTS.STATUS), members.get(AVAILABILITY_FRAGMENTS.CONNECTION)];
  const hasCritical = hasCriticalAlarm(members);
  if (state.interval !== undefined || hasCritical || members.has(AVAILABILITY_FRAGMENTS.STATUS)) {
    const status = statusOf(state, hasCritical);
    members.set(AVAILABILITY_FRAGMENTS.STATUS, JSON.stringify({ lastMessage: formatTime(state.lastMessage), status }));
  }
  if (state.connection !== undefined) {
    const isMaintenance = state.interval !== undefined && state.interval <= 0;
    members.set(
      AVAILABILITY_FRAGMENTS.CONNECTION,
      JSON.stringify({ status: isMaintenance ? 'MAINTENANCE' : state.connection }),
    );
  }
  return (
    before[0] !== members.get(AVAILABILITY_FRAGMENTS.STATUS) ||
    before[1] !== members.get(AVAILABILITY_FRAGMENTS.CONNECTION)
  );
}

/** `status` of `c8y_Availability` or `c8y_Connection`. */
export function statusMember(members: Members, fragment: string): string | undefined {
  const text = members.get(fragment);
  return text?.startsWith('{') === true ? stringMember(splitMembers(text), 'status') : undefined;
}
