/** Every part of the console in every state. The product's build leaves it out: a script puts it in the place of a screen. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { ROOT } from '../../helpers/root.ts';

const CODE = `
  import { h, render } from 'preact';
  import Gallery from ${JSON.stringify(join(ROOT, 'web', 'screens', 'gallery', 'gallery.tsx'))};
  const main = document.querySelector('main');
  main.replaceChildren();
  render(h(Gallery), main);
`;

export async function galleryScript(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: CODE, resolveDir: ROOT },
    absWorkingDir: ROOT,
    bundle: true,
    format: 'iife',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: { __WORKER_FILE__: '""' },
    write: false,
  });
  return outputFiles[0].text;
}

/** @param page with any screen. */
export async function showGallery(page: Page, script: string): Promise<void> {
  // Beside the policy of the page, as a script of the debugger.
  await page.evaluate(script);
  await page.locator('main h1', { hasText: 'Gallery' }).waitFor();
}

/**
 * How parts look, stored in place of pixels: those differ with the fonts and the version of the browser of each machine,
 * while what the styles say of a part is the same everywhere.
 */
const LOOKS_FILE = join(ROOT, 'test', 'web', 'helpers', 'gallery-looks.txt');

/** In the page: a line for each kind of part in the gallery, in the order of their names. */
const LOOKS = `(() => {
  const lookOf = (element) => {
    const style = getComputedStyle(element);
    const of = (name) => style.getPropertyValue(name).replaceAll(', ', ',');
    const border = ['top', 'right', 'bottom', 'left'].map((side) => of('border-' + side + '-width'));
    const words = [
      of('font-size') + '/' + of('line-height') + ' ' + of('font-weight'),
      of('color'),
      'on ' + of('background-color'),
      'padding ' + of('padding'),
    ];
    if (border.some((width) => width !== '0px')) words.push('border ' + border.join(' ') + ' ' + of('border-top-color'));
    if (of('border-radius') !== '0px') words.push('radius ' + of('border-radius'));
    // Of others it depends on where their text breaks.
    if (element.matches('button, .badge, input, select'))
      words.push('high ' + Math.round(element.getBoundingClientRect().height));
    return words.join(', ');
  };
  const states = ['disabled', 'aria-disabled', 'aria-selected', 'aria-invalid', 'data-state', 'type'];
  const lines = [...document.querySelectorAll('main [class]:not(svg, svg *), main input, main select')].map((element) => {
    const told = states.filter((name) => element.hasAttribute(name))
      .map((name) => '[' + name + '=' + element.getAttribute(name) + ']');
    const name = [element.localName, ...[...element.classList].sort()].join('.') + told.join('');
    return name + ': ' + lookOf(element);
  });
  return [...new Set(lines)].sort();
})()`;

/** Compares parts in both themes with what is stored; `MILLRACE_GALLERY=write` stores how they look now. */
export async function compareLooks(t: Test, page: Page, script: string): Promise<void> {
  await showGallery(page, script);
  const looks: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    looks.push(`# ${colorScheme}`, ...(await page.evaluate<string[]>(LOOKS)));
  }
  if (process.env['MILLRACE_GALLERY'] === 'write') writeFileSync(LOOKS_FILE, `${looks.join('\n')}\n`);
  const stored = readFileSync(LOOKS_FILE, 'utf8').trimEnd().split('\n');
  t.same(
    { added: looks.filter((line) => !stored.includes(line)), lost: stored.filter((line) => !looks.includes(line)) },
    { added: [], lost: [] },
    'parts look as stored: with MILLRACE_GALLERY=write a change is stored, to be looked at in the difference',
  );
}
