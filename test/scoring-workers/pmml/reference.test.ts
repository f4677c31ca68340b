/** docs/reference/pmml.md is made of the lists by which the engine reads documents. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { pmmlPage } from '../../../src/scoring-workers/pmml/reference/page.ts';
import { FAMILY_VARIANTS } from '../../../src/scoring-workers/pmml/reference/families.ts';
import { FAMILIES } from '../../../src/scoring-workers/pmml/registry.ts';
import { ROOT } from '../../helpers/root.ts';

t.test('the page is what `npm run docs` writes', async (t) => {
  t.same([...FAMILY_VARIANTS.keys()], [...FAMILIES.keys()]);
  t.equal(readFileSync(join(ROOT, 'docs', 'reference', 'pmml.md'), 'utf8'), pmmlPage());
});
