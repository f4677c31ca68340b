/** Configurations of remote access: fields, secrets that are never read back, rights and bounds. */
import t from 'tap';
import { removeConfigurations } from '../../../src/actors/handlers/remote-access.ts';
import type { ActorContext } from '../../../src/actors/runtime/context.ts';
import { CONFIGURATIONS_TOTAL_ID, REMOTE_ACCESS } from '../../../src/model/access/remote-access.ts';
import { basic, startApi } from '../helpers/api.ts';

const PATH = '/service/remoteaccess/devices/10/configurations';
const SHELL = { name: 'Shell', hostname: '127.0.0.1', port: 22, protocol: 'SSH' };

t.test('a configuration is created, read, changed and deleted; its secrets are stored encrypted', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('10');
  t.strictSame((await api.call('GET', PATH)).json, []);
  const credentials = { type: 'USER_PASS', username: 'root', password: 's3cret-1', privateKey: 's3cret-2', other: 1 };
  const created = await api.call('POST', PATH, { body: { ...SHELL, credentials, unknown: true } });
  t.equal(created.status, 201);
  const { id } = created.json;
  const shown = { id, ...SHELL, credentials: { type: 'USER_PASS', username: 'root' } };
  t.strictSame(created.json, shown, 'neither password nor key');
  t.equal(created.headers.get('location'), `${api.url}${PATH}/${id}`);
  t.strictSame((await api.call('GET', PATH)).json, [shown]);
  t.strictSame((await api.call('GET', `${PATH}/${id}`)).json, shown);
  const stored = (): { secrets?: string } => JSON.parse(api.fake.get(REMOTE_ACCESS, '10') ?? '[{}]')[0];
  const secretsOf = (): unknown =>
    JSON.parse(api.fake.cipher.decrypt(stored().secrets ?? '', `2/${REMOTE_ACCESS}/10/${id}`));
  t.strictSame(secretsOf(), { password: 's3cret-1', privateKey: 's3cret-2' });
  t.notMatch(api.fake.get(REMOTE_ACCESS, '10'), 's3cret');

  const before = stored().secrets;
  const named = await api.call('PUT', `${PATH}/${id}`, { body: { name: 'Shell' } });
  t.strictSame(named.json, shown);
  t.equal(stored().secrets, before, 'what is not sent stays');
  const moved = await api.call('PUT', `${PATH}/${id}`, { body: { port: 2222 } });
  t.strictSame(moved.json, { ...shown, port: 2222 });
  t.strictSame(secretsOf(), { privateKey: 's3cret-2' }, 'a password is not led to another host');
  await api.call('PUT', `${PATH}/${id}`, { body: { credentials: { password: 's3cret-4', hostKey: 'SHA256:a' } } });
  await api.call('PUT', `${PATH}/${id}`, { body: { credentials: { hostKey: 'SHA256:a', username: 'ann' } } });
  t.strictSame(secretsOf(), { privateKey: 's3cret-2', password: 's3cret-4' });
  await api.call('PUT', `${PATH}/${id}`, { body: { credentials: { hostKey: null } } });
  t.strictSame(secretsOf(), { privateKey: 's3cret-2' }, 'nor to one with another key');
  await api.call('PUT', `${PATH}/${id}`, {
    body: { credentials: { password: 's3cret-3', privateKey: null, username: null } },
  });
  t.strictSame(secretsOf(), { password: 's3cret-3' });
  t.strictSame((await api.call('GET', `${PATH}/${id}`)).json.credentials, { type: 'USER_PASS' });
  await api.call('PUT', `${PATH}/${id}`, { body: { credentials: null } });
  t.strictSame((await api.call('GET', `${PATH}/${id}`)).json, { id, ...SHELL, port: 2222 });
  t.equal(stored().secrets, undefined);

  const audits = JSON.stringify(api.fake.sent.map(({ body }) => (body as { audits?: unknown }).audits));
  t.match(audits, 'Remote access configuration created: Shell');
  t.notMatch(audits, 's3cret', 'nor does the audit log tell secrets');
  t.equal((await api.call('DELETE', `${PATH}/${id}`)).status, 204);
  t.equal((await api.call('DELETE', `${PATH}/${id}`)).status, 404);
  t.equal(api.fake.get(REMOTE_ACCESS, '10'), undefined);
});

t.test('what is not taken', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('10');
  const statusOf = async (body: object): Promise<number> => (await api.call('POST', PATH, { body })).status;
  for (const bad of [
    { ...SHELL, name: '' },
    { ...SHELL, name: undefined },
    { ...SHELL, hostname: 'a b' },
    { ...SHELL, hostname: 'x'.repeat(254) },
    { ...SHELL, port: 0 },
    { ...SHELL, port: 65_536 },
    { ...SHELL, port: '22' },
    { ...SHELL, protocol: 'FTP' },
    { ...SHELL, credentials: { type: 'WRONG' } },
    { ...SHELL, credentials: { password: 'x'.repeat(1_025) } },
    { ...SHELL, credentials: 'text' },
  ])
    t.equal(await statusOf(bad), 422, JSON.stringify(bad).slice(0, 100));
  t.equal((await api.call('POST', PATH.replace('10', '11'), { body: SHELL })).status, 404, 'no such device');
  t.equal((await api.call('PUT', `${PATH}/1`, { body: SHELL })).status, 404);
  t.equal((await api.call('GET', `${PATH}/1`)).status, 404);
  api.fake.addUser('reader', ['ROLE_INVENTORY_READ', 'ROLE_DEVICE_CONTROL_ADMIN']);
  const headers = { authorization: basic('t1/reader') };
  for (const method of ['GET', 'POST'])
    t.equal((await api.call(method, PATH, { headers, ...(method === 'GET' ? {} : { body: SHELL }) })).status, 403);
});

t.test('bounds of a device', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('10');
  for (let count = 0; count < 50; count += 1) t.equal((await api.call('POST', PATH, { body: SHELL })).status, 201);
  const refused = await api.call('POST', PATH, { body: SHELL });
  t.equal(refused.status, 422);
  t.match(refused.json.message, '50 remote access configurations (remote-access/configurations-of-device)');
  t.strictSame(api.fake.counted, ['remote-access/configurations-of-device']);
  const [{ id }] = (await api.call('GET', PATH)).json;
  t.equal((await api.call('PUT', `${PATH}/${id}`, { body: { port: 1 } })).status, 200, 'a full one can be changed');
  api.fake.addManagedObject('12');
  const large = { ...SHELL, credentials: { publicKey: 'k'.repeat(15_000) } };
  let last = 201;
  for (let count = 0; count < 30 && last === 201; count += 1)
    last = (await api.call('POST', PATH.replace('10', '12'), { body: large })).status;
  t.equal(last, 422);
  t.equal(api.fake.counted.at(-1), 'remote-access/configurations-bytes-of-device');
  const total = JSON.parse(api.fake.get(REMOTE_ACCESS, CONFIGURATIONS_TOTAL_ID) ?? '{}');
  t.ok(total.count > 60, 'all are counted together');
});

t.test('they end with their device', async (t) => {
  const stored = '[{"id":"1"},{"id":"2"}]';
  const records = new Map([
    ['10', stored],
    [CONFIGURATIONS_TOTAL_ID, JSON.stringify({ count: 3, bytes: stored.length + 12 })],
  ]);
  const context = {
    get: (_collection: string, id: string) => records.get(id),
    put: (_collection: string, id: string, text: string) => void records.set(id, text),
    remove: (_collection: string, id: string) => void records.delete(id),
  } as unknown as ActorContext;
  removeConfigurations(context, { source: '10' });
  t.strictSame([...records], [[CONFIGURATIONS_TOTAL_ID, '{"count":1,"bytes":12}']]);
  removeConfigurations(context, { source: '10' });
  t.equal(records.size, 1, 'once');
});
