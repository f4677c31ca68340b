/**
 * Audit records as clients post them (docs/spec/audit.md#fields). Those of the server itself come from
 * `ActorContext.audit`.
 */
import type { ActorContext } from './context.ts';
import { auditRow } from './rows.ts';
import { joinMembers, mergeMembers, parseMembers } from '../../model/documents/json-document.ts';
import { shapeTime } from '../../model/documents/entity-time.ts';
import { formatTime } from '../../model/documents/iso-time.ts';

/** `doc` holds the members as sent, `source` as an object with `id`. */
export interface AuditCreate {
  readonly id: string;
  readonly doc: string;
  readonly user: string;
}

export function createAuditRecord(context: ActorContext, body: AuditCreate): { doc: string } {
  const members = shapeTime(parseMembers(body.doc));
  mergeMembers(members, new Map([['creationTime', JSON.stringify(formatTime(context.command.receivedAt))]]));
  if (!members.has('user')) members.set('user', JSON.stringify(body.user));
  context.row(auditRow(context.command, body.id, members));
  return { doc: joinMembers(members) };
}
