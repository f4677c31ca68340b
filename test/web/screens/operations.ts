/** Operations, groups, import and bulk operations: what changes live, what can be undone, what comes back by line. */
import type { Test } from 'tap';
import { eventually } from '../../helpers/running/server.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

export async function operationScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const { rest } = console.server;
  const page = await console.page(t);
  const id = await rest.createDevice('Agent 1', {
    com_cumulocity_model_Agent: {},
    c8y_SupportedOperations: ['c8y_Command'],
  });
  const pendingOf = async (): Promise<string | undefined> => {
    const { operations } = await rest.read(`/devicecontrol/operations?deviceId=${id}&status=PENDING`);
    return operations[0]?.id;
  };

  await t.test('the shell shows what the device answers, live, and its history comes back by arrow', async (t) => {
    await console.open(page, `/devices/${id}/shell`);
    await page.locator('.live[data-state=live]').waitFor();
    await page.getByLabel('Write a command').fill('uptime');
    await page.keyboard.press('Enter');
    let operation: string | undefined;
    await eventually('the operation is there', async () => {
      operation = await pendingOf();
      return operation !== undefined;
    });
    await page.getByText('Pending').waitFor();
    const result = { status: 'SUCCESSFUL', c8y_Command: { text: 'uptime', result: 'up 7 days' } };
    await rest.put(`/devicecontrol/operations/${operation}`, result);
    await page.getByText('up 7 days').waitFor();
    await page.keyboard.press('ArrowUp');
    t.equal(await page.getByLabel('Write a command').inputValue(), 'uptime');
  });

  await t.test('a tab that the device does not have says which row it has to send', async () => {
    await console.open(page, `/devices/${id}/logs`);
    await page.getByText('114,c8y_Command,c8y_LogfileRequest').waitFor();
  });

  await t.test('an operation is cancelled from its details, which have an address', async (t) => {
    const { id: operation } = await rest.create('/devicecontrol/operations', { deviceId: id, c8y_Restart: {} });
    await console.open(page, `/devices/${id}/operations?operation=${operation}`);
    await page.getByRole('button', { name: 'Cancel the operation' }).click();
    await page.getByRole('dialog').getByText('Cancelled by a user').first().waitFor();
    t.equal((await rest.read(`/devicecontrol/operations/${operation}`)).status, 'FAILED');
  });

  await t.test('members are added to a group, and the undo takes them away', async () => {
    const group = await rest.createDevice('Plant', { type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} });
    await console.open(page, `/groups/${group}`);
    await page.getByRole('button', { name: 'Add members' }).click();
    await page.getByLabel('Name contains').fill('Agent 1');
    await page.getByRole('button', { name: 'Add all 1 that match' }).click();
    await page.getByRole('link', { name: 'Agent 1' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name: 'Agent 1' }).waitFor({ state: 'detached' });
  });

  await t.test('an import tells each failed line', async () => {
    await console.open(page, '/devices/import');
    const text = 'ID;CREDENTIALS;TYPE;NAME\nweb-1;a-long-password;pump;Pump\n;a-long-password;pump;None\n';
    const file = { name: 'devices.csv', mimeType: 'text/csv', buffer: Buffer.from(text) };
    await page.getByLabel('CSV file').setInputFiles(file);
    await page.getByRole('button', { name: 'Import 2 lines' }).click();
    await page.getByText('1 line imported, 1 line failed').waitFor();
    await page.getByRole('cell', { name: 'it has no ID' }).waitFor();
  });
}
