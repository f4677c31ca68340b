/**
 * What a device answers to an operation (SmartREST 503 and 506, docs/spec/smartrest.md#results): it changes the
 * operation or the state of the device, depending on what the operation asked for.
 */
import { formatTime, parseTime } from '../documents/iso-time.ts';
import { joinMembers, splitMembers, type Members } from '../documents/json-document.ts';

/** What the device reports about its own state, which goes to its managed object whatever the operation holds. */
export function stateDocument(fragment: string, parameters: readonly string[]): string | undefined {
  switch (fragment) {
    case 'c8y_RelayArray':
      return JSON.stringify({ c8y_RelayArray: parameters });
    case 'c8y_Relay':
      return JSON.stringify({ c8y_Relay: { relayState: parameters[0] } });
    case 'c8y_CommunicationMode':
      return JSON.stringify({ c8y_CommunicationMode: { mode: parameters[0] } });
    default:
      return undefined;
  }
}

/** What becomes of the parameters of 503 and 506. */
export interface OperationResult {
  /** To be merged into the operation together with its new status; each replaces the fragment as a whole. */
  readonly members: Members;
  /** To be merged into the managed object of the device. */
  readonly managedObjectDoc?: string;
}

/**
 * Places the answer of a device in the operation that it answers (table "Parameters of 503/506 by fragment").
 * @param operation the stored members of the operation.
 * @param parameters as in the effect of 503 or 506, may be empty.
 * @param now ms since 1970.
 */
export function operationResult(operation: Members, parameters: readonly string[], now: number): OperationResult {
  const members: Members = new Map();
  const managedObject: [string, string][] = [];
  for (const fragment of operation.keys()) {
    const state = parameters.length === 0 ? undefined : stateDocument(fragment, parameters);
    if (state !== undefined) managedObject.push(...splitMembers(state));
    if (fragment === 'c8y_Command' && parameters.length > 0) {
      members.set(fragment, withMember(operation.get(fragment) as string, 'result', parameters[0]));
    } else if (fragment === 'c8y_LogfileRequest' && parameters.length > 0) {
      members.set(fragment, withMember(operation.get(fragment) as string, 'file', parameters[0]));
    } else if (fragment === 'c8y_DownloadConfigFile') {
      const dump = configurationDump(operation.get(fragment) as string, parameters[0] ?? '', now);
      if (dump !== undefined) managedObject.push(['c8y_ConfigurationDump', dump]);
    }
  }
  return managedObject.length === 0 ? { members } : { members, managedObjectDoc: joinMembers(managedObject) };
}

/** @returns the JSON object `text` with one more text member; anything but an object counts as an empty one. */
function withMember(text: string, name: string, value: string): string {
  const members: Members = text.startsWith('{') ? splitMembers(text) : new Map();
  members.set(name, JSON.stringify(value));
  return joinMembers(members);
}

/** `{id, time}` for a legacy configuration download, which names the id of the dump; undefined for a typed one. */
function configurationDump(fragmentText: string, sentTime: string, now: number): string | undefined {
  if (!fragmentText.startsWith('{')) return undefined;
  const fragment = splitMembers(fragmentText);
  const nested = fragment.get('c8y_ConfigurationDump');
  const id =
    fragment.get('c8y_ConfigurationDump.id') ?? (nested?.startsWith('{') ? splitMembers(nested).get('id') : undefined);
  if (id === undefined) return undefined;
  return joinMembers([
    ['id', id],
    ['time', JSON.stringify(formatTime(parseTime(sentTime) ?? now))],
  ]);
}
