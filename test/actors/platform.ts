/** Journal, group commit, actors and command bus over LMDB, as the server joins them; can crash and start again. */
import { rmSync } from 'node:fs';
import type { Test } from 'tap';
import { ActorSystem } from '../../src/actors/actor-system.ts';
import type { Forwarder } from '../../src/actors/runtime/forwarder.ts';
import type { DocumentChange, Documents } from '../../src/ports/stores/documents.ts';
import { ProjectorMemory } from '../../src/actors/projector-memory.ts';
import { CommandBus } from '../../src/ingest/journal/command-bus.ts';
import { GroupCommit } from '../../src/ingest/journal/group-commit.ts';
import type { HistoryRow } from '../../src/ports/stores/history-writer.ts';
import { encodeMeasurement } from '../../src/ingest/measurements/record.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { ActorKey } from '../../src/model/commands/command.ts';
import type { Collection } from '../../src/model/commands/collections.ts';
import type { CommandKind } from '../../src/model/commands/kinds.ts';
import type { LiveBus, Notification } from '../../src/ports/live-bus.ts';
import type { Log } from '../../src/ports/log.ts';
import type { ProcessingMode } from '../../src/model/commands/processing-mode.ts';
import { LmdbDocuments } from '../../src/store/lmdb/documents.ts';
import { openLmdb } from '../../src/store/lmdb/environment.ts';
import type { LmdbEnvironment } from '../../src/store/lmdb/environment.ts';
import { LmdbJournal } from '../../src/store/lmdb/journal.ts';
import { quickDirectory, untilTurn } from '../helpers/until.ts';

export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  isLevelEnabled: () => false,
  child: () => silentLog,
};

export const TENANT = 1;
export const NOW = Date.UTC(2026, 10, 21, 6);

/** Waits for a condition, at first turn by turn of the event loop. */
export const until = (condition: () => boolean | Promise<boolean>, what = 'the condition'): Promise<void> =>
  untilTurn(what, condition);

export function openEnvironment(t: Test): LmdbEnvironment {
  const directory = quickDirectory();
  const environment = openLmdb(directory);
  t.teardown(async () => {
    await environment.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return environment;
}

/** A process that is gone: what it began never ends and nothing more of it takes effect. */
const never = <Value>(): Promise<Value> => new Promise<Value>(() => undefined);

/** What a process begins: nothing when it is gone, and it never hears of what ends later. */
export async function whileAlive<Value>(isGone: () => boolean, run: () => Promise<Value>): Promise<Value> {
  if (isGone()) return never();
  try {
    return await run();
  } finally {
    if (isGone()) await never();
  }
}

/**
 * Documents that end with the process, each read optionally answered later. Reads and commits keep their order, as on
 * one connection.
 */
export class CrashingDocuments implements Documents {
  /** Called before a commit: true = the process ends here, and the commit with it. */
  crashBefore: (position: number | undefined) => boolean = () => false;
  /** Called when a commit is on disk, before anybody knows. */
  crashAfter: (position: number | undefined) => boolean = () => false;
  isCrashed = false;
  readonly #documents: LmdbDocuments;
  readonly #isAsync: boolean;
  #last: Promise<unknown> = Promise.resolve();

  constructor(documents: LmdbDocuments, isAsync: boolean) {
    this.#documents = documents;
    this.#isAsync = isAsync;
  }

  get(collection: Collection, tenant: number, id: string): string | undefined | Promise<string | undefined> {
    return this.#inOrder(() => this.#documents.get(collection, tenant, id));
  }
  getMany(
    collection: Collection,
    tenant: number,
    ids: readonly string[],
  ): (string | undefined)[] | Promise<(string | undefined)[]> {
    return this.#inOrder(() => this.#documents.getMany(collection, tenant, ids));
  }
  list(collection: Collection, tenant: number, prefix: string, options: { after?: string; limit: number }) {
    return this.#inOrder(() => this.#documents.list(collection, tenant, prefix, options));
  }
  position(): number {
    return this.#documents.position();
  }

  async commit(changes: Iterable<DocumentChange>, position: number | undefined): Promise<void> {
    const kept = [...changes];
    const commit = async (): Promise<void> => {
      if (!this.isCrashed && this.crashBefore(position)) this.isCrashed = true;
      if (this.isCrashed) return never();
      await this.#documents.commit(kept, position);
      if (!this.isCrashed && this.crashAfter(position)) this.isCrashed = true;
      if (this.isCrashed) return never();
    };
    if (!this.#isAsync) return commit();
    const done = this.#last.then(commit);
    this.#last = done;
    return done;
  }

  #inOrder<Value>(read: () => Value): Value | Promise<Value> {
    if (!this.#isAsync) return read();
    const done = this.#last.then(
      () =>
        new Promise<Value>((resolve) => {
          setImmediate(() => resolve(read()));
        }),
    );
    this.#last = done;
    return done;
  }
}

export interface Sent {
  kind: CommandKind;
  key: ActorKey;
  body: object;
  mode?: ProcessingMode;
  receivedAt?: number;
  tenant?: number;
}

export class Platform {
  #measurementId = 0;
  readonly environment: LmdbEnvironment;
  readonly journal: LmdbJournal;
  readonly stored: LmdbDocuments;
  readonly documents: CrashingDocuments;
  readonly notifications: (Omit<Notification, 'text'> & { text: string; committedSeq: number })[] = [];
  readonly rows: HistoryRow[] = [];
  readonly usersChanged: string[] = [];
  readonly actors: ActorSystem;
  readonly group: GroupCommit;
  readonly commands: CommandBus;
  readonly memory: ProjectorMemory;
  /** Told of each handled group, as the projector is. */
  onGroup: (firstSeq: number, lastSeq: number, records: Buffer, rows: readonly HistoryRow[]) => void = () => undefined;

  constructor(environment: LmdbEnvironment, options: { isAsync?: boolean; forwarder?: Forwarder } = {}) {
    this.environment = environment;
    this.journal = new LmdbJournal(environment);
    this.stored = new LmdbDocuments(environment);
    this.documents = new CrashingDocuments(this.stored, options.isAsync ?? false);
    const bus: LiveBus = {
      hasSubscribers: () => true,
      subscribe: () => () => undefined,
      publish: (notification) => {
        this.notifications.push({ ...notification, text: notification.text(), committedSeq: this.stored.position() });
      },
    };
    this.actors = new ActorSystem({
      documents: this.documents,
      bus,
      log: silentLog,
      onCommitFailed: (error) => {
        throw error;
      },
      onUserChanged: (tenant, { userName, keepsConnections }) => {
        this.usersChanged.push(`${tenant}/${userName}${keepsConnections ? ' stays' : ''}`);
      },
      onObjectChanged: () => undefined,
      onLinksEnded: () => undefined,
      onRecordsChanged: () => undefined,
      ...(options.forwarder === undefined ? {} : { forwarder: options.forwarder }),
      onDecided: ({ firstSeq, lastSeq, records, rows, isReplay }) => {
        this.rows.push(...rows);
        if (!isReplay) this.onGroup(firstSeq, lastSeq, records, rows);
      },
      append: (command, pendingId) =>
        this.documents.isCrashed ? never() : this.commands.appendFollowUp(command, pendingId),
    });
    const { journal, documents } = this;
    this.group = new GroupCommit({
      journal: {
        get lastSeq() {
          return journal.lastSeq;
        },
        get sizeBytes() {
          return journal.sizeBytes;
        },
        read: (seq) => journal.read(seq),
        trim: (seq) => journal.trim(seq),
        append: async (firstSeq, records, count) => {
          if (documents.isCrashed) return never();
          await journal.append(firstSeq, records, count);
          return documents.isCrashed ? never() : undefined;
        },
      },
      journalBytesMax: 1e10,
      refusal: () => undefined,
      onError: (error) => {
        throw error;
      },
      onDurable: (firstSeq, records) => {
        this.actors.handleGroup(firstSeq, records);
      },
    });
    this.commands = new CommandBus({ intake: this.group, replies: this.actors, refusals: { count: () => undefined } });
    this.memory = new ProjectorMemory(this.documents, this.actors);
  }

  /** Recovery, as the server does it. */
  async recover(): Promise<this> {
    const from = this.stored.position();
    this.actors.committedSeq = from;
    for (let seq = from + 1; ; ) {
      const batch = this.journal.read(seq);
      if (!batch) break;
      const lastSeq = this.actors.handleGroup(batch.firstSeq, batch.records, from);
      if (!(await this.settled())) return this;
      seq = lastSeq + 1;
    }
    await this.actors.resumeFollowUps();
    await this.settled();
    return this;
  }

  /** @returns false when the process has ended. */
  async settled(): Promise<boolean> {
    let isDone = false;
    void (async () => {
      do {
        await this.group.drained();
        await this.actors.settled();
      } while (this.group.lastAppendedSeq > this.journal.lastSeq || this.actors.pendingCount > 0);
      isDone = true;
    })();
    await until(() => isDone || this.documents.isCrashed, 'settled');
    return isDone;
  }

  request<Answer = { doc: string }>(sent: Sent): Promise<Answer> {
    return this.commands.request<Answer>({ tenant: TENANT, mode: 0, receivedAt: NOW, ...sent });
  }

  /** The process ends: what LMDB has taken is on disk, nothing follows. @returns the next process. */
  async crash(options: { isAsync?: boolean } = {}): Promise<Platform> {
    this.documents.isCrashed = true;
    await this.environment.root.flushed;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    await this.environment.root.flushed;
    return new Platform(this.environment, options);
  }

  measure(
    source: number,
    values: readonly number[],
    options: { id?: number; mode?: ProcessingMode; time?: number } = {},
  ): Promise<void> {
    const record = encodeMeasurement({
      tenant: TENANT,
      source,
      id: options.id ?? (this.#measurementId += 1),
      time: options.time ?? NOW,
      mode: options.mode ?? 0,
      type: 'T',
      document: '',
      receivedAt: NOW,
      values: values.map((value, index) => ({ fragment: 'f', series: `s${index}`, value, unit: '' })),
    });
    return this.append(record);
  }

  /** Puts a record into the journal as it is. */
  append(record: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      record.copy(this.group.buffer, this.group.reserve(record.length));
      this.group.append(
        record.length,
        { durable: () => resolve(), flushDurable: () => undefined, failed: (_token, error) => reject(error) },
        0,
      );
    });
  }

  /** The stored document, parsed; undefined when there is none. */
  get(collection: Collection, id: string): Record<string, unknown> | undefined {
    const text = this.stored.get(collection, TENANT, id);
    return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>);
  }

  ids(collection: Collection, prefix = '', tenant = TENANT): string[] {
    return this.stored.list(collection, tenant, prefix, { limit: 10_000 }).map(({ id }) => id);
  }

  /** Everything that is stored but the journal's positions and the outbox. */
  snapshot(): Record<string, string> {
    const found: Record<string, string> = {};
    for (const { key, value } of this.environment.documents.getRange({}))
      if (!key.startsWith('m0/')) found[key] = value;
    return found;
  }

  create(id: string, doc = '{}', extra: object = {}): Promise<{ doc: string }> {
    return this.request({
      kind: COMMAND.MANAGED_OBJECT_CREATE,
      key: Number(id),
      body: { id, owner: 'ada', doc, ...extra },
    });
  }
}

export const openPlatform = (t: Test, options: { isAsync?: boolean; forwarder?: Forwarder } = {}): Platform =>
  new Platform(openEnvironment(t), options);
