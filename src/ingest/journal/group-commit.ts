/**
 * Group commit (design 1): what arrives while a commit is under way becomes the next one. Records are encoded straight
 * into the open group's buffer; when the group is durable its records go to the handlers and its senders are
 * acknowledged, once per batch.
 */
import type { Journal } from '../../ports/stores/journal.ts';
import type { AcknowledgementSink, RecordIntake } from './record-intake.ts';

/**
 * Bytes of one group. LMDB takes about 1 ms for a megabyte (measured 2026-11-21), which bounds the acknowledgement's
 * wait.
 */
export const GROUP_BYTES_MAX = 4 * 1_048_576;
const GROUP_BYTES_FIRST = 1_048_576;

interface Group {
  buffer: Buffer;
  view: DataView;
  used: number;
  recordCount: number;
  /** When its first record was appended, `performance.now()`. */
  beganAt: number;
  sinks: AcknowledgementSink[];
  tokens: number[];
}

export interface GroupCommitOptions {
  readonly journal: Journal;
  /** Bytes on disk at which nothing more is taken. */
  readonly journalBytesMax: number;
  /** Takes a durable group, in order, before its senders are told. May not keep `records` after it returns. */
  readonly onDurable: (firstSeq: number, records: Buffer) => void;
  /** Told of each group: its records, and the time from its first record until it was durable and handled. */
  readonly onCommitted?: (recordCount: number, durationMs: number) => void;
  /** A name of the limit while writes are refused (disk full), undefined otherwise. */
  readonly refusal: () => string | undefined;
  readonly onError: (error: Error) => void;
}

export class GroupCommit implements RecordIntake {
  readonly #options: GroupCommitOptions;
  #open: Group = newGroup();
  #spare: Group | undefined;
  #committing = false;
  #scheduled = false;
  #nextSeq: number;
  #waiting: (() => void)[] = [];
  #idle: (() => void)[] = [];
  /** To be acknowledged behind the group that is being committed. */
  #behind: { sink: AcknowledgementSink; token: number }[] = [];
  readonly #touched = new Set<AcknowledgementSink>();
  readonly #commitNow = (): void => {
    this.#scheduled = false;
    this.#commit();
  };
  /** Groups and records committed, for the metrics. */
  groupsCount = 0;
  recordsCount = 0;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
    this.#nextSeq = options.journal.lastSeq + 1;
  }

  /** The open group's buffer; valid until the next call of `reserve`. */
  get buffer(): Buffer {
    return this.#open.buffer;
  }
  get view(): DataView {
    return this.#open.view;
  }
  /** Sequence of the last record that has been appended, durable or not. */
  get lastAppendedSeq(): number {
    return this.#nextSeq - 1 + this.#open.recordCount;
  }
  get openBytes(): number {
    return this.#open.used;
  }

  /** Which limit refuses writes now, undefined when none does. */
  get refusal(): string | undefined {
    if (this.#options.journal.sizeBytes >= this.#options.journalBytesMax) return 'journal/bytes';
    return this.#options.refusal();
  }

  /**
   * Room for one record of `bytes` in the open group.
   * @returns the offset to encode at, or -1 when the group is full: wait with `whenFree`.
   */
  reserve(bytes: number): number {
    const group = this.#open;
    const needed = group.used + bytes;
    if (needed <= group.buffer.length) return group.used;
    if (needed > GROUP_BYTES_MAX && group.used > 0) return -1;
    growGroup(group, Math.max(needed, Math.min(group.buffer.length * 2, GROUP_BYTES_MAX)));
    return group.used;
  }

  /** Ends the record that was encoded at the reserved offset. Its length is in its header. */
  append(bytes: number, sink: AcknowledgementSink, token: number): void {
    this.appendMany(bytes, 1, sink, token);
  }

  /**
   * Ends several records that were encoded one behind the other and are acknowledged as one: all of them are durable or
   * none.
   */
  appendMany(bytes: number, recordCount: number, sink: AcknowledgementSink, token: number): void {
    const group = this.#open;
    if (group.recordCount === 0) group.beganAt = performance.now();
    group.used += bytes;
    group.recordCount += recordCount;
    group.sinks.push(sink);
    group.tokens.push(token);
    if (!this.#committing && !this.#scheduled) {
      this.#scheduled = true;
      // After the poll phase: everything that the sockets of this turn delivered is one group.
      setImmediate(this.#commitNow);
    }
  }

  /** See RecordIntake. In one group: all of them are durable or none. */
  appendAll(records: Buffer, bytes: number, recordCount: number, sink: AcknowledgementSink, token: number): void {
    const at = this.reserve(bytes);
    if (at >= 0) {
      records.copy(this.#open.buffer, at, 0, bytes);
      this.appendMany(bytes, recordCount, sink, token);
      return;
    }
    // The open group is full: kept aside until it leaves. Bounded by the bodies that the HTTP server lets in at once.
    const kept = Buffer.from(records.subarray(0, bytes));
    this.whenFree(() => this.appendAll(kept, bytes, recordCount, sink, token));
  }

  /** Acknowledges something that has no record, in order behind what was appended before it. */
  acknowledgeInOrder(sink: AcknowledgementSink, token: number): void {
    if (this.#open.recordCount > 0) {
      this.#open.sinks.push(sink);
      this.#open.tokens.push(token);
    } else if (this.#committing) {
      this.#behind.push({ sink, token });
    } else {
      sink.durable(token);
      sink.flushDurable();
    }
  }

  /** Calls back once when the full group has left. */
  whenFree(callback: () => void): void {
    this.#waiting.push(callback);
  }

  /** Resolves when everything appended so far is durable and handled. */
  drained(): Promise<void> {
    if (!this.#committing && this.#open.recordCount === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  #commit(): void {
    const group = this.#open;
    if (this.#committing) return;
    if (group.recordCount === 0) {
      // Also after a failed append: the open group was emptied, so there is room.
      for (const callback of this.#waiting.splice(0)) callback();
      if (group.recordCount === 0) for (const resolve of this.#idle.splice(0)) resolve();
      return;
    }
    this.#committing = true;
    this.#open = this.#spare ?? newGroup();
    this.#spare = undefined;
    const records = group.buffer.subarray(0, group.used);
    const firstSeq = this.#nextSeq;
    this.#nextSeq += group.recordCount;
    if (this.#waiting.length > 0) for (const callback of this.#waiting.splice(0)) callback();
    this.#options.journal.append(firstSeq, records, group.recordCount).then(
      () => this.#durable(group, firstSeq, records),
      (error: Error) => this.#failed(group, firstSeq, error),
    );
  }

  #durable(group: Group, firstSeq: number, records: Buffer): void {
    this.groupsCount += 1;
    this.recordsCount += group.recordCount;
    this.#options.onDurable(firstSeq, records);
    this.#options.onCommitted?.(group.recordCount, performance.now() - group.beganAt);
    const { sinks, tokens } = group;
    for (let index = 0; index < sinks.length; index += 1) {
      const sink = sinks[index];
      sink.durable(tokens[index]);
      this.#touched.add(sink);
    }
    this.#acknowledgeBehind();
    this.#finish(group);
  }

  /** Ends with everything flushed, also what was asked for by those who were told. */
  #acknowledgeBehind(): void {
    do {
      for (const { sink, token } of this.#behind.splice(0)) {
        sink.durable(token);
        this.#touched.add(sink);
      }
      const told = [...this.#touched];
      this.#touched.clear();
      for (const sink of told) sink.flushDurable();
    } while (this.#behind.length > 0);
  }

  #failed(group: Group, firstSeq: number, error: Error): void {
    this.#options.onError(error);
    // Records of the open group were numbered behind the lost ones: they fail with them, and numbering goes back.
    this.#nextSeq = firstSeq;
    const lost = this.#open;
    const sinks = [...group.sinks, ...lost.sinks];
    const tokens = [...group.tokens, ...lost.tokens];
    // Emptied first: a sink that is told may append again.
    emptyGroup(lost);
    for (let index = 0; index < sinks.length; index += 1) {
      sinks[index].failed(tokens[index], error);
      this.#touched.add(sinks[index]);
    }
    this.#acknowledgeBehind();
    this.#finish(group);
  }

  #finish(group: Group): void {
    emptyGroup(group);
    this.#spare = group;
    this.#committing = false;
    this.#commit();
  }
}

function newGroup(): Group {
  const buffer = Buffer.allocUnsafeSlow(GROUP_BYTES_FIRST);
  return {
    buffer,
    view: new DataView(buffer.buffer, buffer.byteOffset, buffer.length),
    used: 0,
    recordCount: 0,
    beganAt: 0,
    sinks: [],
    tokens: [],
  };
}

function growGroup(group: Group, bytes: number): void {
  const grown = Buffer.allocUnsafeSlow(bytes);
  group.buffer.copy(grown, 0, 0, group.used);
  group.buffer = grown;
  group.view = new DataView(grown.buffer, grown.byteOffset, grown.length);
}

function emptyGroup(group: Group): void {
  group.used = 0;
  group.recordCount = 0;
  group.sinks.length = 0;
  group.tokens.length = 0;
}
