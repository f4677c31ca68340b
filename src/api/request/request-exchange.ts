/** What the phases and handlers of a request use of the place that it came from: HTTP, or this server itself. */
import type { X509Certificate } from 'node:crypto';

export interface RequestExchange {
  /** Upper case. */
  readonly method: string;
  /** Percent-encoded. */
  readonly path: string;
  /** Without the question mark. */
  readonly queryText: string;
  /** Of the other end of the connection, a client or a proxy; '' when it is not known. */
  readonly remoteAddress: string;
  /** The connection has TLS that ends here. */
  readonly isSecure: boolean;
  /** What the client has shown over TLS, its own first. */
  readonly certificates: readonly X509Certificate[];
  /** The answer has been given, or cannot be given any more. */
  readonly isOver: boolean;
  /** Aborts when the client goes before the answer is complete. */
  readonly signal: AbortSignal;
  /** Registers what to do then; at most one. */
  onAborted(callback: () => void): void;
  /** The buffer of the body was let go: it counts no more. */
  releaseBody(): void;
  /** Behind `ApiRequest.stream`: writes a small piece at once. */
  write(piece: string): void;
  /** Behind `ApiRequest.stream`: completes with a last piece. */
  endStream(piece?: string | Uint8Array): void;
  /** Behind `ApiRequest.stream`: sends all pieces as fast as the client reads, then completes. */
  pipe(pieces: AsyncIterable<string | Uint8Array>): Promise<void>;
}
