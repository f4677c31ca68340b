/** The login: in place, by the server's words, and nothing is lost. */
import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { PASSWORD, TENANT, eventually } from '../../helpers/running/server.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

const USER_PASSWORD = 'Analytical-1';

async function logIn(page: Page, name: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Log in' });
  await dialog.getByLabel('User name').fill(`${TENANT}/${name}`);
  await dialog.getByLabel('Password').fill(USER_PASSWORD);
  await page.keyboard.press('Enter');
}

/** A forgotten password: the link comes by mail, without a mail server through the log. */
async function forgottenPassword(t: Test, console: ConsoleBrowser): Promise<void> {
  const { rest } = console.server;
  const email = 'forgetful@example.com';
  await rest.create(`/user/${TENANT}/users`, { userName: 'forgetful', password: USER_PASSWORD, email });
  const page = await console.page(t, { isLoggedOut: true });
  await page.goto(console.url('/devices'));
  await page.getByRole('button', { name: 'Forgot your password?' }).click();
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Tenant').fill(TENANT);
  await page.getByRole('button', { name: 'Mail me a link' }).click();
  await page.getByText('a link is on its way').waitFor();
  const line = await eventually('the link', () => console.server.complaints.find((one) => one.includes(email)));
  t.match(line, /\?token=/);
  await page.getByRole('button', { name: 'Back to the login' }).click();
  await page.getByRole('dialog', { name: 'Log in' }).waitFor();
}

/** Makes a user who has to set up one-time codes, and one whose password somebody else has set. */
async function secondSteps(t: Test, console: ConsoleBrowser): Promise<void> {
  const { rest } = console.server;
  const groups = (await rest.read(`/user/${TENANT}/groups?pageSize=100`)).groups as { id: string; name: string }[];
  const admins = groups.find(({ name }) => name === 'admins')?.id;
  for (const [userName, members] of [
    ['coded', { twoFactorAuthenticationEnabled: true }],
    ['changing', { shouldResetPassword: true }],
  ] as const) {
    const { self } = await rest.create(`/user/${TENANT}/users`, { userName, password: USER_PASSWORD, ...members });
    await rest.create(`/user/${TENANT}/groups/${admins}/users`, { user: { self } });
  }

  await t.test('one-time codes are set up and asked for, by cookie and by Basic', async (t) => {
    const page = await console.page(t, { isLoggedOut: true });
    await page.goto(console.url('/devices'));
    await logIn(page, 'coded');
    const dialog = page.getByRole('dialog', { name: 'Log in' });
    await dialog.getByRole('img', { name: 'QR code' }).waitFor();
    const secret = Secret.fromBase32((await dialog.locator('code').textContent()) ?? '');
    const codeOf = (timestamp: number): string => new TOTP({ secret }).generate({ timestamp });
    const startMs = Date.now();
    await dialog.getByLabel('One-time code').fill(codeOf(startMs));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Devices' }).waitFor();

    // The browser is told that the tenant offers Basic alone.
    const other = await console.page(t, { isLoggedOut: true });
    await other.route('**/tenant/loginOptions', (route) =>
      route.fulfill({ json: { loginOptions: [{ type: 'BASIC' }] } }),
    );
    await other.goto(console.url('/devices'));
    await logIn(other, 'coded');
    const asked = other.getByRole('dialog', { name: 'Log in' }).getByLabel('One-time code');
    await asked.fill(codeOf(startMs));
    await other.keyboard.press('Enter');
    await other.getByText('used already').waitFor();
    await asked.fill(codeOf(startMs + 30_000));
    await other.keyboard.press('Enter');
    await other.getByRole('heading', { name: 'Devices' }).waitFor();
    await other.locator('.live[data-state=live]').waitFor();
    t.same(await other.context().cookies(), [], 'Basic has no cookies');
    const stored = await other.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
    t.notMatch(stored, /basic|coded|token/i, 'other applications of the origin find no password');
    await other.reload();
    await other.getByRole('dialog', { name: 'Log in' }).getByText('This tenant allows no sessions').waitFor();
  });

  await t.test('a password of somebody else is changed first; another tab follows the login', async (t) => {
    const page = await console.page(t, { isLoggedOut: true });
    await page.goto(console.url('/devices'));
    const second = await page.context().newPage();
    await second.goto(console.url('/account'));
    await second.getByRole('dialog', { name: 'Log in' }).waitFor();
    await logIn(page, 'changing');
    const dialog = page.getByRole('dialog', { name: 'Set a new password' });
    await dialog.getByLabel('Current password').fill(USER_PASSWORD);
    await dialog.getByLabel('New password').first().fill('Analytical-2');
    await dialog.getByLabel('New password again').fill('Analytical-3');
    await page.keyboard.press('Enter');
    await dialog.getByText('The two passwords differ').waitFor();
    await dialog.getByLabel('New password again').fill('Analytical-2');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Devices' }).waitFor();
    await second.getByRole('heading', { name: 'Your account' }).waitFor();
    await second.getByRole('dialog', { name: 'Log in' }).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('heading', { name: 'Devices' }).waitFor();
    await console.settle(page);
    t.equal(await page.getByRole('dialog').count(), 0, 'the new password is the login');

    // Another user: the second tab has asked for nothing meanwhile.
    await second.getByRole('button', { name: 'Account: changing' }).waitFor();
    await page.getByRole('button', { name: 'Account: changing' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    const login = page.getByRole('dialog', { name: 'Log in' });
    await second.getByRole('dialog', { name: 'Log in' }).waitFor();
    await login.getByLabel('User name').fill(`${TENANT}/admin`);
    await login.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await second.getByRole('button', { name: 'Account: admin' }).waitFor();
  });
}

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

  await secondSteps(t, console);
  await t.test('a link for a forgotten password is asked for', (t) => forgottenPassword(t, console));
}
