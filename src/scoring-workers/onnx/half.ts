/** Numbers of 16 bits (IEEE 754 binary16), which tensors of the type float16 carry as their bits. */

const EXPONENT_BIAS = 15;
const SUBNORMAL_STEP = 2 ** -24;
const floats = new Float32Array(1);
const bits = new Uint32Array(floats.buffer);

export function fromHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * SUBNORMAL_STEP;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return sign * 2 ** (exponent - EXPONENT_BIAS) * (1 + fraction / 1024);
}

/** The nearest one, of two equally near ones the even; beyond the largest an infinity. */
export function toHalf(value: number): number {
  floats[0] = value;
  const sign = (bits[0] >>> 16) & 0x8000;
  const magnitude = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (magnitude >= 65_520) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | roundHalfToEven(magnitude / SUBNORMAL_STEP);
  const exponent = Math.floor(Math.log2(magnitude));
  // log2 rounds: just below a power of two it may name the next one.
  const floor = 2 ** exponent > magnitude ? exponent - 1 : exponent;
  const fraction = roundHalfToEven((magnitude / 2 ** floor - 1) * 1024);
  return sign | (((floor + EXPONENT_BIAS) << 10) + fraction);
}

function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}
