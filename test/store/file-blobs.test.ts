import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FileBlobs } from '../../src/store/file-blobs.ts';
import { scratchDirectory } from '../helpers/until.ts';
import { blobsContract } from '../model/blobs-contract.ts';

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
