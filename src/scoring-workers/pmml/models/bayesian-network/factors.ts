/** A table over some variables: one number for each combination of their values, the last variable the fastest. */
export interface Factor {
  /** Indexes of variables, in rising order. */
  readonly variables: readonly number[];
  readonly table: Float64Array;
}

export const TABLE_MAX = 4_000_000;

/** A network whose tables become too large to be exact. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/**
 * Sums all variables but one out of the product of factors (variable elimination, those first that make the smallest table).
 *
 * @param sizes how many values each variable has
 * @returns weights of the values of the kept variable, not normalised
 */
export function eliminate(factors: readonly Factor[], sizes: readonly number[], kept: number): Float64Array {
  let rest = [...factors];
  const left = new Set(rest.flatMap(({ variables }) => variables));
  left.delete(kept);
  while (left.size > 0) {
    const next = smallest(left, rest, sizes);
    left.delete(next);
    const touching = rest.filter(({ variables }) => variables.includes(next));
    rest = rest.filter(({ variables }) => !variables.includes(next));
    rest.push(sumOut(multiply(touching, sizes), next, sizes));
  }
  const result = multiply(rest, sizes);
  return result.variables.length === 0 ? new Float64Array(sizes[kept] ?? 0).fill(result.table[0] ?? 0) : result.table;
}

function smallest(left: ReadonlySet<number>, factors: readonly Factor[], sizes: readonly number[]): number {
  let best = -1;
  let lowest = Number.POSITIVE_INFINITY;
  for (const variable of left) {
    const together = new Set(
      factors.filter(({ variables }) => variables.includes(variable)).flatMap(({ variables }) => variables),
    );
    const size = [...together].reduce((product, one) => product * (sizes[one] ?? 1), 1);
    if (size < lowest) {
      lowest = size;
      best = variable;
    }
  }
  return best;
}

function multiply(factors: readonly Factor[], sizes: readonly number[]): Factor {
  const variables = [...new Set(factors.flatMap((factor) => factor.variables))].sort((a, b) => a - b);
  const size = variables.reduce((product, variable) => product * (sizes[variable] ?? 1), 1);
  if (size > TABLE_MAX)
    throw new TooLarge(`a table of the network would have ${size} entries; at most ${TABLE_MAX} are computed`);
  const table = new Float64Array(size).fill(1);
  for (const factor of factors) {
    const strides = stridesOf(factor, variables, sizes);
    for (let i = 0; i < size; i++)
      table[i] = (table[i] as number) * (factor.table[indexIn(i, strides, variables, sizes)] as number);
  }
  return { variables, table };
}

/** Of each variable of the product: how far its next value is in the factor. */
function stridesOf(factor: Factor, variables: readonly number[], sizes: readonly number[]): number[] {
  const strides = variables.map(() => 0);
  let stride = 1;
  for (const variable of [...factor.variables].reverse()) {
    strides[variables.indexOf(variable)] = stride;
    stride *= sizes[variable] ?? 1;
  }
  return strides;
}

function indexIn(
  index: number,
  strides: readonly number[],
  variables: readonly number[],
  sizes: readonly number[],
): number {
  let rest = index;
  let at = 0;
  for (let i = variables.length - 1; i >= 0; i--) {
    const size = sizes[variables[i] as number] ?? 1;
    at += (rest % size) * (strides[i] as number);
    rest = Math.floor(rest / size);
  }
  return at;
}

function sumOut(factor: Factor, variable: number, sizes: readonly number[]): Factor {
  const variables = factor.variables.filter((one) => one !== variable);
  const size = variables.reduce((product, one) => product * (sizes[one] ?? 1), 1);
  const table = new Float64Array(size);
  const strides = stridesOf({ variables, table }, factor.variables, sizes);
  for (let i = 0; i < factor.table.length; i++) {
    const at = indexIn(i, strides, factor.variables, sizes);
    table[at] = (table[at] as number) + (factor.table[i] as number);
  }
  return { variables, table };
}
