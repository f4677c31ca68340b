/**
 * Connections of which it is not known who they are. They keep no device out. Those without an accepted CONNECT have a
 * pool of their own: beyond it the oldest one is closed in favour of a new one. Those whose CONNECT is being checked
 * stay, unless all places are taken: then the newest one of the address that has most of them is closed. WebSockets have
 * few places among them, since the HTTP library holds a message of each until it is complete.
 */

/** Connections that have sent no CONNECT, or whose CONNECT was refused and which are closing. */
const STRANGERS_MAX = 2_000;
/** Also where few connections are allowed. */
const STRANGERS_MIN = 100;
/**
 * Below the limit of all sockets, a stranger has this many seconds: in a storm of reconnects the server may not have
 * read its CONNECT yet.
 */
const GRACE_SECONDS = 3;
/** WebSockets among them. */
const WEB_SOCKETS_MAX = 256;

class Pool<C> {
  readonly maximum: number;
  /** In order of arrival, with the second of it. */
  readonly #silent = new Map<C, number>();
  /** They were refused and are closing. */
  readonly #refused = new Set<C>();
  /** Their CONNECT is being checked; with their address. */
  readonly #checked = new Map<C, string>();
  /** The same by address, in order of arrival. */
  readonly #checkedOf = new Map<string, Set<C>>();

  constructor(maximum: number) {
    this.maximum = maximum;
  }

  get size(): number {
    return this.#silent.size + this.#refused.size + this.#checked.size;
  }

  arrived(one: C, second: number): void {
    this.#silent.set(one, second);
  }

  waits(one: C, address: string): void {
    this.delete(one);
    this.#checked.set(one, address);
    const same = this.#checkedOf.get(address);
    if (same === undefined) this.#checkedOf.set(address, new Set([one]));
    else same.add(one);
  }

  refused(one: C): void {
    this.delete(one);
    this.#refused.add(one);
  }

  delete(one: C): void {
    this.#silent.delete(one);
    this.#refused.delete(one);
    const address = this.#checked.get(one);
    if (address === undefined) return;
    this.#checked.delete(one);
    const same = this.#checkedOf.get(address) as Set<C>;
    same.delete(one);
    if (same.size === 0) this.#checkedOf.delete(address);
  }

  take(second: number, isFull: boolean): C | undefined {
    if (!isFull && this.#silent.size + this.#refused.size < this.maximum) return undefined;
    const one = this.#oldest(isFull ? Infinity : second - GRACE_SECONDS) ?? (isFull ? this.#newestOfMost() : undefined);
    if (one !== undefined) this.delete(one);
    return one;
  }

  /** @param before silent ones that arrived later stay. */
  #oldest(before: number): C | undefined {
    for (const one of this.#refused) return one;
    for (const [one, since] of this.#silent) return since <= before ? one : undefined;
    return undefined;
  }

  #newestOfMost(): C | undefined {
    let most = new Set<C>();
    for (const same of this.#checkedOf.values()) if (same.size > most.size) most = same;
    return [...most].at(-1);
  }
}

export class Strangers<C> {
  readonly #all: Pool<C>;
  readonly #webSockets: Pool<C>;
  readonly #isWebSocket: (one: C) => boolean;

  /** @param connections the limit of all connections. */
  constructor(connections: number, isWebSocket: (one: C) => boolean) {
    this.#all = new Pool(Math.min(STRANGERS_MAX, Math.max(STRANGERS_MIN, Math.ceil(connections / 4))));
    this.#webSockets = new Pool(Math.min(WEB_SOCKETS_MAX, this.#all.maximum));
    this.#isWebSocket = isWebSocket;
  }

  get size(): number {
    return this.#all.size;
  }

  arrived(one: C, second: number): void {
    for (const pool of this.#poolsOf(one)) pool.arrived(one, second);
  }

  /** How many there may be of its kind. */
  maximumFor(one: C): number {
    return Math.min(...this.#poolsOf(one).map(({ maximum }) => maximum));
  }

  /** The answer to its CONNECT is not known yet. */
  waits(one: C, address: string): void {
    for (const pool of this.#poolsOf(one)) pool.waits(one, address);
  }

  refused(one: C): void {
    for (const pool of this.#poolsOf(one)) pool.refused(one);
  }

  /** It is known who it is, or it is closed. */
  delete(one: C): void {
    for (const pool of this.#poolsOf(one)) pool.delete(one);
  }

  /**
   * Takes out the one to close for a new one. @param isFull all sockets are taken. @returns undefined when none has to
   * go.
   */
  take(second: number, isFull: boolean): C | undefined {
    return this.#taken(this.#all.take(second, isFull));
  }

  /** The same for a new WebSocket, which takes the place of another one where all of theirs are taken. */
  takeWebSocket(second: number): C | undefined {
    const { size, maximum } = this.#webSockets;
    return this.#taken(this.#webSockets.take(second, size >= maximum));
  }

  #taken(one: C | undefined): C | undefined {
    if (one !== undefined) this.delete(one);
    return one;
  }

  #poolsOf(one: C): readonly Pool<C>[] {
    return this.#isWebSocket(one) ? [this.#all, this.#webSockets] : [this.#all];
  }
}
