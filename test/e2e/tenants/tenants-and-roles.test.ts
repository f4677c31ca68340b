/** Tenants are strictly apart; roles decide per route; the owner of an object may do what the roles would allow. */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { Rest, TENANT, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest, management } = server;
const TIME = '2024-05-02T10:00:00.000Z';

interface Entities {
  device: string;
  child: string;
  asset: string;
  addition: string;
  event: string;
  alarm: string;
  measurement: string;
  operation: string;
}

/** One object with something of everything. */
async function createEntities(of: Rest, name: string): Promise<Entities> {
  const device = await of.createDevice(name);
  const [child, asset, addition] = [
    await of.createDevice(`${name} child`),
    await of.createDevice(`${name} asset`),
    await of.createDevice(`${name} addition`),
  ];
  for (const [kind, id] of [
    ['childDevices', child],
    ['childAssets', asset],
    ['childAdditions', addition],
  ]) {
    await of.create(`/inventory/managedObjects/${device}/${kind}`, { managedObject: { id } });
  }
  const source = { id: device };
  await of.create(`/identity/globalIds/${device}/externalIds`, { type: 'my_Type', externalId: name });
  const event = (await of.create('/event/events', { source, type: 'e', text: 't', time: TIME })).id;
  const alarm = (await of.create('/alarm/alarms', { source, type: 'a', text: 't', severity: 'MINOR', time: TIME })).id;
  const measurement = (
    await of.create('/measurement/measurements', { source, type: 'm', time: TIME, f: { s: { value: 1 } } })
  ).id;
  const operation = (await of.create('/devicecontrol/operations', { deviceId: device, c8y_Restart: {} })).id;
  return { device, child, asset, addition, event, alarm, measurement, operation };
}

/** Everything that names an entity by its id: method, path, body. */
function positions(it: Entities, name: string, own: Entities): [string, string, object?][] {
  const object = `/inventory/managedObjects/${it.device}`;
  const source = { id: it.device };
  const kinds = [
    ['childDevices', it.child],
    ['childAssets', it.asset],
    ['childAdditions', it.addition],
  ] as const;
  return [
    ['GET', object],
    ['PUT', object, { name: 'taken' }],
    ['GET', `${object}/supportedMeasurements`],
    ['GET', `${object}/supportedSeries`],
    ...kinds.flatMap(([kind, child]): [string, string, object?][] => [
      ['GET', `${object}/${kind}`],
      ['GET', `${object}/${kind}/${child}`],
      ['POST', `${object}/${kind}`, { managedObject: { id: own.child } }],
      ['POST', `${object}/${kind}`, { name: 'new' }],
      ['POST', `/inventory/managedObjects/${own.device}/${kind}`, { managedObject: { id: it.child } }],
      ['DELETE', `${object}/${kind}/${child}`],
      ['DELETE', `${object}/${kind}`],
    ]),
    ['GET', `${object}/deviceParents`],
    ['GET', `${object}/assetParents`],
    ['GET', `${object}/additionParents`],
    ['GET', `/identity/globalIds/${it.device}/externalIds`],
    ['POST', `/identity/globalIds/${it.device}/externalIds`, { type: 'x', externalId: 'x' }],
    ['GET', `/identity/externalIds/my_Type/${name}`],
    ['DELETE', `/identity/externalIds/my_Type/${name}`],
    ['GET', `/event/events/${it.event}`],
    ['PUT', `/event/events/${it.event}`, { text: 'taken' }],
    ['DELETE', `/event/events/${it.event}`],
    ['POST', '/event/events', { source, type: 'e', text: 't', time: TIME }],
    ['GET', `/alarm/alarms/${it.alarm}`],
    ['PUT', `/alarm/alarms/${it.alarm}`, { status: 'CLEARED' }],
    ['POST', '/alarm/alarms', { source, type: 'a', text: 't', severity: 'MINOR', time: TIME }],
    ['GET', `/measurement/measurements/${it.measurement}`],
    ['DELETE', `/measurement/measurements/${it.measurement}`],
    ['POST', '/measurement/measurements', { source, type: 'm', time: TIME, f: { s: { value: 1 } } }],
    [
      'POST',
      '/measurement/measurements',
      { measurements: [{ source, type: 'm', time: TIME, f: { s: { value: 1 } } }] },
    ],
    ['GET', `/devicecontrol/operations/${it.operation}`],
    ['PUT', `/devicecontrol/operations/${it.operation}`, { status: 'FAILED' }],
    ['POST', '/devicecontrol/operations', { deviceId: it.device, c8y_Restart: {} }],
    ['DELETE', object],
  ];
}

/** The state of an entity's tenant, to see that nothing has changed. */
async function snapshot(
  of: Rest,
  { device, event, alarm, measurement, operation }: Entities,
  name: string,
): Promise<unknown> {
  const paths = [
    `/inventory/managedObjects/${device}`,
    `/event/events/${event}`,
    `/alarm/alarms/${alarm}`,
    `/measurement/measurements/${measurement}`,
    `/devicecontrol/operations/${operation}`,
    `/identity/externalIds/my_Type/${name}`,
    `/event/events?source=${device}`,
    `/alarm/alarms?source=${device}`,
    `/measurement/measurements?source=${device}`,
    `/devicecontrol/operations?deviceId=${device}`,
    `/identity/globalIds/${device}/externalIds`,
  ];
  return Promise.all(paths.map((path) => of.read(path)));
}

t.test('nothing of a tenant can be reached from another, in either direction', async (t) => {
  const sides = [
    { of: rest, name: 'here' },
    { of: management, name: 'there' },
  ];
  const entities = [await createEntities(rest, 'here'), await createEntities(management, 'there')];
  for (const [index, { of, name }] of sides.entries()) {
    const other = sides[1 - index];
    const foreign = entities[index];
    const before = await snapshot(of, foreign, name);
    for (const [method, path, body] of positions(foreign, name, entities[1 - index])) {
      const { status } = await other.of.request(method, path, body === undefined ? {} : { body });
      t.ok(status === 404 || status === 422, `${method} ${path}: ${status}`);
    }
    t.same(await snapshot(of, foreign, name), before, 'unchanged');
    for (const path of [
      `/event/events?source=${foreign.device}`,
      `/alarm/alarms?source=${foreign.device}`,
      `/measurement/measurements?source=${foreign.device}`,
      `/devicecontrol/operations?deviceId=${foreign.device}`,
      `/devicecontrol/operations?agentId=${foreign.device}`,
      `/inventory/managedObjects?ids=${foreign.device}`,
      `/inventory/managedObjects?childDeviceId=${foreign.child}`,
    ]) {
      const found = await other.of.read(path);
      t.same(Object.values(found).find(Array.isArray), [], path);
    }
    t.equal((await other.of.get(`/alarm/alarms/count?source=${foreign.device}`)).text, '0');
    t.same(
      (
        await other.of.read(
          `/measurement/measurements/series?source=${foreign.device}&dateFrom=2024-01-01&dateTo=2025-01-01`,
        )
      ).series,
      [],
    );
    for (const path of ['/measurement/measurements', '/event/events', '/alarm/alarms', '/devicecontrol/operations']) {
      const parameter = path.endsWith('operations') ? 'deviceId' : 'source';
      await other.of.delete(`${path}?${parameter}=${foreign.device}`);
    }
    await other.of.request('PUT', `/alarm/alarms?source=${foreign.device}`, { body: { status: 'CLEARED' } });
    t.same(await snapshot(of, foreign, name), before, 'unchanged by filters');
    const tenant = index === 0 ? TENANT : 'management';
    t.ok([403, 404].includes((await other.of.get(`/user/${tenant}/users`)).status));
    t.ok([403, 404].includes((await other.of.get(`/user/${tenant}/users/admin`)).status));
  }
});

t.test('lists show only the own tenant', async (t) => {
  for (const [of, want, not] of [
    [rest, 'here', 'there'],
    [management, 'there', 'here'],
  ] as const) {
    const names = (await of.read('/inventory/managedObjects?pageSize=2000')).managedObjects.map(
      (object: any) => object.name,
    );
    t.ok(names.includes(want));
    t.notOk(names.includes(not));
  }
});

const PASSWORD = 'Analytical-1';
async function createUser(userName: string, roles: string[]): Promise<Rest> {
  await rest.create(`/user/${TENANT}/users`, {
    userName,
    password: PASSWORD,
    roles: { references: roles.map((id) => ({ role: { id } })) },
  });
  return new Rest(server.url, `${TENANT}/${userName}`, PASSWORD);
}

t.test('without roles nothing is allowed but what everybody may', async (t) => {
  const nobody = await createUser('nobody', []);
  const entities = await createEntities(rest, 'guarded');
  t.equal((await nobody.get('/user/currentUser')).status, 200);
  for (const [method, path, body] of positions(entities, 'guarded', entities)) {
    t.equal((await nobody.request(method, path, body === undefined ? {} : { body })).status, 403, `${method} ${path}`);
  }
  for (const [method, path, body] of [
    ['POST', '/inventory/managedObjects', { name: 'x' }],
    ['GET', `/user/${TENANT}/users`],
    ['POST', `/user/${TENANT}/users`, { userName: 'x', password: PASSWORD }],
    ['DELETE', '/measurement/measurements?type=m'],
    ['DELETE', '/event/events?type=e'],
    ['DELETE', '/alarm/alarms?type=a'],
    ['PUT', '/alarm/alarms?type=a', { status: 'CLEARED' }],
    ['DELETE', '/devicecontrol/operations?status=PENDING'],
  ] as [string, string, object?][]) {
    t.equal((await nobody.request(method, path, body === undefined ? {} : { body })).status, 403, `${method} ${path}`);
  }
  for (const path of [
    '/inventory/managedObjects',
    '/event/events',
    '/alarm/alarms',
    '/measurement/measurements',
    '/devicecontrol/operations',
  ]) {
    const { status, text } = await nobody.get(path);
    t.ok(
      status === 403 || Object.values(JSON.parse(text)).some((value) => Array.isArray(value) && value.length === 0),
      `${path}: ${status}`,
    );
  }
  t.match((await nobody.get(`/event/events/${entities.event}`)).json, {
    error: 'security/Forbidden',
    message: 'Access is denied.',
  });
  t.match(await snapshot(rest, entities, 'guarded'), [
    { name: 'guarded' },
    { text: 't' },
    { status: 'ACTIVE', count: 1 },
  ]);
});

t.test('with READ roles only reading is allowed', async (t) => {
  const reader = await createUser('reader', [
    'ROLE_INVENTORY_READ',
    'ROLE_EVENT_READ',
    'ROLE_ALARM_READ',
    'ROLE_MEASUREMENT_READ',
    'ROLE_DEVICE_CONTROL_READ',
    'ROLE_IDENTITY_READ',
  ]);
  const entities = await createEntities(rest, 'read-only');
  for (const [method, path, body] of positions(entities, 'read-only', entities)) {
    t.equal(
      (await reader.request(method, path, body === undefined ? {} : { body })).status,
      method === 'GET' ? 200 : 403,
      `${method} ${path}`,
    );
  }
  t.equal((await reader.read('/event/events?type=e')).events.length > 0, true);
});

t.test('a role of one area opens no other', async (t) => {
  const { device } = await createEntities(rest, 'areas');
  const source = { id: device };
  const writers = {
    ROLE_EVENT_ADMIN: ['/event/events', { source, type: 'e', text: 't', time: TIME }],
    ROLE_ALARM_ADMIN: ['/alarm/alarms', { source, type: 'a', text: 't', severity: 'MINOR', time: TIME }],
    ROLE_MEASUREMENT_ADMIN: ['/measurement/measurements', { source, type: 'm', time: TIME }],
    ROLE_DEVICE_CONTROL_ADMIN: ['/devicecontrol/operations', { deviceId: device, c8y_Restart: {} }],
    ROLE_INVENTORY_CREATE: ['/inventory/managedObjects', { name: 'x' }],
    ROLE_IDENTITY_ADMIN: [`/identity/globalIds/${device}/externalIds`, { type: 'areas', externalId: 'areas' }],
  } as const;
  for (const role of Object.keys(writers)) {
    const user = await createUser(`only-${role.toLowerCase()}`, [role]);
    for (const [other, [path, body]] of Object.entries(writers)) {
      t.equal((await user.post(path, body)).status, other === role ? 201 : 403, `${role} on ${path}`);
    }
  }
});

t.test('the owner of an object may use it without roles', async (t) => {
  const creator = await createUser('creator', ['ROLE_INVENTORY_CREATE']);
  const device = await creator.createDevice('Owned');
  const source = { id: device };
  t.equal((await creator.read(`/inventory/managedObjects/${device}`)).owner, 'creator');
  t.equal((await creator.put(`/inventory/managedObjects/${device}`, { name: 'Mine' })).status, 200);
  await creator.create(`/identity/globalIds/${device}/externalIds`, { type: 'c8y_Serial', externalId: 'owned' });
  await creator.create('/event/events', { source, type: 'e', text: 't', time: TIME });
  const alarm = await creator.create('/alarm/alarms', { source, type: 'a', text: 't', severity: 'MINOR', time: TIME });
  t.equal((await creator.put(`/alarm/alarms/${alarm.id}`, { status: 'CLEARED' })).status, 200);
  await creator.create('/measurement/measurements', { source, type: 'm', time: TIME, f: { s: { value: 1 } } });
  const foreign = await rest.createDevice('Foreign');
  await rest.create('/event/events', { source: { id: foreign }, type: 'e', text: 't', time: TIME });
  t.same(
    (await creator.read(`/event/events?source=${device}`)).events.map((event: any) => event.source.id),
    [device],
    'lists show what is owned',
  );
  t.equal((await creator.get(`/event/events?source=${foreign}`)).status, 403);
  t.equal(
    (await creator.post('/event/events', { source: { id: foreign }, type: 'e', text: 't', time: TIME })).status,
    403,
  );
  t.equal(
    (
      await creator.post('/measurement/measurements', {
        measurements: [
          { source, type: 'm', time: TIME },
          { source: { id: foreign }, type: 'm', time: TIME },
        ],
      })
    ).status,
    403,
  );
  t.equal((await creator.put(`/inventory/managedObjects/${device}`, { owner: 'admin' })).status, 200);
  t.equal(
    (await rest.read(`/inventory/managedObjects/${device}`)).owner,
    'creator',
    'only an administrator gives it away',
  );
});

t.test('a changed password and a deleted user are refused at once', async (t) => {
  const user = await createUser('changing', ['ROLE_INVENTORY_READ']);
  t.equal((await user.get('/inventory/managedObjects')).status, 200);
  t.equal((await rest.put(`/user/${TENANT}/users/changing`, { password: 'Another-one-2' })).status, 200);
  t.equal((await user.get('/inventory/managedObjects')).status, 401);
  const again = new Rest(server.url, `${TENANT}/changing`, 'Another-one-2');
  t.equal((await again.get('/inventory/managedObjects')).status, 200);
  t.equal((await rest.delete(`/user/${TENANT}/users/changing/roles/ROLE_INVENTORY_READ`)).status, 204);
  t.not((await again.get(`/inventory/managedObjects/${await rest.createDevice('x')}`)).status, 200);
  t.equal((await rest.delete(`/user/${TENANT}/users/changing`)).status, 204);
  t.equal((await again.get('/inventory/managedObjects')).status, 401);
});

t.test('MQTT: a user without the device role may not connect, a device user owns what it creates', async (t) => {
  await createUser('mqtt-nobody', []);
  await t.rejects(connectDevice(t, server, 'roles-1', { username: `${TENANT}/mqtt-nobody`, password: PASSWORD }), {
    code: 5,
  });
  const user = await createUser('mqtt-device', ['ROLE_DEVICE']);
  const device = await connectDevice(t, server, 'roles-2', { username: `${TENANT}/mqtt-device`, password: PASSWORD });
  await device.publish('s/us', '211,1');
  const id = await rest.idOf('roles-2');
  t.equal((await user.read(`/inventory/managedObjects/${id}`)).owner, 'mqtt-device');
  t.equal((await user.read('/measurement/measurements')).measurements.length, 1);
});

t.test("MQTT: a device user writes no other owner's object through JSON with an explicit source", async (t) => {
  await createUser('mqtt-intruder', ['ROLE_DEVICE']);
  const device = await connectDevice(t, server, 'roles-3', { username: `${TENANT}/mqtt-intruder`, password: PASSWORD });
  await device.subscribe('error');
  const foreign = await rest.createDevice("Not the intruder's");
  await device.publish(
    'event/events/create',
    JSON.stringify({ source: { id: foreign }, type: 'e', text: 't', time: TIME }),
  );
  await device.row('error', /Forbidden/);
  t.same((await rest.read(`/event/events?source=${foreign}`)).events, []);
});

t.test('MQTT: 102 and childDevices change no object of somebody else', async (t) => {
  await createUser('mqtt-102', ['ROLE_DEVICE']);
  const device = await connectDevice(t, server, 'roles-4', { username: `${TENANT}/mqtt-102`, password: PASSWORD });
  await device.subscribe('s/e', 'error');
  await device.publish('s/us', '102,roles-4-own,systemd,mine,up\n102,roles-4-own,systemd,mine,down');
  t.match(await rest.deviceOf('roles-4-own'), { name: 'mine', status: 'down' });
  t.same(device.rows('s/e'), []);
  const foreign = await rest.createDevice('Not to be renamed');
  await rest.create(`/identity/globalIds/${foreign}/externalIds`, {
    type: 'c8y_Serial',
    externalId: 'roles-4-foreign',
  });
  await device.publish('s/us', '102,roles-4-foreign,systemd,taken,up');
  await device.row('s/e', /^50,102,Access is denied/);
  t.match(await rest.deviceOf('roles-4-foreign'), { name: 'Not to be renamed', status: undefined, type: undefined });
  const own = await rest.idOf('roles-4');
  await device.publish(
    `inventory/managedObjects/${own}/childDevices/create`,
    JSON.stringify({ managedObject: { id: foreign } }),
  );
  await device.row('error', /Forbidden/);
  t.same((await rest.read(`/inventory/managedObjects/${own}/childDevices`)).references, []);
  // What is below the device is its own, whoever made it.
  const below = await rest.createDevice('A service');
  await rest.create(`/identity/globalIds/${below}/externalIds`, { type: 'c8y_Serial', externalId: 'roles-4-below' });
  await rest.create(`/inventory/managedObjects/${own}/childAdditions`, { managedObject: { id: below } });
  await device.publish('s/us', '102,roles-4-below,systemd,service,up');
  t.match(await rest.deviceOf('roles-4-below'), { name: 'service', status: 'up' });
});

t.test('MQTT: a device user with a client ID that is none is told so', async (t) => {
  await createUser('mqtt-bad-id', ['ROLE_DEVICE']);
  const user = { username: `${TENANT}/mqtt-bad-id`, password: PASSWORD };
  for (const clientId of ['bad/id', 'a:b:c:d']) {
    await t.rejects(connectDevice(t, server, clientId, user), { code: 2 }, clientId);
    await t.rejects(
      connectDevice(t, server, clientId, { ...user, protocolVersion: 5 }),
      { code: 0x85 },
      `${clientId}, 5.0`,
    );
  }
});
