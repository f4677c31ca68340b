/** What carries the bytes of one connection: a TCP or TLS socket, a WebSocket, or a test's memory. */
import type { X509Certificate } from 'node:crypto';
import type { ClientAddress } from '../../model/access/client-address.ts';

export interface Transport {
  /** For the log. */
  readonly remoteAddress: string;
  /** The HTTP library holds of it what it does not tell: a message that is not complete. */
  readonly isWebSocket?: boolean;
  /** Set before `end` of one that has to give its place back: a WebSocket does not wait for the client to close too. */
  endsAtOnce?: boolean;
  /** For bounds by address; absent without a remote end. */
  readonly clientAddress?: ClientAddress;
  /** The certificates that the client has sent over TLS, its own first; empty without one. */
  readonly certificates?: readonly X509Certificate[];
  /**
   * @param bytes belong to the transport from now on.
   * @returns false when the peer does not keep up; `drained()` of the connection follows when it does again.
   */
  write(bytes: Buffer): boolean;
  /** Stop reading. `received` may still be called with what was under way. */
  pause(): void;
  resume(): void;
  /** Close after what was written has been sent. */
  end(): void;
  /** Close at once. */
  destroy(): void;
}

/** The side of a connection that its transport calls. */
export interface TransportListener {
  /** @param chunk is lent: it may be reused after the call; what is kept is copied. */
  received(chunk: Buffer): void;
  drained(): void;
  /** The transport is gone; nothing is called afterwards. */
  transportClosed(): void;
}
