/** Whether the tests exist that rows name. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { RuleRow } from './rows.ts';
import { ROOT } from '../helpers/root.ts';

/** A test of the file has a title, or a row of a table, that begins so. */
export function checkHeldBy(t: Test, heldBy: RuleRow['heldBy'] = []): void {
  for (const [file, title] of heldBy) {
    const paths = [join(ROOT, 'test', `${file}.test.ts`), join(ROOT, 'test', `${file}.ts`)].filter((path) => existsSync(path));
    const text = paths.map((path) => readFileSync(path, 'utf8')).join('\n');
    const plain = title.replaceAll("'", "\\'");
    t.ok([`test('${plain}`, `test(\`${title}`, `row: '${plain}`].some((start) => text.includes(start)), `test/${file} has a test '${title}'`);
  }
}
