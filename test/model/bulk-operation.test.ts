/** What follows from the record of a bulk operation (docs/spec/bulk-operations.md#status). */
import t from 'tap';
import {
  bulkGeneralStatus,
  bulkProgress,
  countsWithDeleted,
  dueOperations,
  isOverAsCounted,
} from '../../src/model/entities/bulk-operation.ts';
import type { OperationCounts, StoredBulkOperation } from '../../src/model/entities/bulk-operation.ts';

const STORED: StoredBulkOperation = {
  id: '7',
  owner: 'ada',
  groupId: '1',
  startDate: '2024-01-01T00:00:00.000Z',
  startsAt: 0,
  creationRamp: 1,
  prototype: '{}',
  fragments: '{}',
  status: 'ACTIVE',
  targets: 10,
  done: 0,
  missing: 0,
};

t.test('progress adds up, whatever is under way', async (t) => {
  const rows: [
    what: string,
    stored: Partial<StoredBulkOperation>,
    counts: OperationCounts,
    progress: [pending: number, executing: number, successful: number, failed: number],
  ][] = [
    ['before the start', {}, {}, [10, 0, 0, 0]],
    ['in the middle', { nextAt: 1, done: 4 }, { PENDING: 1, EXECUTING: 1, SUCCESSFUL: 1, FAILED: 1 }, [7, 1, 1, 1]],
    [
      'operations that are newer than the record',
      { nextAt: 1, done: 4, planned: [] },
      { PENDING: 5, EXECUTING: 1 },
      [9, 1, 0, 0],
    ],
    ['a device that is gone', { nextAt: 1, done: 4, missing: 1 }, { PENDING: 3 }, [9, 0, 0, 1]],
    ['operations that are not seen yet', { nextAt: 1, done: 10, status: 'COMPLETED' }, { SUCCESSFUL: 6 }, [4, 0, 6, 0]],
    [
      'cancelled, with some that are not seen yet',
      { nextAt: 1, done: 4, status: 'DELETED' },
      { FAILED: 1 },
      [3, 0, 0, 1],
    ],
    ['cancelled', { nextAt: 1, done: 4, status: 'DELETED' }, { PENDING: 3, FAILED: 1 }, [3, 0, 0, 1]],
    ['cancelled before the start', { status: 'DELETED' }, {}, [0, 0, 0, 0]],
  ];
  for (const [what, stored, counts, [pending, executing, successful, failed]] of rows) {
    const all = pending + executing + successful + failed;
    t.same(bulkProgress({ ...STORED, ...stored }, counts), { pending, failed, executing, successful, all }, what);
  }
  const over: StoredBulkOperation = {
    ...STORED,
    nextAt: 1,
    done: 9,
    missing: 1,
    status: 'COMPLETED',
    counts: { SUCCESSFUL: 5 },
  };
  t.same(
    bulkProgress({ ...over, targets: 9 }, { SUCCESSFUL: 3 }, true),
    { pending: 0, failed: 4, executing: 0, successful: 5, all: 9 },
    'what nobody had counted before it was deleted has failed',
  );
});

t.test('general status', async (t) => {
  const rows: [stored: Partial<StoredBulkOperation>, counts: OperationCounts, status: string][] = [
    [{}, {}, 'SCHEDULED'],
    [{ nextAt: 1 }, {}, 'EXECUTING'],
    [{ nextAt: 1, done: 10, status: 'COMPLETED' }, { PENDING: 10 }, 'EXECUTING'],
    [{ nextAt: 1, done: 1 }, { FAILED: 1 }, 'EXECUTING_WITH_ERRORS'],
    [{ nextAt: 1, done: 10, status: 'COMPLETED' }, { SUCCESSFUL: 10 }, 'SUCCESSFUL'],
    [{ nextAt: 1, done: 10, status: 'COMPLETED' }, { SUCCESSFUL: 9, FAILED: 1 }, 'FAILED'],
    [{ nextAt: 1, done: 10, missing: 10, status: 'COMPLETED' }, {}, 'FAILED'],
    [{ nextAt: 1, targets: 0, status: 'COMPLETED' }, {}, 'SUCCESSFUL'],
    [{ nextAt: 1, targets: 0, status: 'COMPLETED', failure: 'does not exist' }, {}, 'FAILED'],
    [{ nextAt: 1, done: 1, status: 'DELETED' }, { FAILED: 1 }, 'CANCELED'],
  ];
  for (const [stored, counts, status] of rows) {
    const full = { ...STORED, ...stored };
    t.equal(bulkGeneralStatus(full, bulkProgress(full, counts)), status, JSON.stringify([stored, counts]));
  }
});

t.test('operations that were deleted stay in the counts', async (t) => {
  const rows: [what: string, before: OperationCounts | undefined, live: OperationCounts, counts: OperationCounts][] = [
    ['nothing is gone', { FAILED: 3 }, { SUCCESSFUL: 5 }, { SUCCESSFUL: 5 }],
    ['failed ones are gone', { SUCCESSFUL: 4, FAILED: 1 }, { SUCCESSFUL: 4 }, { SUCCESSFUL: 4, FAILED: 1 }],
    ['all are gone', { SUCCESSFUL: 4, FAILED: 1 }, {}, { SUCCESSFUL: 4, FAILED: 1 }],
    [
      'gone, while another one has succeeded',
      { PENDING: 3, FAILED: 2 },
      { SUCCESSFUL: 3 },
      { SUCCESSFUL: 3, FAILED: 2 },
    ],
    [
      'one that was waiting is gone, with its device',
      { PENDING: 1, SUCCESSFUL: 4 },
      { SUCCESSFUL: 4 },
      { SUCCESSFUL: 4, FAILED: 1 },
    ],
    ['more are there than were counted', { FAILED: 1 }, { PENDING: 6 }, { PENDING: 6 }],
    ['never counted', undefined, { SUCCESSFUL: 3 }, { SUCCESSFUL: 3 }],
  ];
  for (const [what, before, live, counts] of rows) {
    const stored = {
      ...STORED,
      nextAt: 1,
      status: 'COMPLETED',
      targets: 5,
      done: 5,
      ...(before === undefined ? {} : { counts: before }),
    } as StoredBulkOperation;
    t.same(countsWithDeleted(stored, live), counts, what);
    t.same(countsWithDeleted({ ...stored, counts }, live), counts, `${what}: counted again`);
    t.equal(isOverAsCounted(stored, counts), counts.PENDING === undefined && before !== undefined, what);
    t.notOk(isOverAsCounted({ ...stored, status: 'ACTIVE' }, counts, true));
    t.equal(isOverAsCounted(stored, counts, true), counts.PENDING === undefined, `${what}, all seen`);
  }
  const stored = { ...STORED, nextAt: 1, done: 5 };
  t.same(countsWithDeleted(stored, { SUCCESSFUL: 3 }, true), { SUCCESSFUL: 3, FAILED: 2 }, 'never counted, all seen');
  t.same(
    countsWithDeleted(
      { ...stored, done: 0, status: 'DELETED', counts: { PENDING: 2, SUCCESSFUL: 3 } } as StoredBulkOperation,
      {},
    ),
    { SUCCESSFUL: 3, FAILED: 2 },
    'cancelled while its first operations were created: they were counted and not ticked off',
  );
});

t.test('how many operations are due', async (t) => {
  const rows: [creationRamp: number, nextAt: number | undefined, now: number, count: number, next: number][] = [
    [1, undefined, 5_000, 1, 6_000],
    [1, 5_000, 5_000, 1, 6_000],
    [1, 5_001, 5_000, 0, 5_001],
    [1, 5_000, 6_000, 2, 7_000],
    [0.1, 5_000, 5_250, 3, 5_300],
    [0.001, 5_000, 6_000, 100, 5_100],
    [0, 5_000, 5_000, 100, 5_000],
    [1, 5_000, 999_000, 1, 1_000_000],
  ];
  for (const [creationRamp, nextAt, now, count, next] of rows) {
    t.same(
      dueOperations({ creationRamp, ...(nextAt === undefined ? {} : { nextAt }) }, now, 100),
      { count, nextAt: next },
      `${creationRamp} ${nextAt} ${now}`,
    );
  }
});
