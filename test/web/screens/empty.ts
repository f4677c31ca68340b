/**
 * Every row of the route table in a tenant that has nothing but its administrator: each list says what would be there and
 * what to do, and none takes what is absent for an error.
 */
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { Rest } from '../../helpers/running/server.ts';
import { until } from '../../helpers/until.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';
import { GALLERY, follow, pathsOf } from '../helpers/rows.ts';

const TENANT = 'bare';
const PASSWORD = 'Analytical-1';
/** Stands for the device, which is made when the screens without one have been seen. */
const DEVICE = 'DEVICE';
const WRONG = /undefined|NaN|\[object|Invalid Date|This screen has failed|Loading …/;
/** Of examples of the route table that this tenant does not have. */
const ABSENT = /not found|could not find|there is no|does not exist/i;
/** Forms, and screens whose parts say it each for itself. */
const NO_LIST = [
  ...[
    '/',
    '/devices/new',
    '/devices/import',
    '/operations/bulk/new',
    '/templates/new',
    '/map',
    '/data/export',
    '/account',
  ],
  ...['/devices/DEVICE', '/devices/DEVICE/raw', '/devices/DEVICE/shell'],
];

interface Told {
  readonly text: string;
  readonly isHere: boolean;
  /** Texts of what stands in the place of content: a heading, and what to do. */
  readonly states: readonly string[];
  readonly faults: readonly string[];
  readonly rows: number;
}

const told = (page: Page, path: string): Promise<Told> =>
  page.evaluate<Told>(`(() => {
    const main = document.querySelector('main');
    const texts = (selector) => [...main.querySelectorAll(selector)].map(({ innerText }) => innerText);
    return {
      text: main.innerText,
      isHere: location.pathname === ${JSON.stringify(`/console${path}`)} && main.querySelector('h1:not([data-before])') !== null,
      states: texts('.state'),
      faults: texts('[role=alert]'),
      rows: main.querySelectorAll('tbody tr').length,
    };
  })()`);

export async function emptyScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const { server } = console;
  const login = { adminName: 'admin', adminPass: PASSWORD, adminEmail: 'admin@example.com' };
  await server.management.create('/tenant/tenants', { id: TENANT, domain: TENANT, company: 'Bare', ...login });
  const page = await console.page(t, { isLoggedOut: true });
  await console.logIn(page, `${TENANT}/admin`, PASSWORD);
  await console.settle(page);
  // Not the screen that the first link leads to.
  await follow(page, '/account');
  await page.locator('main h1', { hasText: 'Account' }).waitFor();
  const visit = async (path: string): Promise<Told> => {
    await page.evaluate(`document.querySelector('main h1').dataset.before = ''`);
    await follow(page, path);
    await until(`${path} is here`, async () => (await told(page, path)).isHere);
    await console.settle(page);
    await until(`${path} has its answers`, async () => !(await told(page, path)).text.includes('Loading …'));
    return told(page, path);
  };
  const check = async (row: string, device = ''): Promise<void> => {
    const path = row.replace(DEVICE, device);
    const { text, states, faults, rows } = await visit(path);
    t.notMatch(text, WRONG, `${path} takes what is absent for nothing else`);
    t.same(
      faults.filter((fault) => !ABSENT.test(fault)),
      [],
      `${path} shows no error`,
    );
    if (rows === 0 && !NO_LIST.includes(row)) t.not(states.length, 0, `${path} says that it is empty`);
    for (const state of states) t.match(state, /\S\n+.*\S/, `${path} says what would be there`);
  };
  const paths = (await pathsOf(DEVICE)).filter((path) => path !== GALLERY);
  for (const path of paths.filter((one) => !one.includes(DEVICE))) await check(path);
  const rest = new Rest(server.url, `${TENANT}/admin`, PASSWORD);
  const device = await rest.createDevice('Bare', {
    c8y_SupportedOperations: [
      'c8y_Command',
      'c8y_UploadConfigFile',
      'c8y_SoftwareList',
      'c8y_Firmware',
      'c8y_LogfileRequest',
      'c8y_RemoteAccessConnect',
    ],
  });
  for (const path of paths.filter((one) => one.includes(DEVICE))) await check(path, device);
}
