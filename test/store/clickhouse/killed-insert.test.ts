/**
 * ClickHouse writes the token of a block into a file before the block's part has its name: killed between the two it
 * drops the block when it comes again, and does not hold it. What is measured that way must arrive nevertheless, once.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { HistoryInsert } from '../../../src/ingest/projector/history-insert.ts';
import { MeasurementColumns } from '../../../src/ingest/measurements/columns.ts';
import { encodeMeasurement } from '../../../src/ingest/measurements/record.ts';
import { silentLog } from '../../actors/platform.ts';
import { openClickHouse } from '../../helpers/stores/clickhouse.ts';
import { rounds } from '../../helpers/rounds.ts';
import { until } from '../../helpers/until.ts';

const MONTHS = [Date.UTC(2026, 8, 5), Date.UTC(2026, 9, 5), Date.UTC(2026, 10, 5)];
const scope = { isOver: () => false, positionOf: () => 0 };

function columnsOf(firstId: number, count: number): MeasurementColumns {
  const columns = new MeasurementColumns(count * 2);
  for (let index = 0; index < count; index += 1) {
    const id = firstId + index;
    const record = encodeMeasurement({
      tenant: 1,
      source: 5,
      id,
      time: MONTHS[index % MONTHS.length] + index,
      mode: 0,
      type: `type ${index % 4}`,
      receivedAt: 0,
      document: index % 5 === 0 ? `{"n":${id}}` : '',
      values: [
        { fragment: 'f', series: 's', value: id, unit: 'C' },
        { fragment: 'g', series: 's', value: -id, unit: '' },
      ],
    });
    columns.add(record, new DataView(record.buffer, record.byteOffset, record.length), 0, 10 * id);
  }
  return columns;
}

const { client, writer, embedded, data } = await openClickHouse(t);
const insert = new HistoryInsert({
  history: writer,
  log: silentLog,
  quarantine: {
    isFull: false,
    count: 0,
    has: () => false,
    add: () => {
      throw new Error('nothing is refused here');
    },
  } as never,
});
const contents = (firstId: number, count: number): Promise<object[]> =>
  client.query(
    'SELECT id, part, type, fragment, value, unit, doc, seq FROM measurements WHERE id BETWEEN {first:UInt64} AND {last:UInt64} ORDER BY id, part',
    { first: firstId, last: firstId + count - 1 },
  );

/** Kills the engine, and leaves it as if it had been killed before the newest parts of these months had their names. */
async function killWithoutParts(months: readonly string[]): Promise<void> {
  const restarts = embedded.restartsCount;
  process.kill(embedded.pid ?? 0, 'SIGKILL');
  const table = join(data, 'data/default/measurements');
  for (const month of months) {
    const number = (name: string): number => Number(name.split('_')[1]);
    const [newest] = readdirSync(table)
      .filter((name) => name.startsWith(`${month}_`))
      .sort((a, b) => number(b) - number(a));
    rmSync(join(table, newest), { recursive: true });
  }
  await until('the engine is there again', () => embedded.restartsCount > restarts && embedded.state === 'ready');
}

t.test('a block whose token is known and whose rows are not there, of one month or all', async (t) => {
  t.ok(existsSync(join(data, 'data/default/measurements')));
  for (const [round, months] of [['202610'], ['202609', '202611'], ['202609', '202610', '202611']].entries()) {
    const firstId = 1_000 * (round + 1);
    const token = `block ${round}`;
    t.equal(await insert.measurements({ columns: columnsOf(firstId, 90), token, isFresh: true }, scope), undefined);
    const whole = await contents(firstId, 90);
    t.equal(whole.length, 180);
    await killWithoutParts(months);
    await writer.insertMeasurements(columnsOf(firstId, 90), token);
    t.equal((await contents(firstId, 90)).length, 180 - 60 * months.length, 'the engine drops the repetition');
    for (const what of ['the same rows again, once', 'and repeated']) {
      t.equal(await insert.measurements({ columns: columnsOf(firstId, 90), token, isFresh: false }, scope), undefined);
      t.same(await contents(firstId, 90), whole, what);
    }
    // So may the engine end within the insert with the second token; each of these kills costs a start of the engine.
    if (round < rounds(2, 0)) continue;
    await killWithoutParts(months);
    t.equal(await insert.measurements({ columns: columnsOf(firstId, 90), token, isFresh: false }, scope), undefined);
    t.same(await contents(firstId, 90), whole, 'the third token');
  }
});

t.test('what is stored is found by id and sequence', async (t) => {
  const columns = columnsOf(9_000, 12);
  t.same(await writer.storedMeasurements(columns), new Map());
  await writer.insertMeasurements(columns, 'found');
  t.same(
    [...(await writer.storedMeasurements(columnsOf(8_990, 40)))].sort(([a], [b]) => a - b),
    Array.from({ length: 12 }, (_, index) => [10 * (9_000 + index), 9_000 + index]),
  );
});
