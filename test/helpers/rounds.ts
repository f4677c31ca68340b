/**
 * How often a test with random input repeats it: `few` at each commit, from another seed each time, `many` with
 * `npm test -- --everywhere`.
 */
export const rounds = (few: number, many: number): number =>
  process.env['MILLRACE_TEST_ROUNDS'] === 'many' ? many : few;

/**
 * Of the places 1, 2, … where a test crashes: one of `every` at each commit, from a random one, all with
 * `--everywhere`. Messages name the place.
 */
export const crashPlaces = (every = 4): { readonly first: number; readonly by: number } => {
  const by = rounds(every, 1);
  return { first: 1 + Math.floor(Math.random() * by), by };
};

/**
 * Of rows 0, 1, … of a file that runs every other turn (`HALF_FILES` of bin/test.mjs): every other row in each of its
 * two turns, all with `--everywhere`.
 */
export const isInTurn = (row: number): boolean =>
  rounds(1, 2) === 2 || row % 2 === Math.floor(Number(process.env['MILLRACE_TEST_TURN'] ?? 0) / 2);
