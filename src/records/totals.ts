/**
 * Sums over the records of a tenant (how many options, the bytes of its applications), which bound them. They are kept
 * beside the records, as adding them up would read all of these for each change. Where none is kept yet, which is so
 * until the first change of an older server, the records are added up once.
 */
import type { AuditEntry, PrefixBound, RecordChange, RecordsSum, RecordsTotal } from '../model/commands/records.ts';
import { PlatformError } from '../model/errors.ts';
import { changeRecords, readRecord } from './records.ts';
import type { Counting, RecordPorts, RecordReader, RecordWriter, StoredRecord } from './records.ts';

/** A sum that is kept. */
export interface KeptTotal extends Pick<RecordsTotal, 'collection' | 'id' | 'bounds'> {
  /** Number of the tenant whose records they are; 0 for those of the whole server. */
  readonly tenant: number;
  /** What a record adds. */
  sumOf(record: StoredRecord): RecordsSum;
  /** All records that count. */
  records(ports: RecordReader): Promise<readonly StoredRecord[]>;
}

/** Of a record that counts with its text. */
export const sumOfRecord = ({ value }: StoredRecord): RecordsSum => ({ count: 1, bytes: Buffer.byteLength(value) });
export const NO_SUM: RecordsSum = { count: 0, bytes: 0 };

const plus = (left: RecordsSum, right: RecordsSum): RecordsSum => ({
  count: left.count + right.count,
  bytes: left.bytes + right.bytes,
});
const added = (kept: KeptTotal, records: readonly StoredRecord[]): RecordsSum =>
  records.map((record) => kept.sumOf(record)).reduce(plus, NO_SUM);

/**
 * Stores changes of records that count. @param prefixes further bounds that they hold to. @throws PlatformError as
 * `changeRecords`, or as the bound says.
 */
export async function changeWithin(
  ports: RecordPorts,
  kept: KeptTotal,
  changes: readonly RecordChange[],
  audits: readonly AuditEntry[],
  prefixes: readonly PrefixBound[] = [],
): Promise<void> {
  const totals = await totalsOf(ports, kept, changes);
  await changeBounded(ports, kept.tenant, changes, audits, prefixes, totals);
}

/** As `changeRecords`; what a bound refuses is counted. */
export async function changeBounded(
  ports: RecordWriter & Counting,
  tenant: number,
  changes: readonly RecordChange[],
  audits: readonly AuditEntry[],
  prefixes: readonly PrefixBound[],
  totals: readonly RecordsTotal[] = [],
): Promise<void> {
  try {
    await changeRecords(ports, tenant, changes, audits, totals, prefixes);
  } catch (error) {
    const bounds = [...totals.flatMap((total) => Object.values(total.bounds)), ...prefixes];
    const bound =
      error instanceof PlatformError &&
      bounds.find((one) => one.error === error.code && one.limit === error.details['limit']);
    if (bound) ports.refusals.count(bound.limit, { tenant });
    throw error;
  }
}

/** What goes with the changes into `changeRecords`. */
async function totalsOf(
  ports: RecordReader,
  kept: KeptTotal,
  changes: readonly RecordChange[],
): Promise<RecordsTotal[]> {
  const { collection, id, bounds, tenant } = kept;
  const textsOf = (name: 'expected' | 'value'): StoredRecord[] =>
    changes
      .filter((change) => change.collection === collection)
      .flatMap((change) => (change[name] === undefined ? [] : [{ id: change.id, value: change[name] }]));
  const [before, after] = [added(kept, textsOf('expected')), added(kept, textsOf('value'))];
  const sum: RecordsSum = { count: after.count - before.count, bytes: after.bytes - before.bytes };
  if (sum.count === 0 && sum.bytes === 0) return [];
  const isKept = (await readRecord(ports, tenant, collection, id)) !== undefined;
  return [
    { collection, id, bounds, added: sum, ...(isKept ? {} : { before: added(kept, await kept.records(ports)) }) },
  ];
}

/** Before anything is written: what the change would be refused with. @throws PlatformError as the bound says. */
export async function requireRoom(
  ports: RecordReader & Counting,
  kept: KeptTotal,
  changes: readonly RecordChange[],
): Promise<void> {
  for (const total of await totalsOf(ports, kept, changes)) {
    const text = await readRecord(ports, kept.tenant, total.collection, total.id);
    const old = text === undefined ? (total.before ?? NO_SUM) : (JSON.parse(text) as RecordsSum);
    const sum = plus(old, total.added);
    for (const name of ['count', 'bytes'] as const) {
      const { maximum, limit, error } = total.bounds[name];
      if (total.added[name] <= 0 || sum[name] <= maximum) continue;
      ports.refusals.count(limit, { tenant: kept.tenant });
      throw new PlatformError(error, { limit, maximum });
    }
  }
}
