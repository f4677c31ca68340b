/** Template collections: made and changed in forms, refused at the template, exported, deleted, imported again. */
import { readFile } from 'node:fs/promises';
import type { Test } from 'tap';
import { until } from '../../helpers/until.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

const FRAGMENT = 'com_platform_model_smartrest_csv_CsvSmartRestTemplate';

export async function templateScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const { rest } = console.server;
  const page = await console.page(t);
  const stored = async (): Promise<any> => {
    const { managedObjects } = await rest.read('/inventory/managedObjects?type=c8y_SmartRest2Template');
    return managedObjects.find((one: { __externalId?: string }) => one.__externalId === 'web');
  };
  const dialog = page.getByRole('dialog');
  const apply = (): Promise<void> => dialog.getByRole('button', { name: 'Apply' }).click();
  const save = (): Promise<void> => page.getByRole('button', { name: 'Save' }).click();

  await console.open(page, '/templates');
  await page.getByRole('link', { name: 'New collection' }).click();
  await page.getByLabel('X-ID').fill('web');
  await page.getByRole('button', { name: 'Add a request' }).click();
  await dialog.getByLabel('Message id').fill('m');
  await dialog.getByLabel('Value of type').fill('my_M');
  await dialog.getByRole('button', { name: 'Add a value' }).click();
  await dialog.getByLabel('Path 1').fill('my_M.T.value');
  await dialog.getByLabel('Type 1').selectOption('NUMBER');
  await dialog.getByText('m,<time>,<my_M.T.value>').waitFor();
  await dialog.getByText('"value": 1.5').waitFor();
  await apply();
  await page.getByRole('button', { name: 'Add a response' }).click();
  await dialog.getByLabel('Message id').fill('r');
  await dialog.getByLabel('Patterns').fill('name\nowner');
  await dialog.getByText('r,<serial>,<name>,<owner>').waitFor();
  await apply();
  await save();
  await page.waitForURL(/\/templates\/\d+$/);
  const made = await stored();
  t.match(made[FRAGMENT].requestTemplates, [{ msgId: 'm', api: 'MEASUREMENT', mandatoryValues: ['my_M', ''] }]);
  t.match(made[FRAGMENT].responseTemplates, [{ msgId: 'r', pattern: ['name', 'owner'] }]);

  await page.getByRole('button', { name: 'Change m' }).click();
  await dialog.getByLabel('Path 1').fill('id');
  await apply();
  await save();
  await page.getByText('The server refuses m').waitFor();
  await page.getByRole('button', { name: 'Change m' }).click();
  await dialog.getByLabel('Path 1').fill('my_M.P.value');
  await apply();
  await save();
  await until(
    'the other path is stored',
    async () => (await stored())[FRAGMENT].requestTemplates[0].customValues[0].path === 'my_M.P.value',
  );

  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).click();
  const file = await readFile(await (await saved).path());
  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.waitForURL(/\/templates$/);
  t.equal(await stored(), undefined);
  await page.getByRole('button', { name: 'Import a file' }).click();
  await dialog
    .getByLabel('JSON file of a collection')
    .setInputFiles({ name: 'web.json', mimeType: 'application/json', buffer: file });
  await dialog.getByText('2 templates').waitFor();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.waitForURL(/\/templates\/\d+$/);
  t.ok(await stored());
}
