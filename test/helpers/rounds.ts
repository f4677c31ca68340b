/**
 * How often a test with random input repeats it: `few` at each commit, from another seed each time, `many` with
 * `npm test -- --everywhere`.
 */
export const rounds = (few: number, many: number): number =>
  process.env['MILLRACE_TEST_ROUNDS'] === 'many' ? many : few;
