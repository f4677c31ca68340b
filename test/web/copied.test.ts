/** What the console gives to copy is run as it stands: the programs of "Add a device", and the requests of "Copy as". */
import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { clientCodeOf, curlOf } from '../../web/parts/copy.tsx';
import { snippetOf } from '../../web/screens/devices/add/snippets.ts';
import type { Snippet } from '../../web/screens/devices/add/snippets.ts';
import { ROOT } from '../helpers/root.ts';
import { PASSWORD, TENANT, eventually, startServer } from '../helpers/running/server.ts';
import { missing } from '../helpers/tools.ts';
import { scratchDirectory } from '../helpers/until.ts';

const run = promisify(execFile);
const USER = `${TENANT}/admin`;
const PYTHON = '/usr/bin/python3';
/** Quotes of shells and of programs, and what a URL has to encode. */
const HARD = `it's "50 %" & \\more #1 ü`;

const server = await startServer(t);
const { rest } = server;
const folder = scratchDirectory(t);
symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));

/** How a program is run, by the command of its page, and what that needs. */
const PROGRAMS: readonly (readonly [kind: Snippet, file: string, command: string, tools: readonly string[]])[] = [
  ['mosquitto', 'device.sh', 'sh device.sh', ['mosquitto_pub']],
  ['curl', 'device.sh', 'sh device.sh', ['curl']],
  ['python', 'device.py', `${PYTHON} device.py`, [`${PYTHON}:paho.mqtt`]],
  ['node', 'device.mjs', 'node device.mjs', []],
  ['c', 'device.c', 'gcc device.c -lmosquitto && ./a.out', ['gcc', 'stdlib.h', 'mosquitto.h']],
];

for (const [kind, file, command, tools] of PROGRAMS)
  t.test(`the program of a new device for ${kind}`, { skip: missing(...tools) }, async (t) => {
    const clientId = `o'neil-"${kind}"`;
    const password = `Pass'w0rd-"${kind}"`;
    const form = new FormData();
    const line = [clientId, password, 'trial', kind].map((text) => `"${text.replaceAll('"', '""')}"`).join(';');
    form.set('file', new Blob([`ID;CREDENTIALS;TYPE;NAME\n${line}`], { type: 'text/csv' }), 'device.csv');
    const authorization = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;
    const path = `${server.url}/devicecontrol/bulkNewDeviceRequests`;
    const answer = await fetch(path, { method: 'POST', body: form, headers: { authorization } });
    t.match(await answer.json(), { numberOfFailed: 0 });
    const source = (await rest.idOf(clientId)) as string;
    const access = { host: '127.0.0.1', mqttPort: server.mqttPort, url: server.url, tenant: TENANT };
    const { text, install } = snippetOf(kind, { ...access, clientId, password, source });
    writeFileSync(join(folder, file), text);
    if (kind === 'c') t.match(install, 'gcc device.c -lmosquitto');
    await run('sh', ['-c', command], { cwd: folder });
    const [measurement] = await eventually('the measurement', async () => {
      const { measurements } = await rest.read(`/measurement/measurements?source=${source}`);
      return measurements.length > 0 && measurements;
    });
    t.match(measurement, { c8y_Water: { T: { value: 61.5, unit: 'C' } } });
  });

t.test('requests of "Copy as"', async (t) => {
  const id = await rest.createDevice(HARD);
  const query = new URLSearchParams({ query: `$filter=name eq '${HARD.replaceAll("'", "''")}'` });
  const alarm = { source: { id }, time: new Date().toISOString(), type: 'c8y_Hot', severity: 'MAJOR' };
  const alarms = async (): Promise<{ id: string; text: string; status: string }[]> =>
    (await rest.read(`/alarm/alarms?source=${id}`)).alarms;
  const requests = (type: string) =>
    [
      [{ path: `/inventory/managedObjects?${query}` }, id],
      [{ method: 'POST', path: '/alarm/alarms', body: { ...alarm, type, text: HARD } }, type],
      [{ method: 'PUT', path: `/inventory/managedObjects/${id}`, body: { c8y_Notes: HARD + type } }, 'c8y_Notes'],
    ] as const;

  await t.test('as code of @c8y/client', async (t) => {
    for (const [request, expected] of requests('by-client')) {
      const code = clientCodeOf(request, server.url)
        .replace("'TENANT'", `'${TENANT}'`)
        .replace("'USER'", "'admin'")
        .replace("'PASSWORD'", `'${PASSWORD}'`);
      writeFileSync(join(folder, 'request.mjs'), code);
      t.match((await run(process.execPath, ['request.mjs'], { cwd: folder })).stdout, expected);
    }
    t.match(await alarms(), [{ text: HARD, type: 'by-client' }]);
    t.match(await rest.read(`/inventory/managedObjects/${id}`), { name: HARD, c8y_Notes: `${HARD}by-client` });
  });

  await t.test('as curl', { skip: missing('curl') }, async (t) => {
    for (const [request, expected] of requests('by-curl')) {
      // It asks for the password at a terminal.
      const command = curlOf(request, USER, server.url).replace(USER, `${USER}:${PASSWORD}`);
      t.match((await run('sh', ['-c', `${command} -sf`])).stdout, expected);
    }
    t.match(
      (await alarms()).map(({ text }) => text),
      [HARD, HARD],
    );
    t.match(await rest.read(`/inventory/managedObjects/${id}`), { c8y_Notes: `${HARD}by-curl` });
  });
});
