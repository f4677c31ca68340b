/**
 * Subscriptions of Notifications 2.0 (docs/spec/notifications.md): which messages of a managed object, or of the
 * tenant, go to a topic. Two records each: one by context, source and name, which no two have in common, and one from
 * the id to that.
 */

export const NOTIFICATION_SUBSCRIPTIONS = 'notificationSubscription';
export const CONTEXTS = ['mo', 'tenant'] as const;
export type NotificationContext = (typeof CONTEXTS)[number];
/** Of the names of subscriptions, subscribers and consumers. */
export const NAME_PATTERN = '^[a-zA-Z0-9]+$';
export const NAME_LENGTH_MAX = 64;

/** All APIs; stands alone. */
export const ALL_APIS = '*';
/** What a filter may name. */
export const APIS: Readonly<Record<NotificationContext, readonly string[]>> = {
  mo: [
    'alarms',
    'alarmsWithChildren',
    'events',
    'eventsWithChildren',
    'measurements',
    'managedobjects',
    'operations',
    ALL_APIS,
  ],
  tenant: ['alarms', 'events', 'managedobjects', 'operations', ALL_APIS],
};
/** Of a whole tenant these are forwarded without a filter of their types. */
const WITHOUT_TYPE: ReadonlySet<string> = new Set(['managedobjects', 'operations', ALL_APIS]);

/** Of one tenant: each node that owns a shard keeps them in memory while the tenant has consumers. */
export const SUBSCRIPTIONS_MAX = 50_000;
export const SUBSCRIPTIONS_BYTES_MAX = 32 * 1_048_576;
/**
 * Of one managed object, and of the context `tenant`: each message is copied into the topics of all that match.
 */
export const SUBSCRIPTIONS_OF_SOURCE_MAX = 100;
/** Record with the number and bytes of all subscriptions (records/totals.ts). */
export const SUBSCRIPTIONS_TOTAL = 'total';

export interface SubscriptionFilter {
  readonly apis?: readonly string[];
  readonly typeFilter?: string;
}

export interface NotificationSubscription {
  readonly id: string;
  readonly context: NotificationContext;
  /** Id of the managed object in the context `mo`. */
  readonly source?: string;
  readonly subscription: string;
  readonly nonPersistent: boolean;
  readonly subscriptionFilter?: SubscriptionFilter;
  readonly fragmentsToCopy?: readonly string[];
}

/** Which member is wrong, and what it takes. */
export interface SubscriptionFault {
  readonly name: string;
  readonly value: string;
  readonly limit: string;
}

const ID_DIGITS = 16;
const padded = (id: string): string => id.padStart(ID_DIGITS, '0');
export const idKey = (id: string): string => `id/${padded(id)}`;
/** Prefix of the keys of a context, or of one source in it. */
export const contextPrefix = (context: NotificationContext, source?: string): string =>
  `${context}/${source === undefined ? '' : `${padded(source)}/`}`;
/** A persistent and a volatile topic of one name are two. */
export const subscriptionKey = ({
  context,
  source,
  subscription,
  nonPersistent,
}: Pick<NotificationSubscription, 'context' | 'source' | 'subscription' | 'nonPersistent'>): string =>
  `${contextPrefix(context, source)}${topicName(subscription, nonPersistent)}`;

/** Name of a topic within its tenant; names have letters and digits only. */
export const topicName = (subscription: string, nonPersistent: boolean): string =>
  nonPersistent ? `${subscription}~` : subscription;
export const isVolatileTopic = (topic: string): boolean => topic.endsWith('~');

/** Whether a key of the collection holds a subscription: not its id, nor the sum. */
export const isSubscriptionKey = (key: string): boolean => CONTEXTS.some((context) => key.startsWith(`${context}/`));

/**
 * One value, which may be in quotes, or several in quotes with `or` in between; a quote in a value is written twice.
 * Without quotes a value may have blanks, but for the word `or`.
 */
export function isTypeFilter(text: string): boolean {
  return (
    (/^[^'\s](?:[^']*[^'\s])?$/.test(text) && !/\sor\s/i.test(text)) ||
    /^\s*'(?:[^']|'')+'(?:\s+or\s+'(?:[^']|'')+')*\s*$/i.test(text)
  );
}

/** @param text as `isTypeFilter` takes it. @returns the types that it names. */
export function typesOf(text: string): ReadonlySet<string> {
  const quoted = [...text.matchAll(/'((?:[^']|'')+)'/g)].map(([, type]) => type.replaceAll("''", "'"));
  return new Set(quoted.length === 0 ? [text] : quoted);
}

/** What no schema can say. @returns undefined when all is well. */
export function faultOf({
  context,
  source,
  subscriptionFilter,
}: Omit<NotificationSubscription, 'id'>): SubscriptionFault | undefined {
  if (context === 'tenant' && source !== undefined)
    return { name: 'source', value: source, limit: 'nothing when the context is tenant' };
  const { apis, typeFilter } = subscriptionFilter ?? {};
  const unknown = apis?.find((api) => !APIS[context].includes(api));
  if (unknown !== undefined)
    return {
      name: 'subscriptionFilter.apis',
      value: unknown,
      limit: `in the context ${context} one of ${APIS[context].join(', ')}`,
    };
  if (apis !== undefined && apis.length > 1 && apis.includes(ALL_APIS)) {
    return { name: 'subscriptionFilter.apis', value: apis.join(','), limit: `${ALL_APIS} alone, or names without it` };
  }
  if (typeFilter !== undefined && !isTypeFilter(typeFilter)) {
    return {
      name: 'subscriptionFilter.typeFilter',
      value: typeFilter.slice(0, 100),
      limit: "one type, or types in quotes: 'temperature' or 'pressure'",
    };
  }
  const needsType = context === 'tenant' && (apis === undefined || apis.some((api) => !WITHOUT_TYPE.has(api)));
  if (needsType && typeFilter === undefined) {
    return {
      name: 'subscriptionFilter.typeFilter',
      value: 'null',
      limit: 'a type in the context tenant, but for managedobjects, operations and *',
    };
  }
  return undefined;
}
