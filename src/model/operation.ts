/** Operations (document 1 "Operation"): their statuses and the checks of their typed fields. */
import { PlatformError } from './errors.ts';
import { stringMember, type Members } from './json-document.ts';

export const OPERATION_STATUSES = ['PENDING', 'EXECUTING', 'SUCCESSFUL', 'FAILED'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

/** Members that a PUT may not carry. */
export const OPERATION_FIXED_FIELDS = ['creationTime', 'deviceId', 'deviceName', 'deviceExternalIDs', 'bulkOperationId'] as const;

/** Members of an operation that are no command fragments. */
export const OPERATION_FIELDS: ReadonlySet<string> = new Set(['id', 'self', 'creationTime', 'deviceId', 'deviceName', 'deviceExternalIDs',
  'bulkOperationId', 'status', 'failureReason', 'description', 'agentId', 'delivery', 'deliveryType', 'externalSource']);

export const isOperationStatus = (text: string): text is OperationStatus => (OPERATION_STATUSES as readonly string[]).includes(text);
/** Neither SUCCESSFUL nor FAILED: the device still has to do something. */
export const isOpenOperation = (status: string): boolean => status === 'PENDING' || status === 'EXECUTING';

/**
 * Checks a new operation. @returns the id of its device.
 * @throws PlatformError `validation/mandatory-fields` or `validation/invalid-field`.
 */
export function checkNewOperation(members: Members): string {
  if (!members.has('deviceId')) throw new PlatformError('validation/mandatory-fields', { names: 'deviceId' });
  return textField(members, 'deviceId');
}

/**
 * Checks the members of a PUT. @returns the new status.
 * @throws PlatformError `validation/mandatory-fields` without status, `validation/invalid-field` for a fixed field, an unknown
 *   status, or a failureReason with another status than FAILED.
 */
export function checkOperationUpdate(members: Members): OperationStatus {
  if (!members.has('status')) throw new PlatformError('validation/mandatory-fields', { names: 'status' });
  const status = textField(members, 'status');
  if (!isOperationStatus(status)) throw invalid('status', status, OPERATION_STATUSES.join(', '));
  for (const name of OPERATION_FIXED_FIELDS) {
    if (members.has(name)) throw invalid(name, members.get(name) as string, 'no change');
  }
  if (members.has('failureReason')) {
    const reason = textField(members, 'failureReason');
    if (status !== 'FAILED') throw invalid('failureReason', reason, 'a text only together with the status FAILED');
  }
  return status;
}

function textField(members: Members, name: string): string {
  const value = stringMember(members, name);
  if (value === undefined) throw invalid(name, members.get(name) as string, 'a text');
  return value;
}

function invalid(name: string, value: string, limit: string): PlatformError {
  return new PlatformError('validation/invalid-field', { area: 'devicecontrol', name, value, limit });
}
