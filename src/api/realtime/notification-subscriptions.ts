/**
 * `/notification2/subscriptions` (docs/spec/notifications.md). A subscription begins to have an effect with the first
 * consumer of its topic (src/realtime/notifications); this resource keeps what is subscribed.
 */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { PlatformError } from '../../model/errors.ts';
import {
  APIS,
  CONTEXTS,
  NAME_LENGTH_MAX,
  NAME_PATTERN,
  faultOf,
} from '../../model/entities/notifications/subscription.ts';
import type {
  NotificationContext,
  NotificationSubscription,
  SubscriptionFilter,
} from '../../model/entities/notifications/subscription.ts';
import type { ApiRequest } from '../request/request.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { namedSources, quote } from '../entities/text.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { text } from '../request/schema/query-parameters.ts';
import { recordPorts } from '../request/record-ports.ts';
import {
  createSubscription,
  readSubscription,
  removeSubscription,
  removeSubscriptions,
  selectedSubscriptions,
} from '../../records/notification-subscriptions.ts';
import type { SubscriptionSelection, SubscriptionUser } from '../../records/notification-subscriptions.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { Id, OPEN, Text, collectionOf, entity, open, optional, ref } from '../../model/schema/parts.ts';

const PATH = '/notification2/subscriptions';
const ADMIN = ['ROLE_NOTIFICATION_2_ADMIN'];
const AREA = 'reliable-notification';
const FRAGMENTS_MAX = 100;
const FRAGMENT_LENGTH_MAX = 256;
const TYPE_FILTER_LENGTH_MAX = 4096;

const Name = Type.String({ pattern: NAME_PATTERN, maxLength: NAME_LENGTH_MAX });
const TypeFilter = Type.String({
  minLength: 1,
  maxLength: TYPE_FILTER_LENGTH_MAX,
  description: "A type, or several: 'temperature' or 'pressure'",
});
const Apis = Type.Array(Type.Enum([...APIS.mo]), { minItems: 1, maxItems: APIS.mo.length });
/** `type` is another name of `typeFilter` (docs/spec/notifications.md#fields). */
const Filter = Type.Object(
  { apis: optional(Apis), typeFilter: optional(TypeFilter), type: optional(TypeFilter) },
  OPEN,
);
const orNull = <T extends TSchema>(schema: T) => optional(Type.Union([schema, Type.Null()]));
/** As everywhere, null counts as absent. */
const SentFilter = Type.Object({ apis: orNull(Apis), typeFilter: orNull(TypeFilter), type: orNull(TypeFilter) }, OPEN);
const SUBSCRIPTION = {
  context: Type.Enum([...CONTEXTS]),
  subscription: Name,
  nonPersistent: optional(Type.Boolean({ default: false })),
  fragmentsToCopy: optional(
    Type.Array(Type.String({ minLength: 1, maxLength: FRAGMENT_LENGTH_MAX }), { maxItems: FRAGMENTS_MAX }),
  ),
};
/** Clients send `subscriptionFilter`; `filter` is taken too (docs/spec/notifications.md#fields). */
const SubscriptionPost = Type.Object(
  {
    ...SUBSCRIPTION,
    source: optional(Type.Object({ id: Id }, OPEN)),
    subscriptionFilter: optional(SentFilter),
    filter: optional(SentFilter),
  },
  OPEN,
);

const Source = open({ id: Text, self: Text, name: optional(Text), type: optional(Text) });
export const NOTIFICATION_ANSWER_SCHEMAS: Readonly<Record<string, TSchema>> = {
  subscription: entity(open({ ...SUBSCRIPTION, source: optional(Source), subscriptionFilter: optional(Filter) })),
  subscriptionCollection: collectionOf('subscriptions', ref('subscription')),
};

interface Sent {
  readonly context: NotificationContext;
  readonly source?: { readonly id: string | number };
  readonly subscription: string;
  readonly nonPersistent?: boolean;
  readonly subscriptionFilter?: SentFilter;
  readonly filter?: SentFilter;
  readonly fragmentsToCopy?: readonly string[];
}
interface SentFilter {
  readonly apis?: SubscriptionFilter['apis'] | null;
  readonly typeFilter?: string | null;
  readonly type?: string | null;
}

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: AREA, name, value, limit });

/** @throws PlatformError 422, 404 for a managed object that is not there. */
async function sentSubscription(request: ApiRequest): Promise<Omit<NotificationSubscription, 'id'>> {
  const sent = JSON.parse(request.bodyText()) as Sent;
  const { context, source, subscription, nonPersistent = false, fragmentsToCopy } = sent;
  const { apis, typeFilter, type } = sent.subscriptionFilter ?? sent.filter ?? {};
  const wanted = typeFilter ?? type;
  const filter: SubscriptionFilter = {
    ...(apis == null ? {} : { apis }),
    ...(wanted == null ? {} : { typeFilter: wanted }),
  };
  if (context === 'mo' && source === undefined)
    throw new PlatformError('validation/mandatory-fields', { names: 'source' });
  const checked = {
    context,
    subscription,
    nonPersistent,
    ...(source === undefined ? {} : { source: String(source.id) }),
    ...(Object.keys(filter).length === 0 ? {} : { subscriptionFilter: filter }),
    ...(fragmentsToCopy === undefined ? {} : { fragmentsToCopy }),
  };
  const fault = faultOf(checked);
  if (fault !== undefined) throw invalid(fault.name, fault.value, fault.limit);
  await requireSource(request, checked.source);
  return checked;
}

/** @throws PlatformError 404 for a managed object that is not there. */
async function requireSource(request: ApiRequest, source: string | undefined): Promise<void> {
  if (source === undefined) return;
  const object = isEntityId(source)
    ? await request.platform.documents.get('managedObject', request.tenant, source)
    : undefined;
  if (object === undefined) throw new PlatformError('inventory/not-found', { id: source });
}

function subscriptionText(
  request: ApiRequest,
  { source, ...others }: NotificationSubscription,
  sources: ReadonlyMap<string, string>,
): string {
  const { id, ...members } = others;
  const head = `{"id":${quote(id)},"self":${quote(`${request.baseUrl}${PATH}/${id}`)},`;
  const shown = source === undefined ? '' : `"source":${sources.get(source)},`;
  return `${head}${shown}${JSON.stringify(members).slice(1)}`;
}

async function textsOf(request: ApiRequest, subscriptions: readonly NotificationSubscription[]): Promise<string[]> {
  const sources = await namedSources(
    request,
    subscriptions.map(({ source }) => source).filter((source) => source !== undefined),
  );
  return subscriptions.map((subscription) => subscriptionText(request, subscription, sources));
}

async function post(request: ApiRequest): Promise<Answer> {
  const checked = await sentSubscription(request);
  const subscription: NotificationSubscription = { id: String(await request.platform.ids.nextInOrder()), ...checked };
  const key = await createSubscription(recordPorts(request), userOf(request), subscription);
  try {
    // A deletion of the object looks for subscriptions once it is gone, and may have done so before this one was there.
    await requireSource(request, subscription.source);
  } catch (error) {
    await removeSubscription(recordPorts(request), userOf(request), subscription.id);
    throw error;
  }
  await request.platform.notifications.subscriptionChanged(request.tenant, key);
  const [shown] = await textsOf(request, [subscription]);
  return created('subscription', shown, `${request.baseUrl}${PATH}/${subscription.id}`);
}

const userOf = ({ tenant, principal }: ApiRequest): SubscriptionUser => ({ tenant, user: principal.userName });

function selectionOf(request: ApiRequest): SubscriptionSelection {
  const { query } = request;
  const source = query.text('source');
  const context = query.text('context') as NotificationContext | undefined;
  const contexts = context === undefined ? (source === undefined ? CONTEXTS : ['mo' as const]) : [context];
  return { contexts, source, subscription: query.text('subscription'), typeFilter: query.text('typeFilter') };
}

async function list(request: ApiRequest): Promise<Answer> {
  const page = pageOf(request);
  const shown: NotificationSubscription[] = [];
  const end = page.offset + page.size;
  let count = 0;
  for await (const { one } of selectedSubscriptions(request.platform, request.tenant, selectionOf(request))) {
    if (count >= page.offset && count < end) shown.push(one);
    count += 1;
    if (count > end && !page.wantsTotal) break;
  }
  const items = await textsOf(request, shown);
  const total = page.wantsTotal ? count : undefined;
  return found(
    'subscriptionCollection',
    collectionText(request, page, { name: 'subscriptions', items, total, isFull: count > end }),
  );
}

async function get(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  const stored = await readSubscription(request.platform, request.tenant, id);
  if (stored === undefined) throw new PlatformError('notifications/not-found', { id });
  const [shown] = await textsOf(request, [stored.one]);
  return found('subscription', shown);
}

async function remove(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  if (!(await removeSubscription(recordPorts(request), userOf(request), id)))
    throw new PlatformError('notifications/not-found', { id });
  return NO_CONTENT;
}

/** Of a managed object, or of the context `tenant`. What another request deletes meanwhile is gone as well. */
async function removeSelected(request: ApiRequest): Promise<Answer> {
  const { query } = request;
  const [context, source] = [query.text('context'), query.text('source')];
  if (context !== 'tenant' && source === undefined)
    throw new PlatformError('validation/mandatory-fields', { names: 'source' });
  if (context === 'tenant' && source !== undefined)
    throw invalid('source', source, 'nothing when the context is tenant');
  const { contexts } = selectionOf(request);
  await removeSubscriptions(recordPorts(request), userOf(request), contexts, source);
  return NO_CONTENT;
}

export function notificationSubscriptionRoutes(): Route[] {
  const admin = { area: AREA, access: 'roles', roles: ADMIN } as const;
  const context = { schema: Type.Enum([...CONTEXTS]), description: 'mo or tenant' };
  const source = text('Id of the managed object');
  const gone = [{ status: 204, description: 'Deleted' }];
  return [
    {
      method: 'GET',
      path: PATH,
      ...admin,
      summary: 'List subscriptions of Notifications 2.0, by context, source and name',
      query: {
        context,
        source,
        subscription: text('Name of the subscription'),
        typeFilter: text('Its filter of types, as it was sent'),
        ...PAGE_PARAMETERS,
      },
      answers: [{ status: 200, description: 'A page of subscriptions', mediaType: 'subscriptionCollection' }],
      handle: list,
    },
    {
      method: 'POST',
      path: PATH,
      ...admin,
      summary: 'Subscribe a topic of Notifications 2.0 to a managed object or to the tenant',
      body: {
        schema: SubscriptionPost,
        mediaTypes: ['subscription'],
        example: {
          context: 'mo',
          source: { id: '1000' },
          subscription: 'alerts',
          subscriptionFilter: { apis: ['alarms', 'measurements'] },
        },
      },
      answers: [{ status: 201, description: 'Created', mediaType: 'subscription' }],
      handle: post,
    },
    {
      method: 'DELETE',
      path: PATH,
      ...admin,
      summary: 'Delete the subscriptions of a managed object, or those of the context tenant',
      changesAllThatMatch: true,
      query: { context, source },
      answers: gone,
      handle: removeSelected,
    },
    {
      method: 'GET',
      path: `${PATH}/{id}`,
      ...admin,
      summary: 'Read a subscription of Notifications 2.0',
      answers: [{ status: 200, description: 'The subscription', mediaType: 'subscription' }],
      handle: get,
    },
    {
      method: 'DELETE',
      path: `${PATH}/{id}`,
      ...admin,
      summary: 'Delete a subscription of Notifications 2.0',
      answers: gone,
      handle: remove,
    },
  ];
}
