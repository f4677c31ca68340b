/**
 * Bounds of HTTP connections, in all and by address: what strangers open may not take the descriptors that MQTT, files
 * and stores need. The bound of an address is looked at only while there are as many connections as one address may
 * have, so that it costs nothing in quiet times.
 */
import { refusedBy } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';

export const CONNECTION_LIMIT = {
  ALL: 'http/connections',
  ADDRESS: 'http/connections-of-address',
  SILENT: 'http/connections-without-request',
} as const;
export type ConnectionLimit = (typeof CONNECTION_LIMIT)[keyof typeof CONNECTION_LIMIT];

/** What is known about addresses may be as old as this: to count anew takes milliseconds when there are many. */
const COUNT_AGE_MS_MAX = 1_000;
const LOG_INTERVAL_MS = 10_000;
/** Of all places: with more taken, connections end with their answers where the library cannot close them later. */
const CROWDED_SHARE = 0.75;
/**
 * Of all places: with more taken, it is remembered which connections have sent no request where the library does not
 * know it.
 */
const WATCHED_SHARE = 0.25;

/** What an HTTP server is told about its connections; see ApiConfig. */
export interface ConnectionBounds {
  readonly config: {
    readonly connectionsMax?: number | undefined;
    readonly addressConnectionsMax?: number | undefined;
    readonly handshakeMsMax?: number;
  };
  readonly refusals: Refusals;
  readonly log: Log;
}

export interface ConnectionGuardOptions {
  readonly connectionsMax: number;
  /** Of one IPv4 address, or of one /64 of IPv6. */
  readonly addressMax: number;
  readonly refusals: Refusals;
  readonly log: Log;
}

export class ConnectionGuard {
  readonly #options: ConnectionGuardOptions;
  /** Undefined where addresses are not known: then connections are not bounded by address. */
  #counts: Map<string, number> | undefined;
  #countedAt = -Infinity;
  #loggedAt = -Infinity;
  #refusedCount = 0;

  constructor(options: ConnectionGuardOptions) {
    this.#options = options;
  }

  /** @param count open connections, with the new one. */
  isFull(count: number): boolean {
    return count > this.#options.connectionsMax;
  }

  /** @param count open connections. */
  isCrowded(count: number): boolean {
    return count > this.#options.connectionsMax * CROWDED_SHARE;
  }

  /** @param count open connections. */
  isWatched(count: number): boolean {
    return count > this.#options.connectionsMax * WATCHED_SHARE;
  }

  /** A connection without a whole request was closed for a new one. */
  gaveWay(address: string): void {
    this.#refuse(CONNECTION_LIMIT.SILENT, address);
  }

  /**
   * @param count open connections, with this one. @param address of this one. @param addresses of all open connections,
   * or undefined when they are not known.
   * @returns the limit that refuses it; counted and logged then.
   */
  refuses(
    count: number,
    address: () => string,
    addresses: () => Iterable<string> | undefined,
  ): ConnectionLimit | undefined {
    const { connectionsMax, addressMax } = this.#options;
    if (count <= addressMax && count <= connectionsMax) return undefined;
    if (count > connectionsMax) return this.#refuse(CONNECTION_LIMIT.ALL, address());
    const now = performance.now();
    const isOld = now - this.#countedAt >= COUNT_AGE_MS_MAX;
    if (isOld) {
      this.#countedAt = now;
      const open = addresses();
      this.#counts = open === undefined ? undefined : new Map();
      for (const one of open ?? []) this.#add(addressKey(one));
    }
    if (this.#counts === undefined) return undefined;
    const key = addressKey(address());
    // A count that is new has this connection.
    const known = (this.#counts.get(key) ?? 0) + (isOld ? 0 : 1);
    if (known > addressMax) return this.#refuse(CONNECTION_LIMIT.ADDRESS, address());
    if (!isOld) this.#add(key);
    return undefined;
  }

  #add(key: string): void {
    this.#counts?.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  #refuse(limit: ConnectionLimit, address: string): ConnectionLimit {
    const { refusals, log, connectionsMax, addressMax } = this.#options;
    refusals.count(limit, { address });
    this.#refusedCount += 1;
    const now = performance.now();
    if (now - this.#loggedAt >= LOG_INTERVAL_MS) {
      this.#loggedAt = now;
      const max = limit === CONNECTION_LIMIT.ADDRESS ? addressMax : connectionsMax;
      log.warn(
        { limit, max, address, refused: this.#refusedCount },
        'HTTP connections are refused: raise the bound, or find out who opens them',
      );
      this.#refusedCount = 0;
    }
    return limit;
  }
}

/** @returns the options of an HTTP server whose connections the configuration bounds. */
export function guardOf({ config: { connectionsMax, addressConnectionsMax }, refusals, log }: ConnectionBounds): {
  readonly connections?: ConnectionGuard;
  readonly refusalText?: (limit: ConnectionLimit) => string;
} {
  if (connectionsMax === undefined) return {};
  const refusalText = (limit: ConnectionLimit): string => {
    const { error, message } = refusedBy(limit);
    return JSON.stringify({ error, message });
  };
  return {
    connections: new ConnectionGuard({
      connectionsMax,
      addressMax: addressConnectionsMax ?? connectionsMax,
      refusals,
      log,
    }),
    refusalText,
  };
}

const MAPPED = /^(?:0{0,4}:){0,5}:?ffff:/i;

/**
 * @param text an address in any notation. @returns what counts as one sender: an IPv4 address, the /64 of an IPv6
 * address.
 */
export function addressKey(text: string): string {
  if (text.includes('.')) return text.slice(text.lastIndexOf(':') + 1);
  if (MAPPED.test(text)) {
    const [high, low] = text
      .split(':')
      .slice(-2)
      .map((group) => Number.parseInt(group, 16));
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  const [start, end] = text.split('::');
  const groups = start === '' ? [] : start.split(':');
  const last = end === undefined || end === '' ? [] : end.split(':');
  if (end !== undefined) while (groups.length + last.length < 8) groups.push('0');
  return [...groups, ...last]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
