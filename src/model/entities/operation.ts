/** Operations (docs/spec/operations.md): their statuses, and which members are whose. */
import { AGENT_MARKERS } from './agent-marker.ts';
import { joinMembers, stringMember, type Members } from '../documents/json-document.ts';
import { changedMembers, newDocument } from './body-rules.ts';

export const OPERATION_STATUSES = ['PENDING', 'EXECUTING', 'SUCCESSFUL', 'FAILED'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

/** Members that the server gives an operation and that stay as they are. */
export const OPERATION_SERVER_KEPT = [
  'id',
  'self',
  'creationTime',
  'deviceId',
  'deviceName',
  'deviceExternalIDs',
] as const;

/** Members that the server puts beside an operation for each delivery: agents send back what they have received. */
const OPERATION_OF_DELIVERY = ['agentId', 'delivery', 'externalSource'] as const;

/** Members that every operation begins without, or with the server's value. */
export const OPERATION_BEGINS_WITHOUT = ['status', 'failureReason'] as const;

/** Made anew for each answer. */
const DERIVED: readonly string[] = ['deviceName', 'deviceExternalIDs'];
/** Not changed by a PUT. */
const FIXED = [...OPERATION_SERVER_KEPT.filter((name) => !DERIVED.includes(name)), 'bulkOperationId'];
/** Not taken from a POST. */
const NOT_SENT = [...OPERATION_SERVER_KEPT, 'bulkOperationId', ...OPERATION_BEGINS_WITHOUT];
const AREA = 'devicecontrol';

/** @returns the document of a new operation. @throws PlatformError `validation/invalid-field`. */
export const newOperation = (members: Members): string => newDocument(members, AREA, NOT_SENT);

/**
 * @returns the document of a change. @throws PlatformError `validation/invalid-field` for a fixed member with another
 * value.
 */
export const operationChange = (sent: Members, stored: Members): string =>
  joinMembers(changedMembers(sent, stored, AREA, FIXED, [...DERIVED, ...OPERATION_OF_DELIVERY]));

/** Members that say whose an operation is and how far it is; every other one is a command to the device. */
const OPERATION_NO_COMMANDS: ReadonlySet<string> = new Set<string>([
  ...OPERATION_SERVER_KEPT,
  ...OPERATION_BEGINS_WITHOUT,
  ...OPERATION_OF_DELIVERY,
  'description',
  'deliveryType',
  'bulkOperationId',
  'lastUpdated',
]);

/** Names of the fragments that tell the device what to do. */
export const commandsOf = (operation: Members): string[] =>
  [...operation.keys()].filter((name) => !OPERATION_NO_COMMANDS.has(name));

/**
 * Links by which a device or a service belongs to an agent: a group above it is none (docs/spec/inventory.md#agents).
 */
export const AGENT_LINKS = ['childDevices', 'childAdditions'] as const;

/** Whether a managed object is an agent. */
export const isAgent = (object: Members): boolean => AGENT_MARKERS.some((marker) => object.has(marker));

/** Neither SUCCESSFUL nor FAILED: the device still has to do something. */
export const isOpenOperation = (status: string): boolean => status === 'PENDING' || status === 'EXECUTING';

/**
 * Key of an open operation, whose entry is its status; of one that has become PENDING again `PENDING <sequence>`, so
 * that this is told from before.
 */
export const openOperationKey = (device: string, id: string): string => `${device}\n${id.padStart(16, '0')}`;

/** The status that an entry names. */
export const openOperationStatus = (entry: string): string => entry.split(' ', 1)[0];

/**
 * An operation as it goes to its agent (docs/spec/operations.md#delivery): with what agents need beside it. @returns
 * `operation`, which is changed.
 */
export function deliveredOperation(operation: Members, agentId: string): Members {
  const time = operation.get('creationTime') ?? 'null';
  return operation
    .set('agentId', JSON.stringify(agentId))
    .set('delivery', `{"log":[],"status":"PENDING","time":${time}}`);
}

/**
 * A failureReason is set only together with FAILED, and goes with it: `changes`, to be merged into `stored`, get what
 * this takes.
 */
export function fitFailureReason(changes: Members, stored: Members): void {
  const status = stringMember(changes, 'status') ?? stringMember(stored, 'status');
  if (status !== 'FAILED') changes.set('failureReason', 'null');
}
