/**
 * The application of examples/web-application, made with the API's public web SDK, built and deployed by the SDK's own
 * tool and used in a browser: log in, devices and their pages, an alarm that appears by itself, an operation, a
 * firmware. Whatever a page asks for and the server refuses is a failure, and so is an error in the console.
 * It runs with `npm test -- --sdk` alone, which builds the application (bin/sdk-application.mjs).
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Page, Response } from 'playwright-core';
import t from 'tap';
import { BROWSER, launchBrowser } from '../helpers/browser.ts';
import { PASSWORD, TENANT, startServer } from '../helpers/running/server.ts';
import { missing } from '../helpers/tools.ts';
import { PATIENCE } from '../helpers/until.ts';

const FOLDER = process.env['MILLRACE_TEST_SDK'];
const skip = FOLDER === undefined ? 'npm test -- --sdk builds the application' : missing(BROWSER);

/** What the SDK asks for and takes 404 or 401 for an answer. */
const EXPECTED: readonly RegExp[] = [
  // At its start, before the login.
  /^401 GET \/user\/currentUser$/,
  // Options that a tenant may have.
  /^404 GET \/tenant\/options\/configuration\/system\.support\.url\?evaluate=(current|inherited)$/,
  // It looks for a measurement with the id of a device: 405 would tell that there is another store behind.
  /^404 GET \/measurement\/measurements\/\d+$/,
];
/** The console repeats these refusals, and names no address in the text. */
const REFUSAL = /^Failed to load resource: the server responded with a status of 40[14]/;
const NOT_LOGGED_IN = 'User is not logged in';

/** Runs `ng <args>` of the application. @returns what it printed. @throws when it fails. */
async function ng(args: readonly string[]): Promise<string> {
  const folder = FOLDER as string;
  const cli = join(folder, 'node_modules', '@angular', 'cli', 'bin', 'ng.js');
  const child = spawn(process.execPath, [cli, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  const code = await new Promise((done) => {
    child.on('close', done);
  });
  if (code !== 0) throw new Error(`ng ${args[0]} ended with ${code}: ${output}`);
  return output;
}

t.test('an application of the web SDK', { skip }, async (t) => {
  // The tool of the SDK sends chunks, and no proxy is in front.
  const server = await startServer(t, { flags: ['--trust-proxy', 'no'] });
  const { rest } = server;
  const device = await rest.createDevice('Pump 7', {
    type: 'pump',
    c8y_Hardware: { model: 'P-700', serialNumber: '7', revision: '1' },
    c8y_SupportedOperations: ['c8y_Command', 'c8y_Firmware', 'c8y_Restart'],
  });
  const source = { id: device };
  const time = new Date().toISOString();
  await rest.create('/measurement/measurements', {
    source,
    time,
    type: 'pump',
    c8y_Flow: { F: { value: 12.5, unit: 'l/s' } },
  });
  await rest.create('/event/events', { source, time, type: 'c8y_Door', text: 'Door opened' });
  await rest.create('/alarm/alarms', { source, time, type: 'c8y_Hot', text: 'Bearing is hot', severity: 'MAJOR' });

  await t.test('is deployed by the tool of the SDK, and again over itself', async (t) => {
    const args = ['deploy', '--url', server.url, '--tenant', TENANT, '--user', 'admin', '--password', PASSWORD];
    for (const _ of ['first', 'again'])
      t.match(await ng([...args, '--zip-path', 'dist/fleet.zip']), /Application fleet deployed/);
    const { applications } = await rest.read('/application/applicationsByName/Fleet');
    t.match(applications, [{ contextPath: 'fleet', type: 'HOSTED', manifest: { dynamicOptionsUrl: true } }]);
    t.equal((await rest.read(`/application/applications/${applications[0].id}/binaries`)).attachments.length, 2);
  });

  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const page: Page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  page.setDefaultTimeout(30_000 * PATIENCE);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !REFUSAL.test(text) && text !== NOT_LOGGED_IN) faults.push(text);
  });
  page.on('response', (response) => {
    const text = `${response.status()} ${response.request().method()} ${response.url().replace(server.url, '')}`;
    if (response.status() >= 400 && !EXPECTED.some((expected) => expected.test(text))) faults.push(text);
  });
  const content = page.locator('#main-content');
  const says = (text: string | RegExp): Promise<void> => content.getByText(text).first().waitFor();
  const open = (path: string): Promise<unknown> => page.goto(`${server.url}/apps/fleet/index.html#${path}`);
  const openTab = (name: string): Promise<void> => page.locator('c8y-tabs-outlet').getByRole('link', { name }).click();

  await t.test('sends a stranger to the page to log in, and opens the list of devices', async (t) => {
    await open('/device');
    await page.waitForURL(`${server.url}/apps/public/login/`);
    await page.getByLabel('User name').fill('admin');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button').click();
    await says('P-700');
    t.match(page.url(), /\/apps\/fleet\/index\.html#\/device$/);
  });

  await t.test('shows the pages of a device', async () => {
    await content.getByText('Pump 7').click();
    await says(/"serialNumber": "7"/);
    await openTab('Measurements');
    await says('c8y_Flow → F');
    await content.locator('canvas').first().waitFor();
    await openTab('Events');
    await says('Door opened');
    await openTab('Control');
    await says('Operations will be displayed here');
    await openTab('Alarms');
    await says('Bearing is hot');
  });

  await t.test('shows a new alarm by itself', async () => {
    await rest.create('/alarm/alarms', { source, time, type: 'c8y_Leak', text: 'Seal leaks', severity: 'CRITICAL' });
    await says('Seal leaks');
  });

  await t.test('makes an operation, and follows what the device says of it', async (t) => {
    await openTab('Shell');
    await content.locator('textarea').fill('get uptime');
    const isMade = (response: Response): boolean =>
      response.request().method() === 'POST' && response.url().includes('/devicecontrol/operations');
    const made = page.waitForResponse(isMade);
    await content.getByRole('button', { name: 'Execute', exact: true }).click();
    t.equal((await made).status(), 201);
    await says('PENDING');
    const { operations } = await rest.read(`/devicecontrol/operations?deviceId=${device}`);
    t.match(operations, [{ status: 'PENDING', c8y_Command: { text: 'get uptime' } }]);
    const path = `/devicecontrol/operations/${operations[0].id}`;
    await rest.put(path, { status: 'EXECUTING' });
    await says('EXECUTING');
    await rest.put(path, { status: 'SUCCESSFUL', c8y_Command: { text: 'get uptime', result: '5 days' } });
    await says('SUCCESSFUL');
  });

  await t.test('adds a firmware with its file to the repository', async (t) => {
    await open('/firmware');
    await content.getByText('Add firmware').click();
    const form = page.locator('.modal-content');
    await form.getByPlaceholder('Select or enter').fill('pump-os');
    // Half a second after the last key the dialog looks for the name, and empties the description.
    await page.getByText('No match found.').waitFor();
    await form.locator('[name=description]').fill('For all pumps');
    await form.locator('[name=version]').fill('2.0');
    await form.locator('input[type=file]').setInputFiles({
      name: 'pump-os.bin',
      mimeType: 'application/octet-stream',
      buffer: Buffer.from('firmware'),
    });
    await form.getByRole('button', { name: 'Add firmware' }).click();
    await says('pump-os');
    await content.getByText('pump-os').first().click();
    await says('2.0');
    const [firmware] = (await rest.read('/inventory/managedObjects?type=c8y_Firmware')).managedObjects;
    const { references } = await rest.read(`/inventory/managedObjects/${firmware.id}/childAdditions`);
    const { managedObject: version } = references.find(
      ({ managedObject }: any) => managedObject.type === 'c8y_FirmwareBinary',
    );
    const { c8y_Firmware } = await rest.read(`/inventory/managedObjects/${version.id}`);
    t.match(c8y_Firmware, { version: '2.0', url: /\/inventory\/binaries\/\d+$/ });
  });

  await t.test('got all that it asked for', async (t) => {
    t.same(faults, []);
  });
});
