/**
 * Turns repeated short byte strings into small numbers without making JavaScript strings of them: dictionaries of one
 * insert.
 */

const SLOTS_FIRST = 256;

export class Interner {
  /** index -> text */
  readonly values: string[] = [];
  #slots = new Int32Array(SLOTS_FIRST).fill(-1);
  #hashes: number[] = [];
  #bytes: Buffer[] = [];
  #lastIndex = -1;

  get size(): number {
    return this.values.length;
  }

  /** @returns the number of `buffer[start, start + length)`; the same bytes have the same number until `clear`. */
  intern(buffer: Buffer, start: number, length: number): number {
    // Devices repeat themselves: the same text as in the row before needs no hash.
    if (this.#lastIndex >= 0 && equal(this.#bytes[this.#lastIndex], buffer, start, length)) return this.#lastIndex;
    let hash = 0x811c9dc5;
    for (let at = start; at < start + length; at += 1) hash = Math.imul(hash ^ buffer[at], 0x01000193);
    const mask = this.#slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (let index = this.#slots[slot]; index >= 0; index = this.#slots[slot]) {
      if (this.#hashes[index] === hash && equal(this.#bytes[index], buffer, start, length))
        return (this.#lastIndex = index);
      slot = (slot + 1) & mask;
    }
    const index = this.values.length;
    const copy = Buffer.from(buffer.subarray(start, start + length));
    this.values.push(copy.toString('utf8'));
    this.#bytes.push(copy);
    this.#hashes.push(hash);
    this.#slots[slot] = index;
    this.#lastIndex = index;
    if (this.values.length * 2 > this.#slots.length) this.#grow();
    return index;
  }

  clear(): void {
    if (this.values.length === 0) return;
    this.values.length = 0;
    this.#bytes.length = 0;
    this.#hashes.length = 0;
    this.#slots.fill(-1);
    this.#lastIndex = -1;
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1);
    const mask = slots.length - 1;
    for (let index = 0; index < this.#hashes.length; index += 1) {
      const hash = this.#hashes[index];
      let slot = (hash ^ (hash >>> 15)) & mask;
      while (slots[slot] >= 0) slot = (slot + 1) & mask;
      slots[slot] = index;
    }
    this.#slots = slots;
  }
}

function equal(bytes: Buffer, buffer: Buffer, start: number, length: number): boolean {
  if (bytes.length !== length) return false;
  for (let at = 0; at < length; at += 1) if (bytes[at] !== buffer[start + at]) return false;
  return true;
}
