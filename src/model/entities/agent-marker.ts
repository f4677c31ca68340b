/**
 * The fragment that marks an agent, which has two names (docs/spec/conventions.md#spellings). It is stored under one of
 * them, found by either, and shown under both.
 */
import type { Members } from '../documents/json-document.ts';

export const AGENT_MARKER = 'com_platform_model_Agent';
const BRANDED_MARKER = 'com_cumulocity_model_Agent';
export const AGENT_MARKERS: readonly string[] = [AGENT_MARKER, BRANDED_MARKER];

/** All names of the fragment that is asked for as `name`. */
export const namesOfFragment = (name: string): readonly string[] =>
  AGENT_MARKERS.includes(name) ? AGENT_MARKERS : [name];

/**
 * What is said of one name holds for the other, which goes; where both are sent the neutral name counts.
 * @param changes members of a new object, or of a change of `members`.
 */
export function keepOneMarker(changes: Members, members?: Members): void {
  const sent = AGENT_MARKERS.find((name) => changes.has(name));
  if (sent === undefined) return;
  const other = sent === AGENT_MARKER ? BRANDED_MARKER : AGENT_MARKER;
  if (members?.has(other)) changes.set(other, 'null');
  else changes.delete(other);
}

/** @returns the members, an agent's with its marker under both names, as clients of either spelling look for it. */
export function withBothMarkers(members: Members): Members {
  const there = AGENT_MARKERS.find((name) => members.has(name));
  if (there === undefined) return members;
  const marker = members.get(there) as string;
  const both = AGENT_MARKERS.map((name): [string, string] => [name, members.get(name) ?? marker]);
  return new Map([...members].flatMap((member) => (member[0] === there ? both : [member])));
}
