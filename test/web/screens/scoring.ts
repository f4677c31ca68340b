/** Scoring: an ONNX model by its tensors; a binding made by its form, its predictions live and explained; a job that runs now. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { ROOT } from '../../helpers/root.ts';
import { eventually } from '../../helpers/running/server.ts';
import { ELEMENT, identity } from '../../scoring-workers/onnx/onnx-files.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

export async function scoringScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const { rest } = console.server;
  const page = await console.page(t);
  const id = await rest.createDevice('Oven of scoring', { type: 'oven' });
  const measure = (temperature: number): Promise<unknown> =>
    rest.create('/measurement/measurements', {
      source: { id },
      time: new Date().toISOString(),
      type: 'oven',
      oven: { temperature: { value: temperature, unit: 'C' }, rise: { value: 1, unit: 'K' } },
    });
  await measure(20);
  const dialog = page.getByRole('dialog');

  await t.test('an ONNX file is uploaded, described, and tried with values', async (t) => {
    await console.open(page, '/scoring');
    await page.getByRole('button', { name: 'Upload a model' }).click();
    const buffer = Buffer.from(identity(ELEMENT.float));
    await dialog
      .getByLabel('Model file')
      .setInputFiles({ name: 'echo.onnx', mimeType: 'application/octet-stream', buffer });
    await dialog.getByRole('button', { name: 'Upload a model' }).click();
    await page.getByRole('link', { name: 'test', exact: true }).click();
    await page.getByText('ai.onnx v17').waitFor();
    const values = page.getByLabel(/^x \[.*tensor\(float\)/);
    await values.fill('1, two');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('These values are not a tensor of this shape').waitFor();
    await values.fill('1, 2.5');
    await page.getByRole('button', { name: 'Apply' }).click();
    t.match(await page.getByRole('status').filter({ hasText: 'Result' }).textContent(), /2\.5/);
  });

  await t.test('a binding by its form; its prediction joins the chart and is explained', async (t) => {
    const headers = { 'content-type': 'application/octet-stream' };
    const body = readFileSync(join(ROOT, 'examples/scoring/oven.pmml'), 'utf8');
    await rest.request('POST', '/service/scoring/model?file=oven.pmml', { body, headers });
    await console.open(page, '/scoring/models/oven');
    await page.getByLabel('temperature (DOUBLE)').fill('195,5');
    await page.getByText('Write a number, with a point').waitFor();
    await console.open(page, '/scoring/bindings');
    await page.getByRole('button', { name: 'New binding' }).click();
    await dialog.getByLabel(/^Name/).fill('Ovens that overheat');
    await dialog.getByLabel(/^Model(?! or)/).selectOption('oven');
    await dialog.getByLabel('Id of the device or group').fill(id);
    for (const input of ['temperature', 'rise']) {
      const field = dialog.getByRole('combobox', { name: input, exact: true });
      await field.fill(input);
      await page.getByRole('option', { name: `oven.${input}.value` }).click();
    }
    await dialog.getByLabel(/^Type of the measurement/).fill('ovenRisk');
    await dialog.getByRole('button', { name: 'New binding' }).click();
    await page.getByText('No prediction yet').first().waitFor();
    const [binding] = (await rest.read('/service/scoring/bindings')).bindings;
    const metrics = `/service/scoring/bindings/${binding.id}/metrics`;
    await eventually('it is active', async () => (await rest.read(metrics)).state === 'ACTIVE');
    await measure(260);
    const predictions = '/measurement/measurements?type=ovenRisk';
    await eventually('a prediction', async () => (await rest.read(predictions)).measurements.length > 0);
    await page.reload();
    await page.getByRole('application', { name: /oven\.temperature/ }).waitFor();
    await measure(270);
    await page
      .getByRole('cell', { name: /state: overheats/ })
      .nth(1)
      .waitFor();
    await page
      .getByRole('button', { name: /^Explain the prediction of/ })
      .first()
      .click();
    await page.waitForURL(/\/scoring\/models\/oven\?record=/);
    await page.getByText('[temperature] := 270 (DOUBLE)').waitFor();
    t.match(await page.getByRole('status').filter({ hasText: 'Result' }).textContent(), /overheats/);
  });

  await t.test('a binding is changed by its form, and back by Undo', async () => {
    await console.open(page, '/scoring/bindings');
    await page.getByRole('button', { name: 'Change Ovens that overheat' }).click();
    await dialog.getByLabel('An alarm').check();
    await dialog.getByLabel(/^Type of the alarm/).fill('hot');
    await dialog.getByLabel('Raised above').fill('0.9');
    await dialog.getByLabel('Output that it is about').fill('risk');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: 'measurement, alarm' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await page.getByRole('cell', { name: 'measurement', exact: true }).waitFor();
  });

  await t.test('a job by its form runs now, and shows what it found', async () => {
    await console.open(page, '/scoring/jobs');
    await page.getByRole('button', { name: 'New job' }).click();
    await dialog.getByLabel(/^Name/).fill('Daily');
    await dialog.getByLabel('Id of the device or group').fill(id);
    await dialog.getByLabel(/^Model or group/).selectOption('oven');
    for (const input of ['temperature', 'rise'])
      await dialog.getByRole('combobox', { name: input, exact: true }).fill(`oven.${input}.value`);
    await dialog.getByLabel(/^Cron expression/).fill('0 0 0 1 1 ?');
    await dialog.getByLabel(/^Data of the last seconds/).fill('3600');
    await dialog.getByRole('button', { name: 'New job' }).click();
    await page.getByRole('button', { name: 'Run now: Daily' }).click();
    await page.getByRole('button', { name: 'Results of run 1' }).click();
    await page
      .getByRole('cell', { name: /state: overheats/ })
      .first()
      .waitFor();
  });
}
