/** Inventory roles that users have over objects (docs/spec/users.md#inventory-roles), as records. */
import type { AuditEntry, PrefixBound } from '../../model/commands/records.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { PlatformError } from '../../model/errors.ts';
import { changeRecords, listRecords, readRecord, retried } from '../../records/records.ts';
import type { Counting, RecordPorts, RecordReader, RecordWriter } from '../../records/records.ts';
import { changeBounded } from '../../records/totals.ts';
import type { StoredAssignment } from './groups.ts';

const ASSIGNMENTS = 'inventoryAssignment';
/** Of one user: a login reads each assignment. */
const BOUND: Omit<PrefixBound, 'prefix'> = {
  collection: ASSIGNMENTS,
  maximum: 200,
  limit: 'users/inventory-assignments',
  error: 'inventory-roles/too-many-assignments',
};

const keyOf = (userName: string, id: number | string): string => `${userName}\n${id}`;

export async function assignmentsOf(
  ports: RecordReader,
  tenant: number,
  userName: string,
): Promise<StoredAssignment[]> {
  const records = await listRecords(ports, tenant, ASSIGNMENTS, keyOf(userName, ''));
  return records.map(({ value }) => JSON.parse(value) as StoredAssignment);
}

async function textOf(ports: RecordReader, tenant: number, userName: string, id: string): Promise<string> {
  const text = isEntityId(id) ? await readRecord(ports, tenant, ASSIGNMENTS, keyOf(userName, id)) : undefined;
  if (text === undefined) throw new PlatformError('inventory-roles/assignment-not-found', { id, user: userName });
  return text;
}

/** @throws PlatformError 404. */
export const loadAssignment = async (
  ports: RecordReader,
  tenant: number,
  userName: string,
  id: string,
): Promise<StoredAssignment> => JSON.parse(await textOf(ports, tenant, userName, id)) as StoredAssignment;

/** @throws PlatformError `inventory-roles/too-many-assignments`. */
export async function addAssignment(
  ports: RecordWriter & Counting,
  tenant: number,
  userName: string,
  assignment: StoredAssignment,
  audit: AuditEntry,
): Promise<void> {
  const id = keyOf(userName, assignment.id);
  await changeBounded(
    ports,
    tenant,
    [{ collection: ASSIGNMENTS, id, expected: undefined, value: JSON.stringify(assignment) }],
    [audit],
    [{ ...BOUND, prefix: keyOf(userName, '') }],
  );
}

/** @param decide what becomes of it: undefined is its end. @throws PlatformError 404. */
export function changeAssignment<Next extends StoredAssignment | undefined>(
  ports: RecordPorts,
  { tenant, userName, id }: { readonly tenant: number; readonly userName: string; readonly id: string },
  decide: (assignment: StoredAssignment) => Next | Promise<Next>,
  auditOf: (before: StoredAssignment, after: Next) => Promise<AuditEntry>,
): Promise<Next> {
  return retried(ports, async () => {
    const expected = await textOf(ports, tenant, userName, id);
    const before = JSON.parse(expected) as StoredAssignment;
    const next = await decide(before);
    const value = next && JSON.stringify(next);
    await changeRecords(
      ports,
      tenant,
      [{ collection: ASSIGNMENTS, id: keyOf(userName, id), expected, value }],
      [await auditOf(before, next)],
    );
    return next;
  });
}
