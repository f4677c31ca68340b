/**
 * What a device answers to an operation (SmartREST 503 and 506, docs/spec/smartrest.md#results): it changes the
 * operation or the state of the device, depending on what the operation asked for.
 */
import { parseEntityTime, TIME_RULE } from '../documents/entity-time.ts';
import { formatTime } from '../documents/iso-time.ts';
import { joinMembers, splitMembers, stringMember, type Members } from '../documents/json-document.ts';
import { PlatformError } from '../errors.ts';

/** What becomes of the parameters of 503 and 506. */
export interface OperationResult {
  /** To be merged into the operation together with its new status; each replaces the fragment as a whole. */
  readonly members: Members;
  /** To be merged into the managed object of the device. */
  readonly managedObjectDoc?: string;
}

/** A member of the operation, or a fragment of the device, with its JSON text. */
interface Change {
  readonly member?: string;
  readonly state?: readonly [fragment: string, text: string];
}
/** @param fragment of the operation, as stored. @param parameters what the device says about this fragment. */
type Rule = (fragment: string, parameters: readonly string[], now: number, isMeant: boolean) => Change;

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['c8y_Command', commandResult],
  ['c8y_LogfileRequest', asMember('file')],
  [
    'c8y_Relay',
    (_fragment, [relayState]) =>
      relayState === undefined ? {} : { state: ['c8y_Relay', JSON.stringify({ relayState })] },
  ],
  [
    'c8y_RelayArray',
    (_fragment, states) => (states.length === 0 ? {} : { state: ['c8y_RelayArray', JSON.stringify(states)] }),
  ],
  [
    'c8y_CommunicationMode',
    (fragment, [sent]) => {
      const mode = sent || stringMember(membersOf(fragment), 'mode');
      return mode === undefined ? {} : { state: ['c8y_CommunicationMode', JSON.stringify({ mode })] };
    },
  ],
  [
    'c8y_DownloadConfigFile',
    (fragment, [sentTime = ''], now) => {
      const dump = configurationDump(membersOf(fragment), sentTime, now);
      return dump === undefined ? {} : { state: ['c8y_ConfigurationDump', dump] };
    },
  ],
]);

/**
 * Places the answer of a device in the operation that it answers (table "Parameters of 503/506 by fragment").
 * @param operation the stored members of the operation.
 * @param parameters as in the effect of 503 or 506, may be empty.
 * @param now ms since 1970.
 * @param named the fragment of 503: the parameters are about it. Those of 506 are about the first fragment with a rule.
 * @throws PlatformError `validation/invalid-field` for a time that is not one.
 */
export function operationResult(
  operation: Members,
  parameters: readonly string[],
  now: number,
  named?: string,
): OperationResult {
  const members: Members = new Map();
  const state: (readonly [string, string])[] = [];
  const meant = named ?? [...operation.keys()].find((name) => RULES.has(name));
  for (const [name, text] of operation) {
    const change = RULES.get(name)?.(text, name === meant ? parameters : [], now, name === meant);
    if (change?.member !== undefined) members.set(name, change.member);
    if (change?.state !== undefined) state.push(change.state);
  }
  return state.length === 0 ? { members } : { members, managedObjectDoc: joinMembers(state) };
}

/** Anything but an object counts as an empty one. */
const membersOf = (text: string): Members => (text.startsWith('{') ? splitMembers(text) : new Map());

/** A command that printed nothing has a result, too. */
function commandResult(fragment: string, [value]: readonly string[], _now: number, isMeant: boolean): Change {
  const members = membersOf(fragment);
  if (!isMeant || (value === undefined && members.has('result'))) return {};
  return { member: joinMembers(members.set('result', JSON.stringify(value ?? ''))) };
}

/** The first parameter becomes a text member of the fragment. */
function asMember(name: string): Rule {
  return (fragment, [value]) =>
    value === undefined ? {} : { member: joinMembers(membersOf(fragment).set(name, JSON.stringify(value))) };
}

/** `{id, time}` for a legacy configuration download, which names the id of the dump; undefined for a typed one. */
function configurationDump(fragment: Members, sentTime: string, now: number): string | undefined {
  const nested = fragment.get('c8y_ConfigurationDump');
  const id =
    fragment.get('c8y_ConfigurationDump.id') ?? (nested === undefined ? undefined : membersOf(nested).get('id'));
  if (id === undefined) return undefined;
  const time = sentTime === '' ? now : parseEntityTime(sentTime);
  if (time === undefined)
    throw new PlatformError('validation/invalid-field', {
      area: 'devicecontrol',
      name: 'time',
      value: sentTime,
      limit: TIME_RULE,
    });
  return joinMembers([
    ['id', id],
    ['time', JSON.stringify(formatTime(time))],
  ]);
}
