/**
 * A lean MQTT 3.1.1 client for the simulation: one socket, QoS 1, a bounded number of messages in flight, reconnects.
 */
import { connect, type Socket } from 'node:net';
import { generate, parser as createParser, type Packet, type Parser } from 'mqtt-packet';

export interface LinkOptions {
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  readonly username: string;
  readonly password: string;
  readonly inFlightMax: number;
  /** Subscribed to with each connection. */
  readonly topics?: readonly string[];
}

/** What the simulation is told; one object serves all links. */
export interface LinkListener {
  connected(link: MqttLink): void;
  /** @param reason why it ended, or why it could not begin; a connected link is closed. */
  closed(link: MqttLink, reason: string): void;
  acknowledged(latencyMicroseconds: number): void;
  /** Something came on a topic of `topics`. */
  received?(link: MqttLink, topic: string, payload: string): void;
}

const KEEP_ALIVE_SECONDS = 60;
const CONNECT_TIMEOUT_MS = 15_000;
const PACKET_ID_MAX = 65_535;

/** CONNACK return codes of MQTT 3.1.1, section 3.2.2.3. */
const REFUSALS = [
  '',
  'the protocol version is refused',
  'the client ID is refused',
  'the server is unavailable',
  'user or password is wrong',
  'not authorised',
];

interface Pending {
  readonly topic: string;
  readonly payload: string;
  readonly sentNanoseconds: bigint;
}

/** One device's connection. `open` may be called again after `closed`; what was not acknowledged is then sent again. */
export class MqttLink {
  readonly options: LinkOptions;
  isConnected = false;
  private readonly listener: LinkListener;
  private readonly pending = new Map<number, Pending>();
  private socket: Socket | undefined;
  private parser: Parser | undefined;
  private reason = '';
  private packetId = 0;
  private lastWriteMs = 0;

  constructor(options: LinkOptions, listener: LinkListener) {
    this.options = options;
    this.listener = listener;
  }

  open(): void {
    const { host, port, clientId, username, password } = this.options;
    const socket = connect({ host, port, noDelay: true });
    this.socket = socket;
    this.reason = '';
    this.parser = createParser({ protocolVersion: 4 });
    this.parser.on('packet', (packet: Packet) => this.receive(packet));
    this.parser.on('error', (error: Error) => this.fail(`the server sent what is not MQTT: ${error.message}`));
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => {
      if (!this.isConnected) this.fail(`no answer within ${CONNECT_TIMEOUT_MS} ms`);
    });
    socket.on('connect', () =>
      socket.write(
        generate({
          cmd: 'connect',
          protocolId: 'MQTT',
          protocolVersion: 4,
          clean: true,
          clientId,
          keepalive: KEEP_ALIVE_SECONDS,
          username,
          password: Buffer.from(password),
        }),
      ),
    );
    socket.on('data', (chunk) => this.parser?.parse(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => this.fail(socketReason(error, host, port)));
    socket.on('close', () => this.ended());
  }

  get inFlight(): number {
    return this.pending.size;
  }

  get canSend(): boolean {
    return this.isConnected && this.pending.size < this.options.inFlightMax;
  }

  /** Sends at QoS 1; the caller has asked `canSend`. */
  publish(topic: string, payload: string): void {
    const messageId = this.nextPacketId();
    this.pending.set(messageId, { topic, payload, sentNanoseconds: process.hrtime.bigint() });
    this.write(messageId, topic, payload);
  }

  private nextPacketId(): number {
    do this.packetId = (this.packetId % PACKET_ID_MAX) + 1;
    while (this.pending.has(this.packetId));
    return this.packetId;
  }

  /** Ends the connection as a device that restarts does; `closed` is told. */
  drop(): void {
    this.fail('the device restarts');
  }

  /** Keeps the connection alive when nothing was sent for half of the keep-alive time. */
  pingWhenIdle(nowMs: number): void {
    if (!this.isConnected || nowMs - this.lastWriteMs < KEEP_ALIVE_SECONDS * 500) return;
    this.lastWriteMs = nowMs;
    this.socket?.write(generate({ cmd: 'pingreq' }));
  }

  /** Says goodbye; nothing is told to the listener any more. */
  end(): void {
    const socket = this.socket;
    this.socket = undefined;
    if (!socket) return;
    socket.removeAllListeners('close');
    if (this.isConnected) socket.end(generate({ cmd: 'disconnect' }));
    else socket.destroy();
    this.isConnected = false;
  }

  private write(messageId: number, topic: string, payload: string): void {
    this.lastWriteMs = Date.now();
    this.socket?.write(generate({ cmd: 'publish', topic, payload, qos: 1, messageId, dup: false, retain: false }));
  }

  private receive(packet: Packet): void {
    if (packet.cmd === 'connack') this.accepted(packet.returnCode ?? 0);
    else if (packet.cmd === 'puback') this.settle(packet.messageId ?? 0);
    else if (packet.cmd === 'publish') {
      if (packet.qos === 1) this.socket?.write(generate({ cmd: 'puback', messageId: packet.messageId! }));
      this.listener.received?.(this, packet.topic, packet.payload.toString());
    }
  }

  private accepted(returnCode: number): void {
    if (returnCode !== 0) {
      this.fail(`login refused: ${REFUSALS[returnCode] ?? `code ${returnCode}`}`);
      return;
    }
    this.socket?.setTimeout(0);
    this.isConnected = true;
    this.lastWriteMs = Date.now();
    const { topics = [] } = this.options;
    // Before what the listener sends, which would come twice.
    for (const [messageId, { topic, payload }] of this.pending) this.write(messageId, topic, payload);
    this.listener.connected(this);
    if (topics.length > 0) {
      const subscriptions = topics.map((topic) => ({ topic, qos: 1 as const }));
      this.socket?.write(generate({ cmd: 'subscribe', messageId: this.nextPacketId(), subscriptions }));
    }
  }

  private settle(messageId: number): void {
    const pending = this.pending.get(messageId);
    if (!pending) return;
    this.pending.delete(messageId);
    this.listener.acknowledged(Number(process.hrtime.bigint() - pending.sentNanoseconds) / 1000);
  }

  private fail(reason: string): void {
    if (this.reason === '') this.reason = reason;
    this.socket?.destroy();
  }

  private ended(): void {
    this.isConnected = false;
    this.socket = undefined;
    this.listener.closed(this, this.reason === '' ? 'the server closed the connection' : this.reason);
  }
}

function socketReason(error: NodeJS.ErrnoException, host: string, port: number): string {
  if (error.code === 'ECONNREFUSED') return `nothing listens on ${host}:${port}`;
  if (error.code === 'ENOTFOUND') return `the host ${host} is not known`;
  if (error.code === 'EMFILE') return 'this process has no file descriptors left (ulimit -n)';
  return error.message || String(error.code);
}
