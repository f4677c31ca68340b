/**
 * A person's first walk, in a browser: a fresh server, a device connected by the copied command, its chart, its alarm, an
 * operation, and a user who sees one group only. The device is mosquitto's clients in a shell, as on the page.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import type { Page } from 'playwright-core';
import { PASSWORD, TENANT } from '../helpers/running/server.ts';
import { BROWSER } from '../helpers/browser.ts';
import { missing } from '../helpers/tools.ts';
import { startConsole } from './helpers/browser.ts';
import type { ConsoleBrowser } from './helpers/browser.ts';

const run = promisify(execFile);

/** The operation that the page sends unless another is chosen. */
const RESTART = 'c8y_Restart';

async function logIn(page: Page, name: string, password: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Log in' });
  await dialog.getByLabel('User name').fill(`${TENANT}/${name}`);
  await dialog.getByLabel('Password').fill(password);
  await page.keyboard.press('Enter');
}

/** Connects a device as the page says. @returns the command, and its way to send another row of SmartREST. */
async function connectDevice(page: Page): Promise<string> {
  await page
    .locator('main')
    .getByRole('link', { name: /Connect a device|Add a device/ })
    .first()
    .click();
  await page.getByLabel('Name').fill('Boiler');
  await page.getByRole('button', { name: 'Make the device' }).click();
  await page.getByText('Waiting for the first message').waitFor();
  const command = (await page.getByRole('region', { name: 'Command' }).textContent()) ?? '';
  await run('sh', ['-c', command]);
  await page.getByText('c8y_Water.T 61.5 C').waitFor();
  await page.getByRole('link', { name: 'Open the device' }).click();
  await page.getByRole('heading', { name: 'Boiler', level: 1 }).waitFor();
  return command;
}

/** The operation goes to the device, which carries it out; the page shows it end. */
async function restart(page: Page, command: string): Promise<void> {
  const sent = (row: string): Promise<unknown> => run('sh', ['-c', command.replace(/-m '[^']*'/, `-m '${row}'`)]);
  await sent(`114,${RESTART}`);
  const listening = command
    .replace('mosquitto_pub', 'mosquitto_sub')
    .replace(/-t s\/us -m '[^']*'/, '-t s/ds -C 1 -W 60');
  const received = run('sh', ['-c', listening]);
  await page.locator('main').getByRole('link', { name: 'Operations', exact: true }).click();
  await page.getByRole('button', { name: 'Send an operation' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click();
  const { stdout } = await received;
  t.match(stdout, /^510,trial-\w+\n$/, 'the device is told to restart');
  for (const row of [`501,${RESTART}`, `503,${RESTART}`]) await sent(row);
  await page.getByRole('row', { name: /c8y_Restart.*Successful/ }).waitFor();
}

/** A group with the device, a role for it, and a user who has that role there. @returns the user's password. */
async function shareGroup(page: Page, console: ConsoleBrowser): Promise<string> {
  const dialog = page.getByRole('dialog');
  await console.open(page, '/groups');
  await page.getByRole('button', { name: 'New group' }).first().click();
  await dialog.getByLabel('Name').fill('Cellar');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Cellar', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Add members' }).click();
  await page.getByLabel('Name contains').fill('Boiler');
  await page.getByRole('button', { name: 'Add all 1 that match' }).click();
  await page.getByRole('link', { name: 'Boiler' }).waitFor();

  await console.open(page, '/admin/inventory-roles');
  await page.getByRole('button', { name: 'Add an inventory role' }).click();
  await dialog.getByRole('textbox', { name: /^Name/ }).fill('Keepers');
  await dialog.getByLabel('Data').selectOption({ label: 'All data' });
  await dialog.getByLabel('May').selectOption({ label: 'Read' });
  await dialog
    .getByRole('button', { name: /Save|Add/ })
    .last()
    .click();
  await page.getByText('Keepers is created').waitFor();

  await console.open(page, '/admin/users');
  await page.getByRole('button', { name: 'Add a user' }).click();
  await dialog.getByLabel('User name').fill('keeper');
  await dialog.getByLabel('The user has to change it').uncheck();
  const password = await dialog.getByLabel('Password').inputValue();
  await dialog.getByRole('button', { name: 'Add a user' }).click();
  await dialog.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('combobox', { name: 'Group or device' }).fill('Cellar');
  await page.getByRole('option', { name: 'Cellar' }).click();
  await page.getByLabel('Role', { exact: true }).selectOption({ label: 'Keepers' });
  await page.getByRole('button', { name: 'Give', exact: true }).click();
  await page.getByText('Keepers is given for Cellar').waitFor();
  return password;
}

const skip = missing(BROWSER, 'mosquitto_pub');

t.test('from a fresh server to a user who sees one group', { skip }, async (t) => {
  const console = await startConsole(t);
  const startMs = Date.now();
  const page = await console.page(t, { isLoggedOut: true });
  await page.goto(console.url('/'));
  await logIn(page, 'admin', PASSWORD);
  await page.getByRole('heading', { name: 'Home' }).waitFor();

  const command = await connectDevice(page);
  await page.locator('main').getByRole('link', { name: 'Measurements', exact: true }).click();
  await page.getByRole('application', { name: 'c8y_Water.T' }).waitFor();
  await page.getByRole('cell', { name: '61.5 C' }).waitFor();

  await run('sh', ['-c', command.replace(/-m '[^']*'/, "-m '301,c8y_Leak,Water on the floor'")]);
  await page.locator('main').getByRole('link', { name: 'Alarms', exact: true }).click();
  await page.getByRole('checkbox', { name: 'Select Water on the floor' }).check();
  await page.getByRole('button', { name: 'Acknowledge 1 alarm' }).click();
  await page.getByRole('cell', { name: 'Acknowledged' }).waitFor();

  await restart(page, command);

  await console.server.rest.createDevice('Elsewhere');
  const password = await shareGroup(page, console);
  const own = await console.page(t, { isLoggedOut: true });
  await own.goto(console.url('/devices'));
  await logIn(own, 'keeper', password);
  await own.getByRole('link', { name: 'Boiler' }).waitFor();
  await console.settle(own);
  t.equal(await own.getByRole('link', { name: 'Elsewhere' }).count(), 0, 'no device of another group');
  t.comment(`the walk took ${Math.round((Date.now() - startMs) / 1_000)} s`);
  t.same(console.takeFaults(), [], 'errors of scripts, reports of the policy, requests to elsewhere');
});
