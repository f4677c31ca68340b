/** By keyboard alone: log in, add a device, open it, send it an operation. */
import type { Locator, Page } from 'playwright-core';
import type { Test } from 'tap';
import { PASSWORD, TENANT } from '../../helpers/running/server.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

/** Stops of Tab before a control counts as out of reach. */
const TABS_MAX = 80;

const isFocused = async (page: Page, target: Locator): Promise<boolean> =>
  (await target.and(page.locator(':focus')).count()) > 0;

/** Goes on by Tab until the control has the focus. @throws when it is out of reach. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
    if (await isFocused(page, target)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${target}`);
}

async function press(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press('Enter');
}

export async function keyboardWalk(t: Test, console: ConsoleBrowser): Promise<void> {
  const { rest } = console.server;
  const page = await console.page(t, { isLoggedOut: true });
  await page.goto(console.url('/'));
  await tabTo(page, page.getByLabel('User name'));
  await page.keyboard.type(`${TENANT}/admin`);
  await page.keyboard.press('Tab');
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Home' }).waitFor();

  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await page.getByRole('heading', { name: 'Devices' }).waitFor();
  await press(page, page.locator('main').getByRole('link', { name: 'Add a device' }).first());
  // The list before it has a field for what names begin with.
  await tabTo(page, page.getByRole('textbox', { name: /^Name(?! begins)/ }));
  await page.keyboard.press('Control+a');
  await page.keyboard.type('By keys');
  await page.keyboard.press('Enter');
  await press(page, page.getByRole('link', { name: 'Open the device' }));
  await page.getByRole('heading', { name: 'By keys' }).waitFor();

  await press(page, page.locator('main').getByRole('link', { name: 'Operations', exact: true }));
  await press(page, page.getByRole('button', { name: 'Send an operation' }));
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  // The focus is back a frame later.
  await page.getByRole('button', { name: 'Send an operation' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await press(page, dialog.getByRole('button', { name: 'Send', exact: true }));
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /c8y_Restart/ }).waitFor();
  const { managedObjects } = await rest.read("/inventory/managedObjects?query=name eq 'By keys'");
  const { operations } = await rest.read(`/devicecontrol/operations?deviceId=${managedObjects[0].id}`);
  t.match(operations, [{ status: 'PENDING', c8y_Restart: {} }]);
}
