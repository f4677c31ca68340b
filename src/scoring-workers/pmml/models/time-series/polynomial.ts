/** Coefficients of a polynomial in the lag, from lag 0. */
export type Polynomial = Float64Array;

export const ONE: Polynomial = Float64Array.of(1);

/** 1 - a₁ B^s - a₂ B^2s - … */
export const regressive = (factors: Float64Array, period: number): Polynomial => lagged(factors, period, -1);

/** 1 + a₁ B^s + a₂ B^2s + … */
export const moving = (factors: Float64Array, period: number): Polynomial => lagged(factors, period, 1);

function lagged(factors: Float64Array, period: number, sign: 1 | -1): Polynomial {
  const polynomial = new Float64Array(factors.length * period + 1);
  polynomial[0] = 1;
  factors.forEach((factor, i) => {
    polynomial[(i + 1) * period] = sign * factor;
  });
  return polynomial;
}

/** a₀ + a₁ B^s + a₂ B^2s + … */
export function spaced(factors: Float64Array, period: number): Polynomial {
  const polynomial = new Float64Array(Math.max(factors.length - 1, 0) * period + 1);
  factors.forEach((factor, i) => {
    polynomial[i * period] = factor;
  });
  return polynomial;
}

/** (1 - B^s)^order */
export function differences(order: number, period: number): Polynomial {
  let result = ONE;
  for (let i = 0; i < order; i++) result = product(result, regressive(ONE, period));
  return result;
}

export function product(a: Polynomial, b: Polynomial): Polynomial {
  const result = new Float64Array(a.length + b.length - 1);
  for (let i = 0; i < a.length; i++) {
    const factor = a[i] as number;
    if (factor === 0) continue;
    for (let j = 0; j < b.length; j++) result[i + j] = (result[i + j] as number) + factor * (b[j] as number);
  }
  return result;
}
