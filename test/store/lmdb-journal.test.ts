import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

const cannotTrace = spawnSync('strace', ['-o', '/dev/null', 'true'], { stdio: 'ignore' }).status === 0 ? false : 'strace cannot trace here';
const ACKNOWLEDGED = 20;

t.test('a batch is acknowledged when the disk has it', { skip: cannotTrace }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
  t.teardown(() => { rmSync(directory, { recursive: true, force: true }); });
  const trace = join(directory, 'trace');
  const writer = [process.execPath, join(ROOT, 'dist-test/test/ingest/lmdb-journal-writer.js'), directory];
  // In a group of its own: strace does not pass on that it is killed.
  const child = spawn('strace', ['-f', '-y', '-e', 'trace=fdatasync,write,writev', '-o', trace, ...writer], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  let lines = 0;
  for await (const chunk of child.stdout) {
    lines += String(chunk).split('\n').length - 1;
    if (lines > ACKNOWLEDGED) break;
  }
  process.kill(-child.pid!, 'SIGKILL');
  await ended;
  let syncs = 0;
  const syncsBefore: number[] = [];
  for (const line of readFileSync(trace, 'utf8').split('\n')) {
    if (/fdatasync.*= 0$/.test(line)) {
      syncs += 1;
    } else if (/writev?\(1</.test(line)) {
      syncsBefore.push(syncs);
      syncs = 0;
    }
  }
  t.ok(syncsBefore.length >= ACKNOWLEDGED, `${syncsBefore.length} were acknowledged`);
  t.ok(syncsBefore.every((count) => count > 0), `each behind a synchronised commit: ${syncsBefore}`);
});

t.test('a damaged last batch is noticed when the journal is opened', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
  t.teardown(() => { rmSync(directory, { recursive: true, force: true }); });
  const environment = openLmdb(directory);
  t.teardown(() => environment.close());
  await environment.journal.put(1, Buffer.from([9, 0, 0, 0]));
  t.throws(() => new LmdbJournal(environment), /journal record/);
});
