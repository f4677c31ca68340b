/** A raw MQTT client: packet ids, DUP and the moment of every packet are the test's own. */
import { connect as connectSocket } from 'node:net';
import type { Socket } from 'node:net';
import mqttPacket from 'mqtt-packet';
import type { IPublishPacket, Packet } from 'mqtt-packet';
import { PASSWORD, USER } from './server.ts';
import { PATIENCE } from '../until.ts';

export interface RawOptions {
  readonly clientId: string;
  readonly clean?: boolean;
  readonly version?: 4 | 5;
  readonly keepalive?: number;
  readonly timeoutMs?: number;
  /** Called before CONNECT is sent: what follows CONNACK at once is not missed. */
  readonly prepare?: (client: RawMqtt) => void;
}

/** Rejects with an error when the connection ends before CONNACK, or CONNACK refuses. */
export class RawMqtt {
  readonly socket: Socket;
  readonly version: 4 | 5;
  isClosed = false;
  /** Reason string of the server's DISCONNECT (5.0). */
  disconnectReason: string | undefined;
  disconnectCode: number | undefined;
  onPuback: ((packetId: number) => void) | undefined;
  onPubrec: ((packetId: number) => void) | undefined;
  onPubcomp: ((packetId: number) => void) | undefined;
  onPubrel: ((packetId: number) => void) | undefined;
  /** Acknowledged with PUBACK afterwards when it returns nothing or true. */
  onPublish: ((packet: IPublishPacket) => boolean | void) | undefined;
  onClose: (() => void) | undefined;
  readonly received: IPublishPacket[] = [];
  sessionPresent = false;
  #others: ((packet: Packet) => void)[] = [];

  private constructor(socket: Socket, version: 4 | 5) {
    this.socket = socket;
    this.version = version;
    const parser = mqttPacket.parser({ protocolVersion: version });
    parser.on('packet', (packet: Packet) => this.#take(packet));
    parser.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      if (chunk.length === 4 && chunk[0] === 0x40) this.onPuback?.(chunk.readUInt16BE(2));
      else parser.parse(chunk);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.isClosed = true;
      this.onClose?.();
      for (const other of this.#others.splice(0)) other({ cmd: 'disconnect' });
    });
  }

  static async connect(port: number, options: RawOptions): Promise<RawMqtt> {
    const version = options.version ?? 4;
    const socket = connectSocket({ host: '127.0.0.1', port, noDelay: true });
    const client = new RawMqtt(socket, version);
    options.prepare?.(client);
    const timer = setTimeout(() => socket.destroy(), options.timeoutMs ?? 30_000 * PATIENCE);
    const clean = options.clean ?? true;
    socket.write(
      mqttPacket.generate({
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: version,
        clean,
        clientId: options.clientId,
        keepalive: options.keepalive ?? 0,
        username: USER,
        password: Buffer.from(PASSWORD),
        ...(version === 5 && !clean ? { properties: { sessionExpiryInterval: 3_600 } } : {}),
      }),
    );
    const packet = await client.#next();
    clearTimeout(timer);
    if (packet.cmd !== 'connack' || (packet.returnCode ?? packet.reasonCode ?? 0) !== 0) {
      socket.destroy();
      throw new Error(`no connection for ${options.clientId}: ${JSON.stringify(packet)}`);
    }
    client.sessionPresent = packet.sessionPresent;
    return client;
  }

  publish(topic: string, payload: string | Buffer, qos: 0 | 1 | 2, packetId = 0, dup = false): void {
    if (this.isClosed) return;
    this.socket.write(
      mqttPacket.generate(
        { cmd: 'publish', topic, payload, qos, dup, retain: false, ...(qos === 0 ? {} : { messageId: packetId }) },
        { protocolVersion: this.version },
      ),
    );
  }

  pubrel(packetId: number): void {
    if (!this.isClosed) this.socket.write(Buffer.from([0x62, 2, packetId >> 8, packetId & 0xff]));
  }

  pubrec(packetId: number): void {
    if (!this.isClosed) this.socket.write(Buffer.from([0x50, 2, packetId >> 8, packetId & 0xff]));
  }

  async subscribe(topic: string, qos: 0 | 1 | 2 = 1): Promise<void> {
    this.socket.write(
      mqttPacket.generate(
        { cmd: 'subscribe', messageId: 65_000, subscriptions: [{ topic, qos }] },
        { protocolVersion: this.version },
      ),
    );
    const packet = await this.#next();
    if (packet.cmd !== 'suback') throw new Error(`no SUBACK: ${JSON.stringify(packet)}`);
  }

  disconnect(): void {
    if (!this.isClosed) this.socket.end(mqttPacket.generate({ cmd: 'disconnect' }, { protocolVersion: this.version }));
  }

  /** Ends the TCP connection without a word. */
  drop(): void {
    this.socket.destroy();
  }

  #next(): Promise<Packet> {
    if (this.isClosed) return Promise.resolve({ cmd: 'disconnect' });
    return new Promise((done) => {
      this.#others.push(done);
    });
  }

  #take(packet: Packet): void {
    switch (packet.cmd) {
      case 'puback':
        this.onPuback?.(packet.messageId ?? 0);
        return;
      case 'pubrec':
        this.onPubrec?.(packet.messageId ?? 0);
        return;
      case 'pubrel':
        this.onPubrel?.(packet.messageId ?? 0);
        return;
      case 'pubcomp':
        this.onPubcomp?.(packet.messageId ?? 0);
        return;
      case 'publish':
        this.received.push(packet);
        if (this.onPublish?.(packet) !== false && packet.qos === 1 && !this.isClosed) {
          this.socket.write(Buffer.from([0x40, 2, (packet.messageId ?? 0) >> 8, (packet.messageId ?? 0) & 0xff]));
        }
        return;
      case 'disconnect':
        this.disconnectReason = packet.properties?.reasonString;
        this.disconnectCode = packet.reasonCode;
        return;
      default:
        this.#others.shift()?.(packet);
    }
  }
}
