/** Every part of the console in every state. The product's build leaves it out: a script puts it in the place of a screen. */
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
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
