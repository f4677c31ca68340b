/** What every adapter of the journal port promises; run by the tests of the adapters. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';
import { nextAt } from '../../src/ingest/journal/record-layout.ts';
import { countRecords, decodeCommand, encodeCommand } from '../../src/ingest/journal/command-record.ts';
import type { Journal } from '../../src/ports/stores/journal.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { Random } from '../smartrest/random.ts';

export interface OpenJournal {
  readonly journal: Journal;
  close(): Promise<void>;
}

/** One place where an adapter keeps its journal; opened several times, one after the other. */
export interface JournalPlace {
  open(): Promise<OpenJournal>;
  /** Arguments of node for a process that opens the place and runs `writeUntilKilled`. */
  readonly writer: readonly string[];
}

/** A batch of records with consecutive numbers in their bodies, so that each can be accounted for. */
export function batchOf(firstNumber: number, count: number, padding = 0): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, index) =>
      encodeCommand({
        kind: COMMAND.EVENT_DELETE,
        tenant: 1,
        key: firstNumber + index,
        mode: 0,
        receivedAt: 0,
        body: { n: firstNumber + index, x: 'x'.repeat(padding) },
      }),
    ),
  );
}

/** In a child process: appends batches for ever and prints the last sequence of each when it is acknowledged. */
export async function writeUntilKilled(journal: Journal): Promise<void> {
  for (;;) {
    const first = journal.lastSeq + 1;
    const count = 1 + (first % 50);
    await journal.append(first, batchOf(first, count, first % 700), count);
    process.stdout.write(`${journal.lastSeq}\n`);
  }
}

/** Reads everything from `seq` on as the server does. @returns the numbers of all records, in order. */
export async function readAll(journal: Journal, seq = 1): Promise<number[]> {
  const numbers: number[] = [];
  for (let next = seq; ; ) {
    const batch = await journal.read(next);
    if (!batch) return numbers;
    let at = 0;
    for (let record = batch.firstSeq; at < batch.records.length; record += 1) {
      if (record >= next) numbers.push((decodeCommand(batch.records, at, record).body as { n: number }).n);
      at = nextAt(batch.records, at);
    }
    next = batch.firstSeq + countRecords(batch.records);
  }
}

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

export function journalContract(t: Test, name: string, newPlace: (t: Test) => JournalPlace): void {
  t.test(`${name}: an empty journal`, async (t) => {
    const { journal, close } = await newPlace(t).open();
    t.same([journal.lastSeq, journal.sizeBytes], [0, 0]);
    t.equal(await journal.read(1), undefined);
    journal.trim(100);
    await close();
  });

  t.test(`${name}: appended batches are read by any of their sequences`, async (t) => {
    const { journal, close } = await newPlace(t).open();
    const sizes = [1, 5, 2, 40, 1];
    let first = 1;
    let bytes = 0;
    for (const size of sizes) {
      const batch = batchOf(first, size);
      const isAcknowledged = journal.append(first, batch, size);
      await isAcknowledged;
      bytes += batch.length;
      first += size;
      t.same([journal.lastSeq, journal.sizeBytes], [first - 1, bytes]);
    }
    t.same(await readAll(journal), range(1, 49));
    for (const [seq, want] of [
      [0, 1],
      [1, 1],
      [2, 2],
      [4, 2],
      [6, 2],
      [7, 7],
      [8, 7],
      [9, 9],
      [48, 9],
      [49, 49],
    ]) {
      t.equal((await journal.read(seq))?.firstSeq, want, `sequence ${seq}`);
    }
    t.equal(await journal.read(50), undefined);
    const batch = await journal.read(1);
    batch?.records.fill(0);
    t.same(await readAll(journal), range(1, 49), 'what is read belongs to the reader');
    await close();
  });

  t.test(`${name}: a batch that does not follow is refused, and nothing of it is there`, async (t) => {
    const { journal, close } = await newPlace(t).open();
    await journal.append(1, batchOf(1, 3), 3);
    for (const seq of [1, 3, 5]) await t.rejects(journal.append(seq, batchOf(seq, 1), 1), `sequence ${seq}`);
    t.equal(journal.lastSeq, 3);
    await journal.append(4, batchOf(4, 1), 1);
    t.same(await readAll(journal), [1, 2, 3, 4]);
    await close();
  });

  t.test(`${name}: numbering and size go on after reopening`, async (t) => {
    const place = newPlace(t);
    let bytes = 0;
    for (let round = 0; round < 4; round += 1) {
      const { journal, close } = await place.open();
      t.same([journal.lastSeq, journal.sizeBytes], [round * 10, bytes]);
      await journal.append(journal.lastSeq + 1, batchOf(journal.lastSeq + 1, 7), 7);
      await journal.append(journal.lastSeq + 1, batchOf(journal.lastSeq + 1, 3, 5_000), 3);
      bytes = journal.sizeBytes;
      t.same(await readAll(journal), range(1, (round + 1) * 10));
      await close();
    }
  });

  t.test(`${name}: trim forgets whole batches at or below, never the numbering`, async (t) => {
    const place = newPlace(t);
    const opened = await place.open();
    const { journal } = opened;
    for (let first = 1; first < 100; first += 10) await journal.append(first, batchOf(first, 10), 10);
    const full = journal.sizeBytes;
    journal.trim(0);
    journal.trim(9);
    t.equal(journal.sizeBytes, full, 'no batch is at or below 9 as a whole');
    journal.trim(10);
    t.ok(journal.sizeBytes < full);
    t.equal((await journal.read(1))?.firstSeq, 11, 'what is gone: the next one');
    journal.trim(35);
    t.equal((await journal.read(31))?.firstSeq, 31);
    t.equal((await journal.read(30))?.firstSeq, 31);
    t.same(await readAll(journal), range(31, 100));
    const left = journal.sizeBytes;
    await opened.close();
    const again = await place.open();
    t.same([again.journal.lastSeq, again.journal.sizeBytes], [100, left]);
    t.same(await readAll(again.journal), range(31, 100));
    again.journal.trim(1_000_000);
    await again.close();
    const last = await place.open();
    t.equal(last.journal.lastSeq, 100, 'everything is trimmed: numbering goes on');
    await last.journal.append(101, batchOf(101, 1), 1);
    t.same((await readAll(last.journal)).at(-1), 101);
    await last.close();
  });

  t.test(`${name}: random appends, reads, trims and reopenings against a model`, async (t) => {
    const random = new Random();
    const place = newPlace(t);
    let opened = await place.open();
    let lastSeq = 0;
    let trimmed = 0;
    for (let step = 0; step < 400; step += 1) {
      const { journal } = opened;
      const kind = random.below(20);
      if (kind < 12) {
        const count = 1 + random.below(random.below(10) === 0 ? 500 : 5);
        await journal.append(lastSeq + 1, batchOf(lastSeq + 1, count), count);
        lastSeq += count;
      } else if (kind < 15) {
        trimmed = Math.max(trimmed, random.below(lastSeq + 2));
        journal.trim(trimmed);
      } else if (kind === 15) {
        await opened.close();
        opened = await place.open();
      } else {
        const seq = Math.max(1, trimmed + 1, random.below(lastSeq + 2));
        if (JSON.stringify(await readAll(journal, seq)) !== JSON.stringify(range(seq, lastSeq)))
          t.fail(`from ${seq} of ${lastSeq}, seed ${random.seed}`);
      }
      if (opened.journal.lastSeq !== lastSeq)
        t.fail(`lastSeq ${opened.journal.lastSeq}, want ${lastSeq}, seed ${random.seed}`);
    }
    await opened.close();
    t.pass(`seed ${random.seed}`);
  });

  t.test(`${name}: what was acknowledged before kill -9 is there, in order and once`, async (t) => {
    const random = new Random();
    const place = newPlace(t);
    for (let round = 0; round < 4; round += 1) {
      const child = spawn(process.execPath, [...place.writer], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, NODE_OPTIONS: '' },
      });
      let acknowledged = 0;
      const killAt = 20 + random.below(200);
      let lines = 0;
      const ended = new Promise<void>((resolve) => {
        child.on('close', () => resolve());
      });
      for await (const line of createInterface({ input: child.stdout })) {
        acknowledged = Number(line);
        lines += 1;
        if (lines === killAt) child.kill('SIGKILL');
      }
      await ended;
      t.ok(lines >= killAt, `${lines} batches acknowledged`);
      const { journal, close } = await place.open();
      t.ok(journal.lastSeq >= acknowledged, `${journal.lastSeq} of ${acknowledged} acknowledged, seed ${random.seed}`);
      const numbers = await readAll(journal);
      t.equal(numbers.length, journal.lastSeq);
      t.ok(
        numbers.every((number, index) => number === index + 1),
        'none missing, none twice, in order',
      );
      await close();
    }
  });
}
