/** A projector over real journal and documents, with a history store and a quarantine that outlive its process. */
import type { Test } from 'tap';
import type { JournalCommand } from '../../src/ingest/journal/command-record.ts';
import { STREAM, oneStream } from '../../src/ingest/projector/one-stream.ts';
import { Projector } from '../../src/ingest/projector/projector.ts';
import type { Quarantine } from '../../src/ports/stores/quarantine.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { Collection } from '../../src/model/commands/collections.ts';
import { OUTBOX_PREFIX } from '../../src/actors/runtime/outbox.ts';
import { countRecords } from '../../src/ingest/journal/command-record.ts';
import type { HistoryQuery } from '../../src/ports/history-reader.ts';
import type { QuarantineEntry } from '../../src/ports/stores/quarantine.ts';
import type { Sent } from '../actors/platform.ts';
import type { Log } from '../../src/ports/log.ts';
import { NOW, Platform, openEnvironment, silentLog, whileAlive } from '../actors/platform.ts';
import { MemoryQuarantine } from '../cluster/memory/quarantine.ts';
import { FakeHistory } from './fake-history.ts';
import { appendTo, errorsOf, range } from './projector-contract.ts';
import type { PlaceOptions, ProjectorPlace } from './projector-contract.ts';

export const HOUR_MS = 3_600_000;

export interface Running {
  platform: Platform;
  projector: Projector;
  positions: number[];
  inserted: string[];
  deletions: number[];
}

/** One process: recovers, then projects into `history`. */
export async function start(
  t: Test,
  platform: Platform,
  history: FakeHistory,
  options: {
    rowsMax?: number;
    intervalMs?: number;
    quarantine?: Quarantine;
    log?: Log;
    beforeDeletion?: (command: JournalCommand) => Promise<void>;
  } = {},
): Promise<Running> {
  const positions: number[] = [];
  const inserted: string[] = [];
  const deletions: number[] = [];
  await platform.recover();
  const { actors, documents } = platform;
  const alive = <Value>(run: () => Promise<Value>): Promise<Value> => whileAlive(() => documents.isCrashed, run);
  const projector: Projector = new Projector({
    ...oneStream(platform.journal, platform.memory),
    rowsMax: options.rowsMax ?? 1_000,
    intervalMs: options.intervalMs ?? HOUR_MS,
    log: options.log ?? silentLog,
    uncertainTries: 3,
    quarantine: options.quarantine ?? new MemoryQuarantine(),
    history: {
      insertMeasurements: (columns, token) => alive(() => history.insertMeasurements(columns, token)),
      storedMeasurements: (columns) => alive(() => history.storedMeasurements(columns)),
      insertRows: (table, texts) => alive(() => history.insertRows(table, texts)),
      deleteMeasurements: (deletion) => alive(() => history.deleteMeasurements(deletion)),
      selectMeasurements: (...filter) => history.selectMeasurements(...filter),
      select: (tenant, table, filter) => history.select(tenant, table, filter),
    },
    runDeletion: (command) =>
      alive(async () => {
        await options.beforeDeletion?.(command);
        const { table, filter } = command.body as { table: string; filter: Record<string, string> };
        if (table === 'measurements') {
          await history.deleteMeasurements({ tenant: 1, filter, seq: command.seq, receivedAt: command.receivedAt });
          return;
        }
        deletions.push(command.seq);
        for (const { id, source } of await history.select(1, table, filter)) {
          await platform
            .request({
              kind: table === 'events' ? COMMAND.EVENT_DELETE : COMMAND.ALARM_DELETE,
              key: source,
              body: { id: String(id) },
            })
            .catch(() => undefined);
        }
      }),
    onPosition: (position) => {
      positions.push(position);
      platform.journal.trim(Math.min(position, actors.committedSeq));
    },
    onInserted: (table, rows) => {
      inserted.push(`${table} ${rows}`);
    },
  });
  platform.onGroup = (firstSeq, lastSeq, records, rows) => {
    projector.offer(STREAM, { firstSeq, lastSeq, afterSeq: firstSeq - 1, records, rows });
  };
  await projector.attach(STREAM, platform.memory, platform.journal.lastSeq);
  // Not awaited: what a process that is gone began never ends.
  t.teardown(() => {
    void projector.stop();
  });
  return { platform, projector, positions, inserted, deletions };
}

export const visible = ({ platform, projector }: Running, timeoutMs = 20_000, query?: HistoryQuery): Promise<void> =>
  projector.visible(STREAM, platform.group.lastAppendedSeq, timeoutMs, query);

/** Measurements numbered from `first`, each with one value that is its number. */
export async function measure(platform: Platform, first: number, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => platform.measure(5, [first + index])));
}

export const event = (id: number, source = 5) => ({
  kind: COMMAND.EVENT_CREATE,
  key: source,
  body: { id: String(id), type: 'T', time: NOW, doc: '{"type":"T"}' },
});

/** One process after the other over one environment. */
export class OneProcess implements ProjectorPlace {
  readonly history = new FakeHistory();
  readonly log = errorsOf();
  readonly knowsSetAside = true;
  onStep: () => void = () => undefined;
  readonly #t: Test;
  #platform: Platform | undefined;
  #running: Running | undefined;
  #quarantine = new MemoryQuarantine();
  #sources = 100;

  constructor(t: Test) {
    this.#t = t;
  }

  async restart(options: PlaceOptions): Promise<void> {
    const platform =
      this.#platform === undefined ? new Platform(openEnvironment(this.#t)) : await this.#platform.crash();
    this.#platform = platform;
    const { documents } = platform;
    const crashes = (position: number | undefined): boolean => {
      if (position === undefined) this.onStep();
      return documents.isCrashed;
    };
    documents.crashBefore = crashes;
    documents.crashAfter = crashes;
    this.#quarantine = new MemoryQuarantine(() => documents.isCrashed, this.#quarantine.entries);
    this.#running = await start(this.#t, platform, this.history, {
      ...options,
      quarantine: this.#quarantine,
      log: this.log,
    });
  }

  get #here(): Running {
    return this.#running as Running;
  }
  get isKilled(): boolean {
    return (this.#platform as Platform).documents.isCrashed;
  }
  kill(): void {
    (this.#platform as Platform).documents.isCrashed = true;
  }
  stop(): Promise<void> {
    return this.#here.projector.stop();
  }

  sources(count: number): number[] {
    this.#sources += count;
    return range(this.#sources - count, count);
  }
  append(...records: readonly Buffer[]): Promise<void> {
    return appendTo(this.#here.platform.group, records);
  }
  request(sent: Sent): Promise<unknown> {
    return this.#here.platform.request(sent);
  }
  visible(timeoutMs?: number, query?: HistoryQuery): Promise<void> {
    return visible(this.#here, timeoutMs, query);
  }
  async settled(): Promise<void> {
    await this.#here.platform.settled();
  }

  projectorOf(): Projector {
    return this.#here.projector;
  }
  positionOf(): number {
    return this.#here.projector.position(STREAM) as number;
  }
  async isSettled(): Promise<boolean> {
    return this.positionOf() === this.#here.platform.group.lastAppendedSeq;
  }
  async trimmed(): Promise<{ firstSeq: number; records: Buffer }[]> {
    const { journal } = this.#here.platform;
    const found = [];
    for (let seq = 1; ; ) {
      const batch = journal.read(seq);
      if (!batch) return found;
      found.push(batch);
      seq = batch.firstSeq + countRecords(batch.records);
    }
  }

  documentIds(collection: Collection): string[] {
    return this.#here.platform.ids(collection);
  }
  get outboxCount(): number {
    return this.#here.platform.ids('meta', OUTBOX_PREFIX, 0).length;
  }
  get told(): readonly { readonly source: string }[] {
    return this.#here.platform.notifications;
  }
  get setAside(): readonly QuarantineEntry[] {
    return this.#quarantine.entries;
  }
  fill(isFull: boolean): void {
    this.#quarantine.isFull = isFull;
  }
}
