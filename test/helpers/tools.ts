/**
 * Programs that some tests need: the reason to skip when one is missing (which is a failure on CI, see bin/test.mjs).
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * For `t.test(name, { skip: missing('redis-server') }, …)`; `<Python>:<module>` is a module of that Python,
 * `<name>.h` a header of C.
 * @returns false when all are installed, else the reason with the first that is missing.
 */
export function missing(...programs: readonly string[]): string | false {
  const absent = programs.find((name) => {
    if (name.endsWith('.h')) return !existsSync(join('/usr/include', name));
    const [program, module] = name.split(':');
    const command = module === undefined ? 'command -v "$0"' : '"$0" -c "import $1"';
    return spawnSync('sh', ['-c', command, program, module ?? ''], { stdio: 'ignore' }).status !== 0;
  });
  return absent === undefined ? false : `${absent} is not installed`;
}
