/** The account: what it changes holds after a reload, and in another browser. */
import { Secret, TOTP } from 'otpauth';
import type { Test } from 'tap';
import { TENANT } from '../../helpers/running/server.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

export async function accountScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const page = await console.page(t);
  const setZone = (value: string): Promise<unknown> =>
    console.server.rest.post('/tenant/options', { category: 'console', key: 'time.zone', value });
  await console.open(page, '/account');
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
  await page.locator('.zone-button', { hasText: 'UTC+09:00' }).waitFor();
  await page.getByLabel('Colours').selectOption('dark');
  t.match(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor'), 'rgb(17, 22, 27)');
  await console.settle(page);
  const other = await console.page(t);
  await console.open(other, '/');
  await other.locator('.zone-button', { hasText: 'UTC+09:00' }).waitFor();
  await console.open(other, '/account?tz=America/Lima');
  await other.locator('.zone-button', { hasText: 'UTC−05:00' }).waitFor();
  await setZone('Asia/Kolkata');
  await page.getByLabel('Time zone').selectOption('');
  await console.settle(page);
  await console.open(page, '/account');
  await page.locator('.zone-button', { hasText: 'UTC+05:30' }).waitFor();
  await page.getByText('Of the tenant (Asia/').waitFor({ state: 'attached' });
  await setZone('Mars/Olympus');
  await console.open(page, '/account');
  await page.getByText('Of this browser').waitFor({ state: 'attached' });
  await page.getByLabel('Colours').selectOption('system');
  await page.getByLabel('Language').selectOption('de');
  await page.getByRole('heading', { name: 'Ihr Konto' }).waitFor();
  await page.getByLabel('Sprache').selectOption('en');
  await console.settle(page);

  await t.test('one-time codes are set up, and all sessions end', async (t) => {
    const { rest } = console.server;
    await rest.create(`/user/${TENANT}/users`, { userName: 'secured', password: 'Analytical-1' });
    const own = await console.page(t, { isLoggedOut: true });
    await own.goto(console.url('/account'));
    await own.getByLabel('User name').fill(`${TENANT}/secured`);
    await own.getByLabel('Password').fill('Analytical-1');
    await own.keyboard.press('Enter');
    await own.getByRole('button', { name: 'Set up one-time codes' }).click();
    const dialog = own.getByRole('dialog', { name: 'Set up one-time codes' });
    const secret = Secret.fromBase32((await dialog.locator('code').textContent()) ?? '');
    await dialog.getByLabel('One-time code').fill(new TOTP({ secret }).generate());
    await dialog.getByLabel('Current password').fill('Analytical-1');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await own.locator('p', { hasText: 'Logging in takes a one-time code' }).first().waitFor();
    await own.getByRole('button', { name: 'Log out everywhere' }).click();
    await own.getByRole('dialog').getByRole('button', { name: 'Log out' }).click();
    await own.getByRole('dialog', { name: 'Log in' }).waitFor();
  });
}
