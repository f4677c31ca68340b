/** Records of a tenant (options, applications, groups, …) as the resources read and change them: read, decide, compare and set. */
import { COMMAND } from '../model/command.ts';
import type { AuditEntry, RecordChange, RecordCollection, RecordsChange } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import type { Principal } from '../model/principal.ts';
import { PROCESSING_MODE } from '../model/processing-mode.ts';
import type { ApiRequest } from './api-request.ts';
import { TENANT_KEY } from './data-delete.ts';
import type { Platform } from './platform.ts';

/** Tenant number of records that belong to the whole server: tenants, applications. */
export const SERVER_WIDE = 0;
/** How often a change is tried when somebody else was faster each time. */
const TRIES_MAX = 8;
const LIST_MAX = 100_000;

export interface StoredRecord { readonly id: string; readonly value: string }

/** In whose name records are read and changed: a request, or what goes on behind one. */
export interface Acting {
  readonly platform: Pick<Platform, 'documents' | 'commands' | 'tenants' | 'blobs' | 'now'>;
  readonly principal: Pick<Principal, 'userName'>;
}

export async function readRecord(request: Acting, tenant: number, collection: RecordCollection, id: string): Promise<string | undefined> {
  return request.platform.documents.get(collection, tenant, id);
}

/** Records whose id begins with `prefix`, in byte order. */
export async function listRecords(request: Acting, tenant: number, collection: RecordCollection, prefix = ''): Promise<StoredRecord[]> {
  return request.platform.documents.list(collection, tenant, prefix, { limit: LIST_MAX });
}

/** @throws PlatformError `general/changed-meanwhile` when one of the records is not as expected; then nothing is changed. */
export async function changeRecords(request: Acting, tenant: number, changes: readonly RecordChange[], audits: readonly AuditEntry[] = []): Promise<void> {
  const body: RecordsChange = { changes, ...(audits.length > 0 ? { audits } : {}) };
  await request.platform.commands.request({
    kind: COMMAND.RECORDS_CHANGE, tenant, key: TENANT_KEY, mode: PROCESSING_MODE.PERSISTENT, receivedAt: request.platform.now(), body,
  });
}

/**
 * Reads one record, lets `decide` make the next text (undefined deletes) and stores it; again when somebody else changed it meanwhile.
 * `decide` may throw PlatformError to refuse. @returns what was stored.
 */
export async function updateRecord(request: ApiRequest, tenant: number, collection: RecordCollection, id: string,
  decide: (current: string | undefined) => string | undefined | Promise<string | undefined>, audits: readonly AuditEntry[] = []): Promise<string | undefined> {
  for (let tries = 1; ; tries += 1) {
    const expected = await readRecord(request, tenant, collection, id);
    const value = await decide(expected);
    if (value === expected) return value;
    try {
      await changeRecords(request, tenant, [{ collection, id, expected, value }], audits);
      return value;
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'general/changed-meanwhile' || tries >= TRIES_MAX) throw error;
    }
  }
}
