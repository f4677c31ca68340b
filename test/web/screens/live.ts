/**
 * Changes through the API appear without a reload on each screen that has a live stream. Lists of devices and alarms,
 * traffic, predictions, the shell and new devices have theirs in the files of their areas.
 */
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { eventually } from '../../helpers/running/server.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';
import { follow } from '../helpers/rows.ts';

interface LiveRow {
  readonly path: string;
  readonly change: () => Promise<unknown>;
  /** What is there after the change and was not before: a selector of Playwright. */
  readonly shows: string;
}

async function rowsOf(console: ConsoleBrowser): Promise<readonly LiveRow[]> {
  const { rest } = console.server;
  const id = await rest.createDevice('Live 1', {
    c8y_SupportedOperations: ['c8y_Restart', 'c8y_UploadConfigFile'],
    c8y_SupportedConfigurations: ['agent'],
  });
  const source = { id };
  const time = new Date().toISOString();
  const raise = (text: string): Promise<{ id: string }> =>
    rest.create('/alarm/alarms', { source, time, type: text, text, severity: 'CRITICAL' });
  const event = (text: string, type = 'live'): Promise<{ id: string }> =>
    rest.create('/event/events', { source, time, type, text });
  const send = (): Promise<{ id: string }> =>
    rest.create('/devicecontrol/operations', { deviceId: id, c8y_Restart: {} });
  const group = await rest.createDevice('Live group', { type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} });
  await rest.create(`/inventory/managedObjects/${group}/childAssets`, { managedObject: { id } });
  const measure = (value: number): Promise<unknown> =>
    rest.create('/measurement/measurements', {
      source,
      time: new Date().toISOString(),
      type: 'live',
      live: { T: { value, unit: 'C' } },
    });
  await measure(20);
  const [alarm, operation] = [await raise('known'), await send()];
  const rename = (object: string, name: string): Promise<unknown> =>
    rest.put(`/inventory/managedObjects/${object}`, { name });
  const startBulk = (): Promise<unknown> =>
    rest.create('/devicecontrol/bulkoperations', {
      groupId: group,
      startDate: new Date(Date.now() + 1_000).toISOString(),
      creationRamp: 1,
      operationPrototype: { c8y_Restart: {} },
    });
  const addSnapshot = async (): Promise<void> => {
    const { id: made } = await event('Snapshot 1', 'agent');
    const file = { body: 'level=1', headers: { 'content-type': 'text/plain' } };
    const { status, text } = await rest.request('POST', `/event/events/${made}/binaries`, file);
    if (status !== 201) throw new Error(text);
  };
  return [
    { path: '/', change: () => raise('live alarm'), shows: 'text=live alarm' },
    { path: '/', change: () => event('live event'), shows: 'text=live event' },
    { path: `/devices/${id}`, change: () => rename(id, 'Live 2'), shows: 'h1:text("Live 2")' },
    {
      path: `/alarms/${alarm.id}`,
      change: () => rest.put(`/alarm/alarms/${alarm.id}`, { status: 'ACKNOWLEDGED' }),
      shows: 'role=button[name="Reactivate"]',
    },
    { path: `/events?source=${id}`, change: () => event('to a list'), shows: 'role=button[name="Show 1 new"]' },
    { path: `/events?source=${id}&view=stream`, change: () => event('to a stream'), shows: 'text=to a stream' },
    { path: `/devices/${id}/timeline`, change: () => event('to a timeline'), shows: 'role=button[name="Show 1 new"]' },
    { path: `/groups/${group}`, change: () => rename(group, 'Live group 2'), shows: 'h1:text("Live group 2")' },
    { path: `/groups/${group}`, change: () => rename(id, 'Live 3'), shows: 'a:text("Live 3")' },
    {
      path: `/explore?s=${id}:live.T&from=now-1h`,
      change: () => measure(77),
      shows: 'role=cell[name="77 C"]',
    },
    {
      path: `/devices/${id}/measurements?from=now-1h`,
      change: () => raise('under the axis'),
      shows: 'role=link[name=/under the axis/]',
    },
    { path: '/operations', change: send, shows: 'role=button[name="Show 1 new"]' },
    {
      path: `/operations?operation=${operation.id}`,
      change: () => rest.put(`/devicecontrol/operations/${operation.id}`, { status: 'EXECUTING' }),
      shows: 'dialog >> text=Executing',
    },
    { path: '/operations/bulk', change: startBulk, shows: `a[href$="/groups/${group}"]` },
    { path: `/devices/${id}/configuration?type=agent`, change: addSnapshot, shows: 'text=Snapshot 1' },
  ];
}

async function isLive(console: ConsoleBrowser, page: Page, { path, change, shows }: LiveRow): Promise<void> {
  await follow(page, path);
  await page.locator('main h1').first().waitFor();
  await page.locator('.live[data-state=live]').waitFor();
  // What the screen reads comes before the change.
  await console.settle(page);
  if ((await page.locator(shows).count()) > 0) throw new Error(`${shows} is there before`);
  await change();
  await page.locator(shows).first().waitFor();
}

export async function liveScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const page = await console.page(t);
  await console.open(page, '/account');
  for (const row of await rowsOf(console)) {
    await isLive(console, page, row);
    t.pass(`${row.path} shows ${row.shows}`);
    await follow(page, '/account');
    await eventually('the screen is left', async () => page.url().endsWith('/account'));
  }
}
