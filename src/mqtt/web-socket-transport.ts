/** MQTT over WebSocket: packets may be split over frames or joined in one (docs/spec/mqtt.md#connection). */
import { NO_ADDRESS } from '../model/access/client-address.ts';
import type { ClientAddress } from '../model/access/client-address.ts';
import type { Connection } from './connections/connection.ts';
import { LIMIT, frameBytesMax } from './wire/limits.ts';
import { REASON } from './wire/reason-codes.ts';
import type { MqttServer } from './server.ts';
import type { Transport } from './transports/transport.ts';

/** What is used of an open WebSocket; the HTTP server's channels fit. */
export interface MqttWebSocket {
  send(data: Uint8Array, binary: boolean): boolean;
  end(code: number, reason: string): void;
  destroy(): void;
  readonly remoteAddress: string;
}

const CLOSE_NORMAL = 1000;
const CLOSE_UNSUPPORTED = 1003;
const CLOSED_WITHOUT_FRAME = 1006;
/** What uWebSockets.js says when it has closed the socket because a message had more than `maxPayloadBytes`. */
const TOO_BIG = 'Received too big message';

class WebSocketTransport implements Transport {
  readonly #socket: MqttWebSocket;
  readonly isWebSocket = true;
  endsAtOnce = false;
  readonly clientAddress: ClientAddress;
  listener: Connection | undefined;
  #isPaused = false;
  /** What arrived while reading was paused: a WebSocket cannot be stopped. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;

  constructor(socket: MqttWebSocket, address: ClientAddress) {
    this.#socket = socket;
    this.clientAddress = address;
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress;
  }
  write(bytes: Buffer): boolean {
    return this.#socket.send(bytes, true);
  }
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    while (!this.#isPaused) {
      const chunk = this.#waiting.shift();
      if (!chunk) return;
      this.#waitingBytes -= chunk.length;
      this.listener?.received(chunk);
    }
  }

  end(): void {
    if (this.endsAtOnce) this.#socket.destroy();
    else this.#socket.end(CLOSE_NORMAL, '');
  }
  destroy(): void {
    this.end();
  }

  received(chunk: Buffer, waitingBytesMax: number): void {
    // Before login the connection itself bounds what it holds, and counts it.
    if (!this.#isPaused || this.listener?.isEarly === true) {
      this.listener?.received(chunk);
      return;
    }
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes <= waitingBytesMax) return;
    // The connection holds what it is given now, as far as the same limit goes: it tells the client, the log and the
    // counter.
    this.#waitingBytes = 0;
    for (const waiting of this.#waiting.splice(0)) this.listener?.received(waiting);
  }
}

/** Handlers for the WebSocket route `/mqtt`. @param addressOf the client's, also behind a proxy. */
export function mqttWebSocketHandlers<Socket extends MqttWebSocket>(
  server: MqttServer,
  addressOf: (socket: Socket) => ClientAddress = () => NO_ADDRESS,
): {
  protocols: string[];
  isBoundElsewhere: boolean;
  idleTimeoutSeconds: number;
  maxPayloadBytes: number;
  open(socket: Socket): void;
  message(socket: Socket, data: Buffer, binary: boolean): void;
  drain(socket: Socket): void;
  close(socket: Socket, code: number, reason: string): void;
} {
  const transports = new Map<Socket, WebSocketTransport>();
  const maxPayloadBytes = frameBytesMax(server.limits);
  return {
    protocols: ['mqtt', 'mqttv3.1'],
    // As connections of MQTT.
    isBoundElsewhere: true,
    // MQTT has its own keep alive.
    idleTimeoutSeconds: 0,
    maxPayloadBytes,
    open(socket) {
      const transport = new WebSocketTransport(socket, addressOf(socket));
      transports.set(socket, transport);
      transport.listener = server.accept(transport);
    },
    message(socket, data, binary) {
      if (binary) transports.get(socket)?.received(data, server.limits.heldBytes);
      else socket.end(CLOSE_UNSUPPORTED, 'MQTT packets come in binary frames');
    },
    drain(socket) {
      transports.get(socket)?.listener?.drained();
    },
    close(socket, code, reason) {
      const connection = transports.get(socket)?.listener;
      transports.delete(socket);
      // The library has cut it off: the client hears nothing, log and counter do.
      if (code === CLOSED_WITHOUT_FRAME && reason === TOO_BIG) {
        connection?.close(
          REASON.PACKET_TOO_LARGE,
          `a WebSocket message has more than ${maxPayloadBytes} bytes`,
          LIMIT.FRAME_BYTES,
        );
      }
      connection?.transportClosed();
    },
  };
}
