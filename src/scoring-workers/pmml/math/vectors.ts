/** Sums over vectors of any length: as arguments of one call a hundred thousand values would not fit. */

/** −Infinity of none; NaN where one is NaN. */
export function highestOf(values: ArrayLike<number>): number {
  let highest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) highest = Math.max(highest, values[i] as number);
  return highest;
}

/** Its length in space. */
export function normOf(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i] as number) ** 2;
  return Math.sqrt(sum);
}
