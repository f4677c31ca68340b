/**
 * Acknowledgements and other packets of a few bytes, collected into one write. The working buffers are pooled: a
 * connection borrows one between the first acknowledgement and the flush, and idle connections have none.
 */
import { PACKET_TYPE } from '../wire/fixed-header.ts';
import type { Transport } from './transport.ts';

/** 256 acknowledgements; what is over is written in a second write. */
const OUTPUT_BYTES = 1_024;
/** Working buffers that are kept for reuse. */
const POOL_MAX = 1_024;

export class SmallOutput {
  readonly bytes: Buffer = Buffer.allocUnsafeSlow(OUTPUT_BYTES);
  length = 0;

  hasRoom(count: number): boolean {
    return this.length + count <= OUTPUT_BYTES;
  }

  /** PUBACK, PUBREC, PUBREL or PUBCOMP with reason code success: four bytes in every version. */
  acknowledgement(type: number, packetId: number): void {
    const bytes = this.bytes;
    const at = this.length;
    // [MQTT-3.6.1-1] PUBREL has the flags 0010.
    bytes[at] = type === PACKET_TYPE.PUBREL ? 0x62 : type << 4;
    bytes[at + 1] = 2;
    bytes[at + 2] = packetId >> 8;
    bytes[at + 3] = packetId & 0xff;
    this.length = at + 4;
  }

  /** The same with a reason code (5.0 only). */
  acknowledgementWithReason(type: number, packetId: number, reasonCode: number): void {
    this.acknowledgement(type, packetId);
    this.bytes[this.length - 3] = 3;
    this.bytes[this.length] = reasonCode;
    this.length++;
  }

  /** A packet without content. */
  empty(type: number): void {
    this.bytes[this.length] = type << 4;
    this.bytes[this.length + 1] = 0;
    this.length += 2;
  }

  /** Writes a copy of what was collected, because the transport keeps what it is given. */
  writeTo(transport: Transport): boolean {
    const copy = Buffer.allocUnsafe(this.length);
    this.bytes.copy(copy, 0, 0, this.length);
    this.length = 0;
    return transport.write(copy);
  }
}

export class SmallOutputPool {
  readonly #free: SmallOutput[] = [];

  take(): SmallOutput {
    return this.#free.pop() ?? new SmallOutput();
  }

  giveBack(output: SmallOutput): void {
    output.length = 0;
    if (this.#free.length < POOL_MAX) this.#free.push(output);
  }
}
