/** MQTT traffic: what passes appears, a filter stays in the address, a pause holds the list, errors stand out. */
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import type { Device } from '../../helpers/running/mqtt.ts';
import { until } from '../../helpers/until.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

/** The server samples from the moment at which it has taken the subscription: publishes until the text is there. */
const publishUntil = (page: Page, device: Device, row: string, text: RegExp | string): Promise<void> =>
  until(`the page shows ${text}`, async () => {
    await device.publish('s/us', row);
    return page.getByText(text).first().isVisible();
  });

export async function trafficScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const page = await console.page(t);
  await console.open(page, '/traffic?client=lamp');
  await page.locator('.live[data-state=live]').waitFor();
  const lamp = await connectDevice(t, console.server, 'lamp-1');
  const other = await connectDevice(t, console.server, 'x-1');
  await other.publish('s/us', '200,c8y_Other,T,1');
  await publishUntil(page, lamp, '200,c8y_Lamp,T,20,C', '200,c8y_Lamp,T,20,C');
  t.equal(await page.getByText('c8y_Other').count(), 0, 'the server filters');
  await page
    .getByRole('row', { name: /Published lamp-1 s\/us Measurement/ })
    .first()
    .waitFor();
  const errors = page.getByRole('cell', { name: /^smartrest\/\d+ / });
  await publishUntil(page, lamp, '999,x', /^smartrest\/\d+$/);
  await page.getByLabel('What').selectOption('Errors only');
  await page.waitForURL(/client=lamp&kind=error/);
  await page.getByRole('button', { name: 'Pause' }).click();
  await publishUntil(page, lamp, '999,y', /messages? since the pause/);
  t.equal(await errors.count(), 0, 'the list stands still');
  await page.getByRole('button', { name: 'Go on' }).click();
  await errors.first().waitFor();
}
