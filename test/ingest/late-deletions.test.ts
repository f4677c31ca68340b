/** Data of deleted managed objects, and single measurements, deleted together. */
import t from 'tap';
import type { JournalCommand } from '../../src/ingest/journal/command-record.ts';
import { LateDeletions, deletionsOf, isOfOneMeasurement } from '../../src/ingest/projector/late-deletions.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';

const gone = (seq: number, source: number, tenant = 1, mode = 0): JournalCommand =>
  ({
    kind: COMMAND.SOURCE_DELETE,
    tenant,
    key: 't',
    mode,
    seq,
    shard: 0,
    receivedAt: seq,
    pendingId: undefined,
    body: { source: String(source) },
  }) as JournalCommand;

t.test('one source, several, tenants and modes apart', async (t) => {
  t.strictSame(deletionsOf([]), []);
  const [first, ...others] = deletionsOf([gone(7, 5)]);
  t.strictSame(first, {
    ...gone(7, 5),
    kind: COMMAND.DATA_DELETE,
    body: { table: 'measurements', filter: { source: '5' } },
  });
  t.strictSame(
    others.map(({ body }) => (body as { table: string }).table),
    ['events', 'alarms', 'operations'],
  );
  const several = deletionsOf([gone(1, 5), gone(2, 6), gone(3, 5), gone(4, 9, 2), gone(5, 7, 1, 2)]);
  t.strictSame(
    several
      .filter(({ body }) => (body as { table: string }).table === 'events')
      .map(({ seq, tenant, mode, body }) => [seq, tenant, mode, (body as { filter: object }).filter]),
    [
      [3, 1, 0, { sources: '5,6' }],
      [4, 2, 0, { source: '9' }],
      [5, 1, 2, { source: '7' }],
    ],
  );
});

t.test('so many at once that a statement can take them', async (t) => {
  const deletions = deletionsOf(Array.from({ length: 2_500 }, (_, index) => gone(index, index + 1)));
  t.equal(deletions.length, 12);
  t.equal(
    new Set(deletions.flatMap(({ body }) => (body as { filter: { sources: string } }).filter.sources.split(','))).size,
    2_500,
  );
  t.strictSame(
    deletions.map(({ seq }) => seq),
    [999, 999, 999, 999, 1_999, 1_999, 1_999, 1_999, 2_499, 2_499, 2_499, 2_499],
  );
});

const single = (seq: number, filter: Record<string, string>, tenant = 1): JournalCommand =>
  ({ ...gone(seq, 0, tenant), kind: COMMAND.DATA_DELETE, body: { table: 'measurements', filter } }) as JournalCommand;

t.test('measurements by their ids, those of one source and of any apart', async (t) => {
  t.ok(isOfOneMeasurement(single(1, { id: '7' })));
  t.ok(isOfOneMeasurement(single(1, { id: '7', source: '5' })));
  const [may, june] = ['2024-05-01T00:00:00.000Z', '2024-06-01T00:00:00.000Z'];
  const ofRest = (seq: number, id: string, time: string): JournalCommand =>
    single(seq, { id, source: '5', dateFrom: time, dateTo: time });
  t.ok(isOfOneMeasurement(ofRest(1, '7', may)), 'as REST deletes it');
  t.strictSame(
    deletionsOf([ofRest(1, '7', june), ofRest(2, '8', may)]).map(({ body }) => body),
    [{ table: 'measurements', filter: { ids: '7,8', source: '5', dateFrom: may, dateTo: june } }],
  );
  t.strictSame(
    deletionsOf([ofRest(1, '7', june), single(2, { id: '8', source: '5' })]).map(({ body }) => body),
    [{ table: 'measurements', filter: { ids: '7,8', source: '5' } }],
    'one may have any time',
  );
  t.notOk(isOfOneMeasurement(single(1, { id: '7', type: 'T' })), 'what was added since counts');
  t.notOk(isOfOneMeasurement(single(1, { source: '5' })));
  t.notOk(isOfOneMeasurement(gone(1, 5)));
  const commands = [single(1, { id: '7' }), single(2, { id: '8', source: '5' }), gone(3, 9), single(4, { id: '9' })];
  t.strictSame(
    deletionsOf([...commands, single(5, { id: '7' }, 2)])
      .filter(({ body }) => (body as { table: string }).table === 'measurements')
      .map(({ seq, tenant, body }) => [seq, tenant, (body as { filter: object }).filter]),
    [
      [4, 1, { ids: '7,9' }],
      [2, 1, { id: '8', source: '5' }],
      [3, 1, { source: '9' }],
      [5, 2, { id: '7' }],
    ],
  );
  const late = new LateDeletions();
  late.add(single(1, { id: '7' }));
  t.ok(late.concerns({ tables: ['measurements'], tenant: 1, source: 6 }));
  t.notOk(late.concerns({ tables: ['measurements'], tenant: 2 }));
  t.notOk(late.concerns({ tables: ['events'], tenant: 1 }));
});

t.test('who waits for them, and their bound', async (t) => {
  const sources = new LateDeletions();
  t.notOk(sources.concerns({ tables: ['events'] }));
  sources.add(gone(1, 5));
  t.ok(sources.concerns({ tables: ['events'] }));
  t.ok(sources.concerns({ tables: ['managed_objects', 'operations'], tenant: 1 }));
  t.notOk(sources.concerns({ tables: ['events'], tenant: 2 }));
  t.notOk(sources.concerns({ tables: ['managed_objects', 'audits'], tenant: 1 }));
  t.ok(sources.concerns({ tables: ['measurements'], tenant: 1, source: 5 }));
  t.notOk(sources.concerns({ tables: ['measurements'], tenant: 1, source: 6 }));
  let count = 1;
  for (; count < 20_000 && !sources.isFull; count += 1) sources.add(gone(count + 1, count + 1));
  t.equal(count, 10_000);
  sources.clear();
  t.notOk(sources.isFull);
  t.strictSame(sources.deletions, []);
});
