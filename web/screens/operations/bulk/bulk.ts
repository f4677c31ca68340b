/** Bulk operations of the API. */
import { sendRaw } from '../../../core/api/send.ts';
import { queryText } from '../../../core/route.ts';
import { PAGE_SIZE } from '../../../core/server/managed-object.ts';
import type { BulkTexts } from './text.ts';

export const BULK_PATH = '/devicecontrol/bulkoperations';
export const BULK_ADMIN = ['ROLE_BULK_OPERATION_ADMIN'];
export const BULK_READ = ['ROLE_BULK_OPERATION_READ', 'ROLE_BULK_OPERATION_ADMIN'];

export interface Bulk {
  readonly id: string;
  readonly groupId?: string;
  readonly failedParentId?: string;
  readonly startDate: string;
  readonly creationRamp: number;
  readonly operationPrototype: Readonly<Record<string, unknown>>;
  readonly generalStatus: keyof BulkTexts['statuses'];
  readonly note?: string;
  readonly progress: {
    readonly pending: number;
    readonly executing: number;
    readonly successful: number;
    readonly failed: number;
    readonly all: number;
  };
}

export const isRunning = ({ generalStatus }: Bulk): boolean =>
  generalStatus === 'SCHEDULED' || generalStatus.startsWith('EXECUTING');

export const openOf = ({ progress }: Bulk): number => progress.pending + progress.executing;

/** The request of a page, for "Copy as" too. */
export const bulksPath = (page: number, withDeleted: boolean): string =>
  BULK_PATH + queryText({ pageSize: PAGE_SIZE, currentPage: page, withDeleted: withDeleted ? 'true' : undefined });

/** @param page from 1. @throws ApiError. */
export async function listBulks(page: number, withDeleted: boolean, signal: AbortSignal): Promise<readonly Bulk[]> {
  const answer = (await (await sendRaw(bulksPath(page, withDeleted), { signal })).json()) as {
    bulkOperations: readonly Bulk[];
  };
  return answer.bulkOperations;
}

/** @throws ApiError: 404. */
export const readBulk = async (id: string, signal: AbortSignal): Promise<Bulk> =>
  (await (await sendRaw(`${BULK_PATH}/${encodeURIComponent(id)}`, { signal })).json()) as Bulk;

/** @throws ApiError: 422 for an unknown group, or a ramp below the least one. */
export async function createBulk(body: Readonly<Record<string, unknown>>): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  await sendRaw(BULK_PATH, { method: 'POST', headers, body: JSON.stringify(body) });
}

export async function cancelBulk(id: string): Promise<void> {
  await sendRaw(`${BULK_PATH}/${encodeURIComponent(id)}`, { method: 'DELETE' });
}
