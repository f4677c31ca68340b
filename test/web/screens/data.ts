/** Charts, alarms, events, explorer: what arrives live, changes of many with their way back, ranges by mouse and keys. */
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { TENANT, eventually } from '../../helpers/running/server.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';

const agoIso = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString();

/** Holds the answer to the next such request back. */
async function holdOnce(page: Page, url: RegExp): Promise<{ asked: Promise<void>; letGo: () => void }> {
  let [tellAsked, letGo] = [(): void => undefined, (): void => undefined];
  const asked = new Promise<void>((resolve) => {
    tellAsked = resolve;
  });
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route(
    url,
    async (route) => {
      const response = await route.fetch();
      tellAsked();
      await held;
      await route.fulfill({ response });
    },
    { times: 1 },
  );
  return { asked, letGo };
}

export async function dataScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const { rest } = console.server;
  const page = await console.page(t);
  const id = await rest.createDevice('Oven', { type: 'oven' });
  const source = { id };
  const send = (value: number, seconds: number): Promise<unknown> => {
    const c8y_Oven = { T: { value, unit: 'C' } };
    return rest.create('/measurement/measurements', { source, time: agoIso(seconds), type: 'oven', c8y_Oven });
  };

  await t.test('the first value makes the chart; later ones join it; a range is zoomed into and left', async (t) => {
    await console.open(page, `/devices/${id}/measurements?from=now-1h`);
    await page.getByText('This device has sent no measurements').waitFor();
    await page.locator('.live[data-state=live]').waitFor();
    for (const [index, seconds] of [1_800, 1_200, 600].entries()) await send(200 + index, seconds);
    const chart = page.getByRole('application', { name: 'c8y_Oven.T' });
    await chart.waitFor();
    await page.getByRole('cell', { name: '202 C' }).waitFor();
    await send(250, 1);
    await page.getByRole('cell', { name: '250 C' }).waitFor();
    await chart.focus();
    await page.keyboard.press('Home');
    await page.getByText(/^At .*: c8y_Oven\.T 200 C$/).waitFor({ state: 'attached' });
    for (const key of ['Enter', 'ArrowRight', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
    await page.waitForURL(/from=20.*to=20/);
    await page.goBack();
    await page.waitForURL(/from=now-1h$/);
    await page.getByLabel('Table').check();
    await page.getByRole('cell', { name: '250', exact: true }).first().waitFor();
    t.match(await page.getByRole('table').textContent(), /250[\s\S]*202[\s\S]*201[\s\S]*200/, 'the same values');
    // Hours have the averages of these values: the last value is none.
    await console.open(page, `/devices/${id}/measurements?from=now-30d`);
    await page.getByRole('cell', { name: '250 C' }).waitFor();
  });

  await t.test('a holder of an inventory role sees what is new without the channel, and may change it', async (t) => {
    const kept = await rest.createDevice('Kept');
    const permissions = ['ALARM', 'MANAGED_OBJECT'].map((scope) => ({ scope, permission: '*' }));
    const role = await rest.create('/user/inventoryroles', { name: 'keepers', permissions });
    await rest.create(`/user/${TENANT}/users`, { userName: 'keeper', password: 'Analytical-1' });
    await rest.post(`/user/${TENANT}/users/keeper/roles/inventory`, { managedObject: kept, roles: [{ id: role.id }] });
    const raise = (type: string): Promise<unknown> =>
      rest.create('/alarm/alarms', { source: { id: kept }, type, time: agoIso(1), text: type, severity: 'MINOR' });
    await raise('first');
    const own = await console.page(t, { isLoggedOut: true });
    await own.goto(console.url('/alarms'));
    await own.getByLabel('User name').fill(`${TENANT}/keeper`);
    await own.getByLabel('Password').fill('Analytical-1');
    await own.keyboard.press('Enter');
    await own.getByRole('link', { name: 'first' }).waitFor();
    await own.locator('.live[data-state=partly][title*=ROLE_ALARM_READ]').waitFor();
    await raise('second');
    await own.getByRole('button', { name: 'Show 1 new' }).click();
    await own.getByRole('checkbox', { name: 'Select second' }).check();
    await own.getByRole('button', { name: 'Acknowledge 1 alarm' }).click();
    await own.getByRole('cell', { name: 'Acknowledged' }).waitFor();
  });

  await t.test('alarms: new ones wait, changes of a selection and of all that match are undone', async (t) => {
    const raise = (number: number): Promise<unknown> =>
      rest.create('/alarm/alarms', {
        source,
        type: `hot-${number}`,
        time: agoIso(number),
        text: 'Hot',
        severity: 'MAJOR',
      });
    for (let number = 1; number <= 102; number += 1) await raise(number);
    const open = async (status: string): Promise<number> =>
      Number(await rest.read(`/alarm/alarms/count?source=${id}&status=${status}`));
    await eventually('all are there', async () => (await open('ACTIVE')) === 102);
    await console.open(page, `/alarms?source=${id}&severity=MAJOR&status=ACTIVE`);
    const exported = await page.locator('main').getByRole('link', { name: 'Export' }).getAttribute('href');
    t.match(exported, /status=ACTIVE&severity=MAJOR/, 'the file has the filters of the list');
    await console.open(page, `/alarms?source=${id}`);
    await page.getByRole('button', { name: '102 Major' }).waitFor();
    await page.locator('.live[data-state=live]').waitFor();
    await raise(103);
    await page.getByRole('button', { name: 'Show 1 new' }).click();
    await page.getByRole('checkbox', { name: 'Select Hot' }).first().check();
    await page.getByRole('button', { name: 'Acknowledge 1 alarm' }).click();
    await page.getByRole('cell', { name: 'Acknowledged' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually('it is active again', async () => (await open('ACTIVE')) === 103);
    await page.getByRole('checkbox', { name: 'Select all rows of this page' }).check();
    await page.getByRole('button', { name: 'Select all 103 that match' }).click();
    await page.getByRole('button', { name: 'Clear', exact: true }).first().click();
    await page.getByRole('button', { name: 'Clear 103 alarms' }).click();
    await page.getByText('103 alarms are cleared').waitFor();
    t.equal(await open('CLEARED'), 103);
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await eventually('all are active again', async () => (await open('ACTIVE')) === 103);

    // An answer that a live change has overtaken, and an alarm that belongs to the list no longer.
    await page.getByRole('button', { name: '103 Major' }).waitFor();
    const { id: alarm } = (await rest.read(`/alarm/alarms?source=${id}&type=hot-1`)).alarms[0] as { id: string };
    await raise(104);
    const list = await holdOnce(page, /alarms\?.*pageSize=100/);
    await page.getByRole('button', { name: '104 Major' }).waitFor();
    await page.getByRole('button', { name: 'Show 1 new' }).click();
    await list.asked;
    await rest.put(`/alarm/alarms/${alarm}`, { status: 'CLEARED' });
    await page.getByRole('button', { name: '103 Major' }).waitFor();
    list.letGo();
    await page.getByRole('row').filter({ hasText: 'hot-1' }).getByText('Cleared').first().waitFor();
    await page.getByRole('button', { name: 'Show 1 changed' }).click();
    await page.getByRole('cell', { name: 'Cleared' }).waitFor({ state: 'detached' });

    // Rows of another filter do not stand as if they matched.
    const none = await holdOnce(page, /alarms\?.*type=none/);
    await page.getByRole('checkbox', { name: 'Select all rows of this page' }).check();
    await page.getByLabel('Type').fill('none');
    await page.locator('[aria-busy=true]').waitFor();
    await page.getByText('100 selected').waitFor({ state: 'detached' });
    none.letGo();
    await page.getByText('Nothing matches').waitFor();
  });
}
