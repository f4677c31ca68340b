import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openLmdb } from '../../src/store/lmdb-environment.ts';
import { LmdbJournal } from '../../src/store/lmdb-journal.ts';
import { ROOT } from '../helpers/root.ts';
import { journalContract } from '../ingest/journal-contract.ts';

journalContract(t, 'LMDB', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
  t.teardown(() => { rmSync(directory, { recursive: true, force: true }); });
  return {
    writer: [join(ROOT, 'dist-test/test/ingest/lmdb-journal-writer.js'), directory],
    async open() {
      const environment = openLmdb(directory);
      return { journal: new LmdbJournal(environment), close: () => environment.close() };
    },
  };
});

t.test('a damaged last batch is noticed when the journal is opened', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
  t.teardown(() => { rmSync(directory, { recursive: true, force: true }); });
  const environment = openLmdb(directory);
  t.teardown(() => environment.close());
  await environment.journal.put(1, Buffer.from([9, 0, 0, 0]));
  t.throws(() => new LmdbJournal(environment), /journal record/);
});
