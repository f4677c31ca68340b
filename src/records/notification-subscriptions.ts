/**
 * Subscriptions of Notifications 2.0 as records: one by its context, source and name, and one that leads from its id
 * there. A subscription never changes: one that is not as it was read was deleted, or is another of its name.
 */
import { AUDITS_MAX } from '../model/commands/records.ts';
import type { AuditEntry, PrefixBound, RecordChange } from '../model/commands/records.ts';
import { isEntityId } from '../model/entities/entity-id.ts';
import {
  NOTIFICATION_SUBSCRIPTIONS,
  SUBSCRIPTIONS_BYTES_MAX,
  SUBSCRIPTIONS_MAX,
  SUBSCRIPTIONS_OF_SOURCE_MAX,
  SUBSCRIPTIONS_TOTAL,
  contextPrefix,
  idKey,
  isSubscriptionKey,
  subscriptionKey,
} from '../model/entities/notifications/subscription.ts';
import type { NotificationContext, NotificationSubscription } from '../model/entities/notifications/subscription.ts';
import { PlatformError } from '../model/errors.ts';
import { isChangedMeanwhile, listRecords, readRecord, retried } from './records.ts';
import type { RecordPorts, RecordReader, StoredRecord } from './records.ts';
import { NO_SUM, changeWithin, sumOfRecord } from './totals.ts';
import type { KeptTotal } from './totals.ts';

/** Records read in one step. */
const STEP = 500;

/** By whom, in the tenant with this number. */
export interface SubscriptionUser {
  readonly tenant: number;
  readonly user: string;
}

/** A stored subscription with the id of its record. */
interface Stored {
  readonly key: string;
  readonly one: NotificationSubscription;
}

/** Which ones a list or a deletion is about. */
export interface SubscriptionSelection {
  readonly contexts: readonly NotificationContext[];
  readonly source: string | undefined;
  readonly subscription: string | undefined;
  readonly typeFilter: string | undefined;
}

/** The subscriptions of a tenant together. */
const subscriptionsTotal = (tenant: number): KeptTotal => ({
  tenant,
  collection: NOTIFICATION_SUBSCRIPTIONS,
  id: SUBSCRIPTIONS_TOTAL,
  sumOf: (record) => (isSubscriptionKey(record.id) ? sumOfRecord(record) : NO_SUM),
  records: (ports) => listRecords(ports, tenant, NOTIFICATION_SUBSCRIPTIONS),
  bounds: {
    count: { maximum: SUBSCRIPTIONS_MAX, limit: 'notifications/subscriptions', error: 'notifications/too-many' },
    bytes: {
      maximum: SUBSCRIPTIONS_BYTES_MAX,
      limit: 'notifications/subscriptions-bytes',
      error: 'notifications/too-many-bytes',
    },
  },
});

const boundOfSource = ({ context, source }: Omit<NotificationSubscription, 'id'>): PrefixBound => ({
  collection: NOTIFICATION_SUBSCRIPTIONS,
  prefix: contextPrefix(context, source),
  maximum: SUBSCRIPTIONS_OF_SOURCE_MAX,
  limit: 'notifications/subscriptions-of-source',
  error: 'notifications/too-many-of-source',
});

const auditOf = (
  user: string,
  activity: string,
  { id, context, source, subscription }: NotificationSubscription,
): AuditEntry => ({
  type: 'SYSTEM',
  activity,
  user,
  source: source ?? id,
  text: `${activity}: ${subscription}, context ${context}${source === undefined ? '' : `, managed object ${source}`}`,
});

/** @returns the id of its record. @throws PlatformError 409 for a name that is there, 422 above a bound. */
export async function createSubscription(
  ports: RecordPorts,
  { tenant, user }: SubscriptionUser,
  created: NotificationSubscription,
): Promise<string> {
  const key = subscriptionKey(created);
  const { subscription, context } = created;
  const duplicate = new PlatformError('notifications/duplicate', { subscription, context });
  if ((await readRecord(ports, tenant, NOTIFICATION_SUBSCRIPTIONS, key)) !== undefined) throw duplicate;
  const changes: RecordChange[] = [
    { collection: NOTIFICATION_SUBSCRIPTIONS, id: key, expected: undefined, value: JSON.stringify(created) },
    { collection: NOTIFICATION_SUBSCRIPTIONS, id: idKey(created.id), expected: undefined, value: key },
  ];
  const audits = [auditOf(user, 'Subscription created', created)];
  try {
    await changeWithin(ports, subscriptionsTotal(tenant), changes, audits, [boundOfSource(created)]);
  } catch (error) {
    if (isChangedMeanwhile(error)) throw duplicate;
    throw error;
  }
  return key;
}

/** @returns undefined where there is none. */
export async function readSubscription(ports: RecordReader, tenant: number, id: string): Promise<Stored | undefined> {
  const key = isEntityId(id) ? await readRecord(ports, tenant, NOTIFICATION_SUBSCRIPTIONS, idKey(id)) : undefined;
  const text = key === undefined ? undefined : await readRecord(ports, tenant, NOTIFICATION_SUBSCRIPTIONS, key);
  return key === undefined || text === undefined
    ? undefined
    : { key, one: JSON.parse(text) as NotificationSubscription };
}

/** By context, source and name. They are read a step at a time: there may be one for each device. */
export async function* selectedSubscriptions(
  { documents }: RecordReader,
  tenant: number,
  { contexts, source, subscription, typeFilter }: SubscriptionSelection,
): AsyncGenerator<Stored> {
  if (source !== undefined && (!isEntityId(source) || !contexts.includes('mo'))) return;
  for (const context of contexts) {
    const prefix = contextPrefix(context, source);
    for (let after: string | undefined; ; ) {
      const rows: StoredRecord[] = await documents.list(NOTIFICATION_SUBSCRIPTIONS, tenant, prefix, {
        limit: STEP,
        ...(after === undefined ? {} : { after }),
      });
      for (const { id, value } of rows) {
        const one = JSON.parse(value) as NotificationSubscription;
        if (subscription !== undefined && one.subscription !== subscription) continue;
        if (typeFilter !== undefined && one.subscriptionFilter?.typeFilter !== typeFilter) continue;
        yield { key: id, one };
      }
      if (rows.length < STEP) break;
      after = rows[rows.length - 1].id;
    }
  }
}

/** @returns false where there is none. */
export function removeSubscription(ports: RecordPorts, by: SubscriptionUser, id: string): Promise<boolean> {
  return retried(ports, async () => {
    const stored = await readSubscription(ports, by.tenant, id);
    if (stored !== undefined) await removeAll(ports, by, [stored]);
    return stored !== undefined;
  });
}

/**
 * Removes those of a managed object, or of the contexts. What others delete meanwhile is deleted as well.
 * @throws PlatformError 503 `records/changes-at-once` where others change them all the time; some may be gone then.
 */
export async function removeSubscriptions(
  ports: RecordPorts,
  by: SubscriptionUser,
  contexts: readonly NotificationContext[],
  source: string | undefined,
): Promise<void> {
  const selection: SubscriptionSelection = { contexts, source, subscription: undefined, typeFilter: undefined };
  const removeSome = async (): Promise<boolean> => {
    const some: Stored[] = [];
    // One command writes an audit record for each.
    for await (const one of selectedSubscriptions(ports, by.tenant, selection)) if (some.push(one) >= AUDITS_MAX) break;
    if (some.length > 0) await removeAll(ports, by, some);
    return some.length === AUDITS_MAX;
  };
  while (await retried(ports, removeSome));
}

async function removeAll(
  ports: RecordPorts,
  { tenant, user }: SubscriptionUser,
  subscriptions: readonly Stored[],
): Promise<void> {
  const changes = subscriptions.flatMap(({ key, one }): RecordChange[] => [
    { collection: NOTIFICATION_SUBSCRIPTIONS, id: key, expected: JSON.stringify(one), value: undefined },
    { collection: NOTIFICATION_SUBSCRIPTIONS, id: idKey(one.id), expected: key, value: undefined },
  ]);
  const audits = subscriptions.map(({ one }) => auditOf(user, 'Subscription deleted', one));
  await changeWithin(ports, subscriptionsTotal(tenant), changes, audits);
}
