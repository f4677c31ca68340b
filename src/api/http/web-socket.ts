/** WebSocket routes of the HTTP server, neutral of its library: MQTT and Bayeux attach here. */

/** What a client sent to open the WebSocket. */
export interface UpgradeHead {
  readonly path: string;
  /** Raw, without the question mark. */
  readonly queryText: string;
  /** All headers, names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** It came over TLS that ends here. */
  readonly isSecure: boolean;
  /** The agreed sub-protocol or ''. */
  readonly protocol: string;
}

/** One open WebSocket. Every call is harmless after its end. */
export interface WebSocketChannel {
  /**
   * Sends a message; its bytes are copied before the call returns.
   * @returns false when more than `bufferedBytesMax` wait for the client: stop, go on at `drain`. The message itself is
   * taken.
   */
  send(data: string | Uint8Array, binary: boolean): boolean;
  /** Calls back at once; what is sent meanwhile goes to the network together. */
  cork(callback: () => void): void;
  /** Sends a close frame and closes; `close` of the handlers is called. */
  end(code: number, reason: string): void;
  /** Closes at once, without a frame; `close` of the handlers is called. */
  destroy(): void;
  /**
   * Stops reading: what the client sends waits in its own network stack. What has been read already still comes.
   * @returns false where the library cannot (uWebSockets.js): messages go on coming.
   */
  pause(): boolean;
  resume(): void;
  /** Bytes taken by `send` that the client has not read. */
  readonly bufferedBytes: number;
  readonly isOpen: boolean;
  readonly remoteAddress: string;
  readonly head: UpgradeHead;
}

/** What a client is answered whose request does not become a WebSocket. */
export interface UpgradeRefusal {
  readonly status: number;
  /** JSON. */
  readonly text: string;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
}

/** Hands the client over that asks for a WebSocket. */
export interface Admitted extends Upgraded {
  /**
   * Registers what happens too when the client leaves before the answer, each once. On `node:http`, which does not read meanwhile, only
   * a broken connection tells so.
   */
  onLeft(callback: () => void): void;
}

/** A WebSocket route. A handler that throws is logged and ends its connection with 1011. */
export interface WebSocketHandlers {
  /**
   * Decides, now or later, whether the request becomes a WebSocket; `open` gets a channel with the same `head`. Absent:
   * every one does. A rejection is logged and answered with 500.
   * @returns undefined to let it through.
   */
  admit?(client: Admitted): Promise<UpgradeRefusal | undefined>;
  /**
   * Sub-protocols that are taken; the first that the client offers is agreed. Without it, and without an offer, none.
   */
  readonly protocols?: readonly string[];
  /** Another part bounds these connections: they do not count among those of HTTP. */
  readonly isBoundElsewhere?: boolean;
  /**
   * Seconds without any traffic after which the connection ends: 0 (never) or 8-960; pings are sent before. Default
   * 120.
   */
  readonly idleTimeoutSeconds?: number;
  /** Longest message of the client; the connection ends above. Default 64 KiB. */
  readonly maxPayloadBytes?: number;
  /** Where `send` begins to return false. Default 256 KiB. Sixteen times as much ends the connection. */
  readonly bufferedBytesMax?: number;
  open(channel: WebSocketChannel): void;
  /** @param data a copy that belongs to the handler. */
  message(channel: WebSocketChannel, data: Buffer, binary: boolean): void;
  /** There is room again. */
  drain?(channel: WebSocketChannel): void;
  close?(channel: WebSocketChannel, code: number, reason: string): void;
}

export const IDLE_TIMEOUT_SECONDS = 120;
export const MAX_PAYLOAD_BYTES = 65_536;
export const BUFFERED_BYTES_MAX = 262_144;
/** Times `bufferedBytesMax` at which a connection is ended: who ignores `false` must not fill the memory. */
export const BUFFERED_HARD_FACTOR = 16;

/** @throws Error for a value that would end the process inside the library. */
export function checkHandlers(path: string, handlers: WebSocketHandlers): void {
  const idle = handlers.idleTimeoutSeconds ?? IDLE_TIMEOUT_SECONDS;
  if (!Number.isInteger(idle) || (idle !== 0 && (idle < 8 || idle > 960))) {
    throw new Error(`WebSocket route ${path}: idleTimeoutSeconds is ${idle}; it takes 0 or 8 to 960`);
  }
  for (const name of ['maxPayloadBytes', 'bufferedBytesMax'] as const) {
    const value = handlers[name];
    if (value !== undefined && (!Number.isInteger(value) || value < 1 || value > 0x7fffffff)) {
      throw new Error(`WebSocket route ${path}: ${name} is ${value}; it takes 1 to 2147483647`);
    }
  }
}

/** A close frame has room for 123 bytes of a reason. */
const reasonBytes = new Uint8Array(123);
const utf8 = new TextEncoder();

/** @returns as many whole characters of the reason as a close frame takes. */
export const closeReason = (reason: string): string => reason.slice(0, utf8.encodeInto(reason, reasonBytes).read);

/** What stands at the end of a route's path for any rest of it. */
const REST = '/*';

/** @returns the patterns of uWebSockets.js for a route: a slash at the end makes no difference. */
export const patternsOf = (path: string): string[] => (path.endsWith(REST) ? [path] : [path, `${path}/`]);

/** Handlers by patterns, which are whole paths or end in `/*`. */
export class SocketRoutes<Route> {
  readonly #whole = new Map<string, Route>();
  readonly #prefixes: (readonly [prefix: string, route: Route])[] = [];

  add(pattern: string, route: Route): void {
    if (pattern.endsWith(REST)) this.#prefixes.push([pattern.slice(0, -1), route]);
    else this.#whole.set(pattern, route);
  }

  find(path: string): Route | undefined {
    return this.#whole.get(path) ?? this.#prefixes.find(([prefix]) => path.startsWith(prefix))?.[1];
  }
}

/** @returns the first offered protocol that is taken, '' when there is none. */
export function agreeProtocol(offered: string, taken: readonly string[] | undefined): string {
  if (taken === undefined || offered === '') return '';
  return (
    offered
      .split(',')
      .map((name) => name.trim())
      .find((name) => taken.includes(name)) ?? ''
  );
}

/** What is known of the client of a WebSocket. */
export type Upgraded = Pick<WebSocketChannel, 'head' | 'remoteAddress'>;
