/** Power loss of a single node: what was acknowledged is stored exactly once, whatever the disk had not written. */
import { closeSync, fsyncSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { LossyDisk, lossyDisksFail } from '../helpers/lossy-disk.ts';

const skip = await lossyDisksFail();

t.test('the disk of these tests loses what was not synchronised, and nothing else', { skip }, async (t) => {
  const disk = new LossyDisk(t);
  const synchronised = join(disk.path, 'synchronised');
  const lost = join(disk.path, 'lost');
  writeFileSync(synchronised, 'x'.repeat(100_000));
  const file = openSync(synchronised, 'r');
  fsyncSync(file);
  writeFileSync(lost, 'y'.repeat(100_000));
  disk.powerCut();
  t.throws(() => writeFileSync(join(disk.path, 'later'), 'z'), { code: 'EIO' }, 'nothing is written without power');
  t.throws(() => fsyncSync(file), { code: 'EIO' });
  closeSync(file);
  await disk.restore();
  t.equal(readFileSync(synchronised, 'utf8').length, 100_000);
  t.notOk(statSync(lost, { throwIfNoEntry: false })?.size, 'what was not synchronised is lost');
  writeFileSync(lost, 'again');
  disk.powerCut();
  await disk.restore();
  t.notOk(statSync(lost, { throwIfNoEntry: false })?.size, 'a second time as well');
});
