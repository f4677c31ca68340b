/** Applications as the resources read and change them: records of the whole server, with one more for each value that no two of a tenant have. */
import type { AuditEntry, RecordChange } from '../model/command.ts';
import { attachmentKey, attachmentsOf, uniqueKey, uniqueKeys } from '../model/application.ts';
import type { StoredApplication, StoredAttachment } from '../model/application.ts';
import { PlatformError } from '../model/errors.ts';
import { MANAGEMENT_TENANT } from '../accounts/tenants.ts';
import type { Tenant } from '../accounts/tenants.ts';
import type { ApiRequest } from './api-request.ts';
import { SERVER_WIDE, changeRecords, listRecords, readRecord } from './records.ts';
import type { Acting } from './records.ts';

const COLLECTION = 'application';
/** How often a change is tried when somebody else was faster each time. */
const TRIES_MAX = 8;
/** Applications of one tenant. */
export const APPLICATIONS_MAX = 1_000;
const APPLICATIONS_LIMIT = 'applications/of-tenant';
/** Archives of one application. */
export const ATTACHMENTS_MAX = 200;
const ATTACHMENTS_LIMIT = 'applications/binaries';
/** First signs of ids: other records of the collection begin with letters. */
const DIGITS = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];

export interface Loaded { readonly text: string; readonly application: StoredApplication }

const isId = (id: string): boolean => /^[1-9]\d{0,15}$/.test(id);
export const notFound = (id: string): PlatformError => new PlatformError('applications/not-found', { id });

/** Whether the tenant that it belongs to is still there. */
const hasOwner = (request: ApiRequest, { ownerNumber }: StoredApplication): boolean => request.platform.tenants.byNumber(ownerNumber) !== undefined;

/** Whoever it belongs to, while that tenant is there. */
export async function findApplication(request: ApiRequest, id: string): Promise<Loaded | undefined> {
  const found = await findRecord(request, id);
  return found !== undefined && hasOwner(request, found.application) ? found : undefined;
}

async function findRecord(request: Acting, id: string): Promise<Loaded | undefined> {
  const text = isId(id) ? await readRecord(request, SERVER_WIDE, COLLECTION, id) : undefined;
  return text === undefined ? undefined : { text, application: JSON.parse(text) as StoredApplication };
}

/** All of the server, by id. */
export async function allApplications(request: ApiRequest): Promise<StoredApplication[]> {
  return (await allRecords(request)).filter((application) => hasOwner(request, application));
}

async function allRecords(request: Acting): Promise<StoredApplication[]> {
  const lists = await Promise.all(DIGITS.map((digit) => listRecords(request, SERVER_WIDE, COLLECTION, digit)));
  return lists.flat().map(({ value }) => JSON.parse(value) as StoredApplication).sort((left, right) => Number(left.id) - Number(right.id));
}

/** Also of a tenant that is gone. */
export async function applicationsOfOwner(request: Acting, ownerNumber: number): Promise<StoredApplication[]> {
  return (await allRecords(request)).filter((application) => application.ownerNumber === ownerNumber);
}

export async function findByUnique(request: ApiRequest, field: 'key' | 'name' | 'contextPath', ownerNumber: number, value: string):
  Promise<Loaded | undefined> {
  const id = await readRecord(request, SERVER_WIDE, COLLECTION, uniqueKey(field, ownerNumber, value));
  return id === undefined ? undefined : findApplication(request, id);
}

export async function subscribedIds(request: ApiRequest, tenantNumber: number): Promise<Set<string>> {
  return new Set((await listRecords(request, tenantNumber, 'subscription')).map(({ id }) => id));
}

/** Whether the tenant has it: as its owner or by a subscription. */
export async function isAvailableTo(request: ApiRequest, tenant: Pick<Tenant, 'number'>, application: StoredApplication): Promise<boolean> {
  return application.ownerNumber === tenant.number || (await readRecord(request, tenant.number, 'subscription', application.id)) !== undefined;
}

/** Whether a tenant may know of it without having it: offered to all, or by a tenant above to those below. */
export function isOffered(request: ApiRequest, { availability, ownerNumber }: StoredApplication): boolean {
  if (request.principal.tenant === MANAGEMENT_TENANT || availability === 'MARKET') return true;
  if (availability !== 'SHARED') return false;
  const { tenants } = request.platform;
  const seen = new Set<string>();
  for (let tenant = tenants.byId(request.principal.tenant); tenant?.parent !== undefined && !seen.has(tenant.id); tenant = tenants.byId(tenant.parent)) {
    seen.add(tenant.id);
    if (tenants.byId(tenant.parent)?.number === ownerNumber) return true;
  }
  return false;
}

/** @throws PlatformError 404 for one that the tenant may not know of. */
export async function loadVisible(request: ApiRequest, id: string): Promise<Loaded> {
  const found = await findApplication(request, id);
  if (found === undefined) throw notFound(id);
  const isVisible = await isAvailableTo(request, { number: request.tenant }, found.application)
    || (request.isPrivileged && isOffered(request, found.application));
  if (!isVisible) throw notFound(id);
  return found;
}

/** To be changed: by its owner, or the management tenant. @throws PlatformError 404, 403. */
export async function loadOwn(request: ApiRequest, id: string): Promise<Loaded> {
  const found = await loadVisible(request, id);
  if (found.application.ownerNumber !== request.tenant && request.principal.tenant !== MANAGEMENT_TENANT) throw new PlatformError('security/forbidden');
  return found;
}

const isRace = (error: unknown): boolean => error instanceof PlatformError && error.code === 'general/changed-meanwhile';

/** @throws PlatformError 409 for a key, name or context path that another one of the owner has. */
async function changesOf(request: ApiRequest, old: Loaded | undefined, next: StoredApplication): Promise<RecordChange[]> {
  const changes: RecordChange[] = [{ collection: COLLECTION, id: next.id, expected: old?.text, value: JSON.stringify(next) }];
  const [before, after] = [old === undefined ? [] : uniqueKeys(old.application), uniqueKeys(next)];
  for (const { id } of before) if (!after.some((key) => key.id === id)) changes.push({ collection: COLLECTION, id, expected: next.id, value: undefined });
  for (const { field, value, id } of after) {
    if (before.some((key) => key.id === id)) continue;
    if (await readRecord(request, SERVER_WIDE, COLLECTION, id) !== undefined) throw new PlatformError('applications/duplicate', { name: field, value });
    changes.push({ collection: COLLECTION, id, expected: undefined, value: next.id });
  }
  return changes;
}

/** @throws PlatformError 409, 422 for too many. */
export async function createApplication(request: ApiRequest, application: StoredApplication): Promise<void> {
  const { length } = await listRecords(request, SERVER_WIDE, COLLECTION, uniqueKey('name', application.ownerNumber, ''));
  if (length >= APPLICATIONS_MAX) tooMany(request, APPLICATIONS_LIMIT, APPLICATIONS_MAX, 'applications of a tenant');
  for (let tries = 1; ; tries += 1) {
    try {
      await changeRecords(request, SERVER_WIDE, await changesOf(request, undefined, application));
      return;
    } catch (error) {
      if (!isRace(error) || tries >= TRIES_MAX) throw error;
    }
  }
}

function tooMany(request: ApiRequest, limit: string, maximum: number, what: string): never {
  request.platform.refusals.count(limit);
  throw new PlatformError('applications/too-many', { limit, maximum, what });
}

/**
 * @param decide makes the next one of the stored one, and further changes that go with it.
 * @throws PlatformError 404, 409. @returns what was and what is stored.
 */
export async function updateApplication(request: ApiRequest, id: string,
  decide: (old: StoredApplication) => Promise<StoredApplication> | StoredApplication,
  further: (old: StoredApplication) => Promise<RecordChange[]> = async () => []):
  Promise<{ old: StoredApplication; next: StoredApplication; isChanged: boolean }> {
  for (let tries = 1; ; tries += 1) {
    const loaded = await findApplication(request, id);
    if (loaded === undefined) throw notFound(id);
    const { application: old } = loaded;
    const next = await decide(old);
    const others = await further(old);
    const isChanged = JSON.stringify(next) !== loaded.text;
    if (!isChanged && others.length === 0) return { old, next, isChanged };
    try {
      await changeRecords(request, SERVER_WIDE, [...await changesOf(request, loaded, next), ...others]);
      return { old, next, isChanged };
    } catch (error) {
      if (!isRace(error) || tries >= TRIES_MAX) throw error;
    }
  }
}

/** With its archives, whose content goes too. */
export async function removeApplication(request: Acting, { id }: StoredApplication): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const loaded = await findRecord(request, id);
    if (loaded === undefined) throw notFound(id);
    const attachments = await listRecords(request, SERVER_WIDE, COLLECTION, attachmentsOf(id));
    const changes: RecordChange[] = [
      { collection: COLLECTION, id, expected: loaded.text, value: undefined },
      ...uniqueKeys(loaded.application).map((key) => ({ collection: COLLECTION, id: key.id, expected: id, value: undefined } as const)),
      ...attachments.map((record) => ({ collection: COLLECTION, id: record.id, expected: record.value, value: undefined } as const)),
    ];
    try {
      await changeRecords(request, SERVER_WIDE, changes);
    } catch (error) {
      if (!isRace(error) || tries >= TRIES_MAX) throw error;
      continue;
    }
    for (const { value } of attachments) await request.platform.blobs.remove((JSON.parse(value) as StoredAttachment).blob);
    return;
  }
}

/** By id. */
export async function attachmentsOfApplication(request: ApiRequest, id: string): Promise<StoredAttachment[]> {
  const rows = await listRecords(request, SERVER_WIDE, COLLECTION, attachmentsOf(id));
  return rows.map(({ value }) => JSON.parse(value) as StoredAttachment).sort((left, right) => Number(left.id) - Number(right.id));
}

/** @throws PlatformError 404. */
export async function loadAttachment(request: ApiRequest, application: string, id: string): Promise<StoredAttachment> {
  const text = isId(id) ? await readRecord(request, SERVER_WIDE, COLLECTION, attachmentKey(application, id)) : undefined;
  if (text === undefined) throw new PlatformError('applications/binary-not-found', { application, id });
  return JSON.parse(text) as StoredAttachment;
}

/** @throws PlatformError 422. */
export async function requireRoomForAttachment(request: ApiRequest, id: string): Promise<void> {
  const { length } = await listRecords(request, SERVER_WIDE, COLLECTION, attachmentsOf(id));
  if (length >= ATTACHMENTS_MAX) tooMany(request, ATTACHMENTS_LIMIT, ATTACHMENTS_MAX, 'binaries of an application');
}

export const attachmentChange = (attachment: StoredAttachment): RecordChange =>
  ({ collection: COLLECTION, id: attachmentKey(attachment.application, attachment.id), expected: undefined, value: JSON.stringify(attachment) });
export const attachmentRemoval = (attachment: StoredAttachment): RecordChange =>
  ({ collection: COLLECTION, id: attachmentKey(attachment.application, attachment.id), expected: JSON.stringify(attachment), value: undefined });

/** Into the log of the tenant that did it. */
export async function auditApplication(request: ApiRequest, activity: string, { id, name }: StoredApplication): Promise<void> {
  const entry: AuditEntry = { type: 'Application', activity, text: `${activity}: ${name}`, user: request.principal.userName, source: id };
  await changeRecords(request, request.tenant, [], [entry]);
}
