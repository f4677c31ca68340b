/** The data directory: made with its parents, closed to others, and a clear error where it cannot be. */
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { makeDataDirectory } from '../../src/operate/data-directory.ts';

const modeOf = (path: string): number => statSync(path).mode & 0o777;

t.test('made with its parents, for its owner alone; one that is there is closed to others', async (t) => {
  const directory = join(t.testdir(), 'a', 'b');
  await makeDataDirectory(directory);
  t.equal(modeOf(directory), 0o700);
  chmodSync(directory, 0o750);
  await makeDataDirectory(directory);
  t.equal(modeOf(directory), 0o750, 'its group is for the operator to say');
  chmodSync(directory, 0o755);
  await makeDataDirectory(directory);
  t.equal(modeOf(directory), 0o750);
  for (const [name, mode] of [
    ['of-somebody-else', 0o755],
    ['documents', 0o750],
  ] as const) {
    chmodSync(directory, 0o755);
    mkdirSync(join(directory, name));
    await makeDataDirectory(directory);
    t.equal(modeOf(directory), mode, `with ${name} in it`);
  }
});

t.test('where nothing can be made: an error that names the place, and no endless attempts', async (t) => {
  await t.rejects(
    makeDataDirectory('/proc/nowhere/data'),
    /the data directory \/proc\/nowhere\/data cannot be made \(ENOENT/,
  );
  const place = t.testdir();
  writeFileSync(join(place, 'file'), '');
  mkdirSync(join(place, 'other'));
  await t.rejects(makeDataDirectory(join(place, 'file')), /is not a directory/);
  await t.rejects(makeDataDirectory(join(place, 'file', 'data')), /cannot be made/);
});
