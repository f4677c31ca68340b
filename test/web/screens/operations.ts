/** Operations, groups, import and bulk operations: what changes live, what can be undone, what comes back by line. */
import { once } from 'node:events';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { openTunnel } from '../../../src/cli/simulate/remote-access.ts';
import { PASSWORD, Rest, TENANT, eventually } from '../../helpers/running/server.ts';
import { SSH_PASSWORD, startSshd } from '../../helpers/running/sshd.ts';
import { BOOTSTRAP_PASSWORD } from '../helpers/browser.ts';
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

  await t.test('a restart is asked for first; an export has the filters of the list', async (t) => {
    const device = await rest.createDevice('Restarted', { c8y_SupportedOperations: ['c8y_Restart'] });
    const sent = async (): Promise<number> =>
      (await rest.read(`/devicecontrol/operations?deviceId=${device}`)).operations.length;
    await console.open(page, `/devices/${device}`);
    await page.getByRole('button', { name: 'Restart' }).click();
    await page.getByRole('dialog').getByText('Restart Restarted?').waitFor();
    t.equal(await sent(), 0);
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
    await eventually('it is sent', async () => (await sent()) === 1);
    await console.open(page, `/operations?status=PENDING&command=c8y_Restart&device=${device}`);
    await page.locator('main').getByRole('link', { name: 'Export' }).click();
    await page
      .getByRole('region', { name: /The same as a command/ })
      .getByText(`deviceId=${device}&status=PENDING&fragmentType=c8y_Restart`)
      .waitFor();
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
    await page.getByRole('button', { name: 'Add members' }).click();
    await page.getByLabel('Name contains').fill('Agent 1');
    await page.getByRole('button', { name: 'Add all 1 that match' }).click();
    await page.getByRole('link', { name: 'Agent 1' }).waitFor();
    await rest.delete(`/inventory/managedObjects/${group}/childAssets/${id}`);
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await page.getByText(/Not undone: It was changed meanwhile/).waitFor();
  });

  await t.test('a terminal for a port of the device, over a tunnel', async (t) => {
    const { url } = console.server;
    const connect = 'c8y_RemoteAccessConnect';
    const terminal = await rest.createDevice('Terminal 1', { c8y_SupportedOperations: [connect] });
    await console.open(page, `/devices/${terminal}/remote`);
    await page.getByRole('button', { name: 'Add a configuration' }).click();
    await page.getByLabel('Protocol').selectOption('TELNET');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Change TELNET' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Console');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Connect to Console' }).click();
    await page
      .getByRole('region', { name: 'As a port of your machine' })
      .getByText(/--port 23 .*--listen 10023/)
      .waitFor();
    await page.getByRole('button', { name: 'Open a terminal here' }).click();
    await page.getByText('Open. What you send waits').waitFor();
    let key = '';
    await eventually('the device is asked for a tunnel', async () => {
      const { operations } = await rest.read(`/devicecontrol/operations?deviceId=${terminal}`);
      key = operations[0]?.[connect].connectionKey ?? '';
      return key !== '';
    });
    const headers = { authorization: `Basic ${Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64')}` };
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/service/remoteaccess/device/${key}`, 'binary', {
      headers,
    });
    let received = '';
    socket.on('message', (data) => {
      received += (data as Buffer).toString('latin1');
    });
    await once(socket, 'open');
    const send = (text: string): void => socket.send(Buffer.from(text, 'latin1'));
    const has = async (text: string): Promise<void> => {
      await eventually(`${JSON.stringify(text)} has come`, () => received.includes(text));
      received = '';
    };
    // It echoes, and asks for the size of the screen.
    send('\u00ff\u00fb\u0001\u00ff\u00fd\u001f\u001b[1mlogin:\u001b[0m <b>none</b> ');
    await page.getByText('login:').waitFor();
    await page.getByText('<b>none</b>').waitFor();
    await has('\u00ff\u00fd\u0001\u00ff\u00fb\u001f\u00ff\u00fa\u001f\0');
    const keyboard = page.getByRole('textbox', { name: 'Session: Console, keyboard' });
    await keyboard.pressSequentially('root');
    await page.keyboard.press('Enter');
    await has('root\r\0');
    send('\u001b[?1049h\u001b[?1h\u001b[?2004h\u001b[2;3Hfull\u001b[6n');
    await page.getByText('full').waitFor();
    t.equal(await page.locator('.terminal-rows').getByText('login:').count(), 0, 'a program has the screen for itself');
    await has('\u001b[2;7R');
    await page.keyboard.press('ArrowUp');
    await has('\u001bOA');
    await page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', 'a\\nb');
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, cancelable: true }));
    }`);
    await has('\u001b[200~a\r\0b\u001b[201~');
    await page.keyboard.press('Tab');
    await has('\t');
    await page.keyboard.press('Shift+F6');
    const lines = page.getByLabel('Send whole lines');
    t.equal(await page.locator('input:focus').getAttribute('type'), 'checkbox', 'the keyboard is no trap');
    await lines.check();
    await keyboard.pressSequentially('shown');
    await page.getByText('shown').waitFor();
    t.equal(received, '', 'a line is sent when it ends');
    await page.keyboard.press('Enter');
    await has('shown\r\n');
    socket.close(1000);
    await page.getByText(/The session has ended: 1000/).waitFor();
  });

  await t.test('a shell over SSH, which the server logs in to', async () => {
    const port = await startSshd(t);
    const connect = 'c8y_RemoteAccessConnect';
    const device = await rest.createDevice('Shell 1', { c8y_SupportedOperations: [connect] });
    await console.open(page, `/devices/${device}/remote`);
    await page.getByRole('button', { name: 'Add a configuration' }).click();
    await page.getByLabel('Host, as').fill('127.0.0.1');
    await page.getByLabel('Port').fill(String(port));
    await page.getByLabel('Login', { exact: true }).selectOption('USER_PASS');
    await page.getByLabel('User name on').fill('root');
    await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(SSH_PASSWORD);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Connect to SSH' }).click();
    await page.getByRole('button', { name: 'Open a terminal here' }).click();
    const order = await eventually('the device is asked for a tunnel', async () => {
      const { operations } = await rest.read(`/devicecontrol/operations?deviceId=${device}`);
      return operations[0]?.[connect];
    });
    const authorization = `Basic ${Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64')}`;
    await openTunnel({ url: console.server.url, authorization }, order);
    await page
      .getByText(/xterm-256color|now \d+x\d+/)
      .first()
      .waitFor();
    await page.getByRole('textbox', { name: 'Session: SSH, keyboard' }).pressSequentially('echo');
    await page.getByText('echo').first().waitFor();
    await page.keyboard.press('Shift+F6');
    await page.locator('button:focus').getByText('End the session').waitFor();
    await page.getByRole('button', { name: 'Change SSH' }).click();
    await page.getByLabel('Host key').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    // Until then no key reaches the terminal.
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('textbox', { name: 'Session: SSH, keyboard' }).press('Control+d');
    await page.getByText(/The session has ended: 1000, the shell has ended/).waitFor();
  });

  await t.test('what failed of a bulk operation is tried again', async (t) => {
    const group = await rest.createDevice('Failing', { type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} });
    await rest.create(`/inventory/managedObjects/${group}/childAssets`, { managedObject: { id } });
    const startDate = new Date(Date.now() + 1_000).toISOString();
    const bulk = { groupId: group, startDate, creationRamp: 1, operationPrototype: { c8y_Restart: {} } };
    const { id: first } = await rest.create('/devicecontrol/bulkoperations', bulk);
    await eventually('its operation fails', async () => {
      const { operations } = await rest.read(`/devicecontrol/operations?bulkOperationId=${first}&status=PENDING`);
      if (operations.length === 0) return false;
      await rest.put(`/devicecontrol/operations/${operations[0].id}`, { status: 'FAILED', failureReason: 'no power' });
      return true;
    });
    await eventually(
      'it has ended',
      async () => (await rest.read(`/devicecontrol/bulkoperations/${first}`)).progress.failed === 1,
    );
    await console.open(page, '/operations/bulk');
    await page.getByRole('link', { name: 'Retry the failed' }).click();
    await page.getByRole('button', { name: 'Schedule it' }).click();
    await page.waitForURL(/\/operations\/bulk$/);
    const { bulkOperations } = await rest.read('/devicecontrol/bulkoperations');
    t.match(
      bulkOperations.find((one: { failedParentId?: string }) => String(one.failedParentId) === String(first)),
      { operationPrototype: { c8y_Restart: {} } },
    );
  });

  await t.test('all devices that ask are accepted', async (t) => {
    const bootstrap = new Rest(console.server.url, 'management/devicebootstrap', BOOTSTRAP_PASSWORD);
    for (const asking of ['asks-1', 'asks-2']) {
      await rest.create('/devicecontrol/newDeviceRequests', { id: asking });
      t.equal((await bootstrap.post('/devicecontrol/deviceCredentials', { id: asking })).status, 404);
    }
    await console.open(page, '/devices/requests');
    await page.getByRole('button', { name: 'Accept asks-1' }).waitFor();
    await page.getByRole('button', { name: 'Accept all that ask' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Accept all that ask' }).click();
    await page.getByText('2 accepted, 0 refused').waitFor();
    t.equal((await bootstrap.post('/devicecontrol/deviceCredentials', { id: 'asks-2' })).status, 200);
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
