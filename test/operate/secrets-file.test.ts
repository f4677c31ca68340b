/** Generated passwords: kept for their owner alone, found again, and gone when they were shown. */
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { SecretsFile } from '../../src/operate/secrets-file.ts';
import { LossyDisk, lossyDisksFail } from '../helpers/stores/lossy-disk.ts';

t.test('kept beside each other, read by the next process, taken once', async (t) => {
  const directory = t.testdir();
  const path = join(directory, 'secrets.json');
  const secrets = new SecretsFile(path);
  t.equal(await secrets.read('t1/admin'), undefined);
  await secrets.add(
    new Map([
      ['t1/admin', 'one'],
      ['management/admin', 'two'],
    ]),
  );
  await secrets.add(new Map([['key', 'three']]));
  t.equal(statSync(path).mode & 0o777, 0o600, 'for nobody else');
  const next = new SecretsFile(path);
  t.same(await Promise.all(['t1/admin', 'management/admin', 'key'].map((name) => next.read(name))), [
    'one',
    'two',
    'three',
  ]);
  t.equal(await next.take('t1/admin'), 'one');
  t.equal(await next.take('t1/admin'), undefined);
  t.same([await secrets.read('t1/admin'), await secrets.read('key')], [undefined, 'three']);
  t.same(readdirSync(directory), ['secrets.json']);
});

t.test('a file that cannot be read is an error, not an empty one', async (t) => {
  const path = join(t.testdir(), 'secrets.json');
  writeFileSync(path, '{');
  await t.rejects(new SecretsFile(path).add(new Map([['a', 'b']])));
});

t.test(
  'on disk when it resolves: a power cut right behind takes nothing',
  { skip: await lossyDisksFail() },
  async (t) => {
    const disk = new LossyDisk(t, { bytes: 2 ** 30 });
    const secrets = new SecretsFile(join(disk.path, 'secrets.json'));
    for (const value of ['one', 'two']) {
      await secrets.add(new Map([['key', value]]));
      disk.powerCut();
      await disk.restore();
      t.equal(await secrets.read('key'), value);
    }
  },
);
