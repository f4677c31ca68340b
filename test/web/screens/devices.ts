/** Devices: from an empty server to the first live value, the list, and the page of one. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { eventually } from '../../helpers/running/server.ts';
import { missing } from '../../helpers/tools.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

const run = promisify(execFile);

export async function deviceScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const { rest } = console.server;
  const page = await console.page(t);

  await t.test('a new device gets credentials, and its first message appears by itself', async (t) => {
    await console.open(page, '/devices/new');
    await page.getByLabel('Name').fill('Walked');
    await page.getByRole('button', { name: 'Make the device' }).click();
    const command = page.getByRole('region', { name: 'Command' });
    t.match(await command.textContent(), /mosquitto_pub -h '[\w.]+' -p \d+ -i 'trial-\w+'[\s\S]*-P '\w{20}'/);
    await page.getByRole('tab', { name: 'curl' }).click();
    t.match(await command.textContent(), /curl -u 't1\/device_trial-\w+:\w{20}'/);
    await page.getByText('Waiting for the first message').waitFor();
    const arrived = page.getByText('c8y_Water.T 61.5 C');
    for (const [count, tool] of ['curl', 'mosquitto_pub'].filter((name) => !missing(name)).entries()) {
      await page.getByRole('tab', { name: tool, exact: true }).click();
      await run('sh', ['-c', (await command.textContent()) ?? '']);
      await arrived.nth(count).waitFor();
    }
    await page.getByRole('button', { name: /No device at hand/ }).click();
    await page.getByText('It works').waitFor();
    await page.getByText('Hello from the console').waitFor();
    await page.getByRole('button', { name: 'Remove it again' }).click();
    await page.getByRole('button', { name: 'Make the device' }).waitFor();
    t.same((await rest.read("/inventory/managedObjects?query=name eq 'Walked'")).managedObjects, []);
  });

  await t.test('the list finds by name and by query, keeps both in the address, and changes in place', async (t) => {
    const id = await rest.createDevice('Pump 7', { type: 'pump', c8y_Hardware: { serialNumber: 'S-7' } });
    await rest.createDevice('Boiler 1', { type: 'boiler' });
    await console.open(page, '/devices');
    await page.getByRole('link', { name: 'Boiler 1' }).waitFor();
    await page.getByLabel('Name begins with').fill('Pump');
    await page.getByRole('link', { name: 'Boiler 1' }).waitFor({ state: 'detached' });
    t.match(page.url(), /\?name=Pump$/);
    await page.reload();
    await page.getByRole('link', { name: 'Pump 7' }).waitFor();
    t.equal(await page.getByRole('row').count(), 2, 'the head and one device');
    await page.locator('.live[data-state=live]').waitFor();
    await rest.put(`/inventory/managedObjects/${id}`, { name: 'Pump 8' });
    await page.getByRole('link', { name: 'Pump 8' }).waitFor();
    await page.getByLabel('Query').fill('name eq');
    await page.keyboard.press('Enter');
    await page.locator('.field-error').waitFor();
    t.match(page.url(), /q=name\+eq/);
    await console.open(page, '/devices?q=has(none)');
    await page.getByText('Nothing matches these filters').waitFor();
  });

  await t.test('a device is edited, undone, and deleted by name', async (t) => {
    const id = await rest.createDevice('Fan 1', { c8y_Precise: { value: 1 } });
    await console.open(page, `/devices/${id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Fan 2');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Fan 2' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'Fan 1' }).waitFor();
    await page.getByRole('link', { name: 'Raw JSON' }).click();
    await page.getByRole('region', { name: 'Raw JSON' }).getByText('"c8y_Precise"').waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    t.equal(await dialog.getByRole('button', { name: 'Delete' }).getAttribute('aria-disabled'), 'true');
    await dialog.getByLabel('Type Fan 1 to confirm').fill('Fan 1');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(/\/devices$/);
    await eventually(
      'the device is deleted',
      async () => (await rest.get(`/inventory/managedObjects/${id}`)).status === 404,
    );
    await console.open(page, `/devices/${id}`);
    await page.getByText('This device does not exist').first().waitFor();
  });

  await t.test('Ctrl K finds by name, serial number and page, by keyboard alone', async (t) => {
    const id = await rest.createDevice('Searched for');
    await rest.create(`/identity/globalIds/${id}/externalIds`, { type: 'c8y_Serial', externalId: 'serial-99' });
    await console.open(page, '/');
    for (const text of ['Searched', 'serial-99', id]) {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill(text);
      await page
        .getByRole('option', { name: /Searched for/ })
        .first()
        .waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Searched for' }).waitFor();
      await page.keyboard.press('g');
      await page.keyboard.press('h');
      await page.getByRole('heading', { name: 'Home' }).waitFor();
    }
    t.pass('each way led to the device');
  });
}
