/** Borders between numbers of 64 and of 32 bits, so that a comparison needs no rounding when a record is scored. */

const DOUBLE = new Float64Array(1);
const BITS = new BigInt64Array(DOUBLE.buffer);

/** The least double above a number; infinity has none. */
export function nextUp(x: number): number {
  if (x === Number.POSITIVE_INFINITY || Number.isNaN(x)) return x;
  if (x === 0) return Number.MIN_VALUE;
  DOUBLE[0] = x;
  BITS[0] += x > 0 ? 1n : -1n;
  return DOUBLE[0];
}

const FLOAT = new Float32Array(1);
const FLOAT_BITS = new Int32Array(FLOAT.buffer);

/** The greatest float below a float. */
function previousFloat(x: number): number {
  if (x === 0) return -1.401298464324817e-45;
  FLOAT[0] = x;
  FLOAT_BITS[0] += x > 0 ? -1 : 1;
  return FLOAT[0];
}

/** The double b for which `x < b` is the same as `Math.fround(x) < t`. */
export function floatBorder(t: number): number {
  if (!Number.isFinite(t)) return t;
  const rounded = Math.fround(t);
  // The least float that is not below t.
  let least = rounded;
  if (rounded < t) {
    FLOAT[0] = rounded;
    if (rounded === 0) least = 1.401298464324817e-45;
    else {
      FLOAT_BITS[0] += rounded > 0 ? 1 : -1;
      least = FLOAT[0];
    }
  }
  if (!Number.isFinite(least)) return t;
  const below = previousFloat(least);
  if (!Number.isFinite(below)) return t;
  const middle = below + (least - below) / 2;
  return Math.fround(middle) < least ? nextUp(middle) : middle;
}
