/**
 * The groups of a gateway in a cluster: one open group per shard, one append under way per shard, and what arrives
 * meanwhile becomes the next one. The same protocol as the single node's group commit
 * (ingest/journal/record-intake.ts), so that code that puts records works over both.
 *
 * Orders: records of one shard are stored in the order in which they were appended, of one group all or none. Records
 * of several shards have no order; a sink that needs one (`isOrdered`, a connection) hears of its tokens in the order
 * of its calls all the same.
 */
import { randomBytes } from 'node:crypto';
import { SHARD_COUNT, shardOf } from '../../ingest/journal/command-record.ts';
import { lengthAt, shardAt } from '../../ingest/journal/record-layout.ts';
import type { AcknowledgementSink, RecordIntake } from '../../ingest/journal/record-intake.ts';
import type { ActorKey } from '../../model/commands/command.ts';
import { PlatformError } from '../../model/errors.ts';
import { GROUP_BYTES_MAX } from '../../model/commands/group-bounds.ts';
import { GROUP_RECORDS_MAX, JournalUnavailable } from '../../ports/cluster/journal.ts';
import type { ShardJournal } from '../../ports/cluster/journal.ts';

/** Buffers of open groups: small at first, there are 64 of them. */
const GROUP_BYTES_FIRST = 4_096;
/** Bytes in all groups of this node, open or under way. */
const OPEN_BYTES_MAX = 64 * 1_048_576;

/** Told where its records are, before its sink hears of them. */
export type Stored = (shard: number, firstSeq: number) => void;

/** What one token waits for. */
interface Entry {
  readonly sink: AcknowledgementSink;
  readonly token: number;
  /** Groups that are still to be stored. */
  parts: number;
  error: Error | undefined;
}

interface Part {
  readonly entry: Entry;
  readonly index: number;
  readonly onStored: Stored | undefined;
}

interface Group {
  readonly shard: number;
  buffer: Buffer;
  view: DataView;
  used: number;
  recordCount: number;
  beganAt: number;
  parts: Part[];
}

/** One shard's groups. */
interface Line {
  open: Group;
  isAppending: boolean;
  isScheduled: boolean;
  /** Called in this order when the open group has left, or when bytes are free. */
  waiting: (() => void)[];
  /** A part that is acknowledged with others waits for room: nothing overtakes it. */
  isBehind: boolean;
  /** Last sequence that was acknowledged to this gateway. */
  acknowledgedSeq: number;
}

/** Records on their way into one shard. */
export interface ShardRecords {
  readonly shard: number;
  readonly records: Buffer;
  readonly recordCount: number;
  readonly onStored?: Stored;
}

export interface GatewayJournalOptions {
  readonly journal: ShardJournal;
  readonly nodeId: string;
  /** Bytes in the journal at which nothing more is taken. */
  readonly journalBytesMax: number;
  /** A name of another limit while writes are refused. */
  readonly refusal?: () => string | undefined;
  /** Told of each group: its records, and the time from its first record until it was stored. */
  readonly onCommitted?: (recordCount: number, durationMs: number) => void;
  readonly onError: (error: Error) => void;
}

const UNREACHABLE = 'journal/unreachable';
/** What is wrong with a journal that answers: told as it is, everything else is its server being away. */
const FULL: ReadonlySet<string> = new Set(['journal/bytes', 'journal/storage', 'journal/permission']);

export class GatewayJournal implements RecordIntake {
  groupsCount = 0;
  recordsCount = 0;
  readonly #options: GatewayJournalOptions;
  readonly #lines: Line[];
  /** What ordered sinks wait for, oldest first. */
  readonly #orders = new Map<AcknowledgementSink, Entry[]>();
  readonly #touched = new Set<AcknowledgementSink>();
  readonly #idle: (() => void)[] = [];
  readonly #scheduled: Line[] = [];
  /** Unique over nodes and restarts: names the groups. */
  readonly #name: string;
  #groupNumber = 0;
  #reserved: Group;
  /** The line that had no room last. */
  #full: Line;
  /** Lines for which the node had no room. */
  readonly #starved = new Set<Line>();
  #openBytes = 0;
  #underWay = 0;
  readonly #appendScheduled = (): void => {
    for (const line of this.#scheduled.splice(0)) {
      line.isScheduled = false;
      this.#append(line);
    }
  };

  constructor(options: GatewayJournalOptions) {
    this.#options = options;
    this.#name = `${options.nodeId}-${randomBytes(6).toString('base64url')}`;
    this.#lines = Array.from({ length: SHARD_COUNT }, (_, shard) => ({
      open: newGroup(shard),
      isAppending: false,
      isScheduled: false,
      waiting: [],
      isBehind: false,
      acknowledgedSeq: 0,
    }));
    [this.#full] = this.#lines;
    this.#reserved = this.#full.open;
  }

  get buffer(): Buffer {
    return this.#reserved.buffer;
  }
  get view(): DataView {
    return this.#reserved.view;
  }
  get openBytes(): number {
    return this.#openBytes;
  }

  get refusal(): string | undefined {
    const { unavailable } = this.#options.journal;
    if (unavailable !== undefined) return FULL.has(unavailable) ? unavailable : 'journal/unavailable';
    if (this.#options.journal.sizeBytes >= this.#options.journalBytesMax) return 'journal/bytes';
    return this.#options.refusal?.();
  }

  /** Last sequence of the shard that was acknowledged through this gateway since its start, 0 when none was. */
  acknowledgedSeq(shard: number): number {
    return this.#lines[shard].acknowledgedSeq;
  }

  reserve(bytes: number, tenant: number, key: ActorKey): number {
    return this.#reserve(bytes, 1, this.#lines[shardOf(tenant, key)]);
  }

  #reserve(bytes: number, recordCount: number, line: Line): number {
    const group = line.open;
    const needed = group.used + bytes;
    const isFull = group.used > 0 && (needed > GROUP_BYTES_MAX || group.recordCount + recordCount > GROUP_RECORDS_MAX);
    const isStarved = !isFull && this.#openBytes + bytes > OPEN_BYTES_MAX;
    if (isStarved) this.#starved.add(line);
    if (isFull || isStarved || line.isBehind) {
      this.#full = line;
      return -1;
    }
    if (needed > group.buffer.length)
      growGroup(group, Math.max(needed, Math.min(group.buffer.length * 2, GROUP_BYTES_MAX)));
    this.#reserved = group;
    return group.used;
  }

  append(bytes: number, sink: AcknowledgementSink, token: number): void {
    this.#add(this.#reserved, bytes, 1, this.#enter(sink, token, 1), undefined);
  }

  appendAll(records: Buffer, bytes: number, recordCount: number, sink: AcknowledgementSink, token: number): void {
    const parts = splitByShard(records.subarray(0, bytes));
    if (typeof parts === 'number') {
      sink.failed(token, new PlatformError('general/record-too-large', { limit: GROUP_BYTES_MAX }));
      sink.flushDurable();
      return;
    }
    const entry = this.#enter(sink, token, parts.length);
    for (const part of parts) this.#addLater(part, entry);
    if (recordCount === 0) throw new Error('nothing is appended');
  }

  /** Copies a part into the shard's open group, now or when there is room; behind those that wait already. */
  #addLater(part: ShardRecords, entry: Entry): void {
    const line = this.#lines[part.shard];
    const at = this.#reserve(part.records.length, part.recordCount, line);
    if (at < 0) {
      line.isBehind = true;
      this.whenFree(() => this.#addLater(part, entry));
      return;
    }
    part.records.copy(line.open.buffer, at);
    this.#add(line.open, part.records.length, part.recordCount, entry, part.onStored);
  }

  /**
   * Appends records of several shards at once and in order with other calls; `sink` hears of them as one.
   * @param parts each with room in a group of its own. Of a shard with several all but the first may follow later, in
   * order.
   * @returns false when one of the shards has no room: nothing was appended; see `whenFree`.
   */
  offer(parts: readonly ShardRecords[], sink: AcknowledgementSink, token: number): boolean {
    if (parts.length === 0) {
      this.acknowledgeInOrder(sink, token);
      return true;
    }
    const first = new Map<number, ShardRecords>();
    for (const part of parts) if (!first.has(part.shard)) first.set(part.shard, part);
    for (const { shard, records, recordCount } of first.values())
      if (this.#reserve(records.length, recordCount, this.#lines[shard]) < 0) return false;
    const entry = this.#enter(sink, token, parts.length);
    for (const part of parts) this.#addLater(part, entry);
    return true;
  }

  acknowledgeInOrder(sink: AcknowledgementSink, token: number): void {
    if (this.#orders.has(sink)) {
      this.#enter(sink, token, 0);
    } else {
      sink.durable(token);
      sink.flushDurable();
    }
  }

  whenFree(callback: () => void): void {
    this.#full.waiting.push(callback);
  }

  /** Resolves when everything appended so far is stored or has failed. */
  drained(): Promise<void> {
    if (this.#underWay === 0 && this.#openBytes === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  #enter(sink: AcknowledgementSink, token: number, parts: number): Entry {
    const entry: Entry = { sink, token, parts, error: undefined };
    if (sink.isOrdered) {
      const order = this.#orders.get(sink);
      if (order) order.push(entry);
      else this.#orders.set(sink, [entry]);
    }
    return entry;
  }

  #add(group: Group, bytes: number, recordCount: number, entry: Entry, onStored: Stored | undefined): void {
    if (group.recordCount === 0) group.beganAt = performance.now();
    group.parts.push({ entry, index: group.recordCount, onStored });
    group.used += bytes;
    group.recordCount += recordCount;
    this.#openBytes += bytes;
    const line = this.#lines[group.shard];
    if (line.isAppending || line.isScheduled) return;
    line.isScheduled = true;
    // After the poll phase: everything that the sockets of this turn delivered is in the groups.
    if (this.#scheduled.push(line) === 1) setImmediate(this.#appendScheduled);
  }

  #append(line: Line): void {
    const group = line.open;
    if (line.isAppending || group.recordCount === 0) return;
    line.isAppending = true;
    this.#underWay += 1;
    line.open = newGroup(group.shard, group.used);
    this.#wake(line);
    this.#groupNumber += 1;
    this.#options.journal
      .append(
        group.shard,
        `${this.#name}-${this.#groupNumber}`,
        group.buffer.subarray(0, group.used),
        group.recordCount,
      )
      .then(
        (firstSeq) => this.#stored(line, group, firstSeq),
        (error: Error) => this.#failed(line, group, error),
      );
  }

  /** In order: behind a part that still finds no room all others wait again. */
  #wake(line: Line): void {
    line.isBehind = false;
    for (const callback of line.waiting.splice(0)) callback();
  }

  #stored(line: Line, group: Group, firstSeq: number): void {
    this.groupsCount += 1;
    this.recordsCount += group.recordCount;
    line.acknowledgedSeq = firstSeq + group.recordCount - 1;
    this.#options.onCommitted?.(group.recordCount, performance.now() - group.beganAt);
    for (const { entry, index, onStored } of group.parts) {
      onStored?.(group.shard, firstSeq + index);
      this.#settled(entry, undefined);
    }
    this.#finish(line, group);
  }

  /**
   * It is unknown whether it is stored. The open group does not depend on it: it is tried by itself, unless nothing can
   * be stored.
   */
  #failed(line: Line, group: Group, error: Error): void {
    this.#options.onError(error);
    for (const { entry } of group.parts) this.#settled(entry, error);
    if (error instanceof JournalUnavailable && error.message === UNREACHABLE) this.#failOpen(line, error);
    this.#finish(line, group);
  }

  /**
   * The clients of the failed group send again, perhaps over another node. The group that waited behind it would be
   * stored after that, out of order.
   */
  #failOpen(line: Line, error: Error): void {
    const group = line.open;
    if (group.recordCount === 0) return;
    line.open = newGroup(group.shard);
    for (const { entry } of group.parts) this.#settled(entry, error);
    this.#openBytes -= group.used;
    this.#wake(line);
  }

  #settled(entry: Entry, error: Error | undefined): void {
    entry.parts -= 1;
    entry.error ??= error;
    if (entry.parts > 0) return;
    const { sink } = entry;
    this.#touched.add(sink);
    if (!sink.isOrdered) {
      tell(entry);
      return;
    }
    const order = this.#orders.get(sink) as Entry[];
    let done = 0;
    while (done < order.length && order[done].parts === 0) {
      tell(order[done]);
      done += 1;
    }
    if (done === order.length) this.#orders.delete(sink);
    else if (done > 0) order.splice(0, done);
  }

  #finish(line: Line, group: Group): void {
    const told = [...this.#touched];
    this.#touched.clear();
    for (const sink of told) sink.flushDurable();
    this.#openBytes -= group.used;
    this.#underWay -= 1;
    line.isAppending = false;
    this.#append(line);
    const starved = [...this.#starved];
    this.#starved.clear();
    for (const one of starved) this.#wake(one);
    if (this.#underWay === 0 && this.#openBytes === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}

function tell({ sink, token, error }: Entry): void {
  if (error) sink.failed(token, error);
  else sink.durable(token);
}

/** @param bytes as large as the one before was. */
function newGroup(shard: number, bytes = GROUP_BYTES_FIRST): Group {
  const buffer = Buffer.allocUnsafeSlow(Math.max(bytes, GROUP_BYTES_FIRST));
  return { shard, buffer, view: new DataView(buffer.buffer), used: 0, recordCount: 0, beganAt: 0, parts: [] };
}

function growGroup(group: Group, bytes: number): void {
  const grown = Buffer.allocUnsafeSlow(bytes);
  group.buffer.copy(grown, 0, 0, group.used);
  group.buffer = grown;
  group.view = new DataView(grown.buffer);
}

/**
 * The records by shard, each part a copy that fits into one group, in the order of their first records.
 * @returns the length of a record that fits into no group, if there is one.
 */
function splitByShard(records: Buffer): ShardRecords[] | number {
  const open = new Map<number, { slices: Buffer[]; bytes: number }>();
  const parts: ShardRecords[] = [];
  const close = (shard: number, { slices, bytes }: { slices: Buffer[]; bytes: number }): void => {
    parts.push({ shard, records: Buffer.concat(slices, bytes), recordCount: slices.length });
  };
  for (let at = 0; at < records.length; ) {
    const length = lengthAt(records, at);
    if (length > GROUP_BYTES_MAX) return length;
    const shard = shardAt(records, at);
    let part = open.get(shard);
    if (part && (part.bytes + length > GROUP_BYTES_MAX || part.slices.length === GROUP_RECORDS_MAX)) {
      close(shard, part);
      part = undefined;
    }
    if (!part) open.set(shard, (part = { slices: [], bytes: 0 }));
    part.slices.push(records.subarray(at, at + length));
    part.bytes += length;
    at += length;
  }
  for (const [shard, part] of open) close(shard, part);
  return parts;
}
