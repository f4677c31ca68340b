/**
 * Subscriptions of Notifications 2.0 end with their managed object (docs/spec/notifications.md#ends). Their records are
 * the tenant's.
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { SourceDelete } from '../../model/commands/deletion.ts';
import type { RecordChange, RecordsSum } from '../../model/commands/records.ts';
import {
  NOTIFICATION_SUBSCRIPTIONS,
  SUBSCRIPTIONS_TOTAL,
  contextPrefix,
  idKey,
} from '../../model/entities/notifications/subscription.ts';
import type { NotificationSubscription } from '../../model/entities/notifications/subscription.ts';
import type { DocumentChange } from '../../ports/stores/documents.ts';
import type { ActorContext } from '../runtime/context.ts';

/** Subscriptions that one step removes: an object may have more of them than a commit takes. */
const REMOVED_AT_ONCE = 500;

/** Sent by the deletion of the object; its data is deleted by the projector (ingest/projector/late-deletions.ts). */
export function removeSubscriptions(context: ActorContext, body: SourceDelete): undefined {
  const subscriptions = context.list(NOTIFICATION_SUBSCRIPTIONS, contextPrefix('mo', body.source), REMOVED_AT_ONCE);
  for (const { id, value } of subscriptions) {
    context.remove(NOTIFICATION_SUBSCRIPTIONS, id);
    context.remove(NOTIFICATION_SUBSCRIPTIONS, idKey((JSON.parse(value) as NotificationSubscription).id));
  }
  countRemoved(
    context,
    subscriptions.map(({ value }) => value),
  );
  if (subscriptions.length === REMOVED_AT_ONCE)
    context.send({ kind: COMMAND.SOURCE_DELETE, key: context.command.key, body });
  return undefined;
}

/** What others are told of the end of subscriptions. @param changes of `removeSubscriptions`. */
export const removedSubscriptions = (changes: readonly DocumentChange[]): RecordChange[] =>
  changes
    .filter(({ collection }) => collection === NOTIFICATION_SUBSCRIPTIONS)
    .map(({ id, value }) => ({ collection: NOTIFICATION_SUBSCRIPTIONS, id, expected: undefined, value }));

/** Of the sum that bounds them (records/totals.ts); one that is not kept yet is added up by the next change. */
function countRemoved(context: ActorContext, values: readonly string[]): void {
  const text = context.get(NOTIFICATION_SUBSCRIPTIONS, SUBSCRIPTIONS_TOTAL);
  if (text === undefined || values.length === 0) return;
  const { count, bytes } = JSON.parse(text) as RecordsSum;
  const left: RecordsSum = {
    count: count - values.length,
    bytes: bytes - values.reduce((sum, value) => sum + Buffer.byteLength(value), 0),
  };
  if (left.count > 0) context.put(NOTIFICATION_SUBSCRIPTIONS, SUBSCRIPTIONS_TOTAL, JSON.stringify(left));
  else context.remove(NOTIFICATION_SUBSCRIPTIONS, SUBSCRIPTIONS_TOTAL);
}
