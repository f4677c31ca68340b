/**
 * The fragment that marks an agent, which has two names (docs/spec/conventions.md#spellings): stored as it was sent,
 * under one of them, asked for by either, and shown by the one that goes with the vendor type which is asked for; to
 * who asks for plain JSON as it is stored.
 */
import type { Members } from '../documents/json-document.ts';

export const AGENT_MARKER = 'com_platform_model_Agent';
const BRANDED_MARKER = 'com_cumulocity_model_Agent';
export const AGENT_MARKERS: readonly string[] = [AGENT_MARKER, BRANDED_MARKER];

/** All names of the fragment that is asked for as `name`. */
export const namesOfFragment = (name: string): readonly string[] =>
  AGENT_MARKERS.includes(name) ? AGENT_MARKERS : [name];

/** Of a new object, or of a change of `members`: what is said of one name holds for the other one, which goes. */
export function keepOneMarker(changes: Members, members?: Members): void {
  if (members === undefined) {
    if (AGENT_MARKERS.every((name) => changes.has(name))) changes.delete(BRANDED_MARKER);
    return;
  }
  const other = AGENT_MARKERS.find((name) => members.has(name) && !changes.has(name));
  if (other !== undefined && AGENT_MARKERS.some((name) => changes.has(name))) changes.set(other, 'null');
}

/** @returns the members with the marker, if there is one, under the name of the spelling. */
export function spelledMarker(members: Members, isBranded: boolean): Members {
  const [wanted, other] = isBranded ? [BRANDED_MARKER, AGENT_MARKER] : [AGENT_MARKER, BRANDED_MARKER];
  if (!members.has(other)) return members;
  return new Map(
    [...members].filter(([name]) => name !== wanted).map(([name, value]) => [name === other ? wanted : name, value]),
  );
}
