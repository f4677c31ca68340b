/**
 * What is known of a device's parameters: the values of its events `c8y_ParameterUpdate`, by fragment
 * (docs/spec/smartrest.md#data-templates, row 408). Kept beside the device, so that a value that is known already can
 * be told from a new one without looking through its events.
 */
import { isSameJson } from '../documents/json-equality.ts';
import { joinMembers, splitMembers, type Members } from '../documents/json-document.ts';
import { NOT_FRAGMENTS } from './fragments.ts';

export const PARAMETER_UPDATE = 'c8y_ParameterUpdate';
/** Bytes of the state of one device; a fragment without room is not remembered, and each event of it is stored. */
const STATE_BYTES_MAX = 64 * 1024;

/** Of one fragment: when its value was last said, and JSON text of the value. */
interface Known {
  readonly time: number;
  readonly value: string;
}

function knownOf(state: Members, fragment: string): Known | undefined {
  const text = state.get(fragment);
  if (text === undefined) return undefined;
  const members = splitMembers(text);
  return { time: Number(members.get('time')), value: members.get('value') ?? 'null' };
}

const membersOf = (text: string | undefined): Members => (text === undefined ? new Map() : splitMembers(text));
const fragmentsOf = (event: Members): (readonly [string, string])[] =>
  [...event].filter(([name]) => !NOT_FRAGMENTS.has(name));

/** Whether all values of the event are known, and were so at its time. @param state as stored. */
export function areParametersKnown(state: string | undefined, event: Members, time: number): boolean {
  const all = membersOf(state);
  const said = fragmentsOf(event);
  const isKnown = ([fragment, value]: readonly [string, string]): boolean => {
    const known = knownOf(all, fragment);
    return known !== undefined && known.time <= time && holds(known.value, value);
  };
  return said.length > 0 && said.every(isKnown);
}

/** The state with the values of the event, but for those of which a later one is known. */
export function withParameters(state: string | undefined, event: Members, time: number): string {
  const all = membersOf(state);
  for (const [fragment, value] of fragmentsOf(event)) {
    const known = knownOf(all, fragment);
    if (known !== undefined && known.time > time) continue;
    all.set(fragment, `{"time":${time},"value":${known === undefined ? value : merged(known.value, value)}}`);
    if (Buffer.byteLength(joinMembers(all)) > STATE_BYTES_MAX) all.delete(fragment);
  }
  return joinMembers(all);
}

const isObject = (text: string): boolean => text.startsWith('{');

/** Members that an event does not name stay. */
function merged(before: string, value: string): string {
  return isObject(before) && isObject(value)
    ? joinMembers(new Map([...splitMembers(before), ...splitMembers(value)]))
    : value;
}

/** Whether a value has what another one names: of an object its members, of anything else all of it. */
function holds(known: string, wanted: string): boolean {
  if (!isObject(wanted) || !isObject(known)) return isSameJson(known, wanted);
  const members = splitMembers(known);
  return [...splitMembers(wanted)].every(([name, value]) => holds(members.get(name) ?? 'null', value));
}
