/**
 * Measurements that wait to be scored: copies of their records in chunks, a list of them for each binding. Each tenant
 * has a bound, and all of a node share one; beyond it whole chunks are shed, the oldest of the binding with most.
 */
import {
  FLAG_FORM,
  FORM_BYTES,
  lengthAt,
  OFFSET_DOCUMENT_LENGTH,
  OFFSET_FLAGS,
  OFFSET_LENGTH,
  OFFSET_TEXTS,
  OFFSET_TYPE_LENGTH,
  TYPE_IS_FRAGMENT,
} from '../../ingest/journal/record-layout.ts';
import { Shares } from '../../pacing/shares.ts';
import type { Refusals } from '../../ports/refusals.ts';
import {
  BACKLOG_BYTES_MAX,
  BACKLOG_MAX,
  BINDING_RECORD_BYTES_MAX,
  BINDINGS_RATE_MAX,
  SCORING_LIMIT,
} from '../limits.ts';

/** Of one chunk: what one task of a worker scores. */
const CHUNK_MEASUREMENTS_MAX = 1_000;
const CHUNK_BYTES_MAX = 262_144;
const CHUNK_BYTES_FIRST = 4_096;
/** For the prediction of one measurement. */
const ROOM_BYTES = 512;
/** Of each size of chunks and rooms, kept for the next ones: memory that threads share is slow to make. */
const SPARE_BYTES_MAX = 2_097_152;
/** Bytes. */
const COPIED_BY_LOOP_MAX = 256;
/** In which the rate of a tenant is counted. */
const WINDOW_MS = 1_000;
const HOLDER = 'bindings';
/** A measurement waits for others of its binding as long as this, and longer while many bindings of the tenant or many tenants have some. */
const PAUSE_MS = 20;
const PAUSE_MS_MAX = 400;
/** Bindings for which tasks of `PAUSE_MS` are made: the tenant makes 250 small tasks a second with any number of them. */
const BINDINGS_WITHOUT_DELAY = 5;
/** Small tasks of all tenants make 1,000 a second at most, however many tenants there are: equal parts for those that have some. */
const NODE_TASK_MS = 1;

export interface Chunk {
  /** Workers read the same memory: it is not copied for them, and new for none of the next chunks. */
  bytes: Buffer<ArrayBufferLike>;
  used: number;
  count: number;
  /**
   * For its predictions while it is scored, where the bound has room for it. New memory for those of each chunk made V8
   * collect the whole heap of the main thread.
   */
  room?: Buffer<ArrayBufferLike> | undefined;
  /** Of the predictions in it; 0: all are of devices. */
  readonly depth: number;
  /** When its first measurement came, `performance.now()`. */
  readonly since: number;
}

export interface BacklogOptions {
  readonly refusals: Refusals;
  readonly isOnlyTenant?: () => boolean;
  readonly clock: () => number;
  /** Lower, in tests. */
  readonly measurementsMax?: number;
  readonly bytesMax?: number;
}

/** The backlog of a node. */
export class Backlog {
  readonly options: BacklogOptions;
  readonly bytes: Shares;
  readonly measurementsMax: number;
  measurements = 0;
  /** Tenants of which measurements wait or are scored. */
  tenants = 0;
  /** By their lengths, which are powers of two. */
  readonly #spare = new Map<number, Buffer<ArrayBufferLike>[]>();

  constructor(options: BacklogOptions) {
    this.options = options;
    this.measurementsMax = options.measurementsMax ?? BACKLOG_MAX;
    const bytesMax = options.bytesMax ?? BACKLOG_BYTES_MAX;
    this.bytes = new Shares(SCORING_LIMIT.BACKLOG_BYTES, bytesMax, options.isOnlyTenant);
  }

  allocate(length: number): Buffer<ArrayBufferLike> {
    return this.#spare.get(length)?.pop() ?? Buffer.from(new SharedArrayBuffer(length));
  }

  free(bytes: Buffer<ArrayBufferLike>): void {
    const { length } = bytes;
    const spare = this.#spare.get(length) ?? [];
    this.#spare.set(length, spare);
    if ((spare.length + 1) * length <= SPARE_BYTES_MAX) spare.push(bytes);
  }
}

/** That of one tenant. */
export class TenantBacklog {
  readonly tenant: number;
  readonly node: Backlog;
  /** That wait or are scored. */
  measurements = 0;
  readonly #lists = new Set<ChunkList>();
  #windowCount = 0;
  #windowSince = Number.NEGATIVE_INFINITY;

  constructor(tenant: number, node: Backlog) {
    this.tenant = tenant;
    this.node = node;
  }

  add(list: ChunkList): void {
    this.#lists.add(list);
  }

  remove(list: ChunkList): void {
    this.#lists.delete(list);
  }

  /** How long a measurement waits for others: the main thread has work with each task, however small it is. */
  get pauseMs(): number {
    return Math.max(this.#ownPauseMs, this.#sharedPauseMs);
  }

  /** As `pauseMs`, for a wait that begins: counted where the tasks of all tenants make it longer than one tenant's do. */
  beginPause(): number {
    if (this.#sharedPauseMs > PAUSE_MS_MAX)
      this.node.options.refusals.count(SCORING_LIMIT.BINDINGS_TASKS, { tenant: this.tenant });
    return this.pauseMs;
  }

  get #ownPauseMs(): number {
    return Math.min(PAUSE_MS_MAX, PAUSE_MS * Math.max(1, this.#busyLists / BINDINGS_WITHOUT_DELAY));
  }

  get #sharedPauseMs(): number {
    return NODE_TASK_MS * this.#busyLists * this.node.tenants;
  }

  get #busyLists(): number {
    let busy = 0;
    for (const list of this.#lists) if (!list.isEmpty) busy += 1;
    return busy;
  }

  /** @returns the limit that is in the way where nothing can be shed any more */
  roomForOne(): string | undefined {
    // The clock is looked at only where the bound may be reached.
    if (this.#windowCount >= BINDINGS_RATE_MAX) {
      const now = this.node.options.clock();
      if (now - this.#windowSince < WINDOW_MS) return SCORING_LIMIT.BINDINGS_RATE;
      this.#windowSince = now;
      this.#windowCount = 0;
    }
    this.#windowCount += 1;
    while (this.measurements >= this.node.measurementsMax)
      if (!this.#shed(SCORING_LIMIT.BACKLOG)) return SCORING_LIMIT.BACKLOG;
    return undefined;
  }

  /** As `roomForOne`; the bytes count from then on. */
  takeBytes(bytes: number): string | undefined {
    for (;;) {
      const limit = this.node.bytes.take(this.tenant, HOLDER, bytes);
      if (limit === undefined || !this.#shed(limit)) return limit;
    }
  }

  /** As `takeBytes`, but nothing is shed for it. */
  takeFreeBytes(bytes: number): string | undefined {
    return this.node.bytes.take(this.tenant, HOLDER, bytes);
  }

  giveBytes(bytes: number): void {
    this.node.bytes.give(this.tenant, HOLDER, bytes);
  }

  count(measurements: number): void {
    if (this.measurements === 0 && measurements > 0) this.node.tenants += 1;
    this.measurements += measurements;
    if (this.measurements === 0 && measurements < 0) this.node.tenants -= 1;
    this.node.measurements += measurements;
  }

  /** The oldest chunk of the binding with most of them. @returns false where none waits */
  #shed(limit: string): boolean {
    let most: ChunkList | undefined;
    for (const list of this.#lists) if (list.waitingCount > (most?.waitingCount ?? 0)) most = list;
    most?.shedOldest(limit);
    return most !== undefined;
  }
}

/** What waits for one binding. */
export class ChunkList {
  readonly #backlog: TenantBacklog;
  readonly #onShed: (count: number) => void;
  /** That are full, or were closed. */
  readonly #waiting: Chunk[] = [];
  #open: Chunk | undefined;

  /** @param onShed is told of measurements that are not scored */
  constructor(backlog: TenantBacklog, onShed: (count: number) => void) {
    this.#backlog = backlog;
    this.#onShed = onShed;
    backlog.add(this);
  }

  /** Chunks that are full and wait. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** When the first measurement of the chunk that is not full came; undefined: there is none. */
  get openSince(): number | undefined {
    return this.#open?.since;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#open === undefined;
  }

  /** Copies a record, without its document. What does not fit is shed. */
  add(records: Buffer, at: number, depth: number): void {
    const length = copiedLength(records, at);
    if (length > BINDING_RECORD_BYTES_MAX) return this.#shed(SCORING_LIMIT.BINDING_RECORD, 1);
    const limit = this.#backlog.roomForOne() ?? this.#room(length, depth);
    if (limit !== undefined) return this.#shed(limit, 1);
    const open = this.#open as Chunk;
    copyRecord(records, at, open.bytes, open.used, length);
    open.used += length;
    open.count += 1;
    this.#backlog.count(1);
    if (open.count >= CHUNK_MEASUREMENTS_MAX) this.#close();
  }

  /** The oldest chunk, also one that is not full where no other waits. Give it back with `release`. */
  take(takesOpen: boolean): Chunk | undefined {
    const chunk = this.#waiting.shift();
    if (chunk !== undefined || !takesOpen) return chunk;
    const open = this.#open;
    this.#open = undefined;
    return open;
  }

  /** Makes room for the predictions of a chunk that was taken, but sheds none that waits for it. */
  makeRoom(chunk: Chunk): void {
    const capacity = capacityFor(chunk.count * ROOM_BYTES);
    if (this.#backlog.takeFreeBytes(capacity) === undefined) chunk.room = this.#backlog.node.allocate(capacity);
  }

  /** The chunk was scored, or given up. @param isRoomFree false where a thread may still write predictions of it */
  release(chunk: Chunk, isRoomFree = true): void {
    const { bytes, count } = chunk;
    this.#giveRoom(chunk, isRoomFree);
    this.#backlog.giveBytes(bytes.length);
    this.#backlog.node.free(bytes);
    this.#backlog.count(-count);
  }

  shedOldest(limit: string): void {
    const chunk = this.#waiting.shift();
    if (chunk === undefined) return;
    this.release(chunk);
    this.#shed(limit, chunk.count);
  }

  /** Gives up what waits. @returns how many measurements */
  clear(): number {
    let count = 0;
    for (let chunk = this.take(true); chunk !== undefined; chunk = this.take(true)) {
      count += chunk.count;
      this.release(chunk);
    }
    return count;
  }

  /** It takes no more; what was taken is to be released. */
  end(): void {
    this.#backlog.remove(this);
  }

  /** @param isFree false: a thread may still write to it. */
  #giveRoom(chunk: Chunk, isFree: boolean): void {
    const { room } = chunk;
    if (room === undefined) return;
    chunk.room = undefined;
    this.#backlog.giveBytes(room.length);
    if (isFree) this.#backlog.node.free(room);
  }

  #shed(limit: string, count: number): void {
    const { refusals } = this.#backlog.node.options;
    for (let index = 0; index < count; index += 1) refusals.count(limit, { tenant: this.#backlog.tenant });
    this.#onShed(count);
  }

  #close(): void {
    if (this.#open !== undefined) this.#waiting.push(this.#open);
    this.#open = undefined;
  }

  /** @returns undefined: the open chunk takes a record of `length` bytes */
  #room(length: number, depth: number): string | undefined {
    if (this.#open !== undefined) {
      if (this.#open.depth === depth && this.#grow(this.#open, length)) return undefined;
      this.#close();
    }
    const capacity = capacityFor(length);
    const limit = this.#backlog.takeBytes(capacity);
    if (limit !== undefined) return limit;
    const since = this.#backlog.node.options.clock();
    this.#open = { bytes: this.#backlog.node.allocate(capacity), used: 0, count: 0, depth, since };
    return undefined;
  }

  #grow(open: Chunk, length: number): boolean {
    const needed = open.used + length;
    if (needed <= open.bytes.length) return true;
    if (needed > CHUNK_BYTES_MAX) return false;
    const capacity = capacityFor(needed);
    const more = capacity - open.bytes.length;
    if (this.#backlog.takeBytes(more) !== undefined) return false;
    const { node } = this.#backlog;
    const grown = node.allocate(capacity);
    open.bytes.copy(grown, 0, 0, open.used);
    node.free(open.bytes);
    open.bytes = grown;
    return true;
  }
}

function capacityFor(length: number): number {
  let capacity = CHUNK_BYTES_FIRST;
  while (capacity < length) capacity *= 2;
  return capacity;
}

/** Where the document of a record is; models need none. */
function documentAt(records: Buffer, at: number): number {
  const typeLength = records.readUInt16LE(at + OFFSET_TYPE_LENGTH);
  return at + OFFSET_TEXTS + (typeLength === TYPE_IS_FRAGMENT ? 0 : typeLength);
}

/** Without document and form. */
function copiedLength(records: Buffer, at: number): number {
  const formBytes = records[at + OFFSET_FLAGS] === FLAG_FORM ? FORM_BYTES : 0;
  return lengthAt(records, at) - records.readUInt32LE(at + OFFSET_DOCUMENT_LENGTH) - formBytes;
}

function copyRecord(records: Buffer, at: number, to: Buffer, toAt: number, length: number): void {
  const documentLength = records.readUInt32LE(at + OFFSET_DOCUMENT_LENGTH);
  if (documentLength === 0) {
    copy(records, at, at + length, to, toAt);
  } else {
    const headEnd = documentAt(records, at);
    copy(records, at, headEnd, to, toAt);
    const valuesAt = headEnd + documentLength;
    copy(records, valuesAt, at + length + documentLength, to, toAt + headEnd - at);
    to.writeUInt32LE(0, toAt + OFFSET_DOCUMENT_LENGTH);
  }
  to.writeUInt32LE(length, toAt + OFFSET_LENGTH);
  to[toAt + OFFSET_FLAGS] = 0;
}

/** Most records are short: a loop beats the call into native code. */
function copy(from: Buffer, start: number, end: number, to: Buffer, toAt: number): void {
  if (end - start > COPIED_BY_LOOP_MAX) {
    from.copy(to, toAt, start, end);
    return;
  }
  for (let at = start, next = toAt; at < end; at += 1, next += 1) to[next] = from[at] as number;
}
