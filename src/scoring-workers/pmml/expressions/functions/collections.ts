/** What is computed of several numbers; of none at all only by those who say so. In the order of the list, as sums depend on it. */

export function total(numbers: readonly number[]): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}

export function product(numbers: readonly number[]): number {
  let result = 1;
  for (const number of numbers) result *= number;
  return result;
}

export function mean(numbers: readonly number[]): number {
  return total(numbers) / numbers.length;
}

export function minimum(numbers: readonly number[]): number {
  let result = Number.POSITIVE_INFINITY;
  for (const number of numbers) if (number < result) result = number;
  return result;
}

export function maximum(numbers: readonly number[]): number {
  let result = Number.NEGATIVE_INFINITY;
  for (const number of numbers) if (number > result) result = number;
  return result;
}

/** The middle number, or the mean of the two in the middle. */
export function median(numbers: readonly number[]): number {
  const sorted = Float64Array.from(numbers).sort();
  const middle = sorted.length >>> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Standard deviation of a sample; 0 for one number. */
export function deviation(numbers: readonly number[]): number {
  if (numbers.length < 2) return 0;
  const average = mean(numbers);
  let sum = 0;
  for (const number of numbers) sum += (number - average) ** 2;
  return Math.sqrt(sum / (numbers.length - 1));
}
