/**
 * Managed objects with their tenant and a mark of their owner, 20 bytes each: an open-addressing hash with linear
 * probing. It is divided into parts that grow one by one, so that growth does not stop the event loop.
 */

/** The last ones of a hash's 32 bits choose the slot, the first ones the part. */
const PART_BITS = 8;
const PARTS = 2 ** PART_BITS;
const SLOTS_FIRST = 4;
/** Words of a slot: two of the id, the tenant (0 in a free slot), two of the owner's mark. */
const WORDS = 5;
/** Shares of its slots that a part fills before it grows: from a half, the first part, to three quarters. */
const FILL_MIN = 0.5;
const FILL_MAX = 0.75;
const WORD_BITS_RANGE = 2 ** 32;
const NONE = new Uint32Array(0);

/** 64 bits that stand for an owner: an owner's name takes several times as much, and each device may have its own. */
export interface OwnerMark {
  readonly high: number;
  readonly low: number;
}

export class SourceTable {
  readonly #partSlotsMax: number;
  readonly #parts: Uint32Array[] = new Array<Uint32Array>(PARTS).fill(NONE);
  readonly #counts = new Uint32Array(PARTS);
  #size = 0;
  /** What the last `find` found. */
  tenant = 0;
  #high = 0;
  #low = 0;

  /** @param partSlotsMax of each of 256 parts, a power of two: the table takes at most 5,120 bytes times this. */
  constructor(partSlotsMax: number) {
    this.#partSlotsMax = partSlotsMax;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns whether it is there: then `tenant` and `isOf` tell of it until the next call. */
  find(id: number): boolean {
    const hash = hashOf(id);
    const slots = this.#parts[hash >>> (32 - PART_BITS)];
    if (slots.length === 0) return false;
    const at = slotOf(slots, hash, id);
    this.tenant = slots[at + 2];
    this.#high = slots[at + 3];
    this.#low = slots[at + 4];
    return this.tenant !== 0;
  }

  isOf({ high, low }: OwnerMark): boolean {
    return this.#high === high && this.#low === low;
  }

  /**
   * Adds or replaces a source.
   * @param id below 2^53. @param tenant not 0.
   * @returns false when the table is full and the source is new; then nothing has changed.
   */
  set(id: number, tenant: number, { high, low }: OwnerMark): boolean {
    const hash = hashOf(id);
    const part = hash >>> (32 - PART_BITS);
    let slots = this.#parts[part];
    let at = slots.length === 0 ? 0 : slotOf(slots, hash, id);
    if (slots.length === 0 || slots[at + 2] === 0) {
      const count = slots.length / WORDS;
      // The parts fill at the same pace: at one limit for all of them most would grow within a few bodies.
      const isLast = count >= this.#partSlotsMax;
      const fill = isLast ? FILL_MAX : FILL_MIN + ((FILL_MAX - FILL_MIN) * part) / PARTS;
      if (this.#counts[part] >= fill * count) {
        if (isLast) return false;
        slots = this.#parts[part] = grown(slots);
        at = slotOf(slots, hash, id);
      }
      this.#counts[part] += 1;
      this.#size += 1;
    }
    slots[at] = id;
    slots[at + 1] = id / WORD_BITS_RANGE;
    slots[at + 2] = tenant;
    slots[at + 3] = high;
    slots[at + 4] = low;
    return true;
  }

  delete(id: number): void {
    const hash = hashOf(id);
    const part = hash >>> (32 - PART_BITS);
    const slots = this.#parts[part];
    if (slots.length === 0) return;
    let free = slotOf(slots, hash, id);
    if (slots[free + 2] === 0) return;
    this.#counts[part] -= 1;
    this.#size -= 1;
    // Those behind it move up, up to the next free slot, where the free one lies on the way from their own slot.
    const count = slots.length / WORDS;
    for (let at = next(slots, free); slots[at + 2] !== 0; at = next(slots, at)) {
      const own = hashOf(slots[at + 1] * WORD_BITS_RANGE + slots[at]) & (count - 1);
      const isBehind = ((at / WORDS - own) & (count - 1)) >= ((at / WORDS - free / WORDS) & (count - 1));
      if (!isBehind) continue;
      slots.copyWithin(free, at, at + WORDS);
      free = at;
    }
    slots.fill(0, free, free + WORDS);
  }
}

/** @returns where the slot begins that holds the id, or the free one where it belongs. */
function slotOf(slots: Uint32Array, hash: number, id: number): number {
  const low = id >>> 0;
  const high = Math.floor(id / WORD_BITS_RANGE);
  let at = (hash & (slots.length / WORDS - 1)) * WORDS;
  while (slots[at + 2] !== 0 && (slots[at] !== low || slots[at + 1] !== high)) at = next(slots, at);
  return at;
}

const next = (slots: Uint32Array, at: number): number => (at + WORDS === slots.length ? 0 : at + WORDS);

function grown(slots: Uint32Array): Uint32Array {
  const larger = new Uint32Array(slots.length === 0 ? SLOTS_FIRST * WORDS : 2 * slots.length);
  for (let at = 0; at < slots.length; at += WORDS) {
    if (slots[at + 2] === 0) continue;
    const id = slots[at + 1] * WORD_BITS_RANGE + slots[at];
    const to = slotOf(larger, hashOf(id), id);
    for (let word = 0; word < WORDS; word += 1) larger[to + word] = slots[at + word];
  }
  return larger;
}

/** The finalizer of MurmurHash3: ids follow each other, and every bit of them has to move all bits of the hash. */
function hashOf(id: number): number {
  let hash = (id >>> 0) ^ Math.imul(Math.floor(id / WORD_BITS_RANGE), 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
