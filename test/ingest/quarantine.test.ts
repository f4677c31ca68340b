/** The quarantine as a file, and in memory for the nodes of tests. */
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import type { QuarantineEntry } from '../../src/ports/stores/quarantine.ts';
import { QuarantineFile } from '../../src/store/files/quarantine.ts';
import { MemoryQuarantine } from '../cluster/memory/quarantine.ts';
import { scratchDirectory } from '../helpers/until.ts';
import { entryOf, quarantineContract } from './quarantine-contract.ts';

const quarantinePath = (t: Test): string => join(scratchDirectory(t), 'quarantine.jsonl');

quarantineContract(t, 'a file', async (t) => {
  const path = quarantinePath(t);
  const quarantine = await QuarantineFile.open(path, { bytesMax: 5_000 });
  const fill = (isFull: boolean): void => {
    if (isFull) return;
    // Whoever moves it away makes room.
    renameSync(path, `${path}.1`);
    rmSync(`${path}.1`);
  };
  return { quarantine, fill };
});

quarantineContract(t, 'in memory', async () => {
  const quarantine = new MemoryQuarantine();
  return {
    quarantine,
    fill: (isFull) => {
      quarantine.isFull = isFull;
    },
  };
});

const linesOf = (path: string): QuarantineEntry[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as QuarantineEntry);

t.test('the file: what was cut off is taken away, an entry is written once, its bound holds', async (t) => {
  const path = quarantinePath(t);
  const entry = (seq: number, row = ''): QuarantineEntry => entryOf(seq, { row });
  const first = await QuarantineFile.open(path);
  await first.add(entry(1));
  await first.add(entry(1));
  await first.add(entry(2, '\u2028\n'));
  t.same([first.count, first.sizeBytes], [2, readFileSync(path).length]);
  appendFileSync(path, '{"kind":"row","tab');
  const second = await QuarantineFile.open(path, { bytesMax: 1_000 });
  t.same([second.count, second.has(entry(2)), second.has(entry(3))], [2, true, false]);
  await second.add(entry(3));
  t.same(
    linesOf(path).map(({ seq }) => seq),
    [1, 2, 3],
  );
  await t.rejects(second.add(entry(4, 'x'.repeat(1_000))), { message: /is full/ });
  t.equal(second.isFull, true);
  await second.add(entry(5));
  t.equal(second.isFull, false, 'a smaller one has room');
  writeFileSync(path, 'edited by hand\n');
  await second.add(entry(1));
  t.same([second.count, readFileSync(path, 'utf8').split('\n').length], [2, 3]);
});
