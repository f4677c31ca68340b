/**
 * Records of a tenant: options, applications, groups and the like. Compare and set, so that a caller may read, decide
 * and write.
 */
import type { DocumentsRemove } from '../../model/commands/deletion.ts';
import type { RecordsChange, RecordsSum, RecordsTotal } from '../../model/commands/records.ts';
import { PlatformError } from '../../model/errors.ts';
import { isAsExpected } from '../../model/commands/record-change.ts';
import type { ActorContext } from '../runtime/context.ts';

export function changeRecords(context: ActorContext, body: RecordsChange): undefined {
  for (const change of body.changes) {
    const { collection, id } = change;
    if (!isAsExpected(change, context.get(collection, id)))
      throw new PlatformError('general/changed-meanwhile', { collection, id });
  }
  for (const { collection, prefix, added = 1, maximum, limit, error } of body.prefixes ?? [])
    if (added > 0 && context.list(collection, prefix, maximum).length + added > maximum)
      throw new PlatformError(error, { limit, maximum });
  for (const total of body.totals ?? []) addUp(context, total);
  for (const { collection, id, value, isPositioned } of body.changes) {
    if (value === undefined) context.remove(collection, id);
    else if (isPositioned === true) context.put(collection, id, `${value.slice(0, -1)},"seq":${context.command.seq}}`);
    else context.put(collection, id, value);
  }
  for (const audit of body.audits ?? []) context.audit(audit);
  return undefined;
}

/** @throws PlatformError as the bound says; what makes a sum smaller is taken also above it. */
function addUp(
  context: ActorContext,
  { collection, id, added, before = { count: 0, bytes: 0 }, bounds }: RecordsTotal,
): void {
  const text = context.get(collection, id);
  const old = text === undefined ? before : (JSON.parse(text) as RecordsSum);
  const sum: RecordsSum = { count: old.count + added.count, bytes: old.bytes + added.bytes };
  for (const name of ['count', 'bytes'] as const) {
    const { maximum, limit, error } = bounds[name];
    if (added[name] > 0 && sum[name] > maximum) throw new PlatformError(error, { limit, maximum });
  }
  if (sum.count > 0) context.put(collection, id, JSON.stringify(sum));
  else if (text !== undefined) context.remove(collection, id);
}

/** Of a tenant that is being deleted: without rows and notifications, because no user can see them any more. */
export function removeDocuments(context: ActorContext, body: DocumentsRemove): undefined {
  for (const id of body.ids) context.remove(body.collection, id);
  return undefined;
}
