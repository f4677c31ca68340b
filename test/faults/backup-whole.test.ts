/**
 * A backup has all that the data directory has, of a running server and of one that was killed; a server on the
 * restored directory has as many documents of each collection, rows of each table and files as the first.
 */
import { appendFileSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { VOLATILE_NAMES } from '../../src/operate/backup/files.ts';
import { openLmdb } from '../../src/store/lmdb/environment.ts';
import { eventually, startServer } from '../helpers/running/server.ts';
import type { Rest, RunningServer } from '../helpers/running/server.ts';
import { millrace, scratchDirectory } from '../helpers/setup-command.ts';

const TIME = '2026-05-02T10:00:00.000Z';
const AUDITS = '/audit/auditRecords';
const LISTS = [
  '/measurement/measurements',
  '/event/events',
  '/alarm/alarms',
  '/devicecontrol/operations',
  '/devicecontrol/bulkoperations',
  '/inventory/managedObjects',
  AUDITS,
  '/user/t1/users',
  '/user/t1/groups',
  '/application/applications',
  '/tenant/options',
  '/retention/retentions',
  '/devicecontrol/newDeviceRequests',
  '/inventory/binaries',
];
/** Written by the engine and by LMDB in their own way: what is in them is compared by its counts. */
const OPAQUE = /^(clickhouse|documents)\//;

const counts = async (rest: Rest): Promise<Record<string, number>> =>
  Object.fromEntries(
    await Promise.all(
      LISTS.map(async (path) => [
        path,
        (await rest.read(`${path}?pageSize=1&withTotalElements=true`)).statistics.totalElements,
      ]),
    ),
  );

/**
 * Documents by the code of their collection, of a server that has ended. The outbox and the positions move on by
 * themselves.
 */
async function documentCounts(data: string): Promise<Record<string, number>> {
  const environment = openLmdb(join(data, 'documents'));
  const found: Record<string, number> = {};
  for (const key of environment.documents.getKeys({})) if (!/^[Fm]/.test(key)) found[key[0]] = (found[key[0]] ?? 0) + 1;
  await environment.close();
  return found;
}

const files = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .filter((path) => !OPAQUE.test(path) && !VOLATILE_NAMES.includes(path))
    .sort();

async function fill({ rest, url }: RunningServer): Promise<{ binary: string; event: string }> {
  const id = await rest.createDevice('kept', { c8y_RequiredAvailability: { responseInterval: 10 } });
  const source = { id };
  await rest.create('/measurement/measurements', {
    measurements: [1, 2, 3].map((value) => ({ source, type: 'm', time: TIME, m: { T: { value } } })),
  });
  const event = (await rest.create('/event/events', { source, type: 'e', text: 'x', time: TIME })).id;
  await rest.request('POST', `/event/events/${event}/binaries`, {
    body: 'of an event',
    headers: { 'content-type': 'application/octet-stream' },
  });
  await rest.create('/alarm/alarms', { source, type: 'a', text: 'x', time: TIME, severity: 'MAJOR' });
  await rest.create('/devicecontrol/operations', { deviceId: id, c8y_Restart: {} });
  const group = (
    await rest.create('/inventory/managedObjects', { name: 'g', type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} })
  ).id;
  await rest.create(`/inventory/managedObjects/${group}/childAssets`, { managedObject: { id } });
  await rest.create('/devicecontrol/bulkoperations', {
    groupId: group,
    startDate: '2099-01-01T00:00:00.000Z',
    creationRamp: 1,
    operationPrototype: { c8y_Restart: {} },
  });
  await rest.create(`/identity/globalIds/${id}/externalIds`, { type: 'c8y_Serial', externalId: 'kept' });
  await rest.create('/user/t1/users', { userName: 'kept', password: 'mill-Race-9' });
  await rest.create('/application/applications', {
    name: 'kept',
    key: 'kept',
    type: 'EXTERNAL',
    externalUrl: 'http://x',
  });
  await rest.create('/devicecontrol/newDeviceRequests', { id: 'kept' });
  await rest.put('/tenant/options/some/credentials.kept', { value: 'secret' });
  const form = new FormData();
  form.append('object', '{"name":"kept","type":"text/plain"}');
  form.append('file', new Blob(['of the inventory']), 'kept');
  const headers = {
    authorization: `Basic ${Buffer.from('t1/admin:mill-Race-7').toString('base64')}`,
    accept: 'application/json',
  };
  const binary = (
    (await (await fetch(`${url}/inventory/binaries`, { method: 'POST', body: form, headers })).json()) as { id: string }
  ).id;
  return { binary, event };
}

t.test('running and killed', async (t) => {
  const first = await startServer(t);
  const made = await fill(first);
  // As if something had been refused; the server takes it for its own.
  const quarantined = `${JSON.stringify({ time: TIME, kind: 'row', table: 'events', seq: 1, shard: 0, id: 7, position: 0, code: 1, error: 'x', row: '{}' })}\n`;
  appendFileSync(join(first.data, 'quarantine.jsonl'), quarantined);
  await eventually(
    'all is visible',
    async () => (await first.rest.read(`/measurement/measurements?source=1`)).measurements !== undefined,
  );
  const [before, lists, names] = [await counts(first.rest), files(first.data), readdirSync(first.data)];
  t.ok(
    LISTS.every((path) => before[path] > 0),
    `there is something of everything: ${JSON.stringify(before)}`,
  );
  const backups = ['running', 'killed'].map((name) => join(scratchDirectory(t), name));
  t.equal((await millrace(['backup', '--data', first.data, backups[0]])).code, 0);
  t.same(await counts(first.rest), before, 'the server goes on');
  await first.stop('SIGKILL');
  t.equal((await millrace(['backup', '--data', first.data, backups[1]])).code, 0);
  const documents = await documentCounts(first.data);
  for (const backup of backups) {
    t.same(
      names.filter((name) => !VOLATILE_NAMES.includes(name) && !readdirSync(backup).includes(name)),
      [],
      'each is copied, or left out on purpose',
    );
    t.same(files(backup), lists, 'files');
    const data = `${backup}-restored`;
    t.equal((await millrace(['restore', '--data', data, backup])).code, 0);
    t.equal(readFileSync(join(data, 'quarantine.jsonl'), 'utf8'), quarantined);
    t.equal(readFileSync(join(data, 'secrets.json'), 'utf8'), readFileSync(join(first.data, 'secrets.json'), 'utf8'));
    const second = await startServer(t, { data });
    const after = await eventually('the login at the new server is audited', async () => {
      const found = await counts(second.rest);
      return found[AUDITS] > before[AUDITS] && found;
    });
    t.same(after, { ...before, [AUDITS]: before[AUDITS] + 1 }, 'lists');
    t.equal((await second.rest.get(`/inventory/binaries/${made.binary}`)).text, 'of the inventory');
    t.equal((await second.rest.get(`/event/events/${made.event}/binaries`)).text, 'of an event');
    t.equal((await second.rest.read('/tenant/options/some/credentials.kept')).value, '<<Encrypted>>');
    t.equal(await second.stop(), 0);
    t.same(await documentCounts(data), documents, 'documents by collection');
  }
});
