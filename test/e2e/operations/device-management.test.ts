/** Software of devices over REST and MQTT. */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const SOFTWARE = '/service/advanced-software-mgmt/software';

t.test('the list of software: rows and the service over the same storage', async (t) => {
  const device = await connectDevice(t, server, 'soft');
  await device.subscribe('s/ds', 's/e');
  await device.publish('s/us', '100,Soft,my_Type\n143,apt,snap\n140,nginx,1.26,apt,http://x,vim,9,snap\n141,curl,8');
  const id = (await rest.idOf('soft')) as string;
  const path = `${SOFTWARE}?deviceId=${id}`;
  const names = async (query = ''): Promise<string[]> =>
    (await rest.read(`${path}&pageSize=100${query}`)).softwareList.map(
      (entry: any) => `${entry.name} ${entry.version}`,
    );
  t.match(await rest.read(`${path}&pageSize=2&withTotalPages=true`), {
    softwareList: [{ name: 'nginx', version: '1.26', softwareType: 'apt', url: 'http://x' }, { name: 'vim' }],
    statistics: { currentPage: 1, pageSize: 2, totalPages: 2 },
    next: /currentPage=2/,
  });
  t.same(await names('&currentPage=2'), []);
  t.same(await names('&name=vim'), ['vim 9']);
  t.same(await names('&type=apt&version=1.26'), ['nginx 1.26']);
  t.same(await names('&type=apt&version=9'), []);
  await device.publish('s/us', '141,nginx,1.27,apt\n142,curl,8');
  t.same(await names(), ['nginx 1.27', 'vim 9']);
  const put = await rest.put(path, [{ name: 'vim', version: '9.1', softwareType: 'snap' }]);
  t.match([put.status, put.json.softwareList.length], [200, 2]);
  t.same(await names(), ['nginx 1.27', 'vim 9.1']);
  const post = await rest.post(path, [{ name: 'zsh', version: '5', url: null }]);
  t.match(
    [post.status, post.json],
    [201, { softwareList: [{ name: 'zsh', version: '5', url: '', softwareType: '' }] }],
  );
  await rest.post('/devicecontrol/operations', {
    deviceId: id,
    c8y_SoftwareUpdate: [{ name: 'vim', version: '9', url: '', action: 'install', softwareType: 'apt' }],
  });
  await device.row('s/ds', '516,soft,zsh,5,,vim,9,');
  const remove = (body?: object) => rest.request('DELETE', path, body === undefined ? {} : { body });
  t.equal((await remove([{ name: 'zsh', version: '4' }])).status, 204);
  t.same(await names(), ['zsh 5']);
  t.equal((await remove([{ name: 'zsh', version: '5' }])).status, 204);
  t.same(await names(), []);
  await rest.post(path, [{ name: 'a', version: '1' }]);
  t.equal((await remove()).status, 204);
  t.same(await names(), [], 'all of it');
  const additions = await rest.read(`/inventory/managedObjects/${id}/childAdditions`);
  t.match(additions.references, [{ managedObject: { type: 'c8y_InstalledSoftwareList', c8y_SoftwareList: [] } }]);
  await device.publish('s/us', '140,,,,');
  t.same(device.rows('s/e'), []);
});

t.test('what the service refuses', async (t) => {
  const id = await rest.createDevice('Refused');
  const path = `${SOFTWARE}?deviceId=${id}`;
  t.match((await rest.get(SOFTWARE)).status, 400);
  for (const size of ['0', '-1', '2001']) t.equal((await rest.get(`${path}&pageSize=${size}`)).status, 400, size);
  t.equal((await rest.get(`${SOFTWARE}?deviceId=99999999`)).status, 404);
  t.same((await rest.read(path)).softwareList, [], 'a device without a list');
  t.equal((await rest.request('DELETE', path)).status, 204);
  for (const body of [
    '{}',
    '[1]',
    '[{}]',
    '[{"name":"a"}]',
    '[{"name":"","version":"1"}]',
    '[{"name":1,"version":"1"}]',
  ])
    t.equal((await rest.post(path, body)).status, 422, body);
  t.equal((await rest.post(path, '[')).status, 400);
  t.equal((await rest.post(path, `[${'['.repeat(300)}${']'.repeat(300)}]`)).status, 400);
  const many = Array.from({ length: 10_001 }, (_, index) => ({ name: `p${index}`, version: '1' }));
  const refused = await rest.post(path, many);
  t.match([refused.status, refused.json.message], [422, /10001 packages.*10000.*software\/packages/]);
});
