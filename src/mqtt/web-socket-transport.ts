/** MQTT over WebSocket: packets may be split over frames or joined in one (document 4 section 7.1). */
import type { MqttServer } from './server.ts';
import type { Transport, TransportListener } from './transport.ts';

/** What is used of an open WebSocket; the HTTP server's channels fit. */
export interface MqttWebSocket {
  send(data: Uint8Array, binary: boolean): boolean;
  end(code: number, reason: string): void;
  readonly remoteAddress: string;
}

const CLOSE_NORMAL = 1000;
const CLOSE_UNSUPPORTED = 1003;

class WebSocketTransport implements Transport {
  readonly #socket: MqttWebSocket;
  listener: TransportListener | undefined;
  #isPaused = false;
  /** What arrived while reading was paused: a WebSocket cannot be stopped. The connection's bound on held bytes ends it. */
  #waiting: Buffer[] = [];

  constructor(socket: MqttWebSocket) {
    this.#socket = socket;
  }

  get remoteAddress(): string { return this.#socket.remoteAddress; }
  write(bytes: Buffer): boolean { return this.#socket.send(bytes, true); }
  pause(): void { this.#isPaused = true; }

  resume(): void {
    this.#isPaused = false;
    while (!this.#isPaused) {
      const chunk = this.#waiting.shift();
      if (!chunk) return;
      this.listener?.received(chunk);
    }
  }

  end(): void { this.#socket.end(CLOSE_NORMAL, ''); }
  destroy(): void { this.#socket.end(CLOSE_NORMAL, ''); }

  received(chunk: Buffer, waitingBytesMax: number): void {
    if (!this.#isPaused) {
      this.listener?.received(chunk);
      return;
    }
    this.#waiting.push(chunk);
    if (this.#waiting.reduce((sum, waiting) => sum + waiting.length, 0) > waitingBytesMax) this.#socket.end(CLOSE_UNSUPPORTED, 'mqtt/held-bytes');
  }
}

/** Handlers for the WebSocket route `/mqtt`. */
export function mqttWebSocketHandlers<Socket extends MqttWebSocket>(server: MqttServer): {
  protocols: string[]; idleTimeoutSeconds: number; maxPayloadBytes: number;
  open(socket: Socket): void; message(socket: Socket, data: Buffer, binary: boolean): void; drain(socket: Socket): void; close(socket: Socket): void } {
  const transports = new Map<Socket, WebSocketTransport>();
  return {
    protocols: ['mqtt', 'mqttv3.1'],
    // MQTT has its own keep alive.
    idleTimeoutSeconds: 0,
    maxPayloadBytes: server.limits.heldBytes,
    open(socket) {
      const transport = new WebSocketTransport(socket);
      transports.set(socket, transport);
      transport.listener = server.accept(transport);
    },
    message(socket, data, binary) {
      if (binary) transports.get(socket)?.received(data, server.limits.heldBytes);
      else socket.end(CLOSE_UNSUPPORTED, 'MQTT packets come in binary frames');
    },
    drain(socket) { transports.get(socket)?.listener?.drained(); },
    close(socket) {
      const transport = transports.get(socket);
      transports.delete(socket);
      transport?.listener?.transportClosed();
    },
  };
}
