/**
 * A consumer of Notifications 2.0 on a plain socket: reads frames, acknowledges each of them, and tells the number that
 * its measurement carries. Acknowledgements of what one read brought leave together, as those of a busy client do.
 */
import { connect, type Socket } from 'node:net';
import type { Target } from './job.ts';

const READ_BUFFER_BYTES = 256 * 1024;
const HEAD_END = '\r\n\r\n';
const TEXT_FRAME = 0x81;
const MASKED = 0x80;
/** Bytes of a client's header of up to 125 bytes, its masking key of zeros included. */
const ACK_HEADER_BYTES = 6;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const VALUE = '"value":';

export class TopicConsumer {
  readonly #socket: Socket;
  readonly #onNumber: (value: number) => void;
  #rest: Buffer = Buffer.alloc(0);
  #isOpen = false;

  private constructor(socket: Socket, onNumber: (value: number) => void) {
    this.#socket = socket;
    this.#onNumber = onNumber;
  }

  /** @returns when the server has taken it. @throws what it answers otherwise. */
  static open(target: Target, port: number, token: string, onNumber: (value: number) => void): Promise<TopicConsumer> {
    return new Promise((resolve, reject) => {
      const buffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
      const socket = connect({
        host: target.host,
        port,
        noDelay: true,
        onread: {
          buffer,
          callback: (length) => {
            const taken = consumer.#take(Buffer.from(buffer.subarray(0, length)));
            if (taken !== undefined) reject(new Error(`consumer: ${taken}`));
            else if (consumer.#isOpen) resolve(consumer);
            return true;
          },
        },
      });
      const consumer = new TopicConsumer(socket, onNumber);
      socket.on('error', reject);
      socket.on('close', () => reject(new Error('consumer: the server has closed it')));
      socket.write(
        `GET /notification2/consumer/?token=${token} HTTP/1.1\r\nHost: ${target.host}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n',
      );
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  /** @returns the first line of an answer that is not an upgrade. */
  #take(read: Buffer): string | undefined {
    let bytes = this.#rest.length === 0 ? read : Buffer.concat([this.#rest, read]);
    if (!this.#isOpen) {
      const end = bytes.indexOf(HEAD_END);
      if (end < 0) {
        this.#rest = bytes;
        return undefined;
      }
      const [first = ''] = bytes.toString('latin1', 0, end).split('\r\n');
      if (!first.includes(' 101 ')) return first;
      this.#isOpen = true;
      bytes = bytes.subarray(end + HEAD_END.length);
    }
    this.#rest = bytes.subarray(this.#frames(bytes));
    return undefined;
  }

  /** @returns bytes of whole frames. */
  #frames(bytes: Buffer): number {
    const acks: Buffer[] = [];
    let at = 0;
    while (at + 2 <= bytes.length) {
      const short = bytes[at + 1]!;
      const header = short === LENGTH_64 ? 10 : short === LENGTH_16 ? 4 : 2;
      if (at + header > bytes.length) break;
      const length =
        short === LENGTH_64
          ? Number(bytes.readBigUInt64BE(at + 2))
          : short === LENGTH_16
            ? bytes.readUInt16BE(at + 2)
            : short;
      const end = at + header + length;
      if (end > bytes.length) break;
      if (bytes[at] === TEXT_FRAME) acks.push(this.#frame(bytes, at + header));
      at = end;
    }
    if (acks.length > 0) this.#socket.write(Buffer.concat(acks));
    return at;
  }

  /** @returns the acknowledgement of the frame whose payload begins at `start`. */
  #frame(bytes: Buffer, start: number): Buffer {
    const idEnd = bytes.indexOf(0x0a, start);
    const ack = Buffer.alloc(ACK_HEADER_BYTES + idEnd - start);
    ack[0] = TEXT_FRAME;
    ack[1] = MASKED | (idEnd - start);
    bytes.copy(ack, ACK_HEADER_BYTES, start, idEnd);
    let value = 0;
    for (let at = bytes.indexOf(VALUE, idEnd) + VALUE.length; bytes[at]! >= 0x30 && bytes[at]! <= 0x39; at += 1)
      value = value * 10 + bytes[at]! - 0x30;
    this.#onNumber(value);
    return ack;
  }
}
