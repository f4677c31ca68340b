/**
 * Subscriptions of Notifications 2.0 end with their managed object (docs/spec/notifications.md#ends). Their records are
 * the tenant's.
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { SourceDelete } from '../../model/commands/deletion.ts';
import { NOTIFICATION_SUBSCRIPTIONS, contextPrefix, idKey } from '../../model/entities/notification-subscription.ts';
import type { NotificationSubscription } from '../../model/entities/notification-subscription.ts';
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
  if (subscriptions.length === REMOVED_AT_ONCE)
    context.send({ kind: COMMAND.SOURCE_DELETE, key: context.command.key, body });
  return undefined;
}
