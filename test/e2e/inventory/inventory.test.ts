/** The inventory of a running server: lists, queries, groups, files, availability (docs/spec/inventory.md). */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import type { Test } from 'tap';
import {
  CLUSTER_NODES,
  PASSWORD,
  Rest,
  RunningServer,
  TENANT,
  eventually,
  startServer,
} from '../../helpers/running/server.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';

const server = await startServer(t);
const { rest } = server;
const MO = '/inventory/managedObjects';

const create = async (object: object): Promise<string> => (await rest.create(MO, object)).id as string;
const link = (parent: string, kind: string, child: string) =>
  rest.create(`${MO}/${parent}/${kind}`, { managedObject: { id: child } });
const names = async (parameters: string): Promise<string> =>
  (await rest.read(`${MO}?pageSize=100&${parameters}`)).managedObjects
    .map(({ name }: { name: string }) => name)
    .join(' ');
/** Lists are in the order of ids, which those of several nodes do not have among each other. */
const anyOrder = (text: string): string => (CLUSTER_NODES > 0 ? text.split(' ').sort().join(' ') : text);
const encoded = (query: string): string => encodeURIComponent(query);

t.test('roots of who sees a part: objects with parents that he does not see', async (t) => {
  const [above, seen, below] = [
    await create({ name: 'RA', l_Root: {} }),
    await create({ name: 'RB', l_Root: {} }),
    await create({ name: 'RC', l_Root: {} }),
  ];
  await link(above, 'childAssets', seen);
  await link(seen, 'childDevices', below);
  await rest.create(`/user/${TENANT}/users`, { userName: 'of-a-part', password: 'Analytical-1' });
  await rest.post(`/user/${TENANT}/users/of-a-part/roles/inventory`, { managedObject: seen, roles: [{ id: 1 }] });
  const part = new Rest(server.url, `${TENANT}/of-a-part`, 'Analytical-1');
  const roots = async (of: Rest): Promise<string[]> =>
    (await of.read(`${MO}?onlyRoots=true&fragmentType=l_Root`)).managedObjects.map(({ id }: any) => id);
  t.same([await roots(part), await roots(rest)], [[seen], [above]]);
});

t.test('parameters of the list', async (t) => {
  const [a, b, c, d] = [
    await create({ name: 'LA', type: 'l_T', l_X: {}, status: 'up' }),
    await create({ name: 'LB', type: 'l_T', l_X: {}, l_Text: 'Needle in hay' }),
    await create({ name: 'LC', type: 'l_U', l_X: {}, l_Number: 4242, 'key needle': 1 }),
    await create({ name: 'LD', l_X: {}, nested: { deep: ['Needle'] } }),
  ];
  await link(a, 'childAssets', b);
  await link(a, 'childDevices', c);
  await link(b, 'childAdditions', d);
  const check = async (parameters: string, want: string): Promise<void> => {
    t.equal(anyOrder(await names(parameters)), anyOrder(want), parameters);
  };
  await check(`ids=${d},${a},999999999999,x,${b}`, 'LD LA LB');
  await check(`ids=${d},${a}&type=l_T`, 'LA');
  await check('ids=', '');
  await check('type=l_T', 'LA LB');
  await check('fragmentType=l_X', 'LA LB LC LD');
  await check('fragmentType=status&type=l_T', 'LA');
  await check('fragmentType=l_X&owner=admin', 'LA LB LC LD');
  await check('fragmentType=l_X&owner=nobody', '');
  await check(`text=${encoded('Needle')}&fragmentType=l_X`, 'LB LD');
  await check(`text=${encoded('Needle in hay')}&fragmentType=l_X`, 'LB');
  await check(`text=${encoded('needle')}&fragmentType=l_X`, '');
  await check(`text=${encoded("'Needle in hay'")}&fragmentType=l_X`, 'LB');
  await check(`text=name&fragmentType=l_X`, '');
  await check('text=4242&fragmentType=l_X', 'LC');
  await check('text=42&fragmentType=l_X', '');
  // As clients write JSON that send ASCII only, and those that escape what need not be.
  for (const [name, body] of [
    ['LE', String.raw`"t":"M\u00fcller \ud83d\ude00"`],
    ['LF', '"t":"Müller 😀"'],
    ['LG', String.raw`"t":["M\u00FCller's \"\/path\""]`],
  ]) {
    t.equal((await rest.request('POST', MO, { body: `{"name":"${name}","l_Spelled":{},${body}}` })).status, 201);
  }
  await check(`text=${encoded('Müll')}&fragmentType=l_Spelled`, 'LE LF LG');
  await check(`text=${encoded('Müller 😀')}&fragmentType=l_Spelled`, 'LE LF');
  await check(`text=${encoded('Müller\'s "/p')}&fragmentType=l_Spelled`, 'LG');
  await check(`text=${encoded("'Müller''s'")}&fragmentType=l_Spelled`, 'LG');
  await check(`text=${encoded('u00fc')}&fragmentType=l_Spelled`, '');
  await check(`childAssetId=${b}`, 'LA');
  await check(`childDeviceId=${c}`, 'LA');
  await check(`childAdditionId=${d}`, 'LB');
  await check(`childAssetId=${c}`, '');
  await check('onlyRoots=true&fragmentType=l_X', 'LA');
  await check(`query=${encoded("type eq 'l_U'")}&type=l_T`, 'LC');
  const [shown] = (await rest.read(`${MO}?ids=${b}&withParents=true&withChildrenCount=true`)).managedObjects;
  t.match(shown, {
    assetParents: { references: [{ managedObject: { id: a, name: 'LA' } }] },
    childAdditions: { count: 1, references: [{ managedObject: { id: d, name: 'LD' } }] },
  });
  const [bare] = (await rest.read(`${MO}?ids=${a}&withChildren=false`)).managedObjects;
  t.same(bare.childAssets.references, []);
  const [unnamed] = (await rest.read(`${MO}?ids=${a}&skipChildrenNames=true`)).managedObjects;
  t.notOk('name' in unnamed.childAssets.references[0].managedObject);
  t.match(await rest.read(`${MO}?fragmentType=l_X&pageSize=3&withTotalPages=true&withTotalElements=true`), {
    statistics: { totalPages: 2, totalElements: 4 },
    next: /currentPage=2/,
  });
  t.equal((await rest.get(`${MO}/count?fragmentType=l_X&type=l_T`)).text, '2');
  t.equal((await rest.get(`${MO}/count?query=${encoded("type eq 'l_*'")}`)).text, '3');
});

t.test('queries', async (t) => {
  const group = await create({ name: 'QG', type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} });
  const subgroup = await create({ name: 'QS', type: 'c8y_DeviceSubGroup', c8y_IsDeviceGroup: {} });
  const [one, two] = [
    await create({ name: 'Q one', c8y_IsDevice: {}, q_H: { size: 1 } }),
    await create({ name: 'Q two', c8y_IsDevice: {}, q_H: { size: 2.5 }, q_List: ['x', 'y'] }),
  ];
  await create({ name: 'Q three', q_H: { size: 30 } });
  await link(group, 'childAssets', subgroup);
  await link(group, 'childAssets', one);
  await link(subgroup, 'childAssets', two);
  const check = async (query: string, want: string): Promise<void> => {
    const order = /orderby/.test(query) ? (text: string): string => text : anyOrder;
    t.equal(order(await names(query)), order(want), query);
  };
  await check(`query=${encoded("$filter=(name eq 'Q*' and has(q_H)) $orderby=q_H.size desc")}`, 'Q three Q two Q one');
  await check(`query=${encoded('has(q_H)')}`, 'Q one Q two Q three');
  await check("query=$filter=(name+eq+'Q*'+and+has(q_H))+$orderby=name", 'Q one Q three Q two');
  await check(`q=${encoded("$filter=name eq 'Q*'")}`, 'Q one Q two');
  await check(`query=${encoded("q_List eq 'y' or q_H.size lt 2")}`, 'Q one Q two');
  await check(`query=${encoded(`bygroupid(${group})`)}`, 'QS Q one');
  await check(
    `query=${encoded(`$filter=(isinhierarchyof(${group}) and has(c8y_IsDevice)) $orderby=name desc`)}`,
    'Q two Q one',
  );
  await check(`query=${encoded(`id eq '${one}'`)}`, 'Q one');
  await check(
    `query=${encoded(`creationTime.date gt '2020-01-01' and lastUpdated.date lt '2099-01-01T00:00:00+02:00' and has(q_H)`)}`,
    'Q one Q two Q three',
  );
  const bad = await rest.get(`${MO}?query=${encoded('name eq')}`);
  t.match(
    { status: bad.status, json: bad.json },
    {
      status: 422,
      json: {
        error: 'inventory/Invalid Data',
        message: 'The query could not be understood: a value is missing at position 8',
      },
    },
  );
  const children = await rest.read(
    `${MO}/${group}/childAssets?query=${encoded('has(c8y_IsDevice)')}&withTotalElements=true`,
  );
  t.match(children, {
    references: [{ managedObject: { id: one }, self: `${server.url}${MO}/${group}/childAssets/${one}` }],
    statistics: { totalElements: 1 },
  });
  const page = await rest.read(`${MO}?query=${encoded('has(q_H)')}&pageSize=2&withTotalPages=true`);
  t.match(page, { statistics: { totalPages: 2 }, next: /query=has\(q_H\)/ });
  // Smart groups keep their query; clients run it.
  const smart = await create({
    name: 'smart',
    type: 'c8y_DynamicGroup',
    c8y_IsDynamicGroup: {},
    c8y_DeviceQueryString: "$filter=(name eq 'Q*')",
  });
  const { c8y_DeviceQueryString: stored } = await rest.read(`${MO}/${smart}`);
  await check(`q=${encoded(stored as string)}`, 'Q one Q two');
});

async function upload(parts: FormData, user = 'admin'): Promise<Response> {
  return fetch(`${server.url}/inventory/binaries`, {
    method: 'POST',
    body: parts,
    headers: {
      accept: 'application/json',
      authorization: `Basic ${Buffer.from(`${TENANT}/${user}:${PASSWORD}`).toString('base64')}`,
    },
  });
}

t.test('files', async (t) => {
  const content = randomBytes(3_000_000);
  const form = new FormData();
  form.append('object', JSON.stringify({ name: 'firmware.bin', type: 'application/zip', f_X: 1 }));
  form.append('file', new Blob([content]), 'firmware.bin');
  const posted = await upload(form);
  t.equal(posted.status, 201);
  const ofBrowser = new FormData();
  ofBrowser.append('object', new Blob(['{"name":"notes.txt","f_Y":2}'], { type: 'application/json' }));
  ofBrowser.append('file', new Blob(['notes']), 'notes.txt');
  const made = await upload(ofBrowser);
  t.equal(made.status, 201, 'a Blob has a file name');
  const notes = (await made.json()) as { id: string };
  t.match(notes, { name: 'notes.txt', f_Y: 2, length: 5 });
  t.equal((await rest.delete(`/inventory/binaries/${notes.id}`)).status, 204);
  const { id, self } = (await posted.json()) as { id: string; self: string };
  t.equal(self, `${server.url}/inventory/binaries/${id}`);
  const headers = { authorization: `Basic ${Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64')}` };
  const whole = await fetch(self, { headers });
  t.equal(whole.headers.get('content-disposition'), 'attachment; filename="firmware.bin"');
  t.ok(Buffer.from(await whole.arrayBuffer()).equals(content));
  const part = await fetch(self, { headers: { ...headers, range: 'bytes=1000000-1999999' } });
  t.equal(part.status, 206);
  t.ok(Buffer.from(await part.arrayBuffer()).equals(content.subarray(1_000_000, 2_000_000)));
  t.match(await rest.read(`${MO}?fragmentType=c8y_IsBinary`), {
    managedObjects: [{ id, length: 3_000_000, contentType: 'application/zip', self: `${server.url}${MO}/${id}` }],
  });
  t.match(await rest.read('/inventory/binaries?type=application/zip&text=firmw'), {
    managedObjects: [{ id, self, f_X: 1 }],
  });
  t.match((await rest.put(`${MO}/${id}`, { length: 5, contentType: 'x/y', c8y_IsBinary: null, f_Y: 2 })).json, {
    length: 3_000_000,
    contentType: 'application/zip',
    c8y_IsBinary: {},
    f_Y: 2,
  });
  t.equal(
    (
      await rest.request('PUT', `/inventory/binaries/${id}`, {
        body: 'short',
        headers: { 'content-type': 'text/plain' },
      })
    ).status,
    201,
  );
  t.equal(await (await fetch(self, { headers })).text(), 'short');
  t.equal((await rest.read(`${MO}/${id}`)).length, 5);
  t.match((await rest.put(`${MO}/${id}`, { owner: null })).json, { owner: 'admin' }, "an object is always somebody's");
  t.equal((await rest.delete(`/inventory/binaries/${id}`)).status, 204);
  t.equal((await fetch(self, { headers })).status, 404);
  t.equal((await rest.get(`${MO}/${id}`)).status, 404);
});

/** When a device was last heard; of a cluster by all nodes, which say the same. */
async function lastHeard(t: Test, id: string): Promise<number> {
  const times: number[] = [];
  while (times.length < Math.max(1, CLUSTER_NODES))
    times.push(Date.parse((await rest.get(`${MO}/${id}/availability`)).text));
  t.equal(new Set(times).size, 1, 'the same on every node');
  return times[0];
}

t.test('availability over HTTP', async (t) => {
  const id = await create({ name: 'AV', c8y_IsDevice: {}, c8y_RequiredAvailability: { responseInterval: 10 } });
  const first = (await rest.read(`${MO}/${id}`)).c8y_Availability;
  t.equal(first.status, 'AVAILABLE');
  const heard = (): Promise<number> => lastHeard(t, id);
  const contact: [string, () => Promise<unknown>][] = [
    ['a heartbeat', () => rest.put(`${MO}/${id}`, {})],
    [
      'an event',
      () => rest.create('/event/events', { source: { id }, type: 'x', text: 'x', time: new Date().toISOString() }),
    ],
    [
      'an alarm',
      () =>
        rest.create('/alarm/alarms', {
          source: { id },
          type: 'x',
          text: 'x',
          severity: 'MINOR',
          time: new Date().toISOString(),
        }),
    ],
    [
      'a measurement',
      () =>
        rest.create('/measurement/measurements', {
          source: { id },
          type: 'x',
          time: new Date().toISOString(),
          x: { y: { value: 1 } },
        }),
    ],
  ];
  for (const [title, send] of contact) {
    const before = await heard();
    await new Promise((resolve) => {
      setTimeout(resolve, 3);
    });
    await send();
    t.ok((await heard()) > before, title);
  }
  const before = await heard();
  const application = { headers: { 'X-Cumulocity-Application-Key': 'app' } };
  await rest.request('PUT', `${MO}/${id}`, { body: { x: 1 }, ...application });
  await rest.request('POST', '/measurement/measurements', {
    body: { source: { id }, type: 'x', time: new Date().toISOString(), x: { y: { value: 1 } } },
    ...application,
  });
  await rest.get(`${MO}/${id}`);
  t.equal(await heard(), before, 'applications and readers do not count');
  await rest.create(`/user/${TENANT}/users`, {
    userName: 'av-operator',
    password: 'Operator-1',
    roles: ['ROLE_MEASUREMENT_ADMIN', 'ROLE_EVENT_ADMIN', 'ROLE_INVENTORY_ADMIN'],
  });
  const operator = new Rest(server.url, `${TENANT}/av-operator`, 'Operator-1');
  await operator.create('/measurement/measurements', {
    source: { id },
    type: 'x',
    time: new Date().toISOString(),
    x: { y: { value: 1 } },
  });
  await operator.create('/event/events', { source: { id }, type: 'x', text: 'x', time: new Date().toISOString() });
  for (const body of [{}, { x: 2 }]) t.equal((await operator.put(`${MO}/${id}`, body)).status, 200);
  t.equal(await heard(), before, 'nor does what others write about the device');
  t.match((await rest.read(`${MO}/${id}`)).c8y_ActiveAlarmsStatus, { critical: 0, major: 0, minor: 1, warning: 0 });
  t.match((await rest.get(`${MO}/${id}/availability`)).headers.get('content-type'), 'text/plain');
  t.equal((await rest.get(`${MO}/${await create({})}/availability`)).status, 404, 'no device');
  t.equal((await rest.get(`${MO}/999999/availability`)).status, 404);
  await rest.put(`${MO}/${id}`, { c8y_RequiredAvailability: { responseInterval: -1 } });
  t.equal((await rest.read(`${MO}/${id}`)).c8y_Availability.status, 'MAINTENANCE');
  const suppressed = await rest.create('/alarm/alarms', {
    source: { id },
    type: 'y',
    text: 'x',
    severity: 'MINOR',
    time: new Date().toISOString(),
  });
  t.match(suppressed.self, /\/alarm\/alarms\/null$/);
  t.equal((await rest.read(`${MO}/${id}`)).c8y_ActiveAlarmsStatus.minor, 1);
});

t.test('connections over MQTT', async (t: Test) => {
  const client = await connectDevice(t, server, 'availability-1');
  await client.publish('s/us', '100,Available,acme');
  const id = await eventually('the device', () => rest.idOf('availability-1'));
  const status = async (): Promise<string | undefined> => (await rest.read(`${MO}/${id}`)).c8y_Connection?.status;
  t.equal(await status(), undefined);
  await client.subscribe('s/ds');
  await eventually('it is connected', async () => (await status()) === 'CONNECTED');
  await client.publish('s/us', '117,60');
  await eventually(
    'it is monitored',
    async () => (await rest.read(`${MO}/${id}`)).c8y_Availability?.status === 'AVAILABLE',
  );
  await client.publish('s/us', '117,0');
  const at = await lastHeard(t, id);
  t.ok(Math.abs(at - Date.now()) < 60_000);
  await client.end();
  await eventually('it is disconnected', async () => (await status()) === 'DISCONNECTED');
  t.equal(await names(`query=${encoded("c8y_Connection.status eq 'DISCONNECTED'")}`), 'Available');
});

t.test('supported measurements and series', async (t) => {
  const id = await create({ name: 'SM', c8y_IsDevice: {} });
  for (const series of ['T', 'h'])
    await rest.create('/measurement/measurements', {
      source: { id },
      type: 'x',
      time: '2024-05-02T10:00:00Z',
      c8y_Env: { [series]: { value: 1 } },
      c8y_Other: { a: { value: 2 } },
    });
  t.same(await rest.read(`${MO}/${id}/supportedMeasurements`), { c8y_SupportedMeasurements: ['c8y_Env', 'c8y_Other'] });
  t.same(await rest.read(`${MO}/${id}/supportedSeries`), {
    c8y_SupportedSeries: ['c8y_Env.T', 'c8y_Env.h', 'c8y_Other.a'],
  });
  t.equal((await rest.get(`${MO}/999999/supportedSeries`)).status, 404);
});

t.test('the user of a device', async (t) => {
  await rest.create(`/user/${TENANT}/users`, { userName: 'device_u1', password: 'secret-7' });
  const id = await create({ name: 'DU', c8y_IsDevice: {}, owner: 'device_u1' });
  const own = await create({ name: 'DU2', c8y_IsDevice: {} });
  t.same(await rest.read(`${MO}/${id}/user`), {
    self: `${server.url}${MO}/${id}/user`,
    userName: 'device_u1',
    enabled: true,
  });
  t.match((await rest.put(`${MO}/${id}/user`, { enabled: false })).json, { enabled: false });
  t.equal((await rest.read(`${MO}/${id}/user`)).enabled, false);
  t.match(await rest.read(`${MO}/${own}/user`), { userName: 'admin', enabled: true }, 'a person');
  t.equal((await rest.put(`${MO}/${own}/user`, { enabled: false })).status, 404, 'only users of devices');
  t.equal((await rest.put(`${MO}/${id}/user`, { enabled: 'no' })).status, 422);
});

t.test('the user of a device goes with it, unless it has rights that who deletes lacks', async (t) => {
  const userWith = async (userName: string, roles: string[], more: object = {}): Promise<Rest> => {
    await rest.create(`/user/${TENANT}/users`, {
      userName,
      password: PASSWORD,
      roles: { references: roles.map((id) => ({ role: { id } })) },
      ...more,
    });
    return new Rest(server.url, `${TENANT}/${userName}`, PASSWORD);
  };
  const isThere = async (userName: string): Promise<boolean> =>
    (await rest.get(`/user/${TENANT}/users/${userName}`)).status === 200;
  const admin = await userWith('du-admin', ['ROLE_INVENTORY_ADMIN', 'ROLE_INVENTORY_READ']);
  const object = async (owner: string): Promise<string> =>
    (await admin.create(MO, { name: owner, c8y_IsDevice: {}, owner })).id;
  const END = 'withDeviceUser=true';

  await userWith('device_du-big', ['ROLE_USER_MANAGEMENT_READ']);
  await userWith('device_du-granted', [], { devicePermissions: { [await object('admin')]: ['*:*:READ'] } });
  for (const name of ['device_du-big', 'device_du-granted']) {
    const id = await object(name);
    t.equal((await admin.delete(`${MO}/${id}?${END}`)).status, 403, name);
    t.equal((await admin.put(`${MO}/${id}/user`, { enabled: false })).status, 403, name);
    t.equal((await rest.get(`${MO}/${id}`)).status, 200, 'nothing is changed');
    const above = await object('du-admin');
    await admin.post(`${MO}/${above}/childDevices`, { managedObject: { id } });
    t.equal((await admin.delete(`${MO}/${above}?cascade=true&${END}`)).status, 204);
    t.equal((await rest.get(`${MO}/${id}`)).status, 404);
    t.ok(await isThere(name), `${name} stays when a hierarchy is deleted`);
    t.equal((await rest.delete(`${MO}/${await object(name)}?${END}`)).status, 204);
    t.notOk(await isThere(name), 'an administrator has its rights');
  }

  const usual = async (name: string): Promise<[device: Rest, id: string]> => {
    const device = await userWith(name, []);
    t.equal(
      (
        await rest.post(`/user/${TENANT}/groups/2/users`, {
          user: { self: `${server.url}/user/${TENANT}/users/${name}` },
        })
      ).status,
      201,
    );
    return [device, (await device.create(MO, { name, c8y_IsDevice: {} })).id];
  };
  const [, first] = await usual('device_du-usual');
  t.equal((await admin.put(`${MO}/${first}/user`, { enabled: false })).status, 200);
  t.equal((await admin.delete(`${MO}/${first}?${END}`)).status, 204);
  t.notOk(await isThere('device_du-usual'));
  const [device, second] = await usual('device_du-self');
  t.equal((await device.delete(`${MO}/${second}?${END}`)).status, 204, 'a device itself');
  t.notOk(await isThere('device_du-self'));

  const records = (await rest.read('/audit/auditRecords?type=User&pageSize=200')).auditRecords;
  for (const [text, by] of [
    ['User deleted: device_du-usual', 'du-admin'],
    ['User deleted: device_du-self', 'device_du-self'],
    ['User kept: device_du-big has rights that who deleted its device lacks', 'du-admin'],
  ]) {
    t.ok(
      records.some((record: any) => record.text === text && record.user === by),
      text,
    );
  }
});

t.test('links and deletions that come at the same time', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const [a, b] = [await create({}), await create({})];
    const reply = (parent: string, child: string) =>
      rest.post(`${MO}/${parent}/childAssets`, { managedObject: { id: child } });
    const statuses = (await Promise.all([reply(a, b), reply(b, a)])).map(({ status }) => status).sort();
    t.ok(statuses[1] === 422 && [201, 422].includes(statuses[0]), `a cycle is refused: ${statuses}`);
    const parent = await create({});
    const [made] = await Promise.all([
      rest.post(`${MO}/${parent}/childAdditions`, { name: 'orphan', i_Orphan: {} }),
      rest.delete(`${MO}/${parent}`),
    ]);
    t.ok([201, 404].includes(made.status), `${made.status}`);
  }
  t.equal(await names('fragmentType=i_Orphan'), '', 'no child without its parent');
});

t.test('a restart keeps files and states', async (t) => {
  const form = new FormData();
  form.append('file', new Blob(['kept']), 'kept.txt');
  const { self } = (await (await upload(form)).json()) as { self: string };
  const device = await create({ name: 'RS', c8y_IsDevice: {}, c8y_RequiredAvailability: { responseInterval: 1 } });
  await server.stop();
  const second: RunningServer = await startServer(t, { data: server.data });
  const read = await second.rest.get(self.replace(server.url, ''));
  t.equal(read.text, 'kept');
  t.equal((await second.rest.read(`${MO}/${device}`)).c8y_Availability.status, 'AVAILABLE');
  t.same(
    second.complaints.filter((line) => !line.includes('refused by the limit http/403')),
    [],
  );
});
