/** Opens MQTT connections over plain sockets. All connections of a generator read into one buffer. */
import { connect, type Socket } from 'node:net';
import { portOf, type Target } from './job.ts';
import { CONNACK, connectPacket, DISCONNECT } from './mqtt-packets.ts';

/** Bytes of the shared read buffer: one read of a fast subscriber. */
const READ_BUFFER_BYTES = 256 * 1024;
/** After DISCONNECT the server closes; after this the generator does. */
const CLOSE_GRACE_MS = 1_500;

const readBuffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);

/** One connection. `onBytes` gets the shared buffer, which is overwritten by the next read of any connection. */
export class MqttConnection {
  readonly socket: Socket;
  readonly index: number;
  /** Bytes of an unfinished packet seen so far. */
  partial = 0;
  /** Free for the load: last packet identifier, whether anything was answered yet, own send buffer. */
  packetId = 0;
  hasAnswer = false;
  run: Buffer | undefined;
  views: Buffer[] = [];
  onBytes: (connection: MqttConnection, bytes: Buffer, length: number) => void = ignoreBytes;
  closed = false;

  constructor(target: Target, index: number, clientId: string, onReady: (error?: Error) => void) {
    this.index = index;
    let ready = false;
    this.socket = connect({
      host: target.host,
      port: portOf(target, index),
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (length: number, bytes: Uint8Array): boolean => {
          if (ready) this.onBytes(this, bytes as Buffer, length);
          else {
            ready = true;
            const accepted = length === 4 && bytes[0] === CONNACK && bytes[3] === 0;
            onReady(
              accepted ? undefined : new Error(`CONNACK ${Buffer.from(bytes.subarray(0, length)).toString('hex')}`),
            );
          }
          return true;
        },
      },
    });
    this.socket.on('connect', () => this.socket.write(connectPacket(clientId, target.userName, target.password)));
    this.socket.on('error', (error) => {
      if (!ready) onReady(error);
    });
    this.socket.on('close', () => {
      this.closed = true;
      if (!ready) onReady(new Error('closed before CONNACK'));
    });
  }
}

function ignoreBytes(): void {}

export interface OpenOptions {
  target: Target;
  count: number;
  parallel: number;
  clientPrefix: string;
  onOpened?: (micros: number) => void;
}

/** Opens connections, `parallel` at a time. @throws the first refusal. */
export function openConnections(options: OpenOptions): Promise<MqttConnection[]> {
  const connections: MqttConnection[] = [];
  return new Promise((resolve, reject) => {
    let opened = 0;
    const openNext = (): void => {
      const index = connections.length;
      const begun = performance.now();
      connections.push(
        new MqttConnection(options.target, index, `${options.clientPrefix}${index}`, (error) => {
          if (error !== undefined) {
            reject(new Error(`connection ${index} of ${options.count}: ${error.message}`));
            return;
          }
          options.onOpened?.((performance.now() - begun) * 1000);
          opened++;
          if (opened === options.count) resolve(connections);
          else if (connections.length < options.count) openNext();
        }),
      );
    };
    for (let index = 0; index < Math.min(options.parallel, options.count); index++) openNext();
  });
}

/** Sends DISCONNECT and lets the server close first: no port of the generator is left in TIME_WAIT. */
export async function closeConnections(connections: readonly MqttConnection[]): Promise<void> {
  for (const connection of connections) connection.socket.write(DISCONNECT);
  const deadline = performance.now() + CLOSE_GRACE_MS;
  while (performance.now() < deadline && connections.some((connection) => !connection.closed)) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  for (const connection of connections) connection.socket.destroy();
}
