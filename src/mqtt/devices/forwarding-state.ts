/**
 * How far the operations of one connection are: what it has been sent, and what is still to be looked at
 * (operation-delivery.ts).
 */
import { SERIAL_TYPE } from '../../model/access/serial-claim.ts';
import { joinMembers, type Members } from '../../model/documents/json-document.ts';
import { deliveredOperation, openOperationStatus } from '../../model/entities/operation.ts';

/** An operation that was PENDING when it was found. */
export interface PendingOperation {
  /** The managed object that is to carry it out. */
  readonly device: string;
  readonly id: string;
  /** Its entry among the open ones, if it was read. */
  readonly entry?: string | undefined;
  /** Of one that is not stored (TRANSIENT). */
  readonly text?: string | undefined;
}

/** The way through all that is PENDING for a device and what is below it. */
export interface PendingWalk {
  readonly operations: AsyncGenerator<PendingOperation, undefined>;
  /** What it has read may be old. */
  hasWaited: boolean;
  /** Marks of the session whose operations have not come by. */
  readonly unseen: Set<string>;
}

/** Operations that became PENDING and wait behind a walk; with more all are looked for. */
const LIVE_MAX = 1_000;

export class ForwardingState {
  /** Operations that a connection is sent before it begins some of them. */
  static readonly FORWARDED_MAX = 100_000;

  /** The loop that sends, or was the last to. */
  running: Promise<void> = Promise.resolve();
  isRunning = false;
  walk: PendingWalk | undefined;
  /**
   * On which topics (bits of RECEIVE) the connection has been sent an operation that is PENDING: once on each, unless
   * it asks again.
   */
  readonly #sent = new Map<string, number>();
  /** The topics of collections on which it has been sent: those of a bit become more with each subscription. */
  readonly #sentTopics = new Map<string, Set<string>>();
  /** Operations that became PENDING, in their order. */
  #live: PendingOperation[] = [];
  /** How many of them have waited. */
  #oldLive = 0;
  #isAllDue = false;
  #isAgain = false;
  #isFullTold = false;

  #retry: NodeJS.Timeout | undefined;

  /** Calls `retry` in `waitMs`, once for however many times it is asked meanwhile; no process waits for that. */
  later(waitMs: number, retry: () => void): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      retry();
    }, waitMs).unref();
  }

  get isDue(): boolean {
    return this.#isAllDue || this.#live.length > 0;
  }

  /** Of the walk: also what the session has, or the device has acknowledged. */
  get isAgain(): boolean {
    return this.#isAgain;
  }

  get isFull(): boolean {
    return Math.max(this.#sent.size, this.#sentTopics.size) >= ForwardingState.FORWARDED_MAX;
  }

  /** @returns true once for each time that it is full. */
  tellFull(): boolean {
    const isTold = this.#isFullTold;
    this.#isFullTold = true;
    return !isTold;
  }

  /** All that is PENDING is looked for, from the beginning. @param again whatever was sent. */
  wantAll(again: boolean): void {
    this.walk = undefined;
    this.#isAllDue = true;
    if (!again) return;
    this.#isAgain = true;
    this.#sent.clear();
    this.#sentTopics.clear();
  }

  /** The queue is full: what is known now may be old when it has room. */
  waits(): void {
    if (this.walk !== undefined) this.walk.hasWaited = true;
    this.#oldLive = this.#live.length;
  }

  /** The walk is at its end. */
  walked(): void {
    this.#oldLive = this.#live.length;
    this.walk = undefined;
    this.#isAllDue = false;
    this.#isAgain = false;
  }

  /** @returns false for one that is not stored and lost: too many wait. */
  addLive(operation: PendingOperation): boolean {
    if (this.#live.length < LIVE_MAX) {
      this.#live.push(operation);
      return true;
    }
    if (operation.text !== undefined) return false;
    this.wantAll(false);
    // They would not be found again.
    this.#live = this.#live.filter(({ text }) => text !== undefined);
    this.#oldLive = this.#live.length;
    return true;
  }

  /** @returns undefined when all is due: the older ones come first. `isOld`: it has waited. */
  nextLive(): (PendingOperation & { isOld: boolean }) | undefined {
    const next = this.#isAllDue ? undefined : this.#live.shift();
    if (next === undefined) return undefined;
    const isOld = this.#oldLive > 0;
    if (isOld) this.#oldLive--;
    return { ...next, isOld };
  }

  /** @returns bits of RECEIVE. */
  sentOn(id: string): number {
    return this.#sent.get(id) ?? 0;
  }

  setSent(id: string, topics: number): void {
    this.#sent.set(id, topics);
  }

  /** @returns false when the operation has been sent on the topic of a collection. */
  beginTopic(id: string, topic: string): boolean {
    const topics = this.#sentTopics.get(id) ?? new Set();
    if (topics.has(topic)) return false;
    this.#sentTopics.set(id, topics.add(topic));
    return true;
  }

  /** It was not sent there after all. */
  takeBackTopic(id: string, topic: string): void {
    const topics = this.#sentTopics.get(id);
    if (topics?.delete(topic) === true && topics.size === 0) this.#sentTopics.delete(id);
  }

  /** There is a new collection or subscription: on these topics (bits of RECEIVE) there may be more to send. */
  takeBackAll(topics: number): void {
    for (const id of this.#sent.keys()) this.takeBack(id, topics);
  }

  /** It was not sent after all. */
  takeBack(id: string, topics: number): void {
    const left = this.sentOn(id) & ~topics;
    if (left === 0) this.#sent.delete(id);
    else this.#sent.set(id, left);
  }

  /** The operation is not PENDING any more. */
  forget(id: string): void {
    const wasOnTopics = this.#sentTopics.delete(id);
    if (this.#sent.delete(id) || wasOnTopics) this.#isFullTold = false;
  }
}

/**
 * Operation, topic and entry: of one that has become PENDING again it is another mark. Undefined when it is not PENDING
 * any more.
 */
export function markOf(id: string, topic: string, entry: string): string | undefined {
  return openOperationStatus(entry) === 'PENDING' ? `${id} ${topic}${entry.slice('PENDING'.length)}` : undefined;
}

export const operationOf = (mark: string): string => mark.slice(0, mark.indexOf(' '));

/** The operation as JSON with what agents need beside it (docs/spec/mqtt-json.md#operations). */
export function notificationText(members: Members, agent: string, serial: string): string {
  return joinMembers(
    deliveredOperation(new Map(members), agent).set(
      'externalSource',
      JSON.stringify({ externalId: serial, type: SERIAL_TYPE }),
    ),
  );
}
