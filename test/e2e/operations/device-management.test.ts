/** Software of devices over REST and MQTT, and what simulated agents do with operations. */
import t from 'tap';
import { AgentFleet } from '../../../src/cli/simulate/agent-fleet.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { eventually, PASSWORD, startServer, TENANT } from '../../helpers/running/server.ts';

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

t.test('simulated agents carry out each operation (docs/spec/operations.md#what-devices-do)', async (t) => {
  const agents = new AgentFleet({
    agents: 3,
    url: rest.url,
    host: '127.0.0.1',
    mqttPort: server.mqttPort,
    tenant: TENANT,
    user: 'admin',
    password: PASSWORD,
    seed: 1,
    workMs: 0,
  });
  agents.start();
  t.teardown(() => agents.end());
  const idOf = (serial: string): Promise<string> =>
    eventually(serial, async () => {
      const id = await rest.idOf(serial);
      if (id === undefined || (await rest.deviceOf(serial)).c8y_SupportedOperations === undefined)
        throw new Error(`${serial} is not there`);
      return id;
    });
  const ids = await Promise.all([0, 1, 2].map((index) => idOf(`sim-agent-1-${index}`)));
  const [kinds, actions, list] = ids;
  const device = (index: number): Promise<any> => rest.deviceOf(`sim-agent-1-${index}`);
  const order = async (deviceId: string, fragments: object): Promise<any> => {
    const { id } = await rest.create('/devicecontrol/operations', { deviceId, ...fragments });
    return eventually(JSON.stringify(fragments), async () => {
      const operation = await rest.read(`/devicecontrol/operations/${id}`);
      if (!['SUCCESSFUL', 'FAILED'].includes(operation.status)) throw new Error(JSON.stringify(operation));
      return operation;
    });
  };
  const done = async (fragments: object, deviceId = actions): Promise<any> => {
    const operation = await order(deviceId, fragments);
    t.match(operation, { status: 'SUCCESSFUL' }, JSON.stringify(fragments));
    return operation;
  };
  const failed = async (fragments: object, reason: RegExp): Promise<void> => {
    t.match(await order(actions, fragments), { status: 'FAILED', failureReason: reason }, JSON.stringify(fragments));
  };
  const contentOf = async (url: string): Promise<string> => (await rest.get(url)).text;

  await done({ c8y_Restart: {} });
  t.match(await done({ c8y_Command: { text: 'echo one, "two"' } }), { c8y_Command: { result: 'one, "two"' } });
  await failed({ c8y_Command: { text: 'rm -rf /' } }, /^rm: command not found/);
  await done({ c8y_Configuration: { config: 'a=1\nb=2' } });
  await done({ c8y_SendConfiguration: {} });
  await done({ c8y_Network: { c8y_LAN: { ip: '10.0.0.2', netmask: '255.0.0.0', enabled: 1 } } });
  await failed({ c8y_Network: { c8y_LAN: { ip: 'x', netmask: '', enabled: 1 } } }, /connection test failed/);
  await done({ c8y_Relay: { relayState: 'OPEN' } });
  await done({ c8y_RelayArray: ['OPEN', 'CLOSED'] });
  await done({ c8y_CommunicationMode: { mode: 'SMS' } });
  await done({ c8y_MeasurementRequestOperation: { requestName: 'all' } });
  const measured = await rest.read(`/measurement/measurements?source=${actions}&type=c8y_TemperatureMeasurement`);
  t.equal(measured.measurements.length, 1);
  await done({ c8y_UploadConfigFile: {} });
  const dumps = await rest.read('/inventory/managedObjects?type=c8y_ConfigurationDump');
  const [dump] = dumps.managedObjects;
  t.equal(await contentOf(dump.url), 'a=1\nb=2');
  await done({ c8y_DownloadConfigFile: { url: dump.url, c8y_ConfigurationDump: { id: dump.id } } });
  const typed = await rest.read(`/inventory/managedObjects/${dump.id}`);
  await done({ c8y_DownloadConfigFile: { url: typed.url, type: 'net.conf' } });
  await failed({ c8y_DownloadConfigFile: { url: 'http://192.0.2.1/x', type: 'net.conf' } }, /not a URL of/);
  await done({ c8y_UploadConfigFile: { type: 'net.conf' } });
  const [snapshot] = (await rest.read(`/event/events?source=${actions}&type=net.conf`)).events;
  t.equal(await contentOf(`/event/events/${snapshot.id}/binaries`), 'a=1\nb=2');
  const range = { dateFrom: '2024-05-02T10:00:00Z', dateTo: '2024-05-02T11:00:00Z' };
  const log = { logFile: 'sim', ...range, searchText: '10:3', maximumLines: 5 };
  const { c8y_LogfileRequest: answered } = await done({ c8y_LogfileRequest: log });
  t.equal((await contentOf(answered.file)).trim().split('\n').length, 5, 'the log is where the operation says');
  await failed({ c8y_LogfileRequest: { ...log, logFile: 'other' } }, /not known/);
  await done({ c8y_Firmware: { name: 'fw', version: '2', url: '' } });
  await done({ c8y_Firmware: { name: 'fw', version: '2.1', url: '', isPatch: true, dependency: '2' } });
  await done({
    profileName: 'P',
    profileId: '9',
    c8y_DeviceProfile: {
      firmware: { name: 'fw', version: '3', url: '' },
      software: [{ name: 'vim', version: '9', url: '', action: 'install' }],
      configuration: [{ name: 'c', url: dump.url, type: 'app.conf' }],
    },
  });
  // It is told behind the operation's status.
  const now = await eventually('the profile', async () => {
    const found = await device(1);
    return found.c8y_Profile !== undefined && found;
  });
  t.match(now, {
    c8y_Configuration: { config: 'a=1\nb=2' },
    c8y_Network: { c8y_LAN: { ip: '10.0.0.2' } },
    c8y_Relay: { relayState: 'OPEN' },
    c8y_RelayArray: ['OPEN', 'CLOSED'],
    c8y_CommunicationMode: { mode: 'SMS' },
    c8y_ConfigurationDump: { id: dump.id },
    c8y_Configuration_net_conf: { type: 'net.conf', url: dump.url },
    c8y_Configuration_app_conf: { type: 'app.conf' },
    c8y_Firmware: { name: 'fw', version: '3' },
    c8y_Profile: { profileName: 'P', profileId: '9', profileExecuted: true },
  });
  await failed({ c8y_RemoteAccessConnect: { hostname: 'h', port: 1, connectionKey: 'k' } }, /./);

  const update = {
    c8y_SoftwareUpdate: [
      { name: 'curl', version: '8', url: '', softwareType: 'apt', action: 'install' },
      { name: 'nginx', version: '1.26', url: '', softwareType: 'apt', action: 'delete' },
    ],
  };
  for (const id of ids) await done(update, id);
  const namesOf = (entries: any[]): string[] => entries.map(({ name }) => name).sort();
  const listed = await rest.read(`${SOFTWARE}?deviceId=${kinds}`);
  t.same(namesOf(listed.softwareList), ['curl', 'sim-agent'], 'with kinds, row 529');
  t.same(namesOf((await device(1)).c8y_SoftwareList), ['curl', 'sim-agent', 'vim'], 'as actions, row 528');
  t.same(namesOf((await device(2)).c8y_SoftwareList), ['curl', 'sim-agent'], 'as a list, row 516');
  await done({ c8y_SoftwareList: [{ name: 'only', version: '1', url: '' }] }, list);
  t.same(namesOf((await device(2)).c8y_SoftwareList), ['only']);
  t.equal(agents.errors, 0, agents.lastError);
});
