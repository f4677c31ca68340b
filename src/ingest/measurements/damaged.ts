/**
 * MEASUREMENT records of the journal that cannot be read (isWholeMeasurement): set aside, so that they hold up nothing
 * behind them.
 */
import type { QuarantineEntry } from '../../ports/stores/quarantine.ts';
import { OFFSET_ID, OFFSET_KEY, OFFSET_TEXTS, nextAt, shardAt, tenantAt } from '../journal/record-layout.ts';

export interface DamagedMeasurement {
  readonly seq: number;
  /** A copy. */
  readonly record: Buffer;
}

/** The record at `at` of a group, copied. */
export const damagedAt = (records: Buffer, at: number, seq: number): DamagedMeasurement => ({
  seq,
  record: Buffer.from(records.subarray(at, nextAt(records, at))),
});

/** What of it can be told, and the whole record in base64. */
export function entryOfDamaged({ seq, record }: DamagedMeasurement): Omit<QuarantineEntry, 'position'> {
  const number = (offset: number): number => {
    const value = offset + 8 <= record.length ? record.readDoubleLE(offset) : 0;
    return Number.isSafeInteger(value) ? value : 0;
  };
  return {
    kind: 'measurement',
    table: 'measurements',
    seq,
    shard: shardAt(record, 0),
    id: record.length < OFFSET_TEXTS ? 0 : number(OFFSET_ID),
    code: 0,
    error: `the record of ${record.length} bytes in the journal cannot be decoded: its lengths or numbers are damaged`,
    row: { tenant: tenantAt(record, 0), source: number(OFFSET_KEY), record: record.toString('base64') },
  };
}

/** More make a block full. */
const COUNT_MAX = 1_000;
const BYTES_MAX = 16 * 1_048_576;

/** Those of one block. */
export class DamagedMeasurements {
  list: DamagedMeasurement[] = [];
  #sizeBytes = 0;

  get isFull(): boolean {
    return this.list.length >= COUNT_MAX || this.#sizeBytes >= BYTES_MAX;
  }

  add(records: Buffer, at: number, seq: number): void {
    const damaged = damagedAt(records, at, seq);
    this.list.push(damaged);
    this.#sizeBytes += damaged.record.length;
  }

  clear(): void {
    this.list = [];
    this.#sizeBytes = 0;
  }
}
