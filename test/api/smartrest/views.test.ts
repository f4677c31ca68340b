/** What templates of devices see of an entity: what REST answers. */
import t from 'tap';
import { entityViews } from '../../../src/api/smartrest/views.ts';
import type { Platform } from '../../../src/api/request/platform.ts';

const BASE = 'https://iot.example.com';
const documents = new Map([
  ['managedObject 5', '{"id":"5","name":"Pump","owner":"ada","com_cumulocity_model_Agent":{}}'],
  ['managedObject 6', '{"id":"6","name":"Valve"}'],
  ['children 5\nchildDevices\n6', ''],
  ['parents 5\nchildAssets\n6', ''],
  ['externalIdsOf 5\nc8y_Serial\nsn-5', '1'],
  ['externalIdsOf 5\nmy_Type\nx', '1'],
]);
const views = entityViews({
  config: { mailUrl: BASE },
  documents: {
    get: (collection: string, _tenant: number, id: string) => documents.get(`${collection} ${id}`),
    getMany: (collection: string, _tenant: number, ids: string[]) =>
      ids.map((id) => documents.get(`${collection} ${id}`)),
    list: (collection: string, _tenant: number, prefix: string) =>
      [...documents]
        .filter(([key]) => key.startsWith(`${collection} ${prefix}`))
        .map(([key, value]) => ({ id: key.slice(collection.length + 1), value })),
  },
} as unknown as Platform);

t.test('a measurement has its id and its link, and neither when it was not stored', async (t) => {
  const text = '{"time":"2024-05-02T10:00:00.000Z","source":{"id":"5"},"type":"my_M","my_M":{"T":{"value":1}}}';
  t.match(JSON.parse(views.measurement('9', text)), {
    id: '9',
    self: `${BASE}/measurement/measurements/9`,
    source: { id: '5', self: `${BASE}/inventory/managedObjects/5` },
  });
  const unstored = JSON.parse(views.measurement('', text)) as object;
  t.match(unstored, { id: null, type: 'my_M' });
  t.notOk('self' in unstored);
});

t.test('a managed object has its links, its children and the marker of agents under both names', async (t) => {
  const expected = {
    id: '5',
    self: `${BASE}/inventory/managedObjects/5`,
    owner: 'ada',
    com_cumulocity_model_Agent: {},
    com_platform_model_Agent: {},
    childDevices: { references: [{ managedObject: { id: '6', name: 'Valve' } }] },
    childAssets: { references: [] },
    childAdditions: { references: [] },
    assetParents: { references: [] },
  };
  t.match(JSON.parse(await views.managedObject(1, '5', documents.get('managedObject 5')!)), expected);
  t.match(JSON.parse(await views.newManagedObject(1, '5')), expected, 'read when its actor has made it');
  t.same(JSON.parse(views.unstored('{"id":"5","name":"Pump"}')), { id: null, name: 'Pump' });
});

t.test('an operation has the name and the external IDs of its device', async (t) => {
  t.match(JSON.parse(await views.operation(1, '7', '{"id":"7","deviceId":"5","status":"PENDING"}')), {
    id: '7',
    self: `${BASE}/devicecontrol/operations/7`,
    status: 'PENDING',
    deviceName: 'Pump',
    deviceExternalIDs: {
      externalIds: [
        { type: 'c8y_Serial', externalId: 'sn-5' },
        { type: 'my_Type', externalId: 'x' },
      ],
    },
  });
});
