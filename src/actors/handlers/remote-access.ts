/**
 * Configurations of remote access end with their managed object (docs/spec/remote-access.md#configurations). Their
 * records are the tenant's.
 */
import type { SourceDelete } from '../../model/commands/deletion.ts';
import type { RecordsSum } from '../../model/commands/records.ts';
import { CONFIGURATIONS_TOTAL_ID, REMOTE_ACCESS } from '../../model/access/remote-access.ts';
import type { ActorContext } from '../runtime/context.ts';

/** Sent by the deletion of the object, as `removeSubscriptions`. */
export function removeConfigurations(context: ActorContext, { source }: SourceDelete): undefined {
  const stored = context.get(REMOTE_ACCESS, source);
  if (stored === undefined) return undefined;
  context.remove(REMOTE_ACCESS, source);
  const text = context.get(REMOTE_ACCESS, CONFIGURATIONS_TOTAL_ID);
  if (text === undefined) return undefined;
  const { count, bytes } = JSON.parse(text) as RecordsSum;
  const left: RecordsSum = {
    count: count - (JSON.parse(stored) as unknown[]).length,
    bytes: bytes - Buffer.byteLength(stored),
  };
  if (left.count > 0) context.put(REMOTE_ACCESS, CONFIGURATIONS_TOTAL_ID, JSON.stringify(left));
  else context.remove(REMOTE_ACCESS, CONFIGURATIONS_TOTAL_ID);
  return undefined;
}
