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
import type { Tenant } from '../tenants/tenants.ts';
import { withChanges } from '../../records/audit-changes.ts';
import { NO_SUM, sumOfRecord, changeWithin } from '../../records/totals.ts';
import type { KeptTotal } from '../../records/totals.ts';
import { LIST_MAX, listRecords, readRecord, retried } from '../../records/records.ts';
import type { Blobs } from '../../ports/blobs.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { Counting, RecordReader, RecordWriter, StoredRecord } from '../../records/records.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';

/** What applications are read with. */
export interface ApplicationReader {
  readonly documents: DocumentReader;
  readonly tenants: { byNumber(number: number): Tenant | undefined; readonly all: Iterable<Tenant> };
}
/** What applications are changed with. */
export interface ApplicationParts extends ApplicationReader, RecordWriter, Counting {
  readonly commands: CommandPort;
  readonly blobs: Pick<Blobs, 'remove'>;
}
/** By whom applications are changed, and in whose audit log it stands. */
export type TenantUser = Pick<Principal, 'userName' | 'tenantNumber'>;

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

export const notFound = (id: string): PlatformError => new PlatformError('applications/not-found', { id });

/** Whether the tenant that it belongs to is still there. */
const hasOwner = (parts: ApplicationReader, { ownerNumber }: StoredApplication): boolean =>
  parts.tenants.byNumber(ownerNumber) !== undefined;

/** Of any tenant that is still there. */
export async function findApplication(parts: ApplicationReader, id: string): Promise<Loaded | undefined> {
  const found = await findRecord(parts, id);
  return found !== undefined && hasOwner(parts, found.application) ? found : undefined;
}

async function findRecord(parts: ApplicationReader, id: string): Promise<Loaded | undefined> {
  const text = isEntityId(id) ? await readRecord(parts, SERVER_WIDE, COLLECTION, id) : undefined;
  return text === undefined ? undefined : { text, application: JSON.parse(text) as StoredApplication };
}

/** Ids of the applications of a tenant, also of one that is gone. */
export async function ownIds(ports: RecordReader, ownerNumber: number): Promise<string[]> {
  return (await listRecords(ports, SERVER_WIDE, COLLECTION, uniqueKey('name', ownerNumber, ''))).map(
    ({ value }) => value,
  );
}

/** Ids of its and subscribed ones of a tenant. */
export async function availableIds(parts: ApplicationReader, tenantNumber: number): Promise<Set<string>> {
  const subscribed = await subscribedIds(parts, tenantNumber);
  return new Set([...(await ownIds(parts, tenantNumber)), ...subscribed]);
}

/** Ids of all applications of the server: each has one record by its name. */
export async function allIds(parts: ApplicationReader): Promise<string[]> {
  const found: string[] = [];
  for (let after: string | undefined; ; ) {
    const some = await parts.documents.list(COLLECTION, SERVER_WIDE, NAMES_PREFIX, {
      limit: LIST_MAX,
      ...(after === undefined ? {} : { after }),
    });
    found.push(...some.map(({ value }) => value));
    if (some.length < LIST_MAX) return found;
    after = some[some.length - 1].id;
  }
}

/** Ids of the applications with that name, of any tenant. */
export async function idsOfName(parts: ApplicationReader, name: string): Promise<string[]> {
  const keys = Array.from(parts.tenants.all, ({ number }) => uniqueKey('name', number, name));
  const found: string[] = [];
  for (let start = 0; start < keys.length; start += LOOKED_UP_AT_ONCE) {
    const some = await parts.documents.getMany(COLLECTION, SERVER_WIDE, keys.slice(start, start + LOOKED_UP_AT_ONCE));
    found.push(...some.filter((id) => id !== undefined));
  }
  return found;
}

/**
 * Applications by id, few of them in memory at once. Those that are not there, or whose tenant is not, are left out.
 */
export async function* applicationsOfIds(
  parts: ApplicationReader,
  ids: Iterable<string>,
): AsyncGenerator<StoredApplication> {
  const sorted = [...ids].filter(isEntityId).sort((left, right) => Number(left) - Number(right));
  for (let start = 0; start < sorted.length; start += READ_AT_ONCE) {
    // Others get their turn in between.
    if (start > 0) await nextTurn();
    const texts = await parts.documents.getMany(COLLECTION, SERVER_WIDE, sorted.slice(start, start + READ_AT_ONCE));
    for (const text of texts) {
      const application = text === undefined ? undefined : (JSON.parse(text) as StoredApplication);
      if (application !== undefined && hasOwner(parts, application)) yield application;
    }
  }
}

/** Also of a tenant that is gone. */
export async function applicationsOfOwner(parts: ApplicationReader, ownerNumber: number): Promise<StoredApplication[]> {
  const found = await Promise.all((await ownIds(parts, ownerNumber)).map((id) => findRecord(parts, id)));
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
    if (isEntityId(record.id)) return sumOfRecord(record);
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
  parts: ApplicationParts,
  { ownerNumber }: StoredApplication,
  changes: readonly RecordChange[],
  audits: readonly AuditEntry[],
): Promise<void> {
  await changeWithin(parts, totalOf(ownerNumber), changes, audits);
}

export async function findByUnique(
  parts: ApplicationReader,
  field: 'key' | 'name' | 'contextPath',
  ownerNumber: number,
  value: string,
): Promise<Loaded | undefined> {
  const id = await readRecord(parts, SERVER_WIDE, COLLECTION, uniqueKey(field, ownerNumber, value));
  return id === undefined ? undefined : findApplication(parts, id);
}

export async function subscribedIds(parts: ApplicationReader, tenantNumber: number): Promise<Set<string>> {
  return new Set((await listRecords(parts, tenantNumber, 'subscription')).map(({ id }) => id));
}

/** Whether the tenant has it: as its owner or by a subscription. */
export async function isAvailableTo(
  parts: ApplicationReader,
  tenant: Pick<Tenant, 'number'>,
  application: StoredApplication,
): Promise<boolean> {
  return (
    application.ownerNumber === tenant.number ||
    (await readRecord(parts, tenant.number, 'subscription', application.id)) !== undefined
  );
}

/** @throws PlatformError 409 for a key, name or context path that another one of the owner has. */
async function changesOf(
  parts: ApplicationReader,
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
    if ((await readRecord(parts, SERVER_WIDE, COLLECTION, id)) !== undefined)
      throw new PlatformError('applications/duplicate', { name: field, value });
    changes.push({ collection: COLLECTION, id, expected: undefined, value: next.id });
  }
  return changes;
}

/** @param attachment its first archive. @throws PlatformError 409, 422 for too many. */
export function createApplication(
  parts: ApplicationParts,
  by: TenantUser,
  application: StoredApplication,
  attachment?: StoredAttachment,
): Promise<void> {
  return retried(parts, async () => {
    const changes = [
      ...(await changesOf(parts, undefined, application)),
      ...(attachment === undefined ? [] : [attachmentChange(attachment)]),
    ];
    await store(parts, application, changes, [
      withChanges(auditOf(by, 'Application created', application), undefined, application),
    ]);
  });
}

/**
 * @param decide makes the next one of the stored one. @param further other changes that go with it.
 * @throws PlatformError 404, 409, 422. @returns what was and what is stored.
 */
export function updateApplication(
  parts: ApplicationParts,
  by: TenantUser,
  id: string,
  decide: (old: StoredApplication) => Promise<StoredApplication> | StoredApplication,
  further: readonly RecordChange[] = [],
): Promise<{ old: StoredApplication; next: StoredApplication }> {
  return retried(parts, async () => {
    const loaded = await findApplication(parts, id);
    if (loaded === undefined) throw notFound(id);
    const { application: old } = loaded;
    const next = await decide(old);
    if (JSON.stringify(next) !== loaded.text || further.length > 0) {
      const audit = withChanges(auditOf(by, 'Application updated', next), old, next);
      await store(parts, next, [...(await changesOf(parts, loaded, next)), ...further], [audit]);
    }
    return { old, next };
  });
}

/** With its archives, whose content goes too. */
export async function removeApplication(
  parts: ApplicationParts,
  { id }: StoredApplication,
  audits: readonly AuditEntry[] = [],
): Promise<void> {
  const removed = await retried(parts, async () => {
    const loaded = await findRecord(parts, id);
    if (loaded === undefined) throw notFound(id);
    const attachments = await listRecords(parts, SERVER_WIDE, COLLECTION, attachmentsOf(id));
    const changes: RecordChange[] = [
      { collection: COLLECTION, id, expected: loaded.text, value: undefined },
      ...uniqueKeys(loaded.application).map(
        (key) => ({ collection: COLLECTION, id: key.id, expected: id, value: undefined }) as const,
      ),
      ...attachments.map(
        (record) => ({ collection: COLLECTION, id: record.id, expected: record.value, value: undefined }) as const,
      ),
    ];
    await store(parts, loaded.application, changes, audits);
    return attachments;
  });
  for (const { value } of removed) await parts.blobs.remove((JSON.parse(value) as StoredAttachment).blob);
}

/** By id. */
export async function attachmentsOfApplication(parts: ApplicationReader, id: string): Promise<StoredAttachment[]> {
  const rows = await listRecords(parts, SERVER_WIDE, COLLECTION, attachmentsOf(id));
  return rows
    .map(({ value }) => JSON.parse(value) as StoredAttachment)
    .sort((left, right) => Number(left.id) - Number(right.id));
}

/** @throws PlatformError 404. */
export async function loadAttachment(
  parts: ApplicationReader,
  application: string,
  id: string,
): Promise<StoredAttachment> {
  const text = isEntityId(id)
    ? await readRecord(parts, SERVER_WIDE, COLLECTION, attachmentKey(application, id))
    : undefined;
  if (text === undefined) throw new PlatformError('applications/binary-not-found', { application, id });
  return JSON.parse(text) as StoredAttachment;
}

/** @throws PlatformError 422. */
export async function requireRoomForAttachment(parts: ApplicationParts, id: string): Promise<void> {
  const { length } = await listRecords(parts, SERVER_WIDE, COLLECTION, attachmentsOf(id));
  if (length < ATTACHMENTS_MAX) return;
  parts.refusals.count(ATTACHMENTS_LIMIT, { reason: `the application ${id}` });
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
export const auditOf = (by: TenantUser, activity: string, { id, name }: StoredApplication): AuditEntry => ({
  type: 'Application',
  activity,
  text: `${activity}: ${name}`,
  user: by.userName,
  source: id,
  tenant: by.tenantNumber,
});
