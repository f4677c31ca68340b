/**
 * Inventory roles and device permissions: their resources, and what they open in every list and every single read and
 * write (docs/spec/users.md#inventory-roles).
 */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { CLUSTER_NODES, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const PASSWORD = 'Analytical-1';
const TIME = '2024-05-02T10:00:00.000Z';
const ROLES = '/user/inventoryroles';

async function newUser(userName: string): Promise<{ of: Rest; assignments: string }> {
  await rest.create(`/user/${TENANT}/users`, { userName, password: PASSWORD });
  return {
    of: new Rest(server.url, `${TENANT}/${userName}`, PASSWORD),
    assignments: `/user/${TENANT}/users/${userName}/roles/inventory`,
  };
}

interface Device {
  id: string;
  event: string;
  alarm: string;
  measurement: string;
  operation: string;
}
async function newDevice(name: string, type = 'plain'): Promise<Device> {
  const id = await rest.createDevice(name, { type });
  const source = { id };
  return {
    id,
    event: (await rest.create('/event/events', { source, type, text: 't', time: TIME })).id,
    alarm: (await rest.create('/alarm/alarms', { source, type, text: 't', severity: 'MINOR', time: TIME })).id,
    measurement: (await rest.create('/measurement/measurements', { source, type, time: TIME, f: { s: { value: 1 } } }))
      .id,
    operation: (await rest.create('/devicecontrol/operations', { deviceId: id, c8y_Restart: {} })).id,
  };
}

/** building ─ floor ─ device ─ child device; and one device elsewhere. */
const building = (await rest.create('/inventory/managedObjects', { name: 'Building', c8y_IsDeviceGroup: {} }))
  .id as string;
const floor = (
  await rest.create(`/inventory/managedObjects/${building}/childAssets`, { name: 'Floor', c8y_IsDeviceGroup: {} })
).id as string;
const [inside, child, outside] = [await newDevice('Inside'), await newDevice('Child'), await newDevice('Outside')];
await rest.create(`/inventory/managedObjects/${floor}/childAssets`, { managedObject: { id: inside.id } });
await rest.create(`/inventory/managedObjects/${inside.id}/childDevices`, { managedObject: { id: child.id } });

t.test('inventory roles: the predefined ones, and all fields', async (t) => {
  const { roles } = await rest.read(`${ROLES}?pageSize=100`);
  t.same(
    roles.map((role: any) => role.name),
    ['Reader', 'Manager', 'Operations: All', 'Operations: Restart Device'],
  );
  t.match(roles[0], {
    id: 1,
    description: /./,
    permissions: [{ id: 1, type: '*', scope: '*', permission: 'READ' }],
    self: `${server.url}${ROLES}/1`,
  });
  const created = await rest.post(ROLES, {
    name: 'Desk',
    description: 'd',
    permissions: [
      { scope: 'ALARM', permission: 'ADMIN' },
      { type: 'a', scope: 'EVENT', permission: 'READ' },
    ],
  });
  const { id } = created.json;
  t.match(created, {
    status: 201,
    json: {
      name: 'Desk',
      permissions: [
        { id: 1, type: '*', scope: 'ALARM', permission: 'ADMIN' },
        { id: 2, type: 'a', scope: 'EVENT', permission: 'READ' },
      ],
    },
  });
  t.equal(created.headers.get('location'), `${server.url}${ROLES}/${id}`);
  t.equal((await rest.post(ROLES, { name: 'Desk' })).status, 409);
  t.equal((await rest.post(ROLES, {})).status, 422);
  for (const scope of ['ALARM', 'AUDIT', 'EVENT', 'MANAGED_OBJECT', 'MEASUREMENT', 'OPERATION', '*']) {
    for (const permission of ['ADMIN', 'READ', '*']) {
      t.equal(
        (await rest.put(`${ROLES}/${id}`, { permissions: [{ type: '*', scope, permission }] })).status,
        200,
        `${scope} ${permission}`,
      );
    }
  }
  for (const permissions of [
    [{ scope: 'X', permission: 'READ' }],
    [{ scope: 'ALARM', permission: 'WRITE' }],
    [{ scope: 'ALARM' }],
  ])
    t.equal((await rest.put(`${ROLES}/${id}`, { permissions })).status, 422);
  t.match(await rest.read(`${ROLES}/${id}`), {
    name: 'Desk',
    description: 'd',
    permissions: [{ scope: '*', permission: '*' }],
  });
  t.equal((await rest.delete(`${ROLES}/${id}`)).status, 204);
  for (const path of [`${ROLES}/${id}`, `${ROLES}/x`]) t.equal((await rest.get(path)).status, 404);
});

t.test('assignments: all calls', async (t) => {
  const { assignments } = await newUser('assigned');
  const made = await rest.post(assignments, { managedObject: building, roles: [{ id: 1 }] });
  t.match(made, { status: 200, json: { managedObject: building, roles: [{ id: 1, name: 'Reader' }] } }, '200, not 201');
  const { id } = made.json;
  t.equal(made.json.self, `${server.url}${assignments}/${id}`);
  t.match((await rest.read(assignments)).inventoryAssignments, [{ id, roles: [{ id: 1 }] }]);
  t.match((await rest.put(`${assignments}/${id}`, { roles: [{ id: 2 }, { id: '3' }] })).json, {
    id,
    managedObject: building,
    roles: [{ id: 2 }, { id: 3 }],
  });
  t.match(await rest.read(`${assignments}/${id}`), { roles: [{ id: 2 }, { id: 3 }] });
  t.equal((await rest.post(assignments, { managedObject: '999999999', roles: [] })).status, 404);
  t.equal((await rest.post(assignments, { managedObject: building, roles: [{ id: 99 }] })).status, 404);
  t.equal((await rest.post(assignments, { roles: [] })).status, 422);
  t.equal((await rest.delete(`${assignments}/${id}`)).status, 204);
  t.equal((await rest.get(`${assignments}/${id}`)).status, 404);
  t.equal((await rest.get(`/user/${TENANT}/users/nobody/roles/inventory`)).status, 404);
});

/** Everything of a device: method, path, body, and what it takes. */
function positions({
  id,
  event,
  alarm,
  measurement,
  operation,
}: Device): [string, string, object | undefined, string][] {
  const source = { id };
  const object = `/inventory/managedObjects/${id}`;
  return [
    ['GET', object, undefined, 'MANAGED_OBJECT:READ'],
    ['GET', `${object}/childDevices`, undefined, 'MANAGED_OBJECT:READ'],
    ['GET', `${object}/supportedMeasurements`, undefined, 'MANAGED_OBJECT:READ'],
    ['GET', `/identity/globalIds/${id}/externalIds`, undefined, 'MANAGED_OBJECT:READ'],
    ['PUT', object, { note: 'x' }, 'MANAGED_OBJECT:ADMIN'],
    ['GET', `/event/events/${event}`, undefined, 'EVENT:READ'],
    ['PUT', `/event/events/${event}`, { text: 'u' }, 'EVENT:ADMIN'],
    ['POST', '/event/events', { source, type: 'plain', text: 't', time: TIME }, 'EVENT:ADMIN'],
    ['GET', `/alarm/alarms/${alarm}`, undefined, 'ALARM:READ'],
    ['PUT', `/alarm/alarms/${alarm}`, { status: 'ACKNOWLEDGED' }, 'ALARM:ADMIN'],
    ['POST', '/alarm/alarms', { source, type: 'more', text: 't', severity: 'MINOR', time: TIME }, 'ALARM:ADMIN'],
    ['GET', `/measurement/measurements/${measurement}`, undefined, 'MEASUREMENT:READ'],
    [
      'GET',
      `/measurement/measurements/series?source=${id}&dateFrom=2024-01-01&dateTo=2025-01-01`,
      undefined,
      'MEASUREMENT:READ',
    ],
    [
      'POST',
      '/measurement/measurements',
      { source, type: 'plain', time: TIME, f: { s: { value: 2 } } },
      'MEASUREMENT:ADMIN',
    ],
    [
      'POST',
      '/measurement/measurements',
      { measurements: [{ source, type: 'plain', time: TIME, f: { s: { value: 2 } } }] },
      'MEASUREMENT:ADMIN',
    ],
    ['GET', `/devicecontrol/operations/${operation}`, undefined, 'OPERATION:READ'],
    ['PUT', `/devicecontrol/operations/${operation}`, { status: 'EXECUTING' }, 'OPERATION:ADMIN'],
    ['POST', '/devicecontrol/operations', { deviceId: id, c8y_Restart: {} }, 'OPERATION:ADMIN'],
  ];
}

const LISTS: readonly [scope: string, path: string, member: string, source: (entity: any) => string][] = [
  ['MANAGED_OBJECT', '/inventory/managedObjects', 'managedObjects', ({ id }) => id],
  ['EVENT', '/event/events', 'events', ({ source }) => source.id],
  ['ALARM', '/alarm/alarms', 'alarms', ({ source }) => source.id],
  ['MEASUREMENT', '/measurement/measurements', 'measurements', ({ source }) => source.id],
  ['OPERATION', '/devicecontrol/operations', 'operations', ({ deviceId }) => deviceId],
];

/** Lists that are refused to a user who could see nothing of them (docs/spec/login.md#rights). */
const REFUSED = ['EVENT', 'ALARM', 'OPERATION'];

/** Of what the entities of a list are; 403 when it is refused. */
async function listed(of: Rest, scope: string): Promise<string[] | number> {
  const [, path, member, sourceOf] = LISTS.find(([name]) => name === scope) as (typeof LISTS)[number];
  const { status, json: page } = await of.get(`${path}?pageSize=2000&withTotalElements=true`);
  if (status !== 200) return status;
  return [...new Set<string>(page[member].map(sourceOf))].sort();
}

t.test('the audit log names the roles', async (t) => {
  const { assignments } = await newUser('told');
  const { id } = (await rest.post(assignments, { managedObject: building, roles: [{ id: 1 }] })).json;
  await rest.put(`${assignments}/${id}`, { roles: [{ id: 2 }] });
  await rest.delete(`${assignments}/${id}`);
  const records = (await rest.read('/audit/auditRecords?source=told&pageSize=100&revert=true')).auditRecords.slice(1);
  t.match(
    records.map(({ text, changes }: any) => ({ text, changes })),
    [
      ['added', [], ['Reader']],
      ['changed', ['Reader'], ['Manager']],
      ['removed', ['Manager'], []],
    ].map(([what, previousValue, newValue]) => ({
      text: `Inventory roles of told for ${building} ${what}`,
      changes: [{ attribute: 'inventoryRoles', previousValue, newValue }],
    })),
  );
});

t.test('each scope and permission opens what it names, below the assigned group, and nothing else', async (t) => {
  for (const scope of ['MANAGED_OBJECT', 'EVENT', 'ALARM', 'MEASUREMENT', 'OPERATION']) {
    for (const permission of ['READ', 'ADMIN']) {
      const name = `only-${scope}-${permission}`.toLowerCase();
      const { of, assignments } = await newUser(name);
      const role = (await rest.create(ROLES, { name, permissions: [{ type: '*', scope, permission }] })).id;
      t.equal((await rest.post(assignments, { managedObject: building, roles: [{ id: role }] })).status, 200);
      for (const device of [inside, child]) {
        for (const [method, path, body, wanted] of positions(device)) {
          const { status } = await of.request(method, path, body === undefined ? {} : { body });
          t.equal(status < 300, wanted === `${scope}:${permission}`, `${name}: ${method} ${path} ${status}`);
          if (wanted !== `${scope}:${permission}`) t.equal(status, 403);
        }
      }
      for (const [method, path, body] of positions(outside))
        t.equal((await of.request(method, path, body === undefined ? {} : { body })).status, 403, `${method} ${path}`);
      for (const [list] of LISTS) {
        const objects = list === 'MANAGED_OBJECT' ? [building, floor, inside.id, child.id] : [inside.id, child.id];
        t.same(
          await listed(of, list),
          list === scope && permission === 'READ' ? objects.sort() : REFUSED.includes(list) ? 403 : [],
          `${name}: list of ${list}`,
        );
      }
    }
  }
});

t.test('`*` opens everything; the count and the pages follow, without totals', async (t) => {
  const { of, assignments } = await newUser('all-of-floor');
  const role = (
    await rest.create(ROLES, { name: 'Everything', permissions: [{ type: '*', scope: '*', permission: '*' }] })
  ).id;
  await rest.post(assignments, { managedObject: floor, roles: [{ id: role }] });
  for (const [method, path, body] of positions(inside))
    t.ok((await of.request(method, path, body === undefined ? {} : { body })).status < 300, `${method} ${path}`);
  t.equal((await of.get(`/inventory/managedObjects/${building}`)).status, 403, 'nothing above');
  t.equal((await of.get('/inventory/managedObjects/count')).text, '3');
  t.match(await of.read('/inventory/managedObjects?pageSize=2&withTotalPages=true'), {
    statistics: { totalPages: null },
    // By id, which those of several nodes are not ordered by.
    managedObjects: CLUSTER_NODES > 0 ? { length: 2 } : [{ id: floor }, { id: inside.id }],
  });
  t.same(
    (await of.read(`/inventory/managedObjects?ids=${inside.id},${outside.id}`)).managedObjects.map(
      (one: any) => one.id,
    ),
    [inside.id],
  );
});

t.test('a permission for one type opens that type only', async (t) => {
  const { of, assignments } = await newUser('typed');
  const special = await newDevice('Special', 'special');
  await rest.create(`/inventory/managedObjects/${floor}/childAssets`, { managedObject: { id: special.id } });
  const permissions = ['MANAGED_OBJECT', 'EVENT', 'ALARM', 'MEASUREMENT'].map((scope) => ({
    type: 'special',
    scope,
    permission: 'READ',
  }));
  const role = (
    await rest.create(ROLES, {
      name: 'Typed',
      permissions: [...permissions, { type: 'c8y_Restart', scope: 'OPERATION', permission: '*' }],
    })
  ).id;
  await rest.post(assignments, { managedObject: building, roles: [{ id: role }] });
  for (const scope of ['MANAGED_OBJECT', 'EVENT', 'ALARM', 'MEASUREMENT'])
    t.same(await listed(of, scope), [special.id], scope);
  for (const [method, path, , wanted] of positions(special)) {
    if (method === 'GET' && !path.includes('series') && !wanted.startsWith('OPERATION'))
      t.equal((await of.get(path)).status, 200, path);
  }
  for (const [method, path, , wanted] of positions(inside)) {
    if (method !== 'GET' || wanted.startsWith('OPERATION')) continue;
    if (path.includes('series')) t.same((await of.read(path)).values, {}, path);
    else t.equal((await of.get(path)).status, 403, path);
  }
  t.equal((await of.post('/devicecontrol/operations', { deviceId: inside.id, c8y_Restart: {} })).status, 201);
  t.equal(
    (await of.post('/devicecontrol/operations', { deviceId: inside.id, c8y_Command: { text: 'x' } })).status,
    403,
  );
});

t.test('a permission for one fragment of measurements opens whole measurements that have it', async (t) => {
  const { of, assignments } = await newUser('typed-values');
  const device = await newDevice('Two series', 'plain');
  const post = (time: string, values: object): Promise<any> =>
    rest.create('/measurement/measurements', { source: { id: device.id }, type: 'mixed', time, ...values });
  const [a, b] = [{ c8y_Open: { a: { value: 1 } } }, { c8y_Closed: { b: { value: 2 } } }];
  const both = await post('2024-05-02T10:00:00.000Z', { ...b, ...a, note: 'x' });
  const closed = await post('2024-05-02T11:00:00.000Z', b);
  const role = (
    await rest.create(ROLES, {
      name: 'One fragment',
      permissions: [{ type: 'c8y_Open', scope: 'MEASUREMENT', permission: 'READ' }],
    })
  ).id;
  await rest.post(assignments, { managedObject: device.id, roles: [{ id: role }] });
  for (const query of [
    `source=${device.id}`,
    '',
    `source=${device.id}&revert=true`,
    'valueFragmentType=c8y_Closed',
    `source=${device.id}&pageSize=1`,
  ]) {
    const { measurements } = await of.read(`/measurement/measurements?${query}`);
    t.match(
      measurements,
      { length: 1, 0: { id: both.id, note: 'x', c8y_Open: a.c8y_Open, c8y_Closed: b.c8y_Closed } },
      query,
    );
  }
  t.equal((await of.get(`/measurement/measurements/${both.id}`)).status, 200);
  t.equal((await of.get(`/measurement/measurements/${closed.id}`)).status, 403);
  const series = `/measurement/measurements/series?source=${device.id}&dateFrom=2024-05-01&dateTo=2024-05-03`;
  t.same(Object.keys((await of.read(series)).values), ['2024-05-02T10:00:00.000Z']);
  t.equal((await of.get(series.replace(device.id, outside.id))).status, 403);
});

/** A user with these permissions for the building. */
async function permitted(name: string, permissions: object[]): Promise<Rest> {
  const { of, assignments } = await newUser(name);
  await rest.post(assignments, {
    managedObject: building,
    roles: [{ id: (await rest.create(ROLES, { name, permissions })).id }],
  });
  return of;
}

t.test('who writes operations has a permission for each command in it', async (t) => {
  const path = '/devicecontrol/operations';
  const of = await permitted('restarter', [{ type: 'c8y_Restart', scope: 'OPERATION', permission: 'ADMIN' }]);
  const own = { deviceId: inside.id, description: 'd', c8y_Restart: {} };
  const { id } = await of.create(path, { ...own, deliveryType: 'SMS', status: 'PENDING', name: null });
  const rm = { c8y_Command: { text: 'rm' } };
  for (const more of [rm, { name: 'x' }, { c8y_Restart: null, ...rm }])
    t.equal((await of.post(path, { ...own, ...more })).status, 403, JSON.stringify(more));
  t.equal(
    (await of.post(path, { deviceId: inside.id, description: 'd' })).status,
    403,
    'an operation without a command',
  );
  t.equal((await of.put(`${path}/${id}`, { status: 'EXECUTING', ...own, id })).status, 200);
  for (const more of [rm, { c8y_Restart: null, ...rm }])
    t.equal((await of.put(`${path}/${id}`, { status: 'PENDING', ...more })).status, 403, JSON.stringify(more));
  const { id: other } = await rest.create(path, { deviceId: inside.id, ...rm });
  for (const more of [{}, { c8y_Command: null, c8y_Restart: {} }])
    t.equal((await of.put(`${path}/${other}`, { status: 'PENDING', ...more })).status, 403, JSON.stringify(more));
  t.match(await rest.read(`${path}/${other}`), { status: 'PENDING', ...rm, c8y_Restart: undefined });
  t.match(await rest.read(`${path}/${id}`), { status: 'EXECUTING', c8y_Restart: {}, c8y_Command: undefined });
  const both = await permitted(
    'both',
    ['c8y_Restart', 'c8y_Command'].map((type) => ({ type, scope: 'OPERATION', permission: '*' })),
  );
  t.equal((await both.post(path, { ...own, ...rm })).status, 201);
  t.equal((await both.post(path, { ...own, ...rm, c8y_Other: {} })).status, 403);
  t.equal((await both.post(path, { deviceId: outside.id, c8y_Restart: {} })).status, 403);
  t.equal((await both.get(`${path}/${other}`)).status, 200);
});

t.test('who writes alarms and events for one type writes that type, whatever fragments they have', async (t) => {
  const of = await permitted(
    'door',
    ['ALARM', 'EVENT'].map((scope) => ({ type: 'door', scope, permission: '*' })),
  );
  const source = { id: inside.id };
  for (const [path, members, list] of [
    ['/alarm/alarms', { severity: 'MINOR' }, 'alarms'],
    ['/event/events', {}, 'events'],
  ] as const) {
    const body = { source, text: 't', time: TIME, ...members };
    const { id } = await of.create(path, { ...body, type: 'door' });
    t.equal(
      (await of.post(path, { ...body, type: 'fire', door: {} })).status,
      403,
      'the fragment gives no right to another type',
    );
    const other = (await rest.create(path, { ...body, type: 'fire', door: {} })).id as string;
    t.equal((await of.put(`${path}/${id}`, { x_Open: true })).status, 200);
    t.equal((await of.put(`${path}/${other}`, { x_Open: true })).status, 403);
    t.equal((await of.get(`${path}/${other}`)).status, 200, 'it is read by type or fragment');
    t.same((await of.read(`${path}?pageSize=100`))[list].map((one: any) => one.id).sort(), [id, other].sort());
    await rest.delete(`${path}/${other}`);
  }
  t.ok([200, 202].includes((await of.put('/alarm/alarms?status=ACTIVE', { status: 'CLEARED' })).status));
  await eventually(
    'the alarm is cleared',
    async () => (await rest.read('/alarm/alarms?type=door')).alarms[0].status === 'CLEARED',
  );
  t.equal((await rest.read('/alarm/alarms?type=fire')).alarms[0].status, 'ACTIVE', 'as in a change of many');
});

t.test('totals and counts of who sees a part, and the audit log of it', async (t) => {
  const source = { id: await rest.createDevice('Counted') };
  await rest.create(`/inventory/managedObjects/${floor}/childAssets`, { managedObject: source });
  for (let done = 0; done < 120; done += 30) {
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        Promise.all([
          rest.create('/event/events', { source, type: 'counted', text: 't', time: TIME }),
          rest.create('/alarm/alarms', {
            source,
            type: `counted ${done + index}`,
            text: 't',
            severity: 'MINOR',
            time: TIME,
          }),
        ]),
      ),
    );
  }
  const of = await permitted(
    'counting',
    ['ALARM', 'EVENT', 'MEASUREMENT', 'OPERATION', 'MANAGED_OBJECT', 'AUDIT'].map((scope) => ({
      scope,
      permission: 'READ',
    })),
  );
  const nobody = (await newUser('not-counting')).of;
  for (const path of ['/alarm/alarms', '/event/events']) {
    t.equal((await of.get(`${path}/count?source=${source.id}`)).text, '100', path);
    t.equal((await rest.get(`${path}/count?source=${source.id}`)).text, '120', path);
  }
  const record = { activity: 'Looked at', text: 't', time: TIME };
  const posted = await rest.create('/audit/auditRecords', { ...record, source, type: 'Inventory' });
  const about = [
    await rest.create('/audit/auditRecords', { ...record, source: { id: outside.id }, type: 'Inventory' }),
    await rest.create('/audit/auditRecords', { ...record, source, type: 'User' }),
  ];
  const audits = '/audit/auditRecords';
  for (const path of [...LISTS.map(([, path]) => path), audits]) {
    const { statistics } = await of.read(`${path}?pageSize=1&withTotalPages=true&withTotalElements=true`);
    t.match(statistics, { totalPages: null, totalElements: null }, path);
    t.type((await rest.read(`${path}?pageSize=1&withTotalElements=true`)).statistics.totalElements, 'number');
  }
  const listedAudits = async (rights: Rest): Promise<any[]> =>
    (await rights.read(`${audits}?pageSize=2000`)).auditRecords;
  const seen = await listedAudits(of);
  t.ok(seen.some(({ id }) => id === posted.id));
  const reached: string[] = (await of.read('/inventory/managedObjects?pageSize=2000')).managedObjects.map(
    ({ id }: any) => id,
  );
  t.same(
    seen.filter(({ type, source: of }) => type === 'User' || !reached.includes(of.id)),
    [],
    'of nothing else',
  );
  t.same(await listedAudits(nobody), []);
  t.equal((await of.get(`${audits}/${posted.id}`)).status, 200);
  t.equal((await nobody.get(`${audits}/${posted.id}`)).status, 403);
  for (const { id } of about) t.equal((await of.get(`${audits}/${id}`)).status, 403);
  t.equal((await of.post(audits, { ...record, source, type: 'Inventory' })).status, 403);
});

t.test('changes take effect at once', async (t) => {
  const { of, assignments } = await newUser('changing');
  const path = `/inventory/managedObjects/${inside.id}`;
  const { id } = (await rest.post(assignments, { managedObject: building, roles: [{ id: 1 }] })).json;
  t.equal((await of.get(path)).status, 200);
  await rest.put(`${assignments}/${id}`, { roles: [{ id: 3 }] });
  t.equal((await of.get(path)).status, 403, 'other roles');
  const role = (await rest.create(ROLES, { name: 'Passing', permissions: [{ scope: '*', permission: 'READ' }] })).id;
  await rest.put(`${assignments}/${id}`, { roles: [{ id: role }] });
  t.equal((await of.get(path)).status, 200);
  await rest.put(`${ROLES}/${role}`, { permissions: [] });
  t.equal((await of.get(path)).status, 403, 'a changed role');
  await rest.put(`${assignments}/${id}`, { roles: [{ id: 1 }] });
  t.equal((await of.get(path)).status, 200);
  t.equal((await rest.delete(`/inventory/managedObjects/${floor}/childAssets/${inside.id}`)).status, 204);
  t.equal((await of.get(path)).status, 403, 'no longer below the group');
  t.equal(((await listed(of, 'EVENT')) as string[]).includes(inside.id), false);
  await rest.create(`/inventory/managedObjects/${floor}/childAssets`, { managedObject: { id: inside.id } });
  t.equal((await of.get(path)).status, 200);
  await rest.delete(`${assignments}/${id}`);
  t.equal((await of.get(path)).status, 403, 'ended');
});

t.test('device permissions of users and groups', async (t) => {
  const { of } = await newUser('by-permission');
  const { of: member } = await newUser('by-group');
  const group = (await rest.create(`/user/${TENANT}/groups`, { name: 'Permitted' })).id;
  await rest.create(`/user/${TENANT}/groups/${group}/users`, { user: { id: 'by-group' } });
  const path = `/user/devicePermissions/${inside.id}`;
  const entry = { devicePermissions: { [inside.id]: ['MANAGED_OBJECT:*:READ', 'EVENT:*:*'] } };
  t.same(await rest.read(path).then(({ users, groups }) => ({ users, groups })), { users: [], groups: [] });
  const sent = { users: [{ userName: 'by-permission', ...entry }], groups: [{ id: group, ...entry }] };
  t.match((await rest.put(path, sent)).json, sent);
  t.match(await rest.read(path), sent);
  for (const user of [of, member]) {
    t.equal((await user.get(`/inventory/managedObjects/${inside.id}`)).status, 200);
    t.equal((await user.get(`/inventory/managedObjects/${child.id}`)).status, 200, 'below');
    t.equal((await user.get(`/inventory/managedObjects/${floor}`)).status, 403);
    const linked = async (kind: string): Promise<string[]> =>
      (await user.read(`/inventory/managedObjects/${inside.id}/${kind}`)).references.map(
        ({ managedObject }: any) => managedObject.id,
      );
    t.same(await linked('assetParents'), [], 'nothing above');
    t.same(await linked('childDevices'), [child.id]);
    t.same(await linked('childDevices?query=has(c8y_IsDevice)'), [child.id]);
    t.equal((await user.get(`/inventory/managedObjects/${floor}/childAssets/${inside.id}`)).status, 403);
    t.equal((await user.put(`/inventory/managedObjects/${inside.id}`, { note: 'y' })).status, 403);
    t.equal(
      (await user.post('/event/events', { source: { id: inside.id }, type: 'e', text: 't', time: TIME })).status,
      201,
    );
    t.same(await listed(user, 'MANAGED_OBJECT'), [inside.id, child.id].sort());
  }
  t.match(await rest.read(`/user/${TENANT}/users/by-permission`), entry);
  t.equal(
    (await rest.put(path, { users: [{ userName: 'by-permission', devicePermissions: { [inside.id]: ['x'] } }] }))
      .status,
    422,
  );
  t.equal((await rest.put(path, { users: [{ userName: 'nobody', ...entry }] })).status, 404);
  t.equal((await rest.get('/user/devicePermissions/999999999')).status, 404);
  await rest.put(path, {
    users: [{ userName: 'by-permission', devicePermissions: {} }],
    groups: [{ id: group, devicePermissions: { [inside.id]: [] } }],
  });
  for (const user of [of, member]) t.equal((await user.get(`/inventory/managedObjects/${inside.id}`)).status, 403);
});

t.test('device permissions that are set at once', async (t) => {
  await newUser('of-many');
  const group = (await rest.create(`/user/${TENANT}/groups`, { name: 'Of many' })).id;
  const objects = await Promise.all(Array.from({ length: 6 }, () => rest.createDevice('permitted')));
  const replies = await Promise.all([
    rest.put(`/user/${TENANT}/users/of-many`, { firstName: 'M' }),
    rest.put(`/user/${TENANT}/groups/${group}`, { description: 'd' }),
    ...objects.map((id) => {
      const devicePermissions = { [id]: ['ALARM:*:READ'] };
      return rest.put(`/user/devicePermissions/${id}`, {
        users: [{ userName: 'of-many', devicePermissions }],
        groups: [{ id: group, devicePermissions }],
      });
    }),
  ]);
  t.same(
    replies.map(({ status }) => status),
    replies.map(() => 200),
  );
  const devicePermissions = Object.fromEntries(objects.map((id) => [id, ['ALARM:*:READ']]));
  t.match(await rest.read(`/user/${TENANT}/users/of-many`), { firstName: 'M', devicePermissions });
  t.match(await rest.read(`/user/${TENANT}/groups/${group}`), { description: 'd', devicePermissions });
  await eventually(
    'an audit record for each',
    async () =>
      (await rest.read(`/audit/auditRecords?source=${group}&type=Group&pageSize=100`)).auditRecords.length === 8,
  );
});

t.test('who deletes a group by a permission there takes along what is below', async (t) => {
  const { of } = await newUser('deleting');
  const made = async (kind: string, parent: string | undefined, object: object): Promise<string> =>
    (await rest.create(`/inventory/managedObjects${parent === undefined ? '' : `/${parent}/${kind}`}`, object)).id;
  for (const [flags, left] of [
    ['', [200, 404]],
    ['?cascade=true', [404, 404]],
  ] as const) {
    const group = await made('', undefined, { c8y_IsDeviceGroup: {} });
    const device = await made('childAssets', group, { c8y_IsDevice: {} });
    const subgroup = await made('childAssets', group, { c8y_IsDeviceGroup: {} });
    await rest.put(`/user/${TENANT}/users/deleting`, { devicePermissions: { [group]: ['MANAGED_OBJECT:*:*'] } });
    t.equal((await of.delete(`/inventory/managedObjects/${group}${flags}`)).status, 204);
    t.same(
      await Promise.all(
        [device, subgroup].map(async (id) => (await rest.get(`/inventory/managedObjects/${id}`)).status),
      ),
      left,
      flags,
    );
  }
});

t.test('live channels of an object take its scope', async (t) => {
  const { of, assignments } = await newUser('watching');
  await rest.post(assignments, {
    managedObject: building,
    roles: [
      {
        id: (await rest.create(ROLES, { name: 'Alarms only', permissions: [{ scope: 'ALARM', permission: 'READ' }] }))
          .id,
      },
    ],
  });
  const authorization = `Basic ${Buffer.from(`${TENANT}/watching:${PASSWORD}`).toString('base64')}`;
  const send = async (message: object): Promise<any> =>
    (
      await fetch(`${of.url}/notification/realtime`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify([message]),
      })
    ).json();
  const [{ clientId }] = await send({
    channel: '/meta/handshake',
    version: '1.0',
    supportedConnectionTypes: ['long-polling'],
  });
  const subscribe = async (subscription: string): Promise<boolean> =>
    (await send({ channel: '/meta/subscribe', clientId, subscription }))[0].successful;
  t.equal(await subscribe(`/alarms/${inside.id}`), true);
  t.equal(await subscribe(`/alarms/${outside.id}`), false);
  t.equal(await subscribe(`/events/${inside.id}`), false);
  t.equal(await subscribe('/alarms/*'), false);
});

t.test(
  'grants that are taken away end live sessions and MQTT connections, of a group as of an inventory role',
  async (t) => {
    const [byRole, byDeletedRole, byGroup, byPermissions, other] = await Promise.all(
      ['live-role', 'live-deleted', 'live-group', 'live-permissions', 'live-other'].map((name) => newUser(name)),
    );
    const read = { permissions: [{ scope: 'ALARM', permission: 'READ' }] };
    const [role, deleted, kept] = [
      await rest.create(ROLES, { name: 'Live', ...read }),
      await rest.create(ROLES, { name: 'Live deleted', ...read }),
      await rest.create(ROLES, { name: 'Live kept', ...read }),
    ];
    for (const [user, { id }] of [
      [byRole, role],
      [byDeletedRole, deleted],
      [other, kept],
    ] as const)
      await rest.post(user.assignments, { managedObject: building, roles: [{ id }] });
    const devicePermissions = { [inside.id]: ['ALARM:*:READ'] };
    const groups = [
      await rest.create(`/user/${TENANT}/groups`, { name: 'Live group', devicePermissions }),
      await rest.create(`/user/${TENANT}/groups`, { name: 'Live permissions', devicePermissions }),
    ];
    await rest.create(`/user/${TENANT}/groups/${groups[0].id}/users`, {
      user: { self: `${server.url}/user/${TENANT}/users/live-group` },
    });
    await rest.create(`/user/${TENANT}/groups/${groups[1].id}/users`, {
      user: { self: `${server.url}/user/${TENANT}/users/live-permissions` },
    });
    const send = async (of: Rest, message: object): Promise<any> =>
      (await of.request('POST', '/notification/realtime', { body: [message] })).json[0];
    const subscribe = (of: Rest, clientId: string): Promise<any> =>
      send(of, { channel: '/meta/subscribe', clientId, subscription: `/alarms/${inside.id}` });
    const open = async ({ of }: { of: Rest }): Promise<string> => {
      const { clientId } = await send(of, {
        channel: '/meta/handshake',
        version: '1.0',
        supportedConnectionTypes: ['long-polling'],
      });
      t.equal((await subscribe(of, clientId)).successful, true);
      return clientId;
    };
    const untouched = await open(other);
    const rows: [what: string, user: { of: Rest }, act: () => Promise<unknown>][] = [
      ['an inventory role is reduced', byRole, () => rest.put(`${ROLES}/${role.id}`, { permissions: [] })],
      ['an inventory role is deleted', byDeletedRole, () => rest.delete(`${ROLES}/${deleted.id}`)],
      ['a group', byGroup, () => rest.put(`/user/${TENANT}/groups/${groups[0].id}`, { devicePermissions: {} })],
      [
        'a group by its devices',
        byPermissions,
        () =>
          rest.put(`/user/devicePermissions/${inside.id}`, {
            groups: [{ id: groups[1].id, devicePermissions: { [inside.id]: [] } }],
          }),
      ],
    ];
    for (const [what, user, act] of rows) {
      const clientId = await open(user);
      await act();
      await eventually(
        what,
        async () =>
          (
            await send(user.of, {
              channel: '/meta/connect',
              clientId,
              connectionType: 'long-polling',
              advice: { timeout: 0 },
            })
          ).error === '402::Unknown client',
      );
      const again = await send(user.of, {
        channel: '/meta/handshake',
        version: '1.0',
        supportedConnectionTypes: ['long-polling'],
      });
      t.equal((await subscribe(user.of, again.clientId)).successful, false, what);
    }
    t.equal((await subscribe(other.of, untouched)).successful, true, 'who has lost nothing stays');
  },
);

t.test('MQTT: a device writes to others as far as its inventory roles go', async (t) => {
  await rest.create(`/user/${TENANT}/users`, {
    userName: 'gateway',
    password: PASSWORD,
    roles: ['ROLE_DEVICE', 'ROLE_INVENTORY_CREATE'],
  });
  const assignments = `/user/${TENANT}/users/gateway/roles/inventory`;
  const role = (
    await rest.create(ROLES, { name: 'Event writer', permissions: [{ scope: 'EVENT', permission: 'ADMIN' }] })
  ).id;
  await rest.post(assignments, { managedObject: building, roles: [{ id: role }] });
  const device = await connectDevice(t, server, 'gateway-1', { username: `${TENANT}/gateway`, password: PASSWORD });
  await device.publish('s/us', '100,Gateway,c8y_MQTTDevice');
  const send = (area: string, id: string, members: object): Promise<void> =>
    device.publish(
      `${area}/${area}s/create`,
      JSON.stringify({ source: { id }, type: 'by-mqtt', text: 't', time: TIME, ...members }),
    );
  await send('event', inside.id, {});
  await send('event', outside.id, {});
  await send('alarm', inside.id, { severity: 'MINOR' });
  await eventually(
    'the event',
    async () => (await rest.read(`/event/events?type=by-mqtt&source=${inside.id}`)).events.length === 1,
  );
  t.same((await rest.read(`/event/events?type=by-mqtt&source=${outside.id}`)).events, []);
  t.same((await rest.read(`/alarm/alarms?type=by-mqtt&source=${inside.id}`)).alarms, []);

  const all = await rest.create(ROLES, { name: 'All', permissions: [{ scope: '*', permission: '*', type: '*' }] });
  await rest.post(assignments, { managedObject: inside.id, roles: [{ id: all.id }] });
  await rest.create(`/identity/globalIds/${inside.id}/externalIds`, { type: 'c8y_Serial', externalId: 'granted-1' });
  const over = new Rest(server.url, `${TENANT}/gateway`, PASSWORD);
  await eventually('the grant', async () => (await over.get(`/inventory/managedObjects/${inside.id}`)).status === 200);
  const again = (serial: string, user = 'gateway'): ReturnType<typeof connectDevice> =>
    connectDevice(t, server, serial, { username: `${TENANT}/${user}`, password: PASSWORD });
  const gateway = await again('gateway-1');
  await gateway.subscribe('s/e', 's/dt');
  await gateway.publish('inventory/managedObjects/update/granted-1', '{"c8y_Note":{"text":"json"}}');
  await eventually(
    'JSON has the rights of REST',
    async () => (await rest.read(`/inventory/managedObjects/${inside.id}`)).c8y_Note?.text === 'json',
  );
  await gateway.publish('s/us/granted-1', '110,serial');
  await gateway.row('s/e', /^50,110,/);
  await gateway.publish('s/us', '102,granted-1,type,name,up');
  await gateway.row('s/e', /^50,102,/);
  t.notMatch(await rest.read(`/inventory/managedObjects/${inside.id}`), { c8y_Hardware: {} }, 'rows do not');
  await t.rejects(again('granted-1'), { code: 5 }, 'nor does CONNECT');
  await rest.create(`/user/${TENANT}/users`, { userName: 'no-create', password: PASSWORD, roles: ['ROLE_DEVICE'] });
  const device2 = await again('no-create-1', 'no-create');
  await device2.subscribe('s/dt');
  await device2.publish('s/ut/not-made', '11,1,,,a');
  await device2.row('s/dt', /^41,not-made,.*denied/i);
  await gateway.publish('s/ut/made', '11,1,,,a');
  await gateway.row('s/dt', /^20,made,/);
});

t.test('nobody gives rights over the inventory that he lacks', async (t) => {
  const path = (id: string): string => `/inventory/managedObjects/${id}`;
  const users = `/user/${TENANT}/users`;
  const withRoles = async (userName: string, roles: string[]): Promise<Rest> => {
    await rest.create(users, { userName, password: PASSWORD, roles });
    return new Rest(server.url, `${TENANT}/${userName}`, PASSWORD);
  };
  const creator = await withRoles('giver', ['ROLE_USER_MANAGEMENT_CREATE']);
  const clerk = await withRoles('giving-clerk', [
    'ROLE_USER_MANAGEMENT_CREATE',
    'ROLE_USER_MANAGEMENT_ADMIN',
    'ROLE_USER_MANAGEMENT_READ',
  ]);
  const post = (by: Rest, userName: string, devicePermissions: object): Promise<any> =>
    by.post(users, { userName, password: PASSWORD, devicePermissions });
  const group = (
    await rest.create(`/user/${TENANT}/groups`, {
      name: 'With permissions',
      devicePermissions: { [inside.id]: ['*:*:READ'] },
    })
  ).id as number;
  await rest.create(users, { userName: 'taker', password: PASSWORD, owner: 'giver' });
  const forbidden: [what: string, by: Rest, method: string, path: string, body: object][] = [
    [
      'a new user',
      creator,
      'POST',
      users,
      { userName: 'given', password: PASSWORD, devicePermissions: { [inside.id]: ['*:*:*'] } },
    ],
    [
      'an object that is still to come',
      creator,
      'POST',
      users,
      { userName: 'given', password: PASSWORD, devicePermissions: { 999999999: ['ALARM:*:READ'] } },
    ],
    ['a subuser', creator, 'PUT', `${users}/taker`, { devicePermissions: { [inside.id]: ['ALARM:*:READ'] } }],
    ['a membership', creator, 'POST', `/user/${TENANT}/groups/${group}/users`, { user: { id: 'taker' } }],
    [
      'oneself',
      clerk,
      'POST',
      `${users}/giving-clerk/roles/inventory`,
      { managedObject: inside.id, roles: [{ id: 2 }] },
    ],
    [
      'somebody else',
      clerk,
      'POST',
      `${users}/taker/roles/inventory`,
      { managedObject: inside.id, roles: [{ id: 1 }] },
    ],
    ['a role that others have', clerk, 'PUT', `${ROLES}/1`, { permissions: [{ scope: '*', permission: 'ADMIN' }] }],
    ['a group', clerk, 'PUT', `/user/${TENANT}/groups/${group}`, { devicePermissions: { [inside.id]: ['*:*:ADMIN'] } }],
    [
      'a new group',
      clerk,
      'POST',
      `/user/${TENANT}/groups`,
      { name: 'Given', devicePermissions: { [inside.id]: ['*:*:ADMIN'] } },
    ],
    [
      'the permissions of an object',
      clerk,
      'PUT',
      `/user/devicePermissions/${inside.id}`,
      { users: [{ userName: 'taker', devicePermissions: { [inside.id]: ['*:*:READ'] } }] },
    ],
    [
      'those of a group',
      clerk,
      'PUT',
      `/user/devicePermissions/${inside.id}`,
      { groups: [{ id: group, devicePermissions: { [inside.id]: ['*:*:ADMIN'] } }] },
    ],
  ];
  for (const [what, by, method, url, body] of forbidden)
    t.match(await by.request(method, url, { body }), { status: 403, json: { error: 'security/Forbidden' } }, what);
  t.equal((await creator.get(`${users}/given`)).status, 404, 'nothing was stored');

  await rest.post(`${users}/giver/roles/inventory`, { managedObject: floor, roles: [{ id: 1 }] });
  t.equal(
    (await post(creator, 'given', { [inside.id]: ['ALARM:*:READ', '*:c8y_X:READ'], [floor]: ['EVENT:*:READ'] })).status,
    201,
    'what he has, at its object and below',
  );
  t.equal((await post(creator, 'given-2', { [building]: ['ALARM:*:READ'] })).status, 403, 'not above');
  t.equal((await post(creator, 'given-2', { [inside.id]: ['ALARM:*:ADMIN'] })).status, 403, 'not another permission');
  const given = new Rest(server.url, `${TENANT}/given`, PASSWORD);
  t.equal((await given.get(`/alarm/alarms/${inside.alarm}`)).status, 200);
  t.equal((await given.get(path(inside.id))).status, 403);
  t.equal((await creator.put(`${users}/given`, { password: 'Another-one-2' })).status, 200);
  await rest.post(`${users}/given/roles/inventory`, { managedObject: outside.id, roles: [{ id: 2 }] });
  t.equal(
    (await creator.put(`${users}/given`, { password: 'Another-one-3' })).status,
    403,
    'a user with more is not taken over',
  );
  const { devicePermissions } = await creator.read(`${users}/given`);
  t.equal(
    (await creator.put(`${users}/given`, { firstName: 'G', devicePermissions })).status,
    200,
    'what was read and is sent back is no gift',
  );
  await rest.create(`${users}/giving-clerk/roles`, { role: { id: 'ROLE_ALARM_ADMIN' } });
  t.equal(
    (
      await clerk.put(`/user/devicePermissions/${outside.id}`, {
        users: [{ userName: 'taker', devicePermissions: { [outside.id]: ['ALARM:*:ADMIN'] } }],
      })
    ).status,
    200,
    'a role holds for all objects',
  );
  t.equal(
    (await rest.post(`${users}/giving-clerk/roles/inventory`, { managedObject: inside.id, roles: [{ id: 2 }] })).status,
    200,
    'an administrator has everything',
  );
});
