/**
 * Programs that some tests need: the reason to skip when one is missing (which is a failure on CI, see bin/test.mjs).
 */
import { spawnSync } from 'node:child_process';

/**
 * For `t.test(name, { skip: missing('redis-server') }, …)`.
 * @returns false when all are installed, else the reason with the first that is missing.
 */
export function missing(...programs: readonly string[]): string | false {
  const absent = programs.find(
    (program) => spawnSync('sh', ['-c', 'command -v "$0"', program], { stdio: 'ignore' }).status !== 0,
  );
  return absent === undefined ? false : `${absent} is not installed`;
}
