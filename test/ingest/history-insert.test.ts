/** What was tried more than once is looked for: by whom it is restored, and when that ends. */
import t from 'tap';
import { shardOf } from '../../src/ingest/journal/command-record.ts';
import { GivenUp, HistoryInsert } from '../../src/ingest/projector/history-insert.ts';
import { MeasurementColumns } from '../../src/ingest/measurements/columns.ts';
import { encodeMeasurement } from '../../src/ingest/measurements/record.ts';
import { silentLog, until } from '../actors/platform.ts';
import { FakeHistory } from './fake-history.ts';

const TENANT = 1;
const HERE = 1;
const ELSEWHERE = Array.from({ length: 100 }, (_, index) => index).find(
  (source) => shardOf(TENANT, source) !== shardOf(TENANT, HERE),
) as number;
const scope = { isOver: () => false, positionOf: () => 0 };

/** Measurements 1 to `count`, of two shards by turns. */
function columnsOf(count: number): MeasurementColumns {
  const columns = new MeasurementColumns(count);
  for (let id = 1; id <= count; id += 1) {
    const record = encodeMeasurement({
      tenant: TENANT,
      source: id % 2 === 0 ? HERE : ELSEWHERE,
      id,
      time: 0,
      mode: 0,
      type: 'T',
      document: '',
      receivedAt: 0,
      values: [{ fragment: 'f', series: 's', value: id, unit: '' }],
    });
    columns.add(record, new DataView(record.buffer, record.byteOffset, record.length), 0, id);
  }
  return columns;
}

const insertOver = (history: FakeHistory): HistoryInsert =>
  new HistoryInsert({ history, log: silentLog, quarantine: {} as never });
const numbers = (history: FakeHistory): number[] => history.values.map(({ value }) => value).sort((a, b) => a - b);

t.test('rows of a shard whose owner has passed the block do not come back', async (t) => {
  const history = new FakeHistory();
  const insert = insertOver(history);
  await history.insertMeasurements(columnsOf(6), 'block');
  // The ones were deleted, the others lost.
  history.values = [];
  const asked: number[] = [];
  let isLooked = false;
  history.before = (call) => {
    isLooked ||= call === 'stored';
  };
  const mayRestore = async (shard: number): Promise<boolean> => {
    t.ok(isLooked, 'asked behind the look');
    asked.push(shard);
    return shard === shardOf(TENANT, HERE);
  };
  t.equal(
    await insert.measurements({ columns: columnsOf(6), token: 'block', isFresh: false, mayRestore }, scope),
    undefined,
  );
  t.same(numbers(history), [2, 4, 6]);
  t.same([...history.tokens.keys()], ['block 0', `block/${shardOf(TENANT, HERE)}/again-1 0`]);
  t.ok(asked.includes(shardOf(TENANT, ELSEWHERE)));
  // Its owner restores its own, with tokens of its own.
  const other = async (shard: number): Promise<boolean> => shard === shardOf(TENANT, ELSEWHERE);
  t.equal(
    await insert.measurements({ columns: columnsOf(6), token: 'block', isFresh: false, mayRestore: other }, scope),
    undefined,
  );
  t.same(numbers(history), [1, 2, 3, 4, 5, 6]);
});

t.test('passed between the look and the insert: left out', async (t) => {
  const history = new FakeHistory();
  await history.insertMeasurements(columnsOf(2), 'block');
  history.values = [];
  let asks = 0;
  const mayRestore = async (): Promise<boolean> => {
    asks += 1;
    return asks <= 2;
  };
  t.equal(
    await insertOver(history).measurements(
      { columns: columnsOf(2), token: 'block', isFresh: false, mayRestore },
      scope,
    ),
    undefined,
  );
  t.same(numbers(history), []);
});

t.test('a store that does not show what it acknowledges gets no row for ever', async (t) => {
  const history = new FakeHistory();
  history.storedMeasurements = async () => new Map();
  const insert = insertOver(history);
  let isOver = false;
  const done = insert.measurements(
    { columns: columnsOf(2), token: 'block', isFresh: false },
    { ...scope, isOver: () => isOver },
  );
  await until(() => insert.lastError !== undefined);
  t.match(insert.lastError, 'acknowledges 2 rows of block and does not show them');
  t.equal(history.tokens.size, 21);
  isOver = true;
  t.ok((await done.catch((error: unknown) => error)) instanceof GivenUp);
});

t.test('left to somebody else', async (t) => {
  const history = new FakeHistory();
  t.equal(
    await insertOver(history).measurements(
      { columns: columnsOf(2), token: 'block', isFresh: false, mayInsert: async () => false },
      scope,
    ),
    'left',
  );
  t.same(history.log, []);
});

t.test(
  'a power cut takes the tokens and leaves rows: nothing is inserted twice, what is missing arrives',
  async (t) => {
    for (const left of [[1, 2, 3, 4, 5, 6], [2, 4, 6], []]) {
      const history = new FakeHistory();
      history.partitionOf = ({ id }) => id % 2;
      await history.insertMeasurements(columnsOf(6), 'block');
      history.tokens.clear();
      history.values = history.values.filter(({ value }) => left.includes(value));
      t.equal(
        await insertOver(history).measurements({ columns: columnsOf(6), token: 'block', isFresh: false }, scope),
        undefined,
      );
      t.same(numbers(history), [1, 2, 3, 4, 5, 6], `${left} were left`);
      t.notOk(
        [...history.tokens.keys()].some((token) => token.includes('again')),
        'an earlier insert that is still under way would have the same token',
      );
    }
  },
);
