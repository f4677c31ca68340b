/** The disks of a cluster's node: either refuses under its own name, and retention looks at ClickHouse's. */
import t from 'tap';
import { refusedBy } from '../../src/model/errors.ts';
import { ClusterDisks } from '../../src/server/cores/cluster-disks.ts';
import { silentLog, until } from '../actors/platform.ts';

const HISTORY_EVERY_MS = 5;

t.test("ClickHouse's disk is looked at again and again, under a name of its own", async (t) => {
  const history = { freeBytes: 5_000 as number | Error, asked: 0 };
  const logged: object[] = [];
  const historyFreeBytes = async (): Promise<number> => {
    history.asked += 1;
    if (history.freeBytes instanceof Error) throw history.freeBytes;
    return history.freeBytes;
  };
  const disks = new ClusterDisks({
    data: t.testdir(),
    freeBytesMin: 1_000,
    warnBytes: 0,
    historyFreeBytes,
    historyEveryMs: HISTORY_EVERY_MS,
    log: {
      ...silentLog,
      error: (details) => {
        logged.push(details);
      },
    },
  });
  await disks.start();
  t.teardown(() => disks.stop());
  t.same([disks.refusal, disks.freeBytes, disks.historyFreeBytes], [undefined, 5_000, 5_000]);
  t.same(disks.history, { ready: true, freeBytes: 5_000 });
  t.ok(disks.localFreeBytes > 5_000);
  history.freeBytes = 999;
  await until(() => disks.refusal === 'clickhouse/free-bytes', 'the next look');
  t.same(
    [disks.history, disks.local.ready],
    [{ ready: true, freeBytes: 999, refusal: 'clickhouse/free-bytes' }, true],
    'a load balancer would take away all nodes at once',
  );
  t.match(refusedBy('clickhouse/free-bytes'), {
    code: 'general/disk-full',
    message: /clickhouse\/free-bytes.*--disk-free-min-bytes/,
  });
  history.freeBytes = new Error('away');
  const { asked } = history;
  await until(() => history.asked > asked + 3, 'looks without an answer');
  t.equal(disks.refusal, 'clickhouse/free-bytes', 'what cannot be read changes nothing');
  t.equal(
    logged.filter((details) => (details as { error?: string }).error === 'away').length,
    1,
    'and is told once, when it goes on',
  );
});

t.test('a full data disk comes first, and takes its node out of service unless all refuse writes', async (t) => {
  let historyFreeBytes = 1;
  const disks = new ClusterDisks({
    data: t.testdir(),
    freeBytesMin: 2 ** 60,
    warnBytes: 0,
    historyFreeBytes: async () => historyFreeBytes,
    historyEveryMs: HISTORY_EVERY_MS,
    log: silentLog,
  });
  await disks.start();
  t.teardown(() => disks.stop());
  t.same([disks.refusal, disks.isFullForAll], ['disk/free-bytes', true]);
  t.match(disks.local, { ready: true, refusal: 'disk/free-bytes' });
  historyFreeBytes = Number.POSITIVE_INFINITY;
  await until(() => !disks.isFullForAll, 'the next look');
  t.match(
    [disks.refusal, disks.local],
    ['disk/free-bytes', { ready: false, refusal: 'disk/free-bytes' }],
    'another node may have room',
  );
});

t.test('the log warns of the data disk, long before it is full', async (t) => {
  const warned: object[] = [];
  const data = t.testdir();
  const log = {
    ...silentLog,
    warn: (details: object) => {
      warned.push(details);
    },
  };
  const disks = new ClusterDisks({ data, freeBytesMin: 0, warnBytes: 2 ** 60, historyFreeBytes: async () => 1, log });
  await disks.start();
  t.teardown(() => disks.stop());
  t.match(warned, [{ path: data, warnBytes: 2 ** 60 }], "of ClickHouse's retention does");
});
