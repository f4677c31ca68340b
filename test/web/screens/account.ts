/** The account: what it changes holds after a reload, and in another browser. */
import type { Test } from 'tap';
import type { ConsoleBrowser } from '../helpers/browser.ts';

export async function accountScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const page = await console.page(t);
  await console.open(page, '/account');
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
  await page.locator('.zone-button', { hasText: 'UTC+09:00' }).waitFor();
  await page.getByLabel('Colours').selectOption('dark');
  t.match(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(17, 22, 27)');
  await console.settle(page);
  const other = await console.page(t);
  await console.open(other, '/');
  await other.locator('.zone-button', { hasText: 'UTC+09:00' }).waitFor();
  await page.getByLabel('Time zone').selectOption('');
  await page.getByLabel('Colours').selectOption('system');
  await page.getByLabel('Language').selectOption('de');
  await page.getByRole('heading', { name: 'Ihr Konto' }).waitFor();
  await page.getByLabel('Sprache').selectOption('en');
  await console.settle(page);
}
