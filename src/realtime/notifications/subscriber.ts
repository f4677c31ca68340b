/**
 * A subscriber of a topic: reads the topic in order, hands its messages to the clients that are connected for it, and
 * knows the first that is not acknowledged. Without a client it keeps nothing in memory but that position.
 */
import type { TopicChunk, TopicPosition } from '../../model/entities/notifications/topic.ts';
import type { Consumer, Sent } from './consumer.ts';
import { sourceOfMessage } from './message.ts';

/** Chunks that are read at once. */
const READ_CHUNKS = 4;
/** Chunks behind the one that is being sent are kept while a client is slow, up to this many characters. */
const KEPT_CHARS_MAX = 65_536;
/** Clients from which on sources are parted among them. */
const SEVERAL = 2;
/** Sources whose client is remembered. */
const PARTITIONS_MAX = 10_000;

export interface SubscriberOptions {
  readonly name: string;
  readonly isShared: boolean;
  /** The first message that it wants. */
  readonly position: TopicPosition;
  /** Chunks behind `after`, oldest first; empty when there is none. */
  readonly read: (after: number, limit: number) => readonly TopicChunk[] | Promise<readonly TopicChunk[]>;
  /** The topic could not be read: it is tried again at the next look. */
  readonly onReadFailed: (error: Error) => void;
  readonly now: () => number;
}

export class Subscriber {
  readonly name: string;
  isShared: boolean;
  readonly #options: SubscriberOptions;
  #consumers: Consumer[] = [];
  /** In the order in which they were read. */
  readonly #unacknowledged = new Map<string, Sent>();
  /** Of clients that have left, oldest first: others get them before anything new. */
  #returned: Sent[] = [];
  /** Read and not sent yet; of the first one the messages before `#next.index` are sent. */
  #chunks: readonly TopicChunk[] = [];
  /** The next message to be sent. */
  #next: TopicPosition;
  #isReading = false;
  /** A chunk has come while the topic was being read. */
  #hasMore = false;
  /** The newest chunk that was told: what is not told is not looked for at each acknowledgement. */
  #toldSeq = 0;
  /** The topic may have chunks that were not told. */
  #mayHaveMore = true;
  /** The client that has no room for the next message: until it has, nothing is read and nothing is sent. */
  #waitsFor: Consumer | undefined;
  /** Clients by source, as far as they were asked for since the last one came or left. */
  readonly #partitions = new Map<string, Consumer>();
  /** Of several clients, sources with messages under way: these stay where they are, so that none overtakes another. */
  readonly #underWay = new Map<string, { readonly consumer: Consumer; count: number }>();
  /** Without a client since then; clock of `now`. */
  leftAt: number;
  acknowledgedCount = 0;
  deliveredCount = 0;
  repeatedCount = 0;

  constructor(options: SubscriberOptions) {
    this.name = options.name;
    this.isShared = options.isShared;
    this.#options = options;
    this.#next = options.position;
    this.leftAt = options.now();
  }

  /** The first message that is not acknowledged. */
  get position(): TopicPosition {
    for (const { seq, index } of this.#unacknowledged.values()) return { seq, index };
    return this.#next;
  }

  get consumers(): readonly Consumer[] {
    return this.#consumers;
  }

  get unacknowledgedCount(): number {
    return this.#unacknowledged.size;
  }

  /** Whether one more client may connect. */
  takesAnother(isShared: boolean): boolean {
    return this.#consumers.length === 0 || (isShared && this.isShared);
  }

  /** Clients without the one of that name: it gives its place to one that comes back. */
  consumersBeside(name: string | undefined): number {
    return this.#consumers.filter((one) => one.name !== name).length;
  }

  /** A client has come. */
  add(consumer: Consumer): void {
    this.#consumers.push(consumer);
    this.#partitions.clear();
    this.#waitsFor = undefined;
    this.#mayHaveMore = true;
    if (this.#consumers.length === SEVERAL)
      for (const sent of this.#unacknowledged.values())
        if (sent.consumer !== undefined) this.#noteUnderWay(sourceOfMessage(sent.message), sent.consumer);
    this.pump();
  }

  /** A client has gone: what it has not acknowledged goes to the others, or is read again for the next one. */
  remove(consumer: Consumer): void {
    if (!this.#consumers.includes(consumer)) return;
    const now = this.#options.now();
    consumer.isClosed = true;
    this.#consumers = this.#consumers.filter((one) => one !== consumer);
    this.#partitions.clear();
    const position = this.position;
    for (const sent of this.#unacknowledged.values()) {
      if (sent.consumer !== consumer) continue;
      this.#left(sent, now);
      this.#returned.push(sent);
    }
    this.#returned.sort((one, other) => one.seq - other.seq || one.index - other.index);
    this.#waitsFor = undefined;
    if (this.#consumers.length < SEVERAL) this.#underWay.clear();
    if (this.#consumers.length === 0) {
      this.leftAt = now;
      this.#unacknowledged.clear();
      this.#returned = [];
      this.#chunks = [];
      this.#next = position;
    }
    this.pump();
  }

  /** @returns whether a message with this id was waiting for it. */
  acknowledge(id: string): boolean {
    const sent = this.#unacknowledged.get(id);
    if (sent === undefined) return false;
    this.#unacknowledged.delete(id);
    this.acknowledgedCount += 1;
    if (sent.consumer === undefined) this.#returned = this.#returned.filter((one) => one !== sent);
    else this.#left(sent, this.#options.now());
    return true;
  }

  /** A chunk can be read. @param previousSeq of the chunk before it in the topic. */
  appended(chunk: TopicChunk, previousSeq: number): void {
    if (this.#consumers.length === 0) return;
    this.#toldSeq = Math.max(this.#toldSeq, chunk.seq);
    if (this.#isReading) this.#hasMore = true;
    else if (this.#chunks.length === 0 && this.#next.seq > previousSeq && this.#next.seq <= chunk.seq)
      this.#chunks = [chunk];
    if (this.#consumers.length === 1) this.#consumers[0].cork(() => this.pump());
    else this.pump();
  }

  /** Everything through the chunk `seq` was removed: it is not waited for. */
  skip(seq: number): void {
    if (this.#unacknowledged.size > 0 || this.#chunks.length > 0 || this.#next.seq > seq) return;
    this.#next = { seq: seq + 1, index: 0 };
  }

  /** Sends again what was sent before `before` (`performance.now()`) and is not acknowledged. */
  repeat(before: number): void {
    const now = this.#options.now();
    for (const sent of this.#unacknowledged.values()) {
      if (sent.consumer === undefined || sent.at > before || !sent.consumer.isOpen) continue;
      sent.consumer.repeat(sent, now);
      this.repeatedCount += 1;
    }
  }

  /** Clients that have messages and acknowledged none since `before`. */
  stalled(before: number): Consumer[] {
    return this.#consumers.filter(
      ({ unacknowledgedCount, progressAt }) => unacknowledgedCount > 0 && progressAt < before,
    );
  }

  /** As `pump`, for chunks that were not told, too. */
  look(): void {
    this.#mayHaveMore = true;
    this.pump();
  }

  /** Sends what the clients have room for: called for each acknowledgement. */
  pump(): void {
    while (this.#consumers.length > 0 && this.#waitsFor?.isReady !== false) {
      const returned = this.#returned[0] as Sent | undefined;
      const found = returned ?? this.#nextMessage();
      if (found === undefined) {
        if (!this.#read()) return;
        continue;
      }
      const consumer = this.#consumerFor(found);
      if (!consumer.hasRoom(found.message.length)) {
        this.#waitsFor = consumer;
        this.#keepLittle();
        return;
      }
      this.#waitsFor = undefined;
      if (returned !== undefined) this.#returned.shift();
      this.#send(found, consumer);
    }
  }

  #send(found: Sent, consumer: Consumer): void {
    if (this.#consumers.length >= SEVERAL) this.#noteUnderWay(sourceOfMessage(found.message), consumer);
    if (!this.#unacknowledged.has(found.id)) {
      this.#unacknowledged.set(found.id, found);
      this.#advance();
    }
    this.deliveredCount += 1;
    consumer.send(found, this.#options.now());
  }

  /** Peeks. @returns undefined when more has to be read. */
  #nextMessage(): Sent | undefined {
    while (this.#chunks.length > 0) {
      const [{ seq, messages }] = this.#chunks;
      if (seq > this.#next.seq) this.#next = { seq, index: 0 };
      const { index } = this.#next;
      if (seq === this.#next.seq && index < messages.length) {
        return { id: idOf(seq, index), seq, index, message: messages[index], consumer: undefined, at: 0 };
      }
      this.#chunks = this.#chunks.slice(1);
      if (seq === this.#next.seq) this.#next = { seq: seq + 1, index: 0 };
    }
    return undefined;
  }

  #advance(): void {
    this.#next = { seq: this.#next.seq, index: this.#next.index + 1 };
  }

  /** @returns whether there is something now. */
  #read(): boolean {
    if (this.#isReading || (!this.#mayHaveMore && this.#next.seq > this.#toldSeq)) return false;
    const chunks = this.#options.read(this.#next.seq - 1, READ_CHUNKS);
    if (!(chunks instanceof Promise)) {
      this.#chunks = chunks;
      if (chunks.length === 0) this.#mayHaveMore = false;
      return chunks.length > 0;
    }
    this.#isReading = true;
    this.#hasMore = false;
    const from = this.#next;
    chunks.then(
      (found) => {
        this.#isReading = false;
        // Whose client has left meanwhile begins elsewhere.
        const isSame = this.#next === from;
        if (isSame && this.#chunks.length === 0) this.#chunks = found;
        if (isSame && found.length === 0) this.#mayHaveMore = false;
        if (found.length > 0 || this.#hasMore || !isSame) this.pump();
      },
      (error: Error) => {
        this.#isReading = false;
        this.#options.onReadFailed(error);
      },
    );
    return false;
  }

  /** Of a slow client nothing waits in memory but its window and a little. */
  #keepLittle(): void {
    if (this.#chunks.length === 0) return;
    const [{ messages }] = this.#chunks;
    let chars = 0;
    for (let at = this.#next.index; at < messages.length && chars <= KEPT_CHARS_MAX; at += 1)
      chars += messages[at].length;
    this.#chunks = chars > KEPT_CHARS_MAX ? [] : this.#chunks.slice(0, 1);
  }

  #consumerFor({ message }: Sent): Consumer {
    if (this.#consumers.length < SEVERAL) return this.#consumers[0];
    const source = sourceOfMessage(message);
    const under = this.#underWay.get(source);
    if (under !== undefined) return under.consumer;
    const known = this.#partitions.get(source);
    if (known !== undefined) return known;
    const consumer = highest(this.#consumers, source);
    if (this.#partitions.size >= PARTITIONS_MAX) this.#partitions.clear();
    this.#partitions.set(source, consumer);
    return consumer;
  }

  /** The client has it no more. */
  #left(sent: Sent, now: number): void {
    sent.consumer?.release(sent, now);
    sent.consumer = undefined;
    if (this.#underWay.size === 0) return;
    const source = sourceOfMessage(sent.message);
    const under = this.#underWay.get(source);
    if (under === undefined) return;
    under.count -= 1;
    if (under.count === 0) this.#underWay.delete(source);
  }

  #noteUnderWay(source: string, consumer: Consumer): void {
    const under = this.#underWay.get(source);
    if (under === undefined) this.#underWay.set(source, { consumer, count: 1 });
    else under.count += 1;
  }
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** Twelve bits in Base64. */
const PAIRS = Array.from({ length: 4_096 }, (_, bits) => BASE64[bits >> 6] + BASE64[bits & 63]);

/** Opaque to clients: place of the message, six bytes and three, in Base64 without padding. */
function idOf(seq: number, index: number): string {
  const [high, low] = [Math.floor(seq / 2 ** 24) % 2 ** 24, seq % 2 ** 24];
  return (
    PAIRS[high >> 12] +
    PAIRS[high & 4_095] +
    PAIRS[low >> 12] +
    PAIRS[low & 4_095] +
    PAIRS[index >> 12] +
    PAIRS[index & 4_095]
  );
}

/** Rendezvous hashing: a client that comes back under its name gets the sources that it had. */
function highest(consumers: readonly Consumer[], source: string): Consumer {
  let [best, bestWeight] = [consumers[0], -1];
  for (const consumer of consumers) {
    const weight = hash(`${consumer.name}\n${source}`);
    if (weight > bestWeight) [best, bestWeight] = [consumer, weight];
  }
  return best;
}

/** FNV-1a with a final mix, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return (value ^ (value >>> 13)) >>> 0;
}
