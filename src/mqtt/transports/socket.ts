/**
 * Transport over net.Socket and tls.TLSSocket. All sockets share five listener functions: no closure per connection.
 */
import { peerChain } from '../../accounts/certificates/peer-chain.ts';
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { addressText, ofConnection } from '../../model/access/client-address.ts';
import type { ClientAddress } from '../../model/access/client-address.ts';
import type { Transport, TransportListener } from './transport.ts';

const LISTENER = Symbol('mqtt connection');
const HAS_ENDED = Symbol('the client has sent everything');

/**
 * Silence after which the kernel asks whether the peer is still there: so the connection of a device without power
 * ends, also without a keep alive of MQTT.
 */
const KEEP_ALIVE_MS = 60_000;

interface MqttSocket extends Socket {
  [LISTENER]?: TransportListener;
  [HAS_ENDED]?: boolean;
}

export class SocketTransport implements Transport {
  readonly remoteAddress: string;
  readonly #socket: MqttSocket;
  readonly #isTold: boolean;

  /** @param told address of the client, by a trusted proxy that the connection comes from. */
  constructor(socket: Socket, told?: string) {
    this.#socket = socket;
    this.#isTold = told !== undefined;
    this.remoteAddress = addressText(told ?? socket.remoteAddress ?? '');
    // Acknowledgements are small and already batched: waiting for more would only delay them.
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
  }

  get clientAddress(): ClientAddress {
    return ofConnection(this.remoteAddress, this.#isTold);
  }

  get certificates(): readonly X509Certificate[] {
    return this.#socket instanceof TLSSocket ? peerChain(this.#socket) : [];
  }

  /** Passes what the socket receives to `listener` from now on. */
  attach(listener: TransportListener): void {
    const socket = this.#socket;
    socket[LISTENER] = listener;
    // A client that publishes with QoS 0 and goes may be gone before its messages could be handled: they are not lost
    // with it (onEnd).
    socket.allowHalfOpen = true;
    socket.on('data', onData);
    socket.on('end', onEnd);
    socket.on('drain', onDrain);
    socket.on('error', onError);
    socket.on('close', onClose);
  }

  write(bytes: Buffer): boolean {
    return this.#socket.write(bytes);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
    if (this.#socket[HAS_ENDED] === true) this.#socket.end();
  }

  end(): void {
    this.#socket.end();
    // A paused socket would never see the peer's end.
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

function onData(this: MqttSocket, chunk: Buffer): void {
  this[LISTENER]?.received(chunk);
}

/** While the connection does not read, it has something left to handle: `resume` follows, or its end. */
function onEnd(this: MqttSocket): void {
  if (this.isPaused()) this[HAS_ENDED] = true;
  else this.end();
}

function onDrain(this: MqttSocket): void {
  this[LISTENER]?.drained();
}

/**
 * The close event follows every error and ends the connection; the error itself says nothing that the will does not.
 */
function onError(this: MqttSocket): void {
  this.destroy();
}

function onClose(this: MqttSocket): void {
  const listener = this[LISTENER];
  this[LISTENER] = undefined;
  listener?.transportClosed();
}
