/** A list as a file, and what can be undone: settings, subscriptions, templates. */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { eventually } from '../../helpers/running/server.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

const SUBSCRIPTIONS = '/notification2/subscriptions';

/** The file that the button of the list makes, by lines. */
async function savedLines(page: Page): Promise<readonly string[]> {
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export as CSV' }).first().click();
  return (await readFile(await (await saved).path(), 'utf8')).trim().split('\r\n');
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

export async function undoScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const page = await console.page(t);
  await auditFile(t, console, page);
  await retentionUndo(console, page);
  await subscriptionUndo(t, console, page);
  await templateUndo(console, page);
}
