/** The page of what the engine reads (docs/reference/pmml.md), made of its own lists. */
import { EXPRESSION_NAMES } from '../expressions/compile.ts';
import type { BuiltIn } from '../expressions/functions/built-in.ts';
import { BUILT_INS } from '../expressions/functions/table.ts';
import { USAGES } from '../fields/mining-field.ts';
import { DATA_TYPES } from '../fields/types.ts';
import { MINING_FUNCTIONS } from '../models/model.ts';
import { EXPRESSION_FEATURES, FEATURE_NAMES } from '../output/features.ts';
import { PREDICATE_NAMES } from '../predicates/compile.ts';
import { VERSIONS } from '../read.ts';
import { FAMILIES } from '../registry.ts';
import { FAMILY_VARIANTS } from './families.ts';
import { refusals } from './refused.ts';

const code = (names: Iterable<string>): string => [...names].map((name) => `\`${name}\``).join(', ');

const argumentsOf = ({ min, max }: BuiltIn): string =>
  min === max ? String(min) : max === Number.POSITIVE_INFINITY ? `${min} or more` : `${min} to ${max}`;

export function pmmlPage(): string {
  return `${[
    '# PMML that is read',
    '',
    'Made by `npm run docs` from the lists by which the engine reads documents: do not edit. Rules and choices: [expressions](../spec/pmml-expressions.md), [trees](../spec/pmml-trees.md), [equations](../spec/pmml-equations.md), [clusters and series](../spec/pmml-clusters.md).',
    '',
    '## Versions',
    '',
    `PMML ${VERSIONS}, with the [spellings of older ones](../spec/pmml-expressions.md#documents). Names of elements count without their prefix; \`Extension\` may stand anywhere.`,
    '',
    '## Models',
    '',
    '| Element | May have |',
    '|---|---|',
    ...[...FAMILIES.keys()].map(familyLine),
    '',
    `\`functionName\`: ${code(MINING_FUNCTIONS)}.`,
    '',
    '## Fields',
    '',
    '| Part | Words |',
    '|---|---|',
    `| \`dataType\` | ${code(DATA_TYPES)} |`,
    `| \`usageType\` | ${code(USAGES)} |`,
    `| expressions | ${code(EXPRESSION_NAMES)} |`,
    `| predicates | ${code(PREDICATE_NAMES)} |`,
    `| \`feature\` of outputs | ${code([...FEATURE_NAMES, ...EXPRESSION_FEATURES].sort())} |`,
    '',
    '## Functions',
    '',
    '| Function | Arguments |',
    '|---|---|',
    ...[...BUILT_INS].map(([name, builtIn]) => `| \`${name}\` | ${argumentsOf(builtIn)} |`),
    '',
    '`DefineFunction` and uploaded [JavaScript functions](../spec/scoring.md#javascript-functions) stand beside them.',
    '',
    '## Refused',
    '',
    'A document with one of these is answered with the annotated document and not deployed. The reason stands in front of the element:',
    '',
    '| What | Reason |',
    '|---|---|',
    ...refusals().map(({ what, reason }) => `| ${what} | ${reason.replaceAll('|', '\\|')} |`),
  ].join('\n')}\n`;
}

function familyLine(name: string): string {
  const family = FAMILY_VARIANTS.get(name);
  if (family === undefined) throw new Error(`the page does not say what ${name} may have`);
  const shown = family.page === '' ? `\`${name}\`` : `[\`${name}\`](../spec/${family.page})`;
  return `| ${shown} | ${family.variants.map(({ what, words }) => `${what}: ${code(words)}`).join('; ')} |`;
}
