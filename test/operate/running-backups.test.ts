/** Backups of a running server: one at a time, and nothing is left of one that fails. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { verifyManifest } from '../../src/operate/backup/files.ts';
import { RunningBackups, UNDER_WAY_LIMIT } from '../../src/operate/backup/running.ts';
import type { Log } from '../../src/ports/log.ts';
import { scratchDirectory, until } from '../helpers/until.ts';

type Tap = Parameters<typeof scratchDirectory>[0];

/**
 * Over a small data directory, an engine that refuses what the real one refuses, and documents whose copy waits for
 * `copied`.
 */
function backupsOver(
  t: Tap,
  copied: () => Promise<void>,
): { backups: RunningBackups; directory: string; refused: string[]; logged: [object, string][]; isRunning(): boolean } {
  const directory = scratchDirectory(t);
  const data = join(directory, 'data');
  mkdirSync(join(data, 'blobs'), { recursive: true });
  writeFileSync(join(data, 'secrets.json'), '{}');
  const refused: string[] = [];
  let isRunning = true;
  const engine = {
    stop: async () => {
      isRunning = false;
    },
    start: async () => {
      if (isRunning) throw new Error('the embedded ClickHouse was started already');
      isRunning = true;
    },
  };
  const backup = async (to: string): Promise<void> => {
    writeFileSync(join(to, 'data.mdb'), 'documents');
    await copied();
  };
  const environment = { root: { backup } } as unknown as ConstructorParameters<typeof RunningBackups>[0]['environment'];
  const logged: [object, string][] = [];
  const write = (details: object, text: string): void => void logged.push([details, text]);
  const log = { info: write, warn: write } as unknown as Log;
  const refusals = { count: (limit: string): void => void refused.push(limit) };
  return {
    backups: new RunningBackups({ data, version: '1', environment, engine, refusals, log, freeBytesMin: 0 }),
    directory,
    refused,
    logged,
    isRunning: () => isRunning,
  };
}

t.test('a second one is refused while one is under way', async (t) => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { backups, directory, refused, logged, isRunning } = backupsOver(t, () => held);
  const [one, two] = ['one', 'two'].map((name) => join(directory, name));
  const first = backups.make(one);
  await t.rejects(backups.make(two), {
    message: `a backup to ${one} is under way, and one is made at a time: try again when it is done`,
  });
  t.notOk(existsSync(two));
  await t.rejects(backups.stage(two), /^a backup to .* is under way/);
  t.same(refused, [UNDER_WAY_LIMIT, UNDER_WAY_LIMIT]);
  await until('the engine stands still', () => backups.isEngineStopped);
  t.same(logged, [[{}, `a backup to ${one} begins`]]);
  release();
  t.match(await first, { files: 2 });
  t.match(logged.slice(1), [[{ files: 2, bytes: /^\d+$/, durationMs: /^\d+$/ }, `a backup to ${one} is complete`]]);
  t.equal(backups.isEngineStopped, false);
  t.same((await verifyManifest(one)).problems, []);
  await backups.make(two);
  t.same((await verifyManifest(two)).problems, []);
  t.ok(isRunning());
});

t.test('nothing is left of one that fails, and the next one is taken', async (t) => {
  let failure: Error | undefined = new Error('no space left on device');
  const { backups, directory, isRunning } = backupsOver(t, async () => {
    if (failure) throw failure;
  });
  const [absent, empty, full] = ['absent', 'empty', 'full'].map((name) => join(directory, name));
  for (const path of [empty, full]) mkdirSync(path);
  writeFileSync(join(full, 'other'), '');
  await t.rejects(backups.make(absent), /no space left/);
  t.notOk(existsSync(absent));
  await t.rejects(backups.make(empty), /no space left/);
  t.same(readdirSync(empty), []);
  await t.rejects(backups.make(full), /is not empty/);
  t.same(readdirSync(full), ['other']);
  t.ok(isRunning(), 'the engine is started again');
  failure = undefined;
  await backups.make(empty);
  t.same((await verifyManifest(empty)).problems, []);
});

t.test('a backup that waits to take the place of the data: nothing else comes between', async (t) => {
  const { backups, directory } = backupsOver(t, async () => undefined);
  const [made, late] = ['made', 'late'].map((name) => join(directory, name));
  await backups.make(made);
  t.match(await backups.stage(made), { files: 2, time: /^2/ });
  await t.rejects(backups.make(late), /stops to start on a restored backup/);
  await t.rejects(backups.stage(made), /stops to start on a restored backup/);
  t.notOk(existsSync(late));
});
