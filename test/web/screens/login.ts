/** The login: in place, by the server's words, and nothing is lost. */
import type { Test } from 'tap';
import { PASSWORD, TENANT } from '../../helpers/running/server.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

export async function loginScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const page = await console.page(t, { isLoggedOut: true });
  await page.goto(console.url('/devices?name=pump'));
  const dialog = page.getByRole('dialog', { name: 'Log in' });
  await dialog.getByLabel('User name').fill(`${TENANT}/admin`);
  await dialog.getByLabel('Password').fill('wrong');
  await page.keyboard.press('Enter');
  await dialog.getByRole('alert').waitFor();
  t.equal(await dialog.getByLabel('User name').inputValue(), `${TENANT}/admin`, 'a wrong password keeps the name');
  await dialog.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Devices' }).waitFor();
  t.equal(await page.getByLabel('Name begins with').inputValue(), 'pump', 'the address is as before the login');

  // The session ends in the middle of a form.
  await page.goto(console.url('/devices/new'));
  await page.getByLabel('Name').fill('Half a name');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Make the device' }).click();
  await dialog.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('tab', { name: 'curl' }).waitFor();
  const { managedObjects } = await console.server.rest.read("/inventory/managedObjects?query=name eq 'Half a name'");
  t.equal(managedObjects.length, 1, 'the request went on after the login');
}
