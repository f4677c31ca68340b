/**
 * Lists of applications, by their owners and subscribers (docs/spec/applications.md#requests). An application may be
 * large: ids are found by small records, and applications are read a few at a time, as far as the page needs them.
 */
import Type from 'typebox';
import { groupsOf } from '../../accounts/users/effective-rights.ts';
import { MANAGEMENT_TENANT, isAbove } from '../../accounts/tenants/tenants.ts';
import type { Tenant } from '../../accounts/tenants/tenants.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { APPLICATION_TYPES, uniqueKey } from '../../model/entities/application.ts';
import type { StoredApplication } from '../../model/entities/application.ts';
import { PlatformError } from '../../model/errors.ts';
import { splitMembers } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import {
  allIds,
  applicationsOfIds,
  availableIds,
  idsOfName,
  ownIds,
  subscribedIds,
} from '../../accounts/applications/applications.ts';
import { applicationText } from './text.ts';
import { PAGE_PARAMETERS, PAGE_SIZE_MAX, collectionText, pageOf, requirePageBytes } from '../request/paging.ts';
import type { Page } from '../../model/documents/page.ts';
import { flag, text } from '../request/schema/query-parameters.ts';
import { listRecords } from '../../records/records.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { referencedId } from '../users/text.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';
import { isOffered } from './visible.ts';

const APPLICATION_READ = ['ROLE_APPLICATION_MANAGEMENT_READ'];
export const APPLICATION_ADMIN = ['ROLE_APPLICATION_MANAGEMENT_ADMIN'];
/** Who changes them may look at them. */
export const APPLICATION_ANY = [...APPLICATION_READ, ...APPLICATION_ADMIN];

/** What is on a list: of these ids those that fulfil the condition. */
interface Selection {
  readonly ids: Iterable<string>;
  readonly isWanted: (application: StoredApplication) => boolean;
}
const NOTHING: Selection = { ids: [], isWanted: () => false };
const all = (ids: Iterable<string>): Selection => ({ ids, isWanted: () => true });

/** A tenant that the caller may ask about: its own, or one below it. */
function askedTenant(request: ApiRequest, id: string): Tenant | undefined {
  const tenant = request.platform.tenants.byId(id);
  return tenant !== undefined && (tenant.id === request.principal.tenant || isAbove(request.principal, tenant))
    ? tenant
    : undefined;
}

/**
 * Ids of those that the user may open: assigned ones of the user and the groups, or all of the tenant where nothing is
 * assigned.
 */
async function idsOfUser(request: ApiRequest, userName: string): Promise<Set<string>> {
  const stored = await request.platform.documents.get('user', request.tenant, userName);
  if (stored === undefined) return new Set();
  const user = JSON.parse(stored) as StoredUser;
  const groups = await groupsOf(request.platform.documents, request.tenant, user);
  const assigned = new Set([user.doc, ...groups.map(({ doc }) => doc)].flatMap(assignedIds));
  const available = await availableIds(request.platform, request.tenant);
  return assigned.size === 0 ? available : new Set([...available].filter((id) => assigned.has(id)));
}

/** Of another user only those who care for users or applications learn it. @throws PlatformError 403. */
function requireMayAsk(request: ApiRequest, userName: string): void {
  if (userName === request.principal.userName || request.isPrivileged || request.hasRole('ROLE_USER_MANAGEMENT_READ'))
    return;
  throw new PlatformError('security/forbidden');
}

/** Of the member `applications` of a user or a group. */
function assignedIds(doc: string): string[] {
  const sent = splitMembers(doc).get('applications');
  if (sent === undefined || !sent.startsWith('[')) return [];
  return (
    JSON.parse(sent) as ({
      id?: string | number;
      self?: string;
      application?: { id?: string | number; self?: string };
    } | null)[]
  )
    .map((one) => (one === null ? '' : referencedId(one.application ?? one)))
    .filter((id) => id !== '');
}

const SUBSCRIBER_FILTERS = ['providedFor', 'subscriber', 'tenant'] as const;
const TENANT_FILTERS = ['owner', ...SUBSCRIBER_FILTERS, 'user'] as const;

/** What the caller may see that fulfils the filters; without one about tenants, what the caller's tenant has. */
async function selected(request: ApiRequest): Promise<Selection> {
  const { query, principal } = request;
  const own = await availableIds(request.platform, request.tenant);
  const isOfTenants = TENANT_FILTERS.some((name) => query.has(name));
  if (!request.isPrivileged || (!isOfTenants && principal.tenant !== MANAGEMENT_TENANT))
    return filtered(request, all(own));
  return filtered(request, {
    ids: await candidates(request, own),
    isWanted: (one) => own.has(one.id) || isOffered(request, one),
  });
}

/** Ids of which the filters about tenants can be fulfilled; without such a filter all of the server. */
async function candidates(request: ApiRequest, own: Iterable<string>): Promise<Iterable<string>> {
  const { query } = request;
  const owner = query.text('owner');
  if (owner !== undefined) return idsOfOwner(request, owner);
  if (query.has('user')) return own;
  const id = SUBSCRIBER_FILTERS.map((name) => query.text(name)).find((value) => value !== undefined);
  if (id === undefined) return allIds(request.platform);
  const tenant = askedTenant(request, id);
  return tenant === undefined ? [] : availableIds(request.platform, tenant.number);
}

async function idsOfOwner(request: ApiRequest, id: string): Promise<string[]> {
  const tenant = request.platform.tenants.byId(id);
  return tenant === undefined ? [] : ownIds(request.platform, tenant.number);
}

async function filtered(request: ApiRequest, { ids, isWanted }: Selection): Promise<Selection> {
  const { query } = request;
  const tests = [isWanted];
  const keep = (name: string, test: (application: StoredApplication, value: string) => boolean): void => {
    const value = query.text(name);
    if (value !== undefined) tests.push((application) => test(application, value));
  };
  keep('name', ({ name }, value) => name === value);
  keep('type', ({ type }, value) => type === value);
  keep('owner', ({ owner }, value) => owner === value);
  keep('hasVersions', ({ versions = [] }, value) => String(versions.length > 0) === value.toLowerCase());
  for (const name of SUBSCRIBER_FILTERS) {
    const id = query.text(name);
    if (id === undefined) continue;
    const tenant = askedTenant(request, id);
    if (tenant === undefined) return NOTHING;
    const subscribed = await subscribedIds(request.platform, tenant.number);
    const owns = ({ ownerNumber }: StoredApplication): boolean => ownerNumber === tenant.number;
    tests.push(
      (application) =>
        (name === 'tenant' && owns(application)) ||
        (subscribed.has(application.id) && !(name === 'providedFor' && owns(application))),
    );
  }
  const user = query.text('user');
  if (user !== undefined) requireMayAsk(request, user);
  const ofUser = user === undefined ? undefined : await idsOfUser(request, user);
  if (ofUser !== undefined) tests.push(({ id }) => ofUser.has(id));
  return { ids, isWanted: (application) => tests.every((test) => test(application)) };
}

/** A tenant's application with the context path of a subscribed one takes its place. */
async function withoutOverwritten(request: ApiRequest, { ids, isWanted }: Selection): Promise<Selection> {
  if (!request.query.isTrue('dropOverwrittenApps')) return { ids, isWanted };
  const prefix = uniqueKey('contextPath', request.tenant, '');
  const own = new Map(
    (await listRecords(request.platform, SERVER_WIDE, 'application', prefix)).map(({ id, value }) => [
      id.slice(prefix.length),
      value,
    ]),
  );
  const wantedIds = new Set<string>();
  for await (const application of applicationsOfIds(request.platform, own.values()))
    if (isWanted(application)) wantedIds.add(application.id);
  const isOverwritten = ({ ownerNumber, contextPath }: StoredApplication): boolean =>
    ownerNumber !== request.tenant && contextPath !== undefined && wantedIds.has(own.get(contextPath) ?? '');
  return { ids, isWanted: (application) => isWanted(application) && !isOverwritten(application) };
}

/** @throws PlatformError `general/page-too-large`. */
async function answerList(request: ApiRequest, selection: Selection): Promise<Answer> {
  const { ids, isWanted } = await withoutOverwritten(request, selection);
  const isUnpaged = request.query.isTrue('noPaging') && request.page === undefined;
  const page: Page = isUnpaged ? { size: PAGE_SIZE_MAX, current: 1, offset: 0, wantsTotal: true } : pageOf(request);
  const items: string[] = [];
  let [total, bytes] = [0, 0];
  for await (const application of applicationsOfIds(request.platform, ids)) {
    if (!isWanted(application)) continue;
    total += 1;
    if (total <= page.offset) continue;
    // One more than the page tells whether there is another.
    if (items.length >= page.size && !page.wantsTotal) break;
    if (items.length >= page.size) continue;
    const item = applicationText(request, application);
    bytes += item.length;
    requirePageBytes(request, bytes);
    items.push(item);
  }
  return found('applicationCollection', collectionText(request, page, { name: 'applications', items, total }));
}

const list = async (request: ApiRequest): Promise<Answer> => answerList(request, await selected(request));

async function listByName(request: ApiRequest): Promise<Answer> {
  const own = await availableIds(request.platform, request.tenant);
  const isVisible = (application: StoredApplication): boolean =>
    own.has(application.id) || (request.isPrivileged && isOffered(request, application));
  return answerList(request, { ids: await idsOfName(request.platform, request.params['name']), isWanted: isVisible });
}

async function listByTenant(request: ApiRequest): Promise<Answer> {
  const tenant = askedTenant(request, request.params['tenant']);
  return answerList(request, tenant === undefined ? NOTHING : all(await availableIds(request.platform, tenant.number)));
}

async function listByOwner(request: ApiRequest): Promise<Answer> {
  const { tenant: owner } = request.params;
  const mayAsk = askedTenant(request, owner) !== undefined;
  const own = await availableIds(request.platform, request.tenant);
  const isVisible = (application: StoredApplication): boolean =>
    mayAsk || own.has(application.id) || (request.isPrivileged && isOffered(request, application));
  return answerList(request, { ids: await idsOfOwner(request, owner), isWanted: isVisible });
}

async function listByUser(request: ApiRequest): Promise<Answer> {
  const { userId } = request.params;
  requireMayAsk(request, userId);
  return answerList(request, all(await idsOfUser(request, userId)));
}

const LIST_PARAMETERS = {
  ...PAGE_PARAMETERS,
  noPaging: flag(`All on one page of at most ${PAGE_SIZE_MAX}`),
  dropOverwrittenApps: flag('Leaves out subscribed ones with the context path of one of your own'),
};
const FILTERS = {
  name: text('Exact name'),
  owner: text('Id of the tenant that it belongs to'),
  providedFor: text('Id of a tenant that is subscribed and not the owner'),
  subscriber: text('Id of a tenant that is subscribed'),
  tenant: text('Id of a tenant that is the owner or subscribed'),
  type: { schema: Type.Enum([...APPLICATION_TYPES]), description: 'Type' },
  user: text('Name of a user who may open it'),
  hasVersions: { schema: Type.Boolean(), description: 'Whether versions were uploaded' },
};

export function applicationListRoutes(): Route[] {
  const answers = [{ status: 200, description: 'A page of applications', mediaType: 'applicationCollection' }];
  const read = {
    method: 'GET',
    area: 'applications',
    access: 'owner',
    roles: APPLICATION_ANY,
    query: LIST_PARAMETERS,
    answers,
  } as const;
  return [
    {
      ...read,
      path: '/application/applications',
      summary: 'List applications that the tenant has',
      query: { ...FILTERS, ...LIST_PARAMETERS },
      handle: list,
    },
    {
      ...read,
      path: '/application/applicationsByName/{name}',
      summary: 'Applications with a name',
      handle: listByName,
    },
    {
      ...read,
      path: '/application/applicationsByTenant/{tenant}',
      summary: 'Applications that a tenant owns or is subscribed to',
      handle: listByTenant,
    },
    {
      ...read,
      path: '/application/applicationsByOwner/{tenant}',
      summary: 'Applications of an owner',
      handle: listByOwner,
    },
    {
      ...read,
      path: '/application/applicationsByUser/{userId}',
      summary: 'Applications that a user may open',
      handle: listByUser,
    },
  ];
}
