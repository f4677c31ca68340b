/** Contrast of the design tokens (WCAG 2.2, 1.4.3 and 1.4.11), and that the two dark sets are the same. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ROOT } from '../helpers/root.ts';

type Tokens = ReadonlyMap<string, string>;

const TEXT_MIN = 4.5;
const SHAPE_MIN = 3;
const GROUNDS = ['ground', 'surface'];

/** What is written on what: text, and what it stands on. */
const TEXTS: readonly (readonly [text: string, ground: string])[] = [
  ...['ground', 'surface', 'hover', 'accent-surface'].map((ground) => ['text', ground] as const),
  ...['muted', 'accent', 'good', 'critical'].flatMap((text) => GROUNDS.map((ground) => [text, ground] as const)),
  ['accent-text', 'accent'],
  ...['critical', 'major', 'minor', 'warning'].map((severity) => [`${severity}-text`, severity] as const),
];

/** What has to be seen beside what: borders, focus, lines of charts. */
const SHAPES: readonly (readonly [shape: string, ground: string])[] = [
  ...['control-border', 'focus', 'good'].flatMap((shape) => GROUNDS.map((ground) => [shape, ground] as const)),
  ...['critical', 'major', 'minor', 'warning'].map((severity) => [`${severity}-border`, 'ground'] as const),
  ...[1, 2, 3, 4, 5, 6].map((number) => [`series-${number}`, 'ground'] as const),
];

const tokensOf = (block: string): Tokens =>
  new Map([...block.matchAll(/--([\w-]+):\s*([^;]+);/g)].map(([, name, value]) => [name, value] as const));

/** Of `#rrggbb`, 0 to 1. */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [lighter, darker] = [luminance(one), luminance(other)].sort((left, right) => right - left);
  return (lighter + 0.05) / (darker + 0.05);
}

const blocks = [...readFileSync(join(ROOT, 'web', 'style', 'tokens.css'), 'utf8').matchAll(/([^{}]+)\{([^{}]*)\}/g)];
const blockOf = (selector: string): Tokens =>
  tokensOf(blocks.find(([, own]) => own.trim().endsWith(selector))?.[2] ?? '');
const light = tokensOf(blocks[0][2]);
const dark = blockOf(":root[data-theme='dark']");

t.test('what is written can be read, and what has a meaning can be seen', async (t) => {
  for (const [name, tokens] of [
    ['light', light],
    ['dark', dark],
  ] as const)
    for (const [pairs, least] of [
      [TEXTS, TEXT_MIN],
      [SHAPES, SHAPE_MIN],
    ] as const)
      for (const [over, under] of pairs) {
        const found = contrast(tokens.get(over) ?? '', tokens.get(under) ?? '');
        t.ok(found >= least, `${name}: ${over} on ${under} has ${found.toFixed(2)} of ${least}`);
      }
});

t.test('the system and the person choose the same dark colours', async (t) => {
  t.same([...blockOf(":root:not([data-theme='light'])")], [...dark]);
});
