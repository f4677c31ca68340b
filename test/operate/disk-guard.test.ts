/** The disk is nearly full: which limit refuses writes, from when to when, and what the log says of it. */
import t from 'tap';
import { statfsSync } from 'node:fs';
import type { Log } from '../../src/ports/log.ts';
import { DiskGuard } from '../../src/operate/disk-guard.ts';
import { silentLog, until } from '../actors/platform.ts';

/** A guard over a disk that the test fills, and what it has logged. */
function guardOver(freeBytesMin: number): { guard: DiskGuard; disk: { freeBytes: number | Error }; logged: string[] } {
  const disk: { freeBytes: number | Error } = { freeBytes: Number.POSITIVE_INFINITY };
  const logged: string[] = [];
  const log: Log = {
    ...silentLog,
    error: (_details, text) => {
      logged.push(`error ${text}`);
    },
    info: (_details, text) => {
      logged.push(`info ${text}`);
    },
  };
  const guard = new DiskGuard({
    path: '/data',
    freeBytesMin,
    log,
    freeBytesOf: async (path) => {
      t.equal(path, '/data');
      if (disk.freeBytes instanceof Error) throw disk.freeBytes;
      return disk.freeBytes;
    },
  });
  return { guard, disk, logged };
}

t.test('below the limit writes are refused, at it they are taken again; each is logged once', async (t) => {
  const { guard, disk, logged } = guardOver(500);
  for (const [freeBytes, refusal] of [
    [1_000, undefined],
    [500, undefined],
    [499, 'disk/free-bytes'],
    [0, 'disk/free-bytes'],
    [500, undefined],
  ] as const) {
    disk.freeBytes = freeBytes;
    await guard.check();
    t.same([guard.refusal, guard.freeBytes], [refusal, freeBytes]);
  }
  t.same(logged, [
    'error the disk is nearly full: writes are refused',
    'info the disk has room again: writes are taken',
  ]);
});

t.test('below a larger limit the log warns, once until there is more again', async (t) => {
  const warned: number[] = [];
  const disk = { freeBytes: 5_000 };
  const log: Log = {
    ...silentLog,
    warn: (details) => {
      warned.push((details as { freeBytes: number }).freeBytes);
    },
  };
  const guard = new DiskGuard({
    path: '/data',
    freeBytesMin: 10,
    warnBytes: 1_000,
    log,
    freeBytesOf: async () => disk.freeBytes,
  });
  for (const freeBytes of [1_000, 999, 500, 1_000, 998]) {
    disk.freeBytes = freeBytes;
    await guard.check();
  }
  t.same(warned, [999, 998]);
});

t.test('what cannot be read changes nothing and is told', async (t) => {
  const { guard, disk, logged } = guardOver(500);
  disk.freeBytes = 1;
  await guard.check();
  disk.freeBytes = new Error('gone');
  await guard.check();
  t.equal(guard.refusal, 'disk/free-bytes');
  t.equal(logged.at(-1), 'error the free space cannot be read');
});

t.test('looked at before the start is done, and again by itself', async (t) => {
  const { guard, disk } = guardOver(500);
  disk.freeBytes = 1;
  await guard.start();
  t.teardown(() => {
    guard.stop();
  });
  t.equal(guard.refusal, 'disk/free-bytes');
  disk.freeBytes = 500;
  await until(() => guard.refusal === undefined, 'the next look');
  disk.freeBytes = 1;
  await until(() => guard.refusal === 'disk/free-bytes', 'the next look');
});

t.test('the file system is asked', async (t) => {
  const path = t.testdir();
  const guard = new DiskGuard({ path, freeBytesMin: 0, log: silentLog });
  await guard.check();
  const { blocks, bsize } = statfsSync(path);
  t.ok(guard.freeBytes >= 0 && guard.freeBytes <= blocks * bsize, `${guard.freeBytes} bytes`);
});
