/**
 * The `t` of one test file, which the query of the import names (bin/transpile.mjs): a subtest of its own where many
 * files share a process (bin/tap/together.mjs), else tap's root.
 */
import tap from '../../dist-test/node_modules/tap/tap.mjs';

export default globalThis[Symbol.for('millrace.testFiles')]?.get(new URL(import.meta.url).searchParams.get('file')) ??
  tap;
