/** Operations of the API, as the screens of this folder read and make them. */
import { api, got } from '../../core/api/api.ts';
import { ApiError } from '../../core/api/error.ts';
import { BY_OBJECT } from '../../core/api/rights.ts';
import { queryText } from '../../core/route.ts';
import type { Query } from '../../core/route.ts';
import { PAGE_SIZE } from '../../core/server/managed-object.ts';

export const STATUSES = ['PENDING', 'EXECUTING', 'SUCCESSFUL', 'FAILED'] as const;
export type OperationStatus = (typeof STATUSES)[number];

export interface Operation extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly deviceId: string;
  readonly deviceName?: string;
  readonly status: OperationStatus;
  readonly creationTime?: string;
  readonly description?: string;
  readonly failureReason?: string;
  readonly bulkOperationId?: string;
}

/** Roles that create and cancel operations, and those that read them. */
export const CONTROL = ['ROLE_DEVICE_CONTROL_ADMIN', BY_OBJECT];
export const CONTROL_READ = ['ROLE_DEVICE_CONTROL_READ'];

/** Members of every operation; another one is the command. */
const OWN_MEMBERS = new Set([
  'id',
  'self',
  'deviceId',
  'deviceName',
  'deviceExternalIDs',
  'agentId',
  'status',
  'creationTime',
  'description',
  'failureReason',
  'bulkOperationId',
  'delivery',
  'externalSource',
]);

/** What the operation asks for: the name of its first fragment, or ''. */
export const commandOf = (operation: Readonly<Record<string, unknown>>): string =>
  Object.keys(operation).find((name) => !OWN_MEMBERS.has(name)) ?? '';

/** A fragment of the operation as an object; {} when it is none. */
function fragmentOf(operation: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> {
  const value = operation[name];
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** A text or number of a fragment, or ''. */
export function memberText(object: Readonly<Record<string, unknown>>, fragment: string, name: string): string {
  const value = fragmentOf(object, fragment)[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

export const isOpen = ({ status }: Operation): boolean => status === 'PENDING' || status === 'EXECUTING';

export interface OperationFilter {
  readonly deviceId?: string;
  readonly status?: string;
  readonly fragmentType?: string;
  readonly bulkOperationId?: string;
  readonly dateFrom?: string;
  readonly dateTo?: string;
}

/** The request of a page, the newest first, for "Copy as". */
export const operationsPath = (filter: OperationFilter, page = 1): string =>
  `/devicecontrol/operations${queryText({ ...filter, revert: 'true', pageSize: PAGE_SIZE, currentPage: page } as Query)}`;

/** The newest first. @param page from 1. @throws ApiError. */
export async function listOperations(
  filter: OperationFilter,
  page: number,
  signal?: AbortSignal,
  pageSize = PAGE_SIZE,
): Promise<readonly Operation[]> {
  const query = { ...filter, revert: true, pageSize, currentPage: page };
  const answer = await got(
    api.GET('/devicecontrol/operations', { params: { query: query as never }, ...(signal ? { signal } : {}) }),
  );
  return (answer as unknown as { operations: Operation[] }).operations;
}

/** How many match. @throws ApiError. */
export async function countOperations(filter: OperationFilter, signal: AbortSignal): Promise<number | undefined> {
  const query = { ...filter, pageSize: 1, withTotalElements: true };
  const answer = await got(api.GET('/devicecontrol/operations', { params: { query: query as never }, signal }));
  return (answer as unknown as { statistics?: { totalElements?: number } }).statistics?.totalElements;
}

/** @param body with its fragment. @throws ApiError: 422 for what is neither an agent nor below one. */
export async function createOperation(deviceId: string, body: Readonly<Record<string, unknown>>): Promise<Operation> {
  return (await got(
    api.POST('/devicecontrol/operations', { body: { ...body, deviceId } as never }),
  )) as unknown as Operation;
}

/** Ends an operation that has not ended. @param reason what stands in the operation. @throws ApiError: 409 when it has. */
export async function cancelOperation(id: string, reason: string, meanwhile: string): Promise<Operation> {
  const path = { params: { path: { id } } };
  const now = (await got(api.GET('/devicecontrol/operations/{id}', path))) as unknown as Operation;
  if (!isOpen(now))
    throw new ApiError({
      status: 409,
      error: '',
      message: meanwhile,
      method: 'PUT',
      url: `/devicecontrol/operations/${id}`,
    });
  const body = { status: 'FAILED', failureReason: reason };
  return (await got(
    api.PUT('/devicecontrol/operations/{id}', { ...path, body: body as never }),
  )) as unknown as Operation;
}

/** The command of an earlier operation, to be sent again. */
export function repeatOf(operation: Operation): Record<string, unknown> {
  const command = Object.entries(operation).filter(([name]) => !OWN_MEMBERS.has(name));
  return {
    ...(operation.description === undefined ? {} : { description: operation.description }),
    ...Object.fromEntries(command),
  };
}
