/**
 * What `HttpServer` uses of an HTTP library, in the shape of uWebSockets.js. Two libraries have this shape:
 * uWebSockets.js itself (`api/http/engines/uws.ts`) and the engine on `node:http` (`node-http-app.ts`).
 */
import type { X509Certificate } from 'node:crypto';
import type { BodySource } from './body-data.ts';
import type { AnswerOutlet } from './paced-answer.ts';
import type { RawRequest } from './request-head.ts';

/** A listening socket; only the library looks into it. */
export type ListenSocket = object;

/** What is used of the library's response; throws when it is over. */
export interface RawResponse extends AnswerOutlet, BodySource {
  onAborted(handler: () => void): unknown;
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string): unknown;
  /**
   * Without arguments unless the connection ends: a reported length has the library wait for a body and close the
   * connection at the next request.
   */
  endWithoutBody(reportedLength?: number, closeConnection?: boolean): unknown;
  close(): unknown;
  getRemoteAddressAsText(): ArrayBuffer;
  /** What the client has shown over TLS, its own first; absent where the library has no TLS. */
  peerCertificates?(): readonly X509Certificate[];
}

export interface LibraryResponse extends RawResponse {
  getRemoteAddressAsText(): ArrayBuffer;
  /** Answers a request for a WebSocket; `userData` is given to every handler of it. */
  upgrade<UserData>(userData: UserData, key: string, protocol: string, extensions: string, context: object): void;
}

export interface LibraryWebSocket<UserData> {
  getUserData(): UserData;
  getBufferedAmount(): number;
  getRemoteAddressAsText(): ArrayBuffer;
  send(data: string | Uint8Array, isBinary: boolean): unknown;
  /** Calls back at once; what is sent meanwhile goes to the network together. */
  cork(callback: () => void): unknown;
  end(code: number, reason: string): void;
  /** Ends the connection without a frame. */
  close(): void;
  /** Stops and goes on reading; absent where the library cannot. */
  pause?(): void;
  resume?(): void;
}

export interface WebSocketBehavior<UserData> {
  /** Seconds; 0 = never. */
  readonly idleTimeout: number;
  readonly maxPayloadLength: number;
  readonly maxBackpressure: number;
  readonly closeOnBackpressureLimit: number;
  readonly compression: number;
  /** Answers or upgrades, now or later. */
  upgrade(response: LibraryResponse, request: RawRequest, context: object): void;
  open(socket: LibraryWebSocket<UserData>): void;
  /** @param data dead after the call. */
  message(socket: LibraryWebSocket<UserData>, data: ArrayBuffer, isBinary: boolean): void;
  drain(socket: LibraryWebSocket<UserData>): void;
  close(socket: LibraryWebSocket<UserData>, code: number, reason: ArrayBuffer): void;
}

export interface LibraryApp {
  /** @param handler called with 1 for a connection that opens and -1 for one that closes. */
  filter(handler: (response: LibraryResponse, change: number) => void): unknown;
  any(pattern: string, handler: (response: LibraryResponse, request: RawRequest) => void): unknown;
  ws<UserData>(pattern: string, behavior: WebSocketBehavior<UserData>): unknown;
  /** @param callback false when the port cannot be taken. */
  listen(host: string, port: number, mode: number, callback: (socket: ListenSocket | false) => void): unknown;
  /** Addresses at the other end of all connections, WebSockets too; absent where the library does not know them. */
  addresses?(): Iterable<string>;
  /**
   * Closes the oldest connection that has not sent a whole request, or else the one that has waited longest for its
   * next request. The filter is told of its end before this returns.
   * @param refuse answers a connection before it is closed that has sent no whole request. @returns whether there was
   * one. Absent where the library cannot.
   */
  giveWay?(refuse: (response: LibraryResponse) => void): boolean;
  /** Closes every connection. */
  close(): unknown;
}

export interface HttpLibrary {
  /** Its listeners speak TLS. */
  readonly isSecure?: boolean;
  /** It refuses every request whose head or chunks are not as they should be. */
  readonly hasStrictParser?: boolean;
  App(): LibraryApp;
  us_listen_socket_close(socket: ListenSocket): void;
  us_socket_local_port(socket: ListenSocket): number;
  /** For `compression`: none. */
  readonly DISABLED: number;
}
