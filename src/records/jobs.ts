/** Jobs of a tenant: records that a background loop carries out (pacing/tenant-jobs.ts). */
import type { PrefixBound } from '../model/commands/records.ts';
import type { Counting, RecordWriter } from './records.ts';
import { changeBounded } from './totals.ts';

/**
 * Stores a job; it has the sequence of the command that does so, `seq`, beside its members.
 * @throws PlatformError as the bound on its kind says.
 */
export function addJob(
  ports: RecordWriter & Counting,
  tenant: number,
  id: string,
  job: object,
  bound: PrefixBound,
): Promise<void> {
  const value = JSON.stringify(job);
  return changeBounded(
    ports,
    tenant,
    [{ collection: 'job', id, expected: undefined, value, isPositioned: true }],
    [],
    [bound],
  );
}
