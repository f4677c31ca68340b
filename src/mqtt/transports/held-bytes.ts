/**
 * Bytes of one connection that could not be processed yet: the beginning of a packet, or what arrived while the
 * platform was busy. Made when needed and dropped when empty, so an idle connection has none.
 */
import { FIXED_HEADER_BYTES_MAX, LENGTH_INCOMPLETE, LENGTH_MALFORMED, packetLength } from '../wire/fixed-header.ts';

export class HeldBytes {
  /** `bytes[0, length)` are held; the rest is room. */
  bytes: Buffer;
  length: number;

  constructor(source: Buffer, start: number) {
    this.length = source.length - start;
    this.bytes = Buffer.allocUnsafe(this.length);
    source.copy(this.bytes, 0, start);
  }

  append(source: Buffer, start: number, end: number): void {
    const length = this.length + end - start;
    if (length > this.bytes.length) {
      // Doubled, so that a packet that arrives byte by byte is not copied each time.
      const larger = Buffer.allocUnsafe(Math.max(length, this.bytes.length * 2));
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
    source.copy(this.bytes, this.length, start, end);
    this.length = length;
  }

  /**
   * Takes from `chunk` what the first held packet lacks, and no more.
   * @param packetBytesMax a longer packet is not collected: its header is enough to refuse it.
   * @returns the bytes taken. The packet is complete, or refusable, if they are fewer than the chunk has or
   * `isPacketHeld`.
   */
  complete(chunk: Buffer, packetBytesMax: number): number {
    let taken = 0;
    let length = packetLength(this.bytes, 0, this.length);
    while (length === LENGTH_INCOMPLETE && taken < chunk.length && this.length < FIXED_HEADER_BYTES_MAX) {
      this.append(chunk, taken, taken + 1);
      taken++;
      length = packetLength(this.bytes, 0, this.length);
    }
    if (length === LENGTH_INCOMPLETE || length === LENGTH_MALFORMED || length > packetBytesMax) return taken;
    const missing = Math.min(length - this.length, chunk.length - taken);
    if (missing > 0) this.append(chunk, taken, taken + missing);
    return taken + Math.max(0, missing);
  }

  /** The held bytes as one chunk; they alias this object. */
  view(): Buffer {
    return this.bytes.subarray(0, this.length);
  }
}
