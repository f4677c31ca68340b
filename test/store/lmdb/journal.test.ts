import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { kindAt, nextAt } from '../../../src/ingest/journal/record-layout.ts';
import { decodeCommand, encodeCommand } from '../../../src/ingest/journal/command-record.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import { repairJournal } from '../../../src/store/lmdb/journal-repair.ts';
import { LmdbDocuments } from '../../../src/store/lmdb/documents.ts';
import { openLmdb } from '../../../src/store/lmdb/environment.ts';
import type { LmdbEnvironment } from '../../../src/store/lmdb/environment.ts';
import { LmdbJournal } from '../../../src/store/lmdb/journal.ts';
import { QuarantineFile } from '../../../src/store/files/quarantine.ts';
import { ROOT } from '../../helpers/root.ts';
import { journalContract } from '../../ingest/journal-contract.ts';

journalContract(t, 'LMDB', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
  t.teardown(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    writer: [join(ROOT, 'dist-test/test/ingest/lmdb-journal-writer.js'), directory],
    async open() {
      const environment = openLmdb(directory);
      return { journal: new LmdbJournal(environment), close: () => environment.close() };
    },
  };
});

t.test('a batch is read into the memory of its reader where it fits', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
  const environment = openLmdb(directory);
  t.teardown(async () => {
    await environment.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const journal = new LmdbJournal(environment);
  const batches = [1, 2, 300_000, 40].map((bytes, index) => Buffer.alloc(bytes, index + 1));
  for (const [index, batch] of batches.entries()) await journal.append(index + 1, batch, 1);
  const room = Buffer.alloc(100);
  for (const [index, batch] of batches.entries()) {
    const { firstSeq, records } = journal.read(index + 1, room)!;
    t.equal(firstSeq, index + 1);
    t.ok(records.equals(batch));
    t.equal(records.buffer === room.buffer, batch.length <= room.length);
  }
});

const cannotTrace =
  spawnSync('strace', ['-o', '/dev/null', 'true'], { stdio: 'ignore' }).status === 0
    ? false
    : 'strace cannot trace here';
const ACKNOWLEDGED = 20;

t.test('a batch is acknowledged when the disk has it', { skip: cannotTrace }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
  t.teardown(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  const trace = join(directory, 'trace');
  const writer = [process.execPath, join(ROOT, 'dist-test/test/ingest/lmdb-journal-writer.js'), directory];
  // In a group of its own: strace does not pass on that it is killed.
  const child = spawn('strace', ['-f', '-y', '-e', 'trace=fdatasync,write,writev', '-o', trace, ...writer], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
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
  t.ok(
    syncsBefore.every((count) => count > 0),
    `each behind a synchronised commit: ${syncsBefore}`,
  );
});

t.test('a damaged last batch is noticed when the journal is opened', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
  t.teardown(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  const environment = openLmdb(directory);
  t.teardown(() => environment.close());
  await environment.journal.put(1, Buffer.from([9, 0, 0, 0]));
  t.throws(() => new LmdbJournal(environment), /journal record/);
});

const record = (value: number): Buffer =>
  encodeCommand({
    kind: COMMAND.EVENT_CREATE,
    tenant: 1,
    key: 1,
    mode: 0,
    receivedAt: value,
    body: { value },
  } as never);
const batch = (...values: number[]): Buffer => Buffer.concat(values.map(record));

t.test('what cannot be read of the journal is set aside, and the rest keeps its sequences', async (t) => {
  const garbage = Buffer.from([0, 0, 0, 0, 1, 2, 3]);
  const cases: [
    name: string,
    damage: (environment: LmdbEnvironment) => Promise<unknown>,
    lost: [number, number][],
    lastSeq: number,
  ][] = [
    ['nothing', async () => undefined, [], 8],
    [
      'the end of a batch',
      (environment) => environment.journal.put(3, Buffer.concat([batch(3), garbage])),
      [[4, 5]],
      8,
    ],
    ['all of a batch', (environment) => environment.journal.put(3, garbage), [[3, 5]], 8],
    ['a batch that is not there', (environment) => environment.journal.remove(3), [[3, 5]], 8],
    ['the first', (environment) => environment.journal.put(1, Buffer.alloc(0)), [[1, 2]], 8],
    [
      'the last, of which the documents know more',
      async (environment) => {
        await environment.journal.put(6, Buffer.concat([batch(6), garbage]));
        await new LmdbDocuments(environment).commit([], 8);
      },
      [[7, 8]],
      8,
    ],
    ['the last, of which nothing is known', (environment) => environment.journal.put(6, garbage), [[6, 6]], 6],
    [
      'two',
      async (environment) => {
        await environment.journal.put(1, garbage);
        await environment.journal.put(6, Buffer.concat([batch(6, 7), garbage]));
      },
      [
        [1, 2],
        [8, 8],
      ],
      8,
    ],
  ];
  for (const [name, damage, lost, lastSeq] of cases) {
    const directory = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
    t.teardown(() => {
      rmSync(directory, { recursive: true, force: true });
    });
    const before = openLmdb(directory);
    for (const [first, values] of [
      [1, [1, 2]],
      [3, [3, 4, 5]],
      [6, [6, 7, 8]],
    ] as const)
      await before.journal.put(first, batch(...values));
    await damage(before);
    await before.close();
    const path = join(directory, 'quarantine.jsonl');
    const facts = await repairJournal(directory, await QuarantineFile.open(path));
    t.equal(facts.length, lost.length, `${name}: ${facts.join('; ')}`);
    const lines =
      lost.length === 0
        ? []
        : readFileSync(path, 'utf8')
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line) as { kind: string; row: { from: number; through: number } });
    t.same(
      lines.map(({ kind, row }) => [kind, row.from, row.through]),
      lost.map((range) => ['batch', ...range]),
      `${name}: the range is set aside`,
    );
    t.same(await repairJournal(directory, await QuarantineFile.open(path)), [], `${name}: once`);
    const environment = openLmdb(directory);
    t.teardown(() => environment.close());
    const journal = new LmdbJournal(environment);
    t.equal(journal.lastSeq, lastSeq, `${name}: numbering goes on`);
    const kept: number[] = [];
    for (let seq = 1; seq <= journal.lastSeq; ) {
      const found = journal.read(seq);
      t.equal(found?.firstSeq, seq, `${name}: no gap`);
      const { records } = found as { records: Buffer };
      for (let at = 0; at < records.length; at = nextAt(records, at), seq += 1)
        if (kindAt(records, at) === COMMAND.EVENT_CREATE) kept.push(decodeCommand(records, at, seq).receivedAt);
    }
    t.same(
      kept,
      [1, 2, 3, 4, 5, 6, 7, 8].filter(
        (seq) => seq <= lastSeq && !lost.some(([from, through]) => seq >= from && seq <= through),
      ),
      `${name}: the rest is there`,
    );
  }
});
