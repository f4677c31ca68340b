/**
 * Bounds of all request bodies together. What clients send may not take the memory of the server, and what strangers
 * send may not take the room of users: bodies without credentials have a pool of their own, and so have those whose sender's
 * password is being checked.
 */
import type { Refusals } from '../../ports/refusals.ts';
import { RequestShares } from './request-shares.ts';

/** Bytes of bodies of requests without a complete answer, of known senders. */
const BYTES_MAX = 128 * 1024 * 1024;
/** Bodies of known senders of which a part has come, at once. */
const BODIES_MAX = 10_000;
/** Bytes of one body before its sender is known; the rest stays with the client until then. */
export const BYTES_BEFORE_LOGIN_MAX = 65_536;
/**
 * Bytes of all such bodies without credentials, and as many of those whose sender's password is being checked. One read
 * of the library may bring 512 KiB of one.
 */
const EARLY_BYTES_MAX = 32 * 1024 * 1024;
/** Bodies of each kind of which a part has come, and those of which the rest waits, at once. */
const EARLY_BODIES_MAX = 1_000;
/** The last quarter of the bytes before login is for bodies of at most this length, as forms of logins are. */
const SMALL_BYTES = 4_096;
/** How long the rest of a body waits. */
const PAUSED_MS_MAX = 10_000;

/** Names of the limits, as in answers and counters. */
export const BODY_LIMIT = {
  BYTES: 'http/bodies-bytes',
  BODIES: 'http/bodies',
  BEFORE_LOGIN: 'http/bodies-before-login-bytes',
  BODIES_BEFORE_LOGIN: 'http/bodies-before-login',
} as const;
export type BodyLimit = (typeof BODY_LIMIT)[keyof typeof BODY_LIMIT];

/** Whose body counts. */
export interface BodySender {
  /** Address of a client without credentials; '' when it is not known. */
  readonly addressKey: string;
  /** Refuses the rest of its body and lets go what has arrived. */
  giveWay(limit: BodyLimit): void;
}

/** What has arrived of bodies: bytes that are held, and bodies that are not complete. */
export class BodyPool {
  readonly bytesMax: number;
  readonly bodiesMax: number;
  readonly bytesLimit: BodyLimit;
  readonly bodiesLimit: BodyLimit;
  /** Bytes that only bodies of up to `SMALL_BYTES` may take. */
  readonly #reservedBytes: number;
  #bytes = 0;
  #bodies = 0;

  constructor(options: {
    readonly bytesMax: number;
    readonly bodiesMax: number;
    readonly reservedBytes?: number;
    readonly bytesLimit: BodyLimit;
    readonly bodiesLimit: BodyLimit;
  }) {
    this.bytesMax = options.bytesMax;
    this.bodiesMax = options.bodiesMax;
    this.bytesLimit = options.bytesLimit;
    this.bodiesLimit = options.bodiesLimit;
    this.#reservedBytes = options.reservedBytes ?? 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get bodies(): number {
    return this.#bodies;
  }

  /** @param bodyBytes of the body with them. @returns false when the budget is used up: nothing is taken then. */
  takeBytes(count: number, bodyBytes: number, sender: BodySender): boolean {
    const bytesMax = bodyBytes > SMALL_BYTES ? this.bytesMax - this.#reservedBytes : this.bytesMax;
    if (this.#bytes + count > bytesMax) this.makeRoom(sender, this.bytesLimit);
    if (this.#bytes + count > bytesMax) return false;
    this.#bytes += count;
    return true;
  }

  giveBytes(count: number): void {
    this.#bytes -= count;
  }

  /** A body begins that did not come in one piece. @returns false when there are too many. */
  takeBody(sender: BodySender): boolean {
    if (this.#bodies >= this.bodiesMax) this.makeRoom(sender, this.bodiesLimit);
    if (this.#bodies >= this.bodiesMax) return false;
    this.#bodies += 1;
    return true;
  }

  giveBody(_sender: BodySender): void {
    this.#bodies -= 1;
  }

  /** Has another body give way, where that is just. */
  protected makeRoom(_sender: BodySender, _limit: BodyLimit): void {
    // The sender of each is a user, or may be.
  }

  /**
   * The sender of a body is known now: what is held of it counts here. It may exceed the bounds by what the other pool
   * holds.
   */
  moveFrom(other: BodyPool, bytes: number, bodies: number): void {
    other.#bytes -= bytes;
    other.#bodies -= bodies;
    this.#bytes += bytes;
    this.#bodies += bodies;
  }
}

/**
 * Bodies of requests without credentials. When the budget is used up, one gives way that is not complete: the oldest of
 * the address that has most. A login whose form comes with one read is never refused for those that wait for their
 * rest.
 */
class StrangersPool extends BodyPool {
  /** Those that are not complete, in order of arrival. */
  readonly #incomplete = new Map<string, Set<BodySender>>();

  override takeBody(sender: BodySender): boolean {
    if (!super.takeBody(sender)) return false;
    const same = this.#incomplete.get(sender.addressKey);
    if (same === undefined) this.#incomplete.set(sender.addressKey, new Set([sender]));
    else same.add(sender);
    return true;
  }

  override giveBody(sender: BodySender): void {
    super.giveBody(sender);
    const same = this.#incomplete.get(sender.addressKey);
    same?.delete(sender);
    if (same?.size === 0) this.#incomplete.delete(sender.addressKey);
  }

  protected override makeRoom(sender: BodySender, limit: BodyLimit): void {
    let most = new Set<BodySender>();
    for (const same of this.#incomplete.values()) if (same.size > most.size) most = same;
    const [oldest] = most;
    if (oldest !== undefined && oldest !== sender) oldest.giveWay(limit);
  }
}

export class BodyBudget {
  /** Of known senders. */
  readonly known: BodyPool;
  /** Of senders whose password is being checked. */
  readonly checked: BodyPool;
  /** Of requests without credentials. */
  readonly early: BodyPool;
  /** Of known senders by tenant and user, with their requests and answers. */
  readonly shares: RequestShares;
  readonly pausedMsMax: number;
  readonly #pausedMax: number;
  #paused = 0;

  /** @param options.largestBytes the largest body that is taken at all: it has to fit. */
  constructor(options: {
    readonly bytesMax?: number | undefined;
    readonly bodiesMax?: number | undefined;
    readonly earlyBytesMax?: number | undefined;
    readonly earlyBodiesMax?: number | undefined;
    readonly pausedMsMax?: number | undefined;
    readonly largestBytes: number;
    readonly refusals?: Refusals;
    readonly requestsMax?: number | undefined;
    readonly answersBytesMax?: number | undefined;
  }) {
    const { earlyBytesMax = EARLY_BYTES_MAX, earlyBodiesMax = EARLY_BODIES_MAX } = options;
    this.pausedMsMax = options.pausedMsMax ?? PAUSED_MS_MAX;
    this.#pausedMax = earlyBodiesMax;
    this.known = new BodyPool({
      bytesMax: options.bytesMax ?? Math.max(BYTES_MAX, options.largestBytes),
      bodiesMax: options.bodiesMax ?? BODIES_MAX,
      bytesLimit: BODY_LIMIT.BYTES,
      bodiesLimit: BODY_LIMIT.BODIES,
    });
    const { refusals = { count: () => undefined }, requestsMax, answersBytesMax } = options;
    this.shares = new RequestShares({
      refusals,
      requestsMax,
      answersBytesMax,
      bodiesMax: this.known.bodiesMax,
      bodiesBytesMax: this.known.bytesMax,
    });
    const bounds = {
      bytesMax: earlyBytesMax,
      bodiesMax: earlyBodiesMax,
      reservedBytes: earlyBytesMax / 4,
      bytesLimit: BODY_LIMIT.BEFORE_LOGIN,
      bodiesLimit: BODY_LIMIT.BODIES_BEFORE_LOGIN,
    };
    this.checked = new BodyPool(bounds);
    this.early = new StrangersPool(bounds);
  }

  get bytes(): number {
    return this.known.bytes + this.checked.bytes + this.early.bytes;
  }

  get bodies(): number {
    return this.known.bodies + this.checked.bodies + this.early.bodies;
  }

  /** Bodies that are not read on before it is known who sends them. */
  get paused(): number {
    return this.#paused;
  }

  /** @returns false when too many wait already. */
  takePause(): boolean {
    if (this.#paused >= this.#pausedMax) return false;
    this.#paused += 1;
    return true;
  }

  givePause(): void {
    this.#paused -= 1;
  }
}
