/** What every adapter of the HistoryWriter port promises; run for each of them. */
import type { Test } from 'tap';
import type { HistoryWriter, MeasurementDeletion } from '../../src/ports/stores/history-writer.ts';
import { MeasurementColumns } from '../../src/ingest/measurements/columns.ts';
import { encodeMeasurement } from '../../src/ingest/measurements/record.ts';

export interface HistoryWriterPlace {
  readonly writer: HistoryWriter;
  /** All values of measurements that are there, ascending. */
  values(): Promise<number[]>;
}

interface Measured {
  readonly id: number;
  readonly seq: number;
  readonly values: readonly number[];
  readonly source?: number;
  readonly tenant?: number;
  readonly time?: number;
}

const TENANT = 1;
const NOW = Date.UTC(2026, 10, 21, 6);
const MONTH_MS = 31 * 86_400_000;

export function columnsOf(measured: readonly Measured[]): MeasurementColumns {
  const columns = new MeasurementColumns(1_000);
  for (const { id, seq, values, source = 5, tenant = TENANT, time = NOW } of measured) {
    const record = encodeMeasurement({
      tenant,
      source,
      id,
      time,
      mode: 0,
      type: 'T',
      receivedAt: 0,
      document: '',
      values: values.map((value, index) => ({ fragment: 'f', series: `s${index}`, value, unit: '' })),
    });
    columns.add(record, new DataView(record.buffer, record.byteOffset, record.length), 0, seq);
  }
  return columns;
}

/** A row of events; whoever reads it back looks at its id, source and time of creation only. */
const eventRow = (row: {
  id: number;
  version: number;
  source?: number;
  deleted?: 1;
  tenant?: number;
  createdAt?: number;
}): string => {
  const { id, version, source = 5, deleted = 0, tenant = TENANT, createdAt = NOW } = row;
  const time = (at: number): string => new Date(at).toISOString().replace('T', ' ').replace('Z', '');
  return JSON.stringify({
    tenant,
    id,
    source,
    type: 'T',
    time: time(NOW),
    creation_time: time(createdAt),
    last_updated: time(NOW),
    doc: '{}',
    version,
    deleted,
    shard: 0,
    seq: version,
  });
};

/** As an owner that has not begun it. */
export async function deleted(writer: HistoryWriter, deletion: MeasurementDeletion): Promise<void> {
  while ((await writer.deleteMeasurements(deletion, false)) !== 'done')
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
}

export function historyWriterContract(t: Test, name: string, newPlace: (t: Test) => Promise<HistoryWriterPlace>): void {
  t.test(`${name}: a block is inserted once, in whatever months its rows are`, async (t) => {
    const { writer, values } = await newPlace(t);
    const block = (): MeasurementColumns =>
      columnsOf([1, 2, 3].map((id) => ({ id, seq: 10 * id, values: [id, -id], time: NOW + id * MONTH_MS })));
    await writer.insertMeasurements(block(), 'a');
    await writer.insertMeasurements(block(), 'a');
    await writer.insertMeasurements(columnsOf([{ id: 4, seq: 40, values: [4] }]), 'b');
    t.same(await values(), [-3, -2, -1, 1, 2, 3, 4]);
    const asked = columnsOf([
      { id: 3, seq: 30, values: [3, -3] },
      { id: 4, seq: 40, values: [4] },
      { id: 5, seq: 50, values: [5] },
    ]);
    t.same(
      [...(await writer.storedMeasurements(asked))].sort(([a], [b]) => a - b),
      [
        [30, 3],
        [40, 4],
      ],
    );
    t.same([...(await writer.storedMeasurements(columnsOf([{ id: 5, seq: 50, values: [5] }])))], []);
  });

  t.test(`${name}: a DELETE takes what the filters select up to its sequence`, async (t) => {
    const { writer, values } = await newPlace(t);
    await writer.insertMeasurements(
      columnsOf([
        { id: 3, seq: 30, values: [3, -3] },
        { id: 1, seq: 10, values: [1] },
        { id: 2, seq: 20, values: [2], source: 6 },
        { id: 4, seq: 40, values: [4] },
        { id: 5, seq: 15, values: [5], tenant: 2 },
      ]),
      'a',
    );
    const deletion = (seq: number, receivedAt = NOW): MeasurementDeletion => ({
      tenant: TENANT,
      filter: { source: '5' },
      seq,
      receivedAt,
    });
    const select = (seq: number, afterId: number, limit = 10) =>
      writer.selectMeasurements(deletion(seq), afterId, limit);
    t.same(
      await select(30, 0),
      [
        { id: 1, source: 5 },
        { id: 3, source: 5 },
      ],
      'each once, by id',
    );
    t.same(
      [await select(30, 1), await select(30, 3), await select(30, 0, 1)],
      [[{ id: 3, source: 5 }], [], [{ id: 1, source: 5 }]],
    );
    await deleted(writer, deletion(30));
    t.same([await values(), await select(1_000, 0)], [[2, 4, 5], [{ id: 4, source: 5 }]]);
    await deleted(writer, deletion(30, NOW + 1));
    t.same(await values(), [2, 4, 5]);
    await writer.insertMeasurements(
      columnsOf([
        { id: 1, seq: 10, values: [1] },
        { id: 6, seq: 60, values: [6] },
      ]),
      'again',
    );
    await deleted(writer, deletion(30));
    t.same(
      await values(),
      [2, 4, 5, 6],
      'what an earlier process had deleted and was inserted again when it had ended',
    );
  });

  t.test(`${name}: the newest version of a row counts, in whatever order they come`, async (t) => {
    const { writer } = await newPlace(t);
    const select = (afterId = 0, before?: { seq: number; time: number }) =>
      writer.select(TENANT, 'events', { source: '5' }, afterId, before);
    const ids = async (...which: Parameters<typeof select>): Promise<number[]> =>
      (await select(...which)).map(({ id }) => id);
    t.same(await ids(), []);
    await writer.insertRows('events', [
      eventRow({ id: 2, version: 20, createdAt: NOW + 5 }),
      eventRow({ id: 1, version: 10 }),
      eventRow({ id: 3, version: 30, source: 6 }),
      eventRow({ id: 4, version: 40, tenant: 2 }),
      eventRow({ id: 5, version: 50 }),
    ]);
    t.same(
      await select(),
      [1, 2, 5].map((id) => ({ id, source: 5 })),
      'by id',
    );
    t.same([await ids(1), await ids(5)], [[2, 5], []]);
    await writer.insertRows('events', [
      eventRow({ id: 1, version: 60, deleted: 1 }),
      eventRow({ id: 2, version: 61, createdAt: NOW + 5 }),
    ]);
    await writer.insertRows('events', [
      eventRow({ id: 1, version: 10 }),
      eventRow({ id: 2, version: 20, createdAt: NOW + 5 }),
    ]);
    t.same(await ids(), [2, 5], 'what is deleted stays so');
    t.same(await ids(0, { seq: 55, time: NOW }), [5], 'changed and created since');
    t.same(await ids(0, { seq: 55, time: NOW + 5 }), [2, 5], 'changed since, created before');
    const since = { source: '5', lastUpdatedFrom: '1970-01-01T00:00:00.000Z' };
    t.same(
      (await writer.select(TENANT, 'events', since, 0, { seq: 55, time: NOW + 5 })).map(({ id }) => id),
      [5],
      'what changed since may match only by that',
    );
    t.same(await ids(0, { seq: 61, time: NOW - 1 }), [2, 5]);
    t.same(await ids(0, { seq: 1, time: NOW - 1 }), []);
  });
}
