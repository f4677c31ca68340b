import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FileBlobs } from '../../../src/store/files/blobs.ts';
import { syncDirectory } from '../../../src/store/files/sync-directory.ts';
import { scratchDirectory, until } from '../../helpers/until.ts';
import { blobsContract } from '../../model/blobs-contract.ts';

blobsContract(t, 'files', (t) => {
  const directory = join(scratchDirectory(t), 'blobs');
  return { open: async () => ({ blobs: await FileBlobs.open(directory), close: async () => undefined }) };
});

t.test('what a crash left half-written is removed at the start', async (t) => {
  const directory = join(scratchDirectory(t), 'blobs');
  mkdirSync(join(directory, 'unfinished'), { recursive: true });
  writeFileSync(join(directory, 'unfinished', '0'.repeat(32)), 'half');
  await FileBlobs.open(directory);
  t.same(readdirSync(join(directory, 'unfinished')), []);
});

t.test('nothing is written while writes are refused', async (t) => {
  const directory = join(scratchDirectory(t), 'blobs');
  let refusal: string | undefined = 'disk/free-bytes';
  const blobs = await FileBlobs.open(directory, { refusal: () => refusal });
  await t.rejects(blobs.put([Buffer.from('x')], 1), { code: 'general/disk-full' });
  t.same(readdirSync(join(directory, 'unfinished')), []);
  refusal = undefined;
  t.equal((await blobs.put([Buffer.from('x')], 1)).bytes, 1);
});

t.test(
  'no file is acknowledged before the name of its new directory is, also when another writer makes it',
  async (t) => {
    const directory = join(scratchDirectory(t), 'blobs');
    let [isHeld, held] = [true, 0];
    const blobs = await FileBlobs.open(directory, {
      synchronise: async (path) => {
        if (path === directory) {
          held += 1;
          await until('the names of directories may be synchronised', () => !isHeld);
        }
        await syncDirectory(path);
      },
    });
    let done = 0;
    // More than there are directories: some share one.
    const puts = Array.from({ length: 300 }, () =>
      blobs.put([Buffer.from('x')], 1).then(() => {
        done += 1;
      }),
    );
    const files = (): string[] =>
      readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('/'));
    await until(
      'all are being written, and wait for their directories',
      () => held > 150 && held === readdirSync(directory).length - 1 && files().length === 300,
    );
    t.same(
      files().filter((name) => !name.startsWith('unfinished/')),
      [],
      'none has its name',
    );
    t.equal(done, 0);
    isHeld = false;
    await Promise.all(puts);
    t.equal(done, 300);
  },
);
