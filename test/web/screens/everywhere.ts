/**
 * Every row of the route table: opens by its URL, without violations of WCAG 2.2 AA, in light at 1280 px, and in dark at
 * 360 px in the pseudo language, whose texts are a third longer, without sideways scrolling.
 * Each commit takes every other row in light and the rows between in dark, or the other way round, by its turn.
 */
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { isInTurn, rounds } from '../../helpers/rounds.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';
import { compareLooks, galleryScript, showGallery } from '../helpers/gallery.ts';
import { GALLERY, pathsOf } from '../helpers/rows.ts';

/** The pseudo language changes names that stand in a label, and not those on the page. */
const OF_WORDS = 'label-content-name-mismatch';
/** Every text of these comes from the texts of the console. */
const TRANSLATED = 'main label, main button:not(.table-sort, [role=tab], .button-icon), main th[scope=col], main h2';

/** Texts that are not of the pseudo language. */
async function untranslated(page: Page): Promise<string[]> {
  const texts = (await page.locator(TRANSLATED).allTextContents()).map((text) => text.trim());
  // Names of the API, of formats and of a model's fields stay as they are: c8y_Restart, t (DOUBLE).
  return texts.filter(
    (text) => /\p{Letter}{3}/u.test(text) && !text.includes('⟦') && !/^(?:\w+_\w+|ONNX|PMML|.* \([A-Z]+\))$/.test(text),
  );
}

const sidewaysPixels = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');

/** Screens that ask the server for nothing by themselves: live traffic, series that no one has chosen, no screen. */
const LINK_ALONE = ['/traffic', '/explore', '/no/such/screen'];
/** Keeps what is copied where the test reads it. */
const KEEP_COPIED = 'navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }';

/** Every screen says how to get what it shows, and the server takes the requests. */
async function copiesRequests(t: Test, console: ConsoleBrowser, page: Page, path: string): Promise<void> {
  await page.locator('main .page-head').getByRole('button', { name: 'Copy as' }).click();
  await page.getByRole('menuitem', { name: 'Link', exact: true }).waitFor();
  const item = page.getByRole('menuitem', { name: 'curl command' });
  t.equal((await item.count()) === 0, LINK_ALONE.includes(path), `${path} has its requests`);
  if (LINK_ALONE.includes(path)) return;
  await item.click();
  for (const command of (await page.evaluate<string>('copied')).split('\n\n')) {
    const [, url] = /'(http[^']+)'/.exec(command) ?? [];
    t.ok(url, `${path} has a command`);
    // Examples of the route table may name what is not there.
    if (url !== undefined && !command.includes('-X'))
      t.ok([200, 404].includes((await console.server.rest.get(url)).status), url);
  }
}

export async function everyScreen(t: Test, console: ConsoleBrowser): Promise<void> {
  const { rest } = console.server;
  const device = await rest.createDevice('Everywhere', { type: 'pump', c8y_SupportedOperations: ['c8y_Restart'] });
  const source = { id: device };
  const time = new Date().toISOString();
  await rest.create('/alarm/alarms', { source, time, type: 'c8y_Hot', text: 'Hot', severity: 'MAJOR' });
  await rest.create('/event/events', { source, time, type: 'c8y_Door', text: 'Door opened' });
  const light = await console.page(t);
  await light.addInitScript(KEEP_COPIED);
  const small = await console.page(t, { scheme: 'dark', width: 360, language: 'pseudo' });
  const isBoth = rounds(1, 2) === 2;
  const gallery = await galleryScript();
  const open = async (page: Page, path: string): Promise<void> => {
    await console.open(page, path);
    if (path === GALLERY) await showGallery(page, gallery);
  };
  for (const [index, path] of [...(await pathsOf(device)), '/no/such/screen'].entries()) {
    const isLight = isInTurn(index);
    if (isLight) {
      await open(light, path);
      t.same(await console.violations(light), [], `${path}, light, 1280 px`);
      if (path !== GALLERY) await copiesRequests(t, console, light, path);
    }
    if (isLight && !isBoth) continue;
    await open(small, path);
    t.same(await console.violations(small, OF_WORDS), [], `${path}, dark, 360 px`);
    t.ok((await sidewaysPixels(small)) <= 0, `${path} does not scroll sideways at 360 px`);
    if (path !== GALLERY) t.same(await untranslated(small), [], `${path} has all texts in every language`);
  }
  await console.open(light, GALLERY);
  await compareLooks(t, light, gallery);
}
