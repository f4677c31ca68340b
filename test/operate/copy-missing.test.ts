/** Copies of content beside a running server: before and after the documents that refer to it. */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { copyMissing } from '../../src/operate/backup/files.ts';
import { scratchDirectory } from '../helpers/until.ts';

t.test('what is missing is copied, what is being written is not', async (t) => {
  const from = scratchDirectory(t);
  const to = join(scratchDirectory(t), 'copy');
  const write = (directory: string, name: string, content: string): void => {
    mkdirSync(join(from, directory), { recursive: true });
    writeFileSync(join(from, directory, name), content);
  };
  write('ab', 'abc', 'one');
  write('unfinished', 'abd', 'half');
  await copyMissing(from, to);
  t.same(readdirSync(to), ['ab']);
  write('ab', 'abe', 'two');
  write('cd', 'cdf', 'three');
  writeFileSync(join(from, 'ab', 'abc'), 'never changed in truth');
  await copyMissing(from, to);
  t.same(readdirSync(to, { recursive: true }).sort(), ['ab', 'ab/abc', 'ab/abe', 'cd', 'cd/cdf']);
  t.equal(readFileSync(join(to, 'ab', 'abc'), 'utf8'), 'one', 'not copied again');
  t.equal(readFileSync(join(to, 'cd', 'cdf'), 'utf8'), 'three');
});
