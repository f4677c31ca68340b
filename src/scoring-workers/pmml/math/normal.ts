/** The error function and the normal distribution, to the precision of a double. */

const SQRT_HALF = Math.SQRT1_2;
const INVERSE_SQRT_PI = 0.5641895835477563;
const INVERSE_SQRT_TWO_PI = 0.3989422804014327;

// Coefficients of the rational approximations of W. J. Cody, Mathematics of Computation 23 (1969).
const SMALL_P = [
  3.1611237438705656, 113.86415415105016, 377.485237685302, 3209.3775891384694, 0.18577770618460315,
] as const;
const SMALL_Q = [23.601290952344122, 244.02463793444417, 1282.6165260773723, 2844.2368334391706] as const;
const MIDDLE_P = [
  0.5641884969886701, 8.883149794388377, 66.11919063714163, 298.6351381974001, 881.952221241769, 1712.0476126340707,
  2051.0783778260716, 1230.3393547979972, 2.1531153547440383e-8,
] as const;
const MIDDLE_Q = [
  15.744926110709835, 117.6939508913125, 537.1811018620099, 1621.3895745666903, 3290.7992357334597, 4362.619090143247,
  3439.3676741437216, 1230.3393548037495,
] as const;
const LARGE_P = [
  0.30532663496123236, 0.36034489994980445, 0.12578172611122926, 0.016083785148742275, 6.587491615298378e-4,
  0.016315387137302097,
] as const;
const LARGE_Q = [
  2.568520192289822, 1.8729528499234604, 0.5279051029514285, 0.06051834131244132, 0.0023352049762686918,
] as const;

/** Where erfc(x) begins to be 0. */
const ERFC_END = 26.543;

function erfSmall(x: number): number {
  const square = x * x;
  let numerator = SMALL_P[4] * square;
  let denominator = square;
  for (let i = 0; i < 3; i++) {
    numerator = (numerator + (SMALL_P[i] as number)) * square;
    denominator = (denominator + (SMALL_Q[i] as number)) * square;
  }
  return (x * (numerator + SMALL_P[3])) / (denominator + SMALL_Q[3]);
}

/** e^(-y²) without the loss of the rounded square. */
function expOfSquare(y: number): number {
  const high = Math.trunc(y * 16) / 16;
  return Math.exp(-high * high) * Math.exp(-(y - high) * (y + high));
}

/** erfc of a number above 0.46875. */
function erfcLarge(y: number): number {
  if (y > ERFC_END) return 0;
  if (y <= 4) {
    let numerator = MIDDLE_P[8] * y;
    let denominator = y;
    for (let i = 0; i < 7; i++) {
      numerator = (numerator + (MIDDLE_P[i] as number)) * y;
      denominator = (denominator + (MIDDLE_Q[i] as number)) * y;
    }
    return (expOfSquare(y) * (numerator + MIDDLE_P[7])) / (denominator + MIDDLE_Q[7]);
  }
  const inverse = 1 / (y * y);
  let numerator = LARGE_P[5] * inverse;
  let denominator = inverse;
  for (let i = 0; i < 4; i++) {
    numerator = (numerator + (LARGE_P[i] as number)) * inverse;
    denominator = (denominator + (LARGE_Q[i] as number)) * inverse;
  }
  const tail = (inverse * (numerator + LARGE_P[4])) / (denominator + LARGE_Q[4]);
  return (expOfSquare(y) * (INVERSE_SQRT_PI - tail)) / y;
}

/** The error function. */
export function erf(x: number): number {
  const y = Math.abs(x);
  if (!(y > 0.46875)) return erfSmall(x);
  const rest = 1 - erfcLarge(y);
  return x < 0 ? -rest : rest;
}

/** 1 - erf(x), without loss where erf(x) is near 1. */
export function erfc(x: number): number {
  if (!(Math.abs(x) > 0.46875)) return 1 - erfSmall(x);
  return x > 0 ? erfcLarge(x) : 2 - erfcLarge(-x);
}

/** Distribution function of the normal distribution. */
export function normalCdf(x: number, mean = 0, deviation = 1): number {
  return 0.5 * erfc((-(x - mean) / deviation) * SQRT_HALF);
}

/** Density of the normal distribution. */
export function normalPdf(x: number, mean = 0, deviation = 1): number {
  const z = (x - mean) / deviation;
  return (INVERSE_SQRT_TWO_PI * Math.exp(-0.5 * z * z)) / deviation;
}

// Coefficients of the algorithm of P. J. Acklam; one step of Halley's method makes it exact.
const CENTRE_A = [
  -3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1,
  2.506628277459239,
] as const;
const CENTRE_B = [
  -5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1,
] as const;
const TAIL_C = [
  -7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968,
  2.938163982698783,
] as const;
const TAIL_D = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416] as const;

const TAIL = 0.02425;

const polynomial = (coefficients: readonly number[], x: number): number =>
  coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0);

/** Quantile of the normal distribution; NaN where the probability is not between 0 and 1. */
export function normalQuantile(probability: number, mean = 0, deviation = 1): number {
  if (!(probability >= 0 && probability <= 1)) return Number.NaN;
  if (probability === 0) return Number.NEGATIVE_INFINITY;
  if (probability === 1) return Number.POSITIVE_INFINITY;
  return mean + deviation * standardQuantile(probability);
}

function standardQuantile(p: number): number {
  // The lower half only: there the distribution function keeps all its digits.
  if (p > 0.5) return -standardQuantile(1 - p);
  let x: number;
  if (p < TAIL) {
    const q = Math.sqrt(-2 * Math.log(p));
    x = polynomial(TAIL_C, q) / (polynomial(TAIL_D, q) * q + 1);
  } else {
    const q = p - 0.5;
    const r = q * q;
    x = (polynomial(CENTRE_A, r) * q) / (polynomial(CENTRE_B, r) * r + 1);
  }
  const error = normalCdf(x) - p;
  const step = error / normalPdf(x);
  return x - step / (1 + (x * step) / 2);
}
