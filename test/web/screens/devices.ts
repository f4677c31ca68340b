/** Devices: from an empty server to the first live value, the list, and the page of one. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
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
    await page.getByRole('tab', { name: 'thin-edge' }).click();
    await page.getByText('thin-edge connects over TLS alone').waitFor();
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
    await page.getByRole('dialog').getByRole('button', { name: 'Remove it again' }).click();
    await page.getByRole('button', { name: 'Make the device' }).waitFor();
    t.same((await rest.read("/inventory/managedObjects?query=name eq 'Walked'")).managedObjects, []);
    const known = await rest.createDevice('Known');
    await rest.create(`/identity/globalIds/${known}/externalIds`, { type: 'c8y_Serial', externalId: 'known-1' });
    await page.getByLabel('Serial number').fill('known-1');
    await page.getByRole('button', { name: 'Make the device' }).click();
    await page.getByText('A device with this serial number exists').waitFor();
  });

  await t.test('whatever a device has sent is text; a screen that fails leaves the others whole', async (t) => {
    const odd = { toString: null };
    const hostile = {
      c8y_Hardware: { model: odd },
      c8y_Notes: odd,
      c8y_RequiredAvailability: { responseInterval: odd },
    };
    const id = await rest.createDevice('Odd \u202etxt.exe', hostile);
    await console.open(page, `/devices/${id}`);
    await page.getByRole('heading', { name: 'Odd txt.exe', exact: true }).waitFor();
    t.equal(await page.locator('dd').getByText('{"toString":null}', { exact: true }).count(), 2);

    const broken = { managedObjects: [{ id, name: 'Broken', c8y_ActiveAlarmsStatus: { critical: odd } }] };
    await page.route(/managedObjects\?.*pageSize=100/, (route) => route.fulfill({ json: broken }));
    await page.getByRole('link', { name: 'Devices' }).first().click();
    await page.getByRole('heading', { name: 'This screen has failed' }).waitFor();
    await page.unroute(/managedObjects\?.*pageSize=100/);
    await page.getByRole('link', { name: 'Alarms' }).first().click();
    await page.getByRole('heading', { name: 'Alarms' }).waitFor();
    t.equal(await page.getByText('This screen has failed').count(), 0);
    await page.getByRole('link', { name: 'Devices' }).first().click();
    await page.getByRole('link', { name: 'Odd txt.exe' }).waitFor();
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
    await page.getByRole('button', { name: 'Show 1 changed' }).waitFor();
    await rest.createDevice('Pump 9');
    await page.getByRole('button', { name: 'Show 1 new, 1 changed' }).click();
    await page.getByRole('link', { name: 'Pump 9' }).waitFor();
    await page.getByLabel('Query').fill('name eq');
    await page.keyboard.press('Enter');
    await page.locator('.field-error').waitFor();
    t.match(page.url(), /q=name\+eq/);
    await console.open(page, '/devices?q=has(none)');
    await page.getByText('Nothing matches these filters').waitFor();
  });

  await t.test(
    'the list shows, orders and exports any member; the choice is of the address and the person',
    async (t) => {
      const id = await rest.createDevice('Valve 1', { c8y_Firmware: { version: '4.2' } });
      await rest.create('/alarm/alarms', {
        source: { id },
        time: new Date().toISOString(),
        type: 'c8y_Leak',
        text: 'Leak',
        severity: 'MINOR',
      });
      await console.open(page, '/devices?name=Valve');
      await page.getByRole('cell', { name: '1 Minor' }).waitFor();
      await page.getByRole('button', { name: 'Columns' }).click();
      await page.getByRole('combobox', { name: 'Add a column' }).fill('c8y_Firmware.version');
      await page.keyboard.press('Enter');
      for (let times = 0; times < 7; times += 1)
        await page.getByRole('button', { name: 'Move c8y_Firmware.version forward' }).click();
      await page.getByRole('button', { name: 'Take Type out' }).click();
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      t.match(page.url(), /cols=c8y_Firmware\.version%2C/);
      await page.getByRole('button', { name: 'c8y_Firmware.version', exact: true }).click();
      await page.getByRole('cell', { name: '4.2' }).waitFor();
      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Export as CSV' }).click();
      const lines = (await readFile(await (await saved).path(), 'utf8')).trim().split('\r\n');
      t.match(lines[0], /^Name,c8y_Firmware\.version,Connection,Alarms,Serial number/);
      t.match(lines[1], /^Valve 1,4\.2,/);
      t.equal(lines.length, 2, 'the file has what the list has');
      await console.open(page, '/devices?name=Valve');
      await page.getByRole('columnheader', { name: 'c8y_Firmware.version' }).waitFor();
      await page.getByRole('button', { name: 'Columns' }).click();
      await page.getByRole('button', { name: 'Usual columns' }).click();
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByRole('columnheader', { name: 'Type' }).waitFor();
    },
  );

  await t.test('selected devices go into a group, get an operation, and are deleted', async (t) => {
    const group = await rest.createDevice('Hall', { type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} });
    const agent = { com_cumulocity_model_Agent: {} };
    const ids = [await rest.createDevice('Lamp 1', agent), await rest.createDevice('Lamp 2', agent)];
    const members = async (): Promise<number> =>
      (await rest.read(`/inventory/managedObjects/${group}/childAssets`)).references.length;
    await rest.create(`/inventory/managedObjects/${group}/childAssets`, { managedObject: { id: ids[0] } });
    await console.open(page, '/devices?name=Lamp');
    const select = async (): Promise<void> => {
      await page.getByRole('checkbox', { name: 'Select all rows of this page' }).check();
    };
    await select();
    await page.getByRole('button', { name: 'Add to a group' }).click();
    await page.getByRole('dialog').getByLabel('Group', { exact: true }).selectOption({ label: 'Hall' });
    await page.getByRole('button', { name: 'Add 2 devices' }).click();
    await page.getByText('1 device added to the group').waitFor();
    t.equal(await members(), 2);
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually('the one that was added is out again', async () => (await members()) === 1);
    await select();
    await page.getByRole('button', { name: 'Send an operation' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Sent to 2 devices').waitFor();
    for (const id of ids) t.equal((await rest.read(`/devicecontrol/operations?deviceId=${id}`)).operations.length, 1);
    await select();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByLabel('Type 2 to confirm').fill('2');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 devices' }).click();
    await page.getByText('Deleted: 2 devices').waitFor();
    await page.getByText('Nothing matches these filters').waitFor();
  });

  await t.test('all that match are selected, also those of other pages', async () => {
    const count = 101;
    await Promise.all(Array.from({ length: count }, (_, index) => rest.createDevice(`Mast ${index}`)));
    await console.open(page, '/devices?name=Mast');
    await page.getByRole('checkbox', { name: 'Select all rows of this page' }).check();
    await page.getByRole('button', { name: `Select all ${count} that match` }).click();
    await page.getByText(`${count} selected`).waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByLabel(`Type ${count} to confirm`).fill(String(count));
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `Delete ${count} devices` })
      .click();
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

  await t.test('JSON is edited: refused at its line, kept apart from changes of others, undone', async (t) => {
    const id = await rest.createDevice('Precise 1', { c8y_Precise: { value: 1.5 }, c8y_Other: { a: 1 } });
    const read = (): Promise<Record<string, unknown>> => rest.read(`/inventory/managedObjects/${id}`);
    await console.open(page, `/devices/${id}/raw`);
    await page.getByRole('button', { name: 'Edit' }).click();
    const field = page.getByLabel('Raw JSON', { exact: true });
    const change = async (from: string, to: string): Promise<void> =>
      field.fill((await field.inputValue()).replace(from, to));
    const save = async (): Promise<void> => {
      await page.getByRole('button', { name: 'See the changes' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    };
    await change('"Precise 1"', '5');
    await save();
    await page.getByText(/^Line \d+: .*name/).waitFor();
    await change('"name": 5', '"name": "Precise 2"');
    await rest.put(`/inventory/managedObjects/${id}`, { c8y_Other: { a: 2 } });
    await save();
    await page.getByText('The object was changed meanwhile.').waitFor();
    await page.getByRole('button', { name: 'Take it over and keep my changes' }).click();
    await save();
    await page.getByRole('heading', { name: 'Precise 2' }).waitFor();
    t.match(await read(), { name: 'Precise 2', c8y_Other: { a: 2 } });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'Precise 1' }).waitFor();
    t.match(await read(), { c8y_Other: { a: 2 } });
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
