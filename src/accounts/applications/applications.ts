/**
 * Applications as the resources read and change them: records of the whole server, with one more for each value that no
 * two of a tenant have.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuditEntry, RecordChange } from '../../model/commands/records.ts';
import {
  ATTACHMENTS_PREFIX,
  NAMES_PREFIX,
  attachmentKey,
  attachmentsOf,
  uniqueKey,
  uniqueKeys,
} from '../../model/entities/application.ts';
import type { StoredApplication, StoredAttachment } from '../../model/entities/application.ts';
import { PlatformError } from '../../model/errors.ts';
import { MANAGEMENT_TENANT, isParentOf } from '../tenants/tenants.ts';
import type { Tenant } from '../tenants/tenants.ts';
import type { ApiRequest } from '../../api/request/request.ts';
import { withChanges } from '../../records/audit-changes.ts';
import { NO_SUM, sumOfRecord, changeWithin } from '../../records/totals.ts';
import type { KeptTotal } from '../../records/totals.ts';
import { LIST_MAX, listRecords, readRecord, retried } from '../../records/records.ts';
import type { Platform } from '../../api/request/platform.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { RecordReader, StoredRecord } from '../../records/records.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';

/** By whom applications are changed. */
export interface Acting {
  readonly platform: Pick<Platform, 'documents' | 'commands' | 'tenants' | 'blobs' | 'now' | 'refusals'>;
  readonly principal: Pick<Principal, 'userName'>;
}

const COLLECTION = 'application';
/** Applications of one tenant. */
const APPLICATIONS_MAX = 1_000;
/** Their records and those of their archives, which have the manifests. */
const APPLICATIONS_BYTES_MAX = 32 * 1024 * 1024;
/** Archives of one application. */
const ATTACHMENTS_MAX = 200;
const ATTACHMENTS_LIMIT = 'applications/binaries';
/** Applications that are read at once, and subscriptions and names that are looked up: the former may be large. */
const READ_AT_ONCE = 20;
const LOOKED_UP_AT_ONCE = 1_000;

export interface Loaded {
  readonly text: string;
  readonly application: StoredApplication;
}

const isId = (id: string): boolean => /^[1-9]\d{0,15}$/.test(id);
export const notFound = (id: string): PlatformError => new PlatformError('applications/not-found', { id });

/** Whether the tenant that it belongs to is still there. */
const hasOwner = (request: ApiRequest, { ownerNumber }: StoredApplication): boolean =>
  request.platform.tenants.byNumber(ownerNumber) !== undefined;

/** Whoever it belongs to, while that tenant is there. */
export async function findApplication(request: ApiRequest, id: string): Promise<Loaded | undefined> {
  const found = await findRecord(request, id);
  return found !== undefined && hasOwner(request, found.application) ? found : undefined;
}

async function findRecord(request: Acting, id: string): Promise<Loaded | undefined> {
  const text = isId(id) ? await readRecord(request.platform, SERVER_WIDE, COLLECTION, id) : undefined;
  return text === undefined ? undefined : { text, application: JSON.parse(text) as StoredApplication };
}

/** Ids of the applications of a tenant, also of one that is gone. */
export async function ownIds(ports: RecordReader, ownerNumber: number): Promise<string[]> {
  return (await listRecords(ports, SERVER_WIDE, COLLECTION, uniqueKey('name', ownerNumber, ''))).map(
    ({ value }) => value,
  );
}

/** Ids of own and subscribed ones of a tenant. */
export async function availableIds(request: ApiRequest, tenantNumber: number): Promise<Set<string>> {
  const subscribed = await subscribedIds(request, tenantNumber);
  return new Set([...(await ownIds(request.platform, tenantNumber)), ...subscribed]);
}

/** Ids of all applications of the server: each has one record by its name. */
export async function allIds(request: ApiRequest): Promise<string[]> {
  const found: string[] = [];
  for (let after: string | undefined; ; ) {
    const some = await request.platform.documents.list(COLLECTION, SERVER_WIDE, NAMES_PREFIX, {
      limit: LIST_MAX,
      ...(after === undefined ? {} : { after }),
    });
    found.push(...some.map(({ value }) => value));
    if (some.length < LIST_MAX) return found;
    after = some[some.length - 1].id;
  }
}

/** Ids of the applications with that name, of whichever tenant. */
export async function idsOfName(request: ApiRequest, name: string): Promise<string[]> {
  const keys = Array.from(request.platform.tenants.all, ({ number }) => uniqueKey('name', number, name));
  const found: string[] = [];
  for (let start = 0; start < keys.length; start += LOOKED_UP_AT_ONCE) {
    const some = await request.platform.documents.getMany(
      COLLECTION,
      SERVER_WIDE,
      keys.slice(start, start + LOOKED_UP_AT_ONCE),
    );
    found.push(...some.filter((id) => id !== undefined));
  }
  return found;
}

/**
 * Applications by id, few of them in memory at once. Those that are not there, or whose tenant is not, are left out.
 */
export async function* applicationsOfIds(
  request: ApiRequest,
  ids: Iterable<string>,
): AsyncGenerator<StoredApplication> {
  const sorted = [...ids].filter(isId).sort((left, right) => Number(left) - Number(right));
  for (let start = 0; start < sorted.length; start += READ_AT_ONCE) {
    // Others get their turn in between.
    if (start > 0) await nextTurn();
    const texts = await request.platform.documents.getMany(
      COLLECTION,
      SERVER_WIDE,
      sorted.slice(start, start + READ_AT_ONCE),
    );
    for (const text of texts) {
      const application = text === undefined ? undefined : (JSON.parse(text) as StoredApplication);
      if (application !== undefined && hasOwner(request, application)) yield application;
    }
  }
}

/** Also of a tenant that is gone. */
export async function applicationsOfOwner(request: Acting, ownerNumber: number): Promise<StoredApplication[]> {
  const found = await Promise.all((await ownIds(request.platform, ownerNumber)).map((id) => findRecord(request, id)));
  return found.filter((one) => one !== undefined).map(({ application }) => application);
}

/** The applications of a tenant together. An archive adds its bytes only. */
const totalOf = (ownerNumber: number): KeptTotal => ({
  tenant: SERVER_WIDE,
  collection: COLLECTION,
  id: `total\n${ownerNumber}`,
  bounds: {
    count: { maximum: APPLICATIONS_MAX, limit: 'applications/of-tenant', error: 'applications/too-many-of-tenant' },
    bytes: { maximum: APPLICATIONS_BYTES_MAX, limit: 'applications/bytes', error: 'applications/too-large-of-tenant' },
  },
  sumOf(record) {
    if (isId(record.id)) return sumOfRecord(record);
    return record.id.startsWith(ATTACHMENTS_PREFIX) ? { ...sumOfRecord(record), count: 0 } : NO_SUM;
  },
  records: (ports) => recordsOfOwner(ports, ownerNumber),
});

async function recordsOfOwner(ports: RecordReader, ownerNumber: number): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  for (const id of await ownIds(ports, ownerNumber)) {
    const value = await readRecord(ports, SERVER_WIDE, COLLECTION, id);
    if (value !== undefined) found.push({ id, value });
    found.push(...(await listRecords(ports, SERVER_WIDE, COLLECTION, attachmentsOf(id))));
  }
  return found;
}

/**
 * Changes of one application, and of its archives, with its audit record. @throws PlatformError 422 for too many or too
 * large ones.
 */
async function store(
  request: Acting,
  { ownerNumber }: StoredApplication,
  changes: readonly RecordChange[],
  audits: readonly AuditEntry[],
): Promise<void> {
  await changeWithin(request.platform, totalOf(ownerNumber), changes, audits);
}

export async function findByUnique(
  request: ApiRequest,
  field: 'key' | 'name' | 'contextPath',
  ownerNumber: number,
  value: string,
): Promise<Loaded | undefined> {
  const id = await readRecord(request.platform, SERVER_WIDE, COLLECTION, uniqueKey(field, ownerNumber, value));
  return id === undefined ? undefined : findApplication(request, id);
}

export async function subscribedIds(request: ApiRequest, tenantNumber: number): Promise<Set<string>> {
  return new Set((await listRecords(request.platform, tenantNumber, 'subscription')).map(({ id }) => id));
}

/** Whether the tenant has it: as its owner or by a subscription. */
export async function isAvailableTo(
  request: ApiRequest,
  tenant: Pick<Tenant, 'number'>,
  application: StoredApplication,
): Promise<boolean> {
  return (
    application.ownerNumber === tenant.number ||
    (await readRecord(request.platform, tenant.number, 'subscription', application.id)) !== undefined
  );
}

/** Whether a tenant may know of it without having it: offered to all, or by a tenant above to those below. */
export function isOffered(request: ApiRequest, { availability, ownerNumber }: StoredApplication): boolean {
  if (request.principal.tenant === MANAGEMENT_TENANT || availability === 'MARKET') return true;
  if (availability !== 'SHARED') return false;
  const { tenants } = request.platform;
  const seen = new Set<string>();
  for (let tenant = tenants.byId(request.principal.tenant); tenant?.parent !== undefined && !seen.has(tenant.id); ) {
    seen.add(tenant.id);
    const parent = tenants.byId(tenant.parent);
    if (parent === undefined || !isParentOf(parent, tenant)) return false;
    if (parent.number === ownerNumber) return true;
    tenant = parent;
  }
  return false;
}

/** @throws PlatformError 404 for one that the tenant may not know of. */
export async function loadVisible(request: ApiRequest, id: string): Promise<Loaded> {
  const found = await findApplication(request, id);
  if (found === undefined) throw notFound(id);
  const isVisible =
    (await isAvailableTo(request, { number: request.tenant }, found.application)) ||
    (request.isPrivileged && isOffered(request, found.application));
  if (!isVisible) throw notFound(id);
  return found;
}

/** To be changed: by its owner, or the management tenant. @throws PlatformError 404, 403. */
export async function loadOwn(request: ApiRequest, id: string): Promise<Loaded> {
  const found = await loadVisible(request, id);
  if (found.application.ownerNumber !== request.tenant && request.principal.tenant !== MANAGEMENT_TENANT)
    throw new PlatformError('security/forbidden');
  return found;
}

/** @throws PlatformError 409 for a key, name or context path that another one of the owner has. */
async function changesOf(
  request: ApiRequest,
  old: Loaded | undefined,
  next: StoredApplication,
): Promise<RecordChange[]> {
  const changes: RecordChange[] = [
    { collection: COLLECTION, id: next.id, expected: old?.text, value: JSON.stringify(next) },
  ];
  const [before, after] = [old === undefined ? [] : uniqueKeys(old.application), uniqueKeys(next)];
  for (const { id } of before)
    if (!after.some((key) => key.id === id))
      changes.push({ collection: COLLECTION, id, expected: next.id, value: undefined });
  for (const { field, value, id } of after) {
    if (before.some((key) => key.id === id)) continue;
    if ((await readRecord(request.platform, SERVER_WIDE, COLLECTION, id)) !== undefined)
      throw new PlatformError('applications/duplicate', { name: field, value });
    changes.push({ collection: COLLECTION, id, expected: undefined, value: next.id });
  }
  return changes;
}

/** @param attachment its first archive. @throws PlatformError 409, 422 for too many. */
export function createApplication(
  request: ApiRequest,
  application: StoredApplication,
  attachment?: StoredAttachment,
): Promise<void> {
  return retried(request.platform, async () => {
    const changes = [
      ...(await changesOf(request, undefined, application)),
      ...(attachment === undefined ? [] : [attachmentChange(attachment)]),
    ];
    await store(request, application, changes, [
      withChanges(auditOf(request, 'Application created', application), undefined, application),
    ]);
  });
}

/**
 * @param decide makes the next one of the stored one. @param further other changes that go with it.
 * @throws PlatformError 404, 409, 422. @returns what was and what is stored.
 */
export function updateApplication(
  request: ApiRequest,
  id: string,
  decide: (old: StoredApplication) => Promise<StoredApplication> | StoredApplication,
  further: readonly RecordChange[] = [],
): Promise<{ old: StoredApplication; next: StoredApplication }> {
  return retried(request.platform, async () => {
    const loaded = await findApplication(request, id);
    if (loaded === undefined) throw notFound(id);
    const { application: old } = loaded;
    const next = await decide(old);
    if (JSON.stringify(next) !== loaded.text || further.length > 0) {
      const audit = withChanges(auditOf(request, 'Application updated', next), old, next);
      await store(request, next, [...(await changesOf(request, loaded, next)), ...further], [audit]);
    }
    return { old, next };
  });
}

/** With its archives, whose content goes too. */
export async function removeApplication(
  request: Acting,
  { id }: StoredApplication,
  audits: readonly AuditEntry[] = [],
): Promise<void> {
  const removed = await retried(request.platform, async () => {
    const loaded = await findRecord(request, id);
    if (loaded === undefined) throw notFound(id);
    const attachments = await listRecords(request.platform, SERVER_WIDE, COLLECTION, attachmentsOf(id));
    const changes: RecordChange[] = [
      { collection: COLLECTION, id, expected: loaded.text, value: undefined },
      ...uniqueKeys(loaded.application).map(
        (key) => ({ collection: COLLECTION, id: key.id, expected: id, value: undefined }) as const,
      ),
      ...attachments.map(
        (record) => ({ collection: COLLECTION, id: record.id, expected: record.value, value: undefined }) as const,
      ),
    ];
    await store(request, loaded.application, changes, audits);
    return attachments;
  });
  for (const { value } of removed) await request.platform.blobs.remove((JSON.parse(value) as StoredAttachment).blob);
}

/** By id. */
export async function attachmentsOfApplication(request: ApiRequest, id: string): Promise<StoredAttachment[]> {
  const rows = await listRecords(request.platform, SERVER_WIDE, COLLECTION, attachmentsOf(id));
  return rows
    .map(({ value }) => JSON.parse(value) as StoredAttachment)
    .sort((left, right) => Number(left.id) - Number(right.id));
}

/** @throws PlatformError 404. */
export async function loadAttachment(request: ApiRequest, application: string, id: string): Promise<StoredAttachment> {
  const text = isId(id)
    ? await readRecord(request.platform, SERVER_WIDE, COLLECTION, attachmentKey(application, id))
    : undefined;
  if (text === undefined) throw new PlatformError('applications/binary-not-found', { application, id });
  return JSON.parse(text) as StoredAttachment;
}

/** @throws PlatformError 422. */
export async function requireRoomForAttachment(request: ApiRequest, id: string): Promise<void> {
  const { length } = await listRecords(request.platform, SERVER_WIDE, COLLECTION, attachmentsOf(id));
  if (length < ATTACHMENTS_MAX) return;
  request.platform.refusals.count(ATTACHMENTS_LIMIT);
  throw new PlatformError('applications/too-many', {
    limit: ATTACHMENTS_LIMIT,
    maximum: ATTACHMENTS_MAX,
    what: 'binaries of an application',
  });
}

export const attachmentChange = (attachment: StoredAttachment): RecordChange => ({
  collection: COLLECTION,
  id: attachmentKey(attachment.application, attachment.id),
  expected: undefined,
  value: JSON.stringify(attachment),
});
export const attachmentRemoval = (attachment: StoredAttachment): RecordChange => ({
  collection: COLLECTION,
  id: attachmentKey(attachment.application, attachment.id),
  expected: JSON.stringify(attachment),
  value: undefined,
});

/** Into the log of the tenant that did it. */
export const auditOf = (request: ApiRequest, activity: string, { id, name }: StoredApplication): AuditEntry => ({
  type: 'Application',
  activity,
  text: `${activity}: ${name}`,
  user: request.principal.userName,
  source: id,
  tenant: request.tenant,
});
