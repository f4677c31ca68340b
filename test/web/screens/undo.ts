/** A list as a file, and what can be undone: settings, limits, subscriptions, templates, models, remote access. */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { MANAGEMENT_PASSWORD, eventually } from '../../helpers/running/server.ts';
import { ELEMENT, identity } from '../../scoring-workers/onnx/onnx-files.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

const SUBSCRIPTIONS = '/notification2/subscriptions';

/** The file that the button of the list makes, by lines. */
async function savedLines(page: Page): Promise<readonly string[]> {
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export as CSV' }).first().click();
  const text = await readFile(await (await saved).path(), 'utf8');
  if (!text.startsWith('\ufeff')) throw new Error('spreadsheet programs would not know that it is UTF-8');
  return text.trim().split('\r\n');
}

const undo = (page: Page): Promise<void> => page.getByRole('button', { name: 'Undo' }).last().click();

/** The audit log: the file has the rows of the list in its order, with times of ISO. */
async function auditFile(t: Test, console: ConsoleBrowser, page: Page): Promise<void> {
  const { rest } = console.server;
  const source = await rest.createDevice('Of the audit file', {});
  const record = { source: { id: source }, type: 'Operation', user: 'ada', activity: 'Checked' };
  for (const [time, text] of [
    ['2026-11-01T10:00:00.000Z', 'First, with a comma'],
    ['2026-11-01T11:00:00.000Z', '=SUM(A1)'],
  ])
    await rest.create('/audit/auditRecords', { ...record, time, text });
  await console.open(page, `/admin/audit?source=${source}&from=&user=ada`);
  const [, ...rows] = await page.getByRole('row').all();
  const lines = await savedLines(page);
  t.match(lines[0], /^Time,User,/);
  t.same(
    lines.slice(1).map((line) => line.split(',')[0]),
    ['2026-11-01T11:00:00.000Z', '2026-11-01T10:00:00.000Z'],
  );
  t.equal(rows.length, lines.length - 1, 'the file has as many rows as the list');
  t.match(lines[1], "'=SUM(A1)", 'no program takes a text for a formula');
  t.match(lines[2], '"First, with a comma"');
}

async function retentionUndo(console: ConsoleBrowser, page: Page): Promise<void> {
  const { rest } = console.server;
  const rule = { dataType: 'EVENT', type: 'web_undo', fragmentType: '*', source: '*', maximumAge: 30 };
  const { id } = await rest.create('/retention/retentions', rule);
  const age = async (): Promise<number> => (await rest.read(`/retention/retentions/${id}`)).maximumAge;
  await console.open(page, '/admin/retention');
  await page
    .getByRole('row', { name: /web_undo/ })
    .getByRole('button', { name: 'Edit' })
    .click();
  await page.getByRole('dialog').getByLabel('Keep for days').fill('7');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await eventually('the rule is changed', async () => (await age()) === 7);
  await undo(page);
  await eventually('the rule is as before', async () => (await age()) === 30);
}

async function subscriptionUndo(t: Test, console: ConsoleBrowser, page: Page): Promise<void> {
  const { rest } = console.server;
  const source = { id: await rest.createDevice('Subscribed', {}) };
  const fields = { subscriptionFilter: { apis: ['alarms'], typeFilter: 'a' }, fragmentsToCopy: ['x'] };
  await rest.create(SUBSCRIPTIONS, { context: 'mo', subscription: 'webundo', source, ...fields });
  const found = async (): Promise<any[]> => (await rest.read(`${SUBSCRIPTIONS}?subscription=webundo`)).subscriptions;
  await console.open(page, '/subscriptions');
  const remove = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Delete webundo?' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('webundo is deleted').last().waitFor();
  };
  await remove();
  t.same(await found(), []);
  await undo(page);
  await eventually('the subscription is there again', async () => (await found()).length === 1);
  t.match((await found())[0], { context: 'mo', source, ...fields });
  await page.getByRole('button', { name: 'Delete webundo?' }).waitFor();
  await remove();
  await rest.create(SUBSCRIPTIONS, { context: 'mo', subscription: 'webundo', source });
  await undo(page);
  await page.getByText(/Not undone: It was changed meanwhile/).waitFor();
  t.equal((await found()).length, 1, 'that of others stays alone');
}

async function templateUndo(console: ConsoleBrowser, page: Page): Promise<void> {
  const { rest } = console.server;
  const templates = {
    requestTemplates: [],
    responseTemplates: [{ msgId: 'r', condition: null, base: null, pattern: ['name'] }],
  };
  const { id } = await rest.create('/inventory/managedObjects', {
    name: 'Before',
    type: 'c8y_SmartRest2Template',
    com_cumulocity_model_smartrest_csv_CsvSmartRestTemplate: templates,
    __externalId: 'webundo',
  });
  const name = async (): Promise<string> => (await rest.read(`/inventory/managedObjects/${id}`)).name;
  await console.open(page, `/templates/${id}`);
  await page.getByLabel('Name', { exact: true }).fill('After');
  await page.getByRole('button', { name: 'Save' }).click();
  await eventually('the collection is changed', async () => (await name()) === 'After');
  await undo(page);
  await eventually('the collection is as before', async () => (await name()) === 'Before');
  await page.getByRole('heading', { name: 'Before', level: 1 }).waitFor();
}

async function limitsUndo(t: Test, console: ConsoleBrowser): Promise<void> {
  const { management } = console.server;
  const path = '/tenant/tenants/webundo';
  await management.create('/tenant/tenants', {
    id: 'webundo',
    domain: 'webundo',
    company: 'Undo',
    adminName: 'admin',
    adminPass: 'Analytical-1',
    adminEmail: 'admin@example.com',
    customProperties: { note: 'kept', 'limit.http.requests': 50 },
  });
  const properties = async (): Promise<any> => (await management.read(path)).customProperties;
  const page = await console.page(t, { isLoggedOut: true });
  await console.logIn(page, 'management/admin', MANAGEMENT_PASSWORD);
  await console.open(page, '/admin/tenants/webundo');
  const [requests, queue] = ['HTTP requests a second', 'HTTP requests more at once'].map((name) =>
    page.getByLabel(name, { exact: true }),
  );
  await requests.fill('7');
  await queue.fill('9');
  await page.getByRole('form', { name: 'Limits' }).getByRole('button', { name: 'Save' }).click();
  await eventually('the limits are changed', async () => (await properties())['limit.http.queue'] === 9);
  await undo(page);
  await eventually('the limits are as before', async () => (await properties())['limit.http.requests'] === 50);
  t.match(await properties(), { note: 'kept' });
  t.notOk('limit.http.queue' in (await properties()), 'one that was not there is not there again');
  await eventually('the form shows them', async () => (await requests.inputValue()) === '50');
  t.equal(await queue.inputValue(), '');
}

async function onnxUndo(console: ConsoleBrowser, page: Page): Promise<void> {
  const { rest } = console.server;
  await rest.request('POST', '/service/scoring/onnx/models?file=undo.onnx', {
    body: Buffer.from(identity(ELEMENT.float)),
    headers: { 'content-type': 'application/octet-stream' },
  });
  const path = '/service/scoring/onnx/models/test';
  const isActive = async (): Promise<boolean> => (await rest.read(path)).isActive;
  await console.open(page, '/scoring/onnx/test');
  await page.getByRole('button', { name: 'Deactivate' }).click();
  await eventually('the model is not active', async () => !(await isActive()));
  await undo(page);
  await eventually('the model is active again', isActive);
  await page.getByRole('button', { name: 'Deactivate' }).waitFor();
  await rest.delete(path);
}

async function remoteUndo(console: ConsoleBrowser, page: Page): Promise<void> {
  const { rest } = console.server;
  const device = await rest.createDevice('Reached', { c8y_SupportedOperations: ['c8y_RemoteAccessConnect'] });
  const path = `/service/remoteaccess/devices/${device}/configurations`;
  const credentials = { type: 'USER_PASS', username: 'root', password: 'kept' };
  const target = { name: 'Door', hostname: '127.0.0.1', port: 22, protocol: 'SSH', credentials };
  await rest.create(path, target);
  const names = async (): Promise<any[]> =>
    (await rest.read(path)).map((one: any) => [one.name, one.credentials.username]);
  await console.open(page, `/devices/${device}/remote`);
  await page.getByRole('button', { name: 'Change Door' }).click();
  await page.getByRole('dialog').getByLabel(/^Name/).fill('Gate');
  await page.getByLabel('User name on').fill('ada');
  await page.getByRole('button', { name: 'Save' }).click();
  await eventually('it is changed', async () => `${await names()}` === 'Gate,ada');
  await undo(page);
  await eventually('it is as before', async () => `${await names()}` === 'Door,root');
  await page.getByRole('button', { name: 'Change Door' }).waitFor();
}

export async function undoScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const page = await console.page(t);
  await auditFile(t, console, page);
  await retentionUndo(console, page);
  await subscriptionUndo(t, console, page);
  await templateUndo(console, page);
  await remoteUndo(console, page);
  await onnxUndo(console, page);
  await limitsUndo(t, console);
}
