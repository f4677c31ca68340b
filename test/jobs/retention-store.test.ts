/** The removal of one part: how it ends early, and what it then says is left. */
import t from 'tap';
import { bulkActiveKey, bulkKey, bulkWatchedKey } from '../../src/model/entities/bulk-operation.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { Command } from '../../src/model/commands/command.ts';
import type { DocumentReader } from '../../src/ports/document-reader.ts';
import type { RecordsChange } from '../../src/model/commands/records.ts';
import { PlatformError, refusedBy } from '../../src/model/errors.ts';
import type { RetentionTarget } from '../../src/model/entities/retention.ts';
import { RetentionRemoval } from '../../src/jobs/retention/store.ts';
import type { ClickHouseRetention } from '../../src/store/clickhouse/retention.ts';

const TARGET: RetentionTarget = { dataType: 'EVENT', fragmentType: '*', type: '*', source: '*', before: 1 };

t.test('events go in lots, and no further one when it is not wanted any more', async (t) => {
  let events = Array.from({ length: 200 }, (_, index) => ({ id: index + 1, source: 5 }));
  const history = { entities: async () => [...events] } as unknown as ClickHouseRetention;
  const request = async (command: Command): Promise<never> => {
    t.equal(command.kind, COMMAND.EVENT_DELETE);
    events = events.filter(({ id }) => String(id) !== (command.body as { id: string }).id);
    return undefined as never;
  };
  const removal = new RetentionRemoval({
    refusals: { count: () => undefined },
    history,
    visible: async () => undefined,
    commands: { request },
    documents: {} as never,
    counted: {} as never,
    now: () => 1,
  });
  let asked = 0;
  const left = await removal.remove(2, TARGET, '', '200', async () => {
    asked += 1;
    return asked <= 2;
  });
  t.same([left, events.length], [72, 72], 'after two lots');
  t.same([await removal.remove(2, TARGET, '', '200', () => false), events.length], [72, 72], 'only what is left');
  t.same([await removal.remove(2, TARGET, '', '200', () => true), events.length], [0, 0]);
});

t.test(
  'with too little free space entities stay, also in the middle of a part; whole parts of rows are dropped all the same',
  async (t) => {
    let events = Array.from({ length: 100 }, (_, index) => ({ id: index + 1, source: 5 }));
    let asked = 0;
    const requireRoom = (): void => {
      asked += 1;
      if (asked > 1) throw refusedBy('disk/free-bytes');
    };
    const history = {
      entities: async () => [...events],
      removeMonth: async (_kind: string, _tenant: number, _target: object, _month: string, required: () => void) => {
        required();
      },
    } as unknown as ClickHouseRetention;
    const request = async (command: Command): Promise<never> => {
      events = events.filter(({ id }) => String(id) !== (command.body as { id: string }).id);
      return undefined as never;
    };
    const removal = new RetentionRemoval({
      refusals: { count: () => undefined },
      history,
      visible: async () => undefined,
      commands: { request },
      documents: {} as never,
      counted: {} as never,
      requireRoom,
      now: () => 1,
    });
    await t.rejects(
      removal.remove(2, TARGET, '', '100', () => true),
      { code: 'general/disk-full' },
    );
    t.equal(events.length, 36);
    t.equal(await removal.remove(2, TARGET, '', '100', () => false), 36, 'what is left can be asked');
    await t.rejects(
      removal.remove(2, { ...TARGET, dataType: 'MEASUREMENT' }, '', '202601', () => true),
      { code: 'general/disk-full' },
      'the history decides',
    );
  },
);

t.test('a month of rows goes at once, or is counted', async (t) => {
  const removed: string[] = [];
  const history = {
    removeMonth: async (_kind: string, _tenant: number, _target: object, month: string) => {
      removed.push(month);
    },
    nextMonth: async (_kind: string, _tenant: number, _target: object, after: string) =>
      after < '202601' ? { through: '202601', count: 7 } : undefined,
  } as unknown as ClickHouseRetention;
  const removal = new RetentionRemoval({
    refusals: { count: () => undefined },
    history,
    visible: async () => undefined,
    commands: {} as never,
    documents: {} as never,
    counted: {} as never,
    now: () => 1,
  });
  const target = { ...TARGET, dataType: 'MEASUREMENT' } as const;
  t.equal(await removal.remove(2, target, '', '202601', () => false), 7);
  t.equal(await removal.remove(2, target, '', '202512', () => false), 0, 'its month is empty');
  t.same(removed, []);
  t.equal(await removal.remove(2, target, '', '202601', () => true), 0);
  t.same(removed, ['202601']);
});

t.test('what became of operations is kept for bulk operations that are not over, before any goes', async (t) => {
  const stored = {
    owner: 'ada',
    groupId: '1',
    startDate: '',
    startsAt: 0,
    creationRamp: 60,
    prototype: '{}',
    fragments: '{}',
    targets: 9,
    missing: 0,
    nextAt: 1,
  };
  const records = new Map<string, string>([
    [
      bulkKey('7'),
      JSON.stringify({
        ...stored,
        id: '7',
        status: 'ACTIVE',
        done: 4,
        planned: [['3', '99']],
        counts: { SUCCESSFUL: 3, FAILED: 1 },
      }),
    ],
    [bulkActiveKey('7'), '1'],
    [bulkKey('8'), JSON.stringify({ ...stored, id: '8', status: 'COMPLETED', targets: 2, done: 2 })],
    [bulkWatchedKey('8'), '1'],
    [bulkKey('9'), JSON.stringify({ ...stored, id: '9', status: 'COMPLETED', counts: { SUCCESSFUL: 9 } })],
  ]);
  const documents = {
    getMany: (collection: string, _tenant: number, ids: readonly string[]) =>
      ids.map((id) => (collection === 'operation' ? '{}' : records.get(id))),
    list: (_collection: string, _tenant: number, prefix: string) =>
      [...records].filter(([id]) => id.startsWith(prefix)).map(([id, value]) => ({ id, value })),
  } as unknown as DocumentReader;
  // Of 7 two have gone already, and the one that is not ticked off is there.
  const rows: object[] = [
    { bulkId: '7', status: 'SUCCESSFUL', total: 2 },
    { bulkId: '7', status: 'PENDING', total: 1 },
    { bulkId: '8', status: 'SUCCESSFUL', total: 2 },
  ];
  const counted = {
    query: async <Row>() => rows as Row[],
    stream: async () => {
      throw new Error('no stream');
    },
  };
  const done: string[] = [];
  let refusals = 1;
  const request = async (command: Command): Promise<never> => {
    if (command.kind === COMMAND.OPERATION_DELETE) done.push('deleted');
    else {
      refusals -= 1;
      if (refusals >= 0) throw new PlatformError('general/changed-meanwhile', { collection: 'bulkOperation', id: '7' });
      for (const { id, expected, value } of (command.body as RecordsChange).changes) {
        t.equal(records.get(id), expected);
        if (value === undefined) records.delete(id);
        else records.set(id, value);
      }
      done.push('kept');
    }
    return undefined as never;
  };
  const history = {
    entities: async () => [
      { id: 1, source: 5 },
      { id: 2, source: 6 },
    ],
  } as unknown as ClickHouseRetention;
  const removal = new RetentionRemoval({
    refusals: { count: () => undefined },
    history,
    visible: async () => undefined,
    commands: { request },
    documents,
    counted,
    now: () => 1,
  });
  t.equal(await removal.remove(2, { ...TARGET, dataType: 'OPERATION' }, '', '2', () => true), 0);
  t.same(done, ['kept', 'kept', 'deleted', 'deleted']);
  t.match(JSON.parse(records.get(bulkKey('7')) as string), { counts: { SUCCESSFUL: 3, PENDING: 1, FAILED: 1 } });
  t.match(JSON.parse(records.get(bulkKey('8')) as string), { counts: { SUCCESSFUL: 2 } });
  t.notOk(records.has(bulkWatchedKey('8')), 'all of it is over');
});
