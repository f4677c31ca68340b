/** PMML models in their threads: batches over several of them, and single records over HTTP. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { StoredModel } from '../../src/model/entities/scoring/model.ts';
import { GarbageCollection } from '../../src/operate/garbage-collection.ts';
import { Turns } from '../../src/pacing/turns.ts';
import { openBatch, RECORDS_PER_THREAD_DEFAULT } from '../../src/scoring/batches.ts';
import { ModelRuns } from '../../src/scoring/model-runs.ts';
import { Predictions } from '../../src/scoring/predictions.ts';
import { ScoringPool } from '../../src/scoring-workers/pool.ts';
import { loadRound } from '../load-round.ts';
import { forest, forestRecords } from '../pmml/forest.ts';
import type { PlainWork } from '../pmml/plain-thread.ts';
import type { Scenario } from '../scenario.ts';
import { SMALL_MODEL, uploadModel } from './bindings.ts';

const WORKERS = 'pmml-workers';
const APPLY = 'pmml-apply';
const RECORDS = 100_000;
const MEMORY_BYTES = 512 * 1_048_576;
const TASK_MS_MAX = 600_000;
const PIECE_BYTES = 65_536;
const CONNECTIONS = 64;

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) yield bytes.subarray(from, from + PIECE_BYTES);
}

/** Threads that score batches of one model, as the server has them. */
class Workers {
  readonly #pool: ScoringPool;
  readonly #runs: ModelRuns;
  readonly #model: StoredModel;
  readonly #threads: number;
  readonly #refusals = { count: (limit: string) => process.stderr.write(`bench: ${limit}\n`) };

  constructor(threads: number, document: Buffer) {
    this.#threads = threads;
    const warn = (fields: unknown, text: string): unknown => process.stderr.write(`bench: ${text} ${String(fields)}\n`);
    this.#pool = new ScoringPool({
      threads,
      memoryBytesMax: threads * MEMORY_BYTES,
      contentBytesMax: document.length,
      taskMsMax: TASK_MS_MAX,
      version: 'bench',
      log: { warn } as unknown as ConstructorParameters<typeof ScoringPool>[0]['log'],
      refusals: this.#refusals,
      thread: new URL('../../src/scoring-workers/worker/thread.js', import.meta.url),
    });
    const limits = { all: 'scoring/tasks-waiting', ofUser: 'scoring/tasks-waiting-of-user' };
    const waiting = { all: 1_000, ofUser: 1_000 };
    this.#runs = new ModelRuns({
      pool: this.#pool,
      turns: new Turns({ refusals: this.#refusals, running: { all: threads }, waiting, limits }),
      blobs: { read: () => Promise.resolve(one(document)) },
      documents: { get: () => undefined, list: () => [] },
      predictions: new Predictions(),
    });
    const bytes = document.length;
    this.#model = { name: 'bench', blob: 'bench', bytes, compiledBytes: bytes, isActive: true, createdAt: 0 };
  }

  /** @param csv with a header @returns records a second, and CPU time of all threads for each */
  async rate(csv: Uint8Array): Promise<{ readonly perSecond: number; readonly micros: number }> {
    const begun = performance.now();
    const before = process.cpuUsage();
    const asker = { tenant: 1, user: 'bench' };
    const { pieces } = await openBatch(
      this.#runs,
      this.#refusals,
      asker,
      this.#model,
      { content: one(csv), fileName: 'records.csv' },
      {
        threadsMax: 2 * this.#threads,
        recordsMax: RECORDS_PER_THREAD_DEFAULT,
        output: undefined,
        outputs: ['target'],
        version: 'bench',
      },
    );
    let lines = -1;
    for await (const piece of pieces) for (const byte of piece) if (byte === 0x0a) lines += 1;
    if (lines !== RECORDS) throw new Error(`${lines} results of ${RECORDS} records`);
    const { user, system } = process.cpuUsage(before);
    return { perSecond: (RECORDS * 1_000) / (performance.now() - begun), micros: (user + system) / RECORDS };
  }

  stop(): Promise<void> {
    return this.#pool.stop();
  }
}

/** Threads that score with plain JavaScript, each as many records. */
class PlainThreads {
  readonly #workers: Worker[];

  constructor(threads: number) {
    const module = new URL('../pmml/plain-thread.js', import.meta.url);
    this.#workers = Array.from({ length: threads }, () => new Worker(module));
  }

  /** @returns records a second of all of them together. */
  async rate(): Promise<number> {
    const begun = performance.now();
    const each: PlainWork = RECORDS;
    await Promise.all(
      this.#workers.map((worker) => {
        worker.postMessage(each);
        return once(worker, 'message');
      }),
    );
    return (this.#workers.length * each * 1_000) / (performance.now() - begun);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

function csvOf(records: readonly Readonly<Record<string, number>>[]): Buffer {
  const names = Object.keys(records[0] ?? {});
  return Buffer.from(
    `${[names, ...records.map((record) => names.map((name) => record[name]))].map((row) => row.join()).join('\n')}\n`,
  );
}

export const pmmlWorkers: Scenario = {
  name: WORKERS,
  standard: false,
  columns: ['ratio', 'plainRatio', 'twoPerSecond', 'onePerSecond', 'twoMicros', 'oneMicros'],
  question: `a batch of ${RECORDS} records (CSV, 100 trees of depth 8) in two threads beside the same in one (ratio), in turn, and the same of threads with plain JavaScript (plainRatio: what a second core is worth); on two cores without other work`,
  run: async (context) => {
    const document = Buffer.from(forest().document);
    const csv = csvOf(forestRecords(RECORDS));
    const [single, both] = [new Workers(1, document), new Workers(2, document)];
    const [plain, plainBoth] = [new PlainThreads(1), new PlainThreads(2)];
    const all = [single, both, plain, plainBoth];
    // As in the server.
    const garbage = new GarbageCollection();
    garbage.start();
    for (const threads of all) await threads.rate(csv);
    for (let round = 1; round <= context.rounds; round++) {
      context.progress(`${WORKERS}: round ${round}`);
      const { perSecond: onePerSecond, micros: oneMicros } = await single.rate(csv);
      const { perSecond: twoPerSecond, micros: twoMicros } = await both.rate(csv);
      const plainOne = await plain.rate();
      const plainRatio = (await plainBoth.rate()) / plainOne;
      const values = {
        ratio: twoPerSecond / onePerSecond,
        plainRatio,
        twoPerSecond,
        onePerSecond,
        twoMicros,
        oneMicros,
      };
      context.record({ scenario: WORKERS, subject: 'millrace', round, values });
    }
    garbage.stop();
    await Promise.all(all.map((threads) => threads.stop()));
  },
};

/** What is read by the least a GET with a password can do: a document that is always the same. */
const BARE = '/measurement';
const RECORD = encodeURIComponent('{"t":21.5}');

export const pmmlApply: Scenario = {
  name: APPLY,
  standard: false,
  columns: ['ratio', 'ratePerSecond', 'serverMicrosPerMessage', 'failed'],
  question: `single records through a small PMML model over ${CONNECTIONS} connections, in turn with GET ${BARE} (ratio); server, threads and engine on one core`,
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const subject = await context.start('millrace');
    await uploadModel(subject, SMALL_MODEL);
    const load = (get: string): Promise<Record<string, number>> =>
      loadRound(subject, {
        kind: 'http-closed',
        target: subject.http,
        connections: CONNECTIONS,
        sources: [],
        measurementsPerBody: 1,
        firstTimeMs: 0,
        stepMs: 0,
        get,
        pids: subject.pids(),
        warmUpMs: context.options.warmUpMs,
        measureMs: context.options.measureMs,
      });
    for (let round = 1; round <= context.rounds; round++) {
      context.progress(`${APPLY}: round ${round}`);
      const bare = await load(BARE);
      context.record({ scenario: APPLY, subject: 'bare GET', round, values: bare });
      const apply = await load(`/service/scoring/apply/bench?record=${RECORD}`);
      const ratio = apply['ratePerSecond']! / bare['ratePerSecond']!;
      context.record({ scenario: APPLY, subject: 'apply', round, values: { ratio, ...apply } });
    }
    await subject.stop();
  },
};
