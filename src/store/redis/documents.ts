/**
 * Documents of one shard in Redis, written under an epoch. One commit is under way at a time; what comes meanwhile is
 * gathered into the next. Commits are numbered within a take-over, so that one whose answer was lost can be repeated
 * (it takes effect once), one that an old connection still delivers has none, and one that follows on something lost is
 * refused (docs/internals/redis.md).
 */
import type { DocumentChange } from '../../ports/stores/documents.ts';
import { Fenced, StateLost } from '../../ports/cluster/documents.ts';
import type { ShardDocuments } from '../../ports/cluster/documents.ts';
import type { Collection } from '../../model/commands/collections.ts';
import type { ListOptions } from '../../ports/document-reader.ts';
import type { Log } from '../../ports/log.ts';
import { redisProblem } from './connection.ts';
import type { RedisConnection, RedisScript } from './connection.ts';
import type { RedisDurability } from './durability.ts';
import { checkedField, fieldOf, keysOf, lexBounds } from './keys.ts';
import type { ShardKeys } from './keys.ts';
import { CHECK, COMMIT, LIST, TAKE_OVER } from './scripts.ts';

/**
 * One commit of the caller at most: it is one command, which Redis takes in whole and carries out while nothing else
 * runs.
 */
export const COMMIT_BYTES_MAX = 64 * 1024 * 1024;
export const COMMIT_CHANGES_MAX = 300_000;
/** Commits that wait are gathered up to this size. */
const GATHER_BYTES_MAX = 4 * 1024 * 1024;
const GATHER_CHANGES_MAX = 20_000;
const RETRY_MIN_MS = 20;
const RETRY_MAX_MS = 1_000;
const LOG_INTERVAL_MS = 30_000;
/** Positions are remembered for `durablePosition` with this distance. */
const MARK_INTERVAL_MS = 250;
const MARKS_MAX = 2_000;

/** `stop` was called. What was under way may have been written. */
class Stopped extends Error {
  override readonly name = 'Stopped';
}

export interface RedisDocumentsOptions {
  readonly connection: RedisConnection;
  /** Begins the names of all keys; one for each cluster of nodes. */
  readonly prefix: string;
  readonly shard: number;
  /** This process: unique for each of its starts. Only the same owner may take the same epoch again. */
  readonly owner: string;
  readonly log: Log;
  /** Without it `durablePosition` stays 0. */
  readonly durability?: RedisDurability;
  /**
   * Called once when Redis has lost state. `position`: what it still has. Commits reject with StateLost until the next
   * `takeOver`.
   */
  readonly onLostState: (position: number) => void;
}

interface Gathered {
  readonly collections: Map<Collection, Map<string, string | undefined>>;
  position: number | undefined;
  bytes: number;
  changes: number;
  readonly settle: { resolve(): void; reject(error: Error): void }[];
}

/** Take-overs of this process: a later one replaces an earlier one of the same epoch. */
let takes = 0;

export class RedisDocuments implements ShardDocuments {
  readonly #options: RedisDocumentsOptions;
  readonly #keys: ShardKeys;
  readonly #queue: Gathered[] = [];
  readonly #endListening: () => void;
  #epoch: number | undefined;
  #take = '';
  /** Commits that Redis has acknowledged since the take-over. */
  #commits = 0;
  #pumping: Promise<void> | undefined;
  #isWriting = false;
  #ended: Error | undefined;
  #isStopped = false;
  #unavailable: string | undefined;
  #loggedAt = -Infinity;
  #marks: { at: number; position: number }[] = [];
  #pendingBytes = 0;

  constructor(options: RedisDocumentsOptions) {
    this.#options = options;
    this.#keys = keysOf(options.prefix, options.shard);
    this.#endListening = options.connection.onConnected(() => {
      void this.check().catch(() => undefined /* It ends in the state of this. */);
    });
  }

  /**
   * Fences every earlier writer, then reads the position. Repeated until Redis answers.
   * @param epoch larger than every earlier one; the same one again only by the same `owner` (after StateLost).
   * @throws Fenced when a larger epoch is stored, Stopped.
   */
  async takeOver(epoch: number): Promise<number> {
    if ((this.#isWriting || this.#queue.length > 0) && !this.#ended)
      throw new Error(`shard ${this.#options.shard} is taken over while it commits`);
    await this.#pumping;
    this.#ended = this.#isStopped ? new Stopped('stopped') : undefined;
    this.#epoch = undefined;
    takes += 1;
    const take = String(takes);
    const [state, text] = await this.#repeat(
      TAKE_OVER,
      [this.#keys.epoch, this.#keys.writer, this.#keys.position],
      [String(epoch), this.#options.owner, take],
    );
    if (state !== 'OK')
      throw this.#end(new Fenced(`shard ${this.#options.shard} has the epoch ${text}, and ours is ${epoch}`));
    this.#epoch = epoch;
    this.#take = take;
    this.#commits = 0;
    this.#marks = [{ at: performance.now(), position: Number(text) }];
    return Number(text);
  }

  /** Ends repetitions and refuses what comes: everything under way rejects with Stopped. */
  stop(): void {
    this.#isStopped = true;
    this.#endListening();
    this.#end(new Stopped(`the documents of shard ${this.#options.shard} are stopped`));
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }
  /** What is wrong with Redis as long as it does not answer this shard. */
  get unavailable(): string | undefined {
    return this.#isStopped ? undefined : this.#unavailable;
  }
  /** Characters of commits that Redis has not acknowledged: the owner holds back when there are too many. */
  get pendingSize(): number {
    return this.#pendingBytes;
  }

  /** @throws Stopped; a failing Redis is asked until it answers. */
  async get(collection: Collection, tenant: number, id: string): Promise<string | undefined> {
    return (
      (await this.#read(() =>
        this.#options.connection.client.hget(this.#keys.documents(collection), fieldOf(tenant, id)),
      )) ?? undefined
    );
  }

  async getMany(collection: Collection, tenant: number, ids: readonly string[]): Promise<(string | undefined)[]> {
    if (ids.length === 0) return [];
    const fields = ids.map((id) => fieldOf(tenant, id));
    const values = await this.#read(() => this.#options.connection.fieldsOf(this.#keys.documents(collection), fields));
    return values.map((value) => value ?? undefined);
  }

  list(
    collection: Collection,
    tenant: number,
    prefix: string,
    options: ListOptions,
  ): Promise<{ id: string; value: string }[]> {
    const { connection } = this.#options;
    return this.#read(() => listShard({ connection, keys: this.#keys, collection, tenant, prefix, ...options }));
  }

  async position(): Promise<number> {
    return Number((await this.#read(() => this.#options.connection.client.get(this.#keys.position))) ?? 0);
  }

  /**
   * Resolves when Redis has carried it out (not: when it is on its disk, see `durablePosition`). Commits take effect in
   * the order of the calls.
   * @throws Fenced, StateLost, Stopped; Error at once when an id is too long or it is too large, and then nothing was
   * written.
   */
  commit(changes: Iterable<DocumentChange>, position: number | undefined): Promise<void> {
    if (this.#ended) return Promise.reject(this.#ended);
    if (this.#epoch === undefined) return Promise.reject(new Error(`shard ${this.#options.shard} is not taken over`));
    let commit: Gathered;
    try {
      commit = gather(changes, position);
    } catch (error) {
      return Promise.reject(error);
    }
    this.#pendingBytes += commit.bytes;
    return new Promise((resolve, reject) => {
      commit.settle.push({ resolve, reject });
      const last = this.#queue.at(-1);
      if (last && last.bytes + commit.bytes <= GATHER_BYTES_MAX && last.changes + commit.changes <= GATHER_CHANGES_MAX)
        append(last, commit);
      else this.#queue.push(commit);
      this.#pumping ??= this.#pump();
    });
  }

  /**
   * Asks whether everything that was acknowledged is still there and the shard still ours; tells `onLostState` if not.
   * @returns the stored position. @throws Fenced, StateLost, Stopped.
   */
  async check(): Promise<number> {
    if (this.#ended) throw this.#ended;
    if (this.#epoch === undefined) return 0;
    const { epoch, writer, position } = this.#keys;
    const take = this.#take;
    const answer = await this.#repeat(
      CHECK,
      [epoch, writer, position],
      [String(this.#epoch), this.#options.owner, take, String(this.#commits)],
    );
    // Taken over anew meanwhile: the answer is about the former one.
    if (take === this.#take) await this.#judge(answer);
    return Number(answer[1]);
  }

  /**
   * The position that survives kill -9 of Redis, power loss of its machine and, with replicas, the promotion of one:
   * the journal may be trimmed up to it. 0 while nothing is known. @throws Fenced, StateLost, Stopped.
   */
  async durablePosition(): Promise<number> {
    const { durability } = this.#options;
    const settledAt = durability === undefined ? -Infinity : durability.settledAt(this.#keys.epoch);
    const stored = await this.check();
    let found = 0;
    for (const { at, position } of this.#marks) if (at <= settledAt) found = position;
    const first = this.#marks.findLastIndex(({ at }) => at <= settledAt);
    if (first > 0) this.#marks.splice(0, first);
    return Math.min(found, stored);
  }

  async #pump(): Promise<void> {
    try {
      while (!this.#ended) {
        // Commits of one turn of the event loop go together.
        await Promise.resolve();
        const commit = this.#queue.shift();
        if (!commit) break;
        await this.#write(commit);
      }
    } finally {
      this.#pumping = undefined;
      if (this.#ended) this.#rejectWaiting(this.#ended);
    }
  }

  async #write(commit: Gathered): Promise<void> {
    this.#isWriting = true;
    try {
      const { keys, args } = this.#encode(commit);
      await this.#judge(await this.#repeat(COMMIT, keys, args));
      this.#isWriting = false;
    } catch (error) {
      this.#isWriting = false;
      this.#pendingBytes -= commit.bytes;
      for (const { reject } of commit.settle) reject(error as Error);
      return;
    }
    this.#commits += 1;
    this.#pendingBytes -= commit.bytes;
    if (commit.position !== undefined) this.#mark(commit.position);
    for (const { resolve } of commit.settle) resolve();
  }

  #encode(commit: Gathered): { keys: string[]; args: string[] } {
    const keys = [this.#keys.epoch, this.#keys.writer, this.#keys.position];
    const position = commit.position === undefined ? '' : String(commit.position);
    const args = [String(this.#epoch), this.#options.owner, this.#take, String(this.#commits + 1), position];
    for (const [collection, fields] of commit.collections) {
      keys.push(this.#keys.documents(collection), this.#keys.index(collection));
      const counts = args.length;
      const deletes: string[] = [];
      args.push('', '');
      for (const [field, value] of fields) {
        if (value === undefined) deletes.push(field);
        else args.push(field, value);
      }
      args[counts] = String((args.length - counts - 2) / 2);
      args[counts + 1] = String(deletes.length);
      for (const field of deletes) args.push(field);
    }
    return { keys, args };
  }

  /** @throws what the answer of a script says about the writer. */
  async #judge([state, text]: readonly string[]): Promise<void> {
    if (state === 'OK') return;
    const { shard, onLostState, log } = this.#options;
    if (this.#ended) throw this.#ended;
    if (state === 'FENCED')
      throw this.#end(new Fenced(`shard ${shard} has the epoch ${text}, and ours is ${this.#epoch}`));
    const lost = this.#end(new StateLost(`Redis has lost the last commits of shard ${shard}`));
    const position = Number((await this.#repeat(undefined, [this.#keys.position], [])) ?? 0);
    log.warn(
      { shard, epoch: this.#epoch, position },
      'Redis came back with an older state; the shard is loaded and replayed from there',
    );
    onLostState(position);
    throw lost;
  }

  #end(error: Error): Error {
    if (this.#ended === undefined || error instanceof Stopped) this.#ended = error;
    if (this.#pumping === undefined) this.#rejectWaiting(this.#ended);
    return this.#ended;
  }

  #rejectWaiting(error: Error): void {
    for (const { settle, bytes } of this.#queue.splice(0)) {
      this.#pendingBytes -= bytes;
      for (const { reject } of settle) reject(error);
    }
  }

  #mark(position: number): void {
    const at = performance.now();
    const last = this.#marks.at(-1);
    const before = this.#marks.at(-2);
    // The last mark moves until it is far enough from the one before: a later time and a higher position, both true.
    if (last && before && last.at - before.at < MARK_INTERVAL_MS) {
      last.at = at;
      last.position = position;
    } else this.#marks.push({ at, position });
    if (this.#marks.length > MARKS_MAX) this.#marks = this.#marks.filter((_, index) => index % 2 === 1 || index === 0);
  }

  #repeat(script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<string[]>;
  #repeat(script: undefined, keys: readonly string[], args: readonly string[]): Promise<string | null>;
  #repeat(script: RedisScript | undefined, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const { connection } = this.#options;
    return this.#read(() =>
      script === undefined ? connection.client.get(keys[0]) : (connection.run(script, keys, args) as Promise<unknown>),
    );
  }

  /**
   * Repeats what may be repeated until Redis answers: errors of the server pass too (loading, full, moved, read-only),
   * or are mended.
   */
  async #read<Result>(operation: () => Promise<Result>): Promise<Result> {
    for (let delayMs = RETRY_MIN_MS; ; ) {
      if (this.#isStopped) throw this.#ended as Error;
      try {
        const result = await operation();
        this.#unavailable = undefined;
        return result;
      } catch (error) {
        this.#disturbed(redisProblem(error));
      }
      await new Promise((resolve) => {
        setTimeout(resolve, delayMs * (0.5 + Math.random() / 2));
      });
      delayMs = Math.min(delayMs * 2, RETRY_MAX_MS);
    }
  }

  #disturbed(problem: string): void {
    this.#unavailable = problem;
    const now = performance.now();
    if (now - this.#loggedAt < LOG_INTERVAL_MS) return;
    this.#loggedAt = now;
    this.#options.log.warn(
      { shard: this.#options.shard, problem },
      'Redis refuses the changes of a shard; trying again',
    );
  }
}

function gather(changes: Iterable<DocumentChange>, position: number | undefined): Gathered {
  const commit: Gathered = { collections: new Map(), position, bytes: 0, changes: 0, settle: [] };
  for (const { collection, tenant, id, value } of changes) {
    const field = checkedField(tenant, id);
    let fields = commit.collections.get(collection);
    if (fields === undefined) commit.collections.set(collection, (fields = new Map()));
    fields.set(field, value);
    commit.changes += 1;
    commit.bytes += field.length + (value === undefined ? 0 : value.length);
  }
  if (commit.changes > COMMIT_CHANGES_MAX)
    throw new Error(`a commit of ${commit.changes} changes; Redis gets at most ${COMMIT_CHANGES_MAX} at a time`);
  if (commit.bytes * 3 > COMMIT_BYTES_MAX && bytesOf(commit) > COMMIT_BYTES_MAX) {
    throw new Error(`a commit of ${bytesOf(commit)} bytes; Redis gets at most ${COMMIT_BYTES_MAX} at a time`);
  }
  return commit;
}

function bytesOf({ collections }: Gathered): number {
  let bytes = 0;
  for (const fields of collections.values())
    for (const [field, value] of fields) bytes += Buffer.byteLength(field) + Buffer.byteLength(value ?? '');
  return bytes;
}

function append(target: Gathered, commit: Gathered): void {
  for (const [collection, fields] of commit.collections) {
    const known = target.collections.get(collection);
    if (known === undefined) target.collections.set(collection, fields);
    else for (const [field, value] of fields) known.set(field, value);
  }
  target.position = commit.position ?? target.position;
  target.bytes += commit.bytes;
  target.changes += commit.changes;
  target.settle.push(...commit.settle);
}

/** A page of one shard: ids that begin with `prefix`, behind `after`, in byte order. */
export async function listShard(
  place: {
    readonly connection: RedisConnection;
    readonly keys: ShardKeys;
    readonly collection: Collection;
    readonly tenant: number;
    readonly prefix: string;
  } & ListOptions,
): Promise<{ id: string; value: string }[]> {
  const { connection, keys, collection, tenant, prefix, after, limit, idsOnly = false } = place;
  if (limit <= 0) return [];
  const { min, max } = lexBounds(tenant, prefix, after);
  const found = (await connection.run(
    LIST,
    [keys.documents(collection), keys.index(collection)],
    [min, max, String(limit), idsOnly ? 'ids' : ''],
  )) as (string | null)[];
  const start = fieldOf(tenant, '').length;
  const entries: { id: string; value: string }[] = [];
  for (let index = 0; index < found.length; index += 2) {
    const value = found[index + 1];
    if (value !== null) entries.push({ id: (found[index] as string).slice(start), value });
  }
  return entries;
}
