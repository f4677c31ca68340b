/** docs/reference/limits.md names the limits of the source, and no others. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ERRORS } from '../../src/model/errors.ts';
import { ROOT } from '../helpers/root.ts';

/** Texts of the form `<area>/<limit>`. */
const NAME = /(['`])([a-z][a-z-]*\/[a-z][a-z0-9.-]*[a-z0-9])\1/g;

/** The same with a part that the code fills in. */
const TEMPLATE = /`([a-z][a-z-]*\/(?:[a-z0-9.-]|\$\{[^{}`]*\})*\$\{[^{}`]*\}[a-z0-9.-]*)`/g;

/** Texts of that form in areas with limits that are something else. */
const OTHERS = new Set(['measurement/measurements']);

/** Names of refused requests, by what the client asked for. */
const isErrorCode = (name: string): boolean => Object.hasOwn(ERRORS, name);
/** The page tells once that a limit is shared (src/pacing/shares.ts). */
const withoutShare = (name: string): string => name.replace(/-of-(user|tenant)$/, '');

/** What a name on the page looks like for it: `<code>`, `…` or one value. */
const patternOf = (template: string): RegExp =>
  new RegExp(
    `^${template
      .split(/\$\{[^{}]*\}/)
      .map((part) => part.replaceAll('.', '\\.'))
      .join('\\S+')}$`,
  );

t.test('limits', async (t) => {
  const page = readFileSync(join(ROOT, 'docs/reference/limits.md'), 'utf8');
  const documented = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
  const areas = new Set(['json-over-mqtt', ...documented].map((name) => name.split('/')[0]));
  const found = new Set<string>();
  const templates = new Set<string>();
  for (const file of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue;
    const code = readFileSync(join(ROOT, 'src', file), 'utf8').replace(
      /\/\*[\s\S]*?\*\/|^\s*\/\/.*$|^import .*$/gm,
      '',
    );
    for (const [, , name] of code.matchAll(NAME))
      if (areas.has(name.split('/')[0]) && !OTHERS.has(name)) found.add(name);
    for (const [, template] of code.matchAll(TEMPLATE)) if (areas.has(template.split('/')[0])) templates.add(template);
  }
  t.same(
    documented.filter((name) => !found.has(name) && ![...templates].some((template) => patternOf(template).test(name))),
    [],
    'each is in the source',
  );
  t.same(
    [...found].filter(
      (name) => !documented.includes(name) && !documented.includes(withoutShare(name)) && !isErrorCode(name),
    ),
    [],
    'none is missing',
  );
  const named = [...page.matchAll(/`([a-z][a-z-]*\/[^\s`]+)`/g)].map(([, name]) => name);
  t.same(
    [...templates].filter((template) => !named.some((name) => patternOf(template).test(name))),
    [],
    'none of those with a filled-in part is missing',
  );
  t.equal(new Set(documented).size, documented.length, 'each once');
});
