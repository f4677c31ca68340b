/** Files with new devices: header rules, both forms, results line by line (docs/spec/device-registration.md#files). */
import { Client } from '@c8y/client';
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { MANAGEMENT_PASSWORD, PASSWORD, Rest, TENANT, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const PATH = '/devicecontrol/bulkNewDeviceRequests';
const SECRET = 'Device-pass-1';

const BOUNDARY = 'xx-boundary-xx';
async function upload(
  csv: string | Buffer,
  user = `${TENANT}/admin`,
  password = PASSWORD,
): Promise<{ status: number; json: any }> {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="d.csv"\r\nContent-Type: text/csv\r\n\r\n`;
  const response = await fetch(server.url + PATH, {
    method: 'POST',
    body: Buffer.concat([Buffer.from(head), Buffer.from(csv), Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]),
    headers: {
      authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
      accept: 'application/json',
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
    },
  });
  return { status: response.status, json: await response.json() };
}
const userWith = async (name: string, roles: string[], more: object = {}): Promise<string> => {
  await rest.create(`/user/${TENANT}/users`, {
    userName: name,
    password: PASSWORD,
    roles: { references: roles.map((id) => ({ role: { id } })) },
    ...more,
  });
  return `${TENANT}/${name}`;
};
const loginOf = async (id: string, password: string): Promise<number> =>
  (await new Rest(server.url, `${TENANT}/device_${id}`, password).get('/user/currentUser')).status;
const objectOf = (id: string, type = 'c8y_Serial'): Promise<any> =>
  rest
    .read(`/identity/externalIds/${type}/${id}`)
    .then((bound) => rest.read(`/inventory/managedObjects/${bound.managedObject.id}?withParents=true`));

t.test('the full form makes user, object and external IDs at once', async (t) => {
  const answer =
    await upload(`ID;CREDENTIALS;TYPE;NAME;ICCID;IDTYPE;PATH;SHELL;external-c8y_MAC;com_platform_model_Agent.active;my_Place.room.floor;my_Place.room.door;my_Note
full-1;${SECRET};my_Type;"Pump; the ""first""";8949;;Plant/Hall 1;1;aa-bb;true;3;7;hello
full-2;${SECRET};my_Type;Pump 2;;my_Id;Plant/Hall 1;0;;false;;;
`);
  t.equal(answer.status, 201);
  t.same(answer.json, {
    numberOfAll: 2,
    numberOfCreated: 2,
    numberOfFailed: 0,
    numberOfSuccessful: 2,
    credentialUpdatedList: [
      { bulkNewDeviceStatus: 'CREATED', deviceId: 'full-1' },
      { bulkNewDeviceStatus: 'CREATED', deviceId: 'full-2' },
    ],
    failedCreationList: [],
  });
  const one = await objectOf('full-1');
  t.match(one, {
    name: 'Pump; the "first"',
    type: 'my_Type',
    owner: 'device_full-1',
    c8y_IsDevice: {},
    com_platform_model_Agent: {},
    c8y_Mobile: { iccid: '8949' },
    c8y_SupportedOperations: ['c8y_Command'],
    my_Place: { room: { floor: '3', door: '7' } },
    my_Note: 'hello',
  });
  t.equal((await objectOf('aa-bb', 'c8y_MAC')).id, one.id);
  const two = await objectOf('full-2', 'my_Id');
  t.match(two, { name: 'Pump 2', owner: 'device_full-2' });
  for (const name of ['com_platform_model_Agent', 'c8y_Mobile', 'c8y_SupportedOperations', 'my_Place', 'my_Note'])
    t.equal(two[name], undefined, name);
  const [hall] = one.assetParents.references;
  t.match(hall.managedObject, { name: 'Hall 1' });
  t.equal(two.assetParents.references[0].managedObject.id, hall.managedObject.id, 'the group is made once');
  const hallObject = await rest.read(`/inventory/managedObjects/${hall.managedObject.id}?withParents=true`);
  t.match(hallObject, { type: 'c8y_DeviceSubGroup', c8y_IsDeviceGroup: {} });
  t.match(await rest.read(`/inventory/managedObjects/${hallObject.assetParents.references[0].managedObject.id}`), {
    name: 'Plant',
    type: 'c8y_DeviceGroup',
  });
  const device = await connectDevice(t, server, 'full-1', { username: `${TENANT}/device_full-1`, password: SECRET });
  await device.publish('s/us', '211,1');
  t.equal((await rest.read(`/measurement/measurements?source=${one.id}`)).measurements.length, 1);
});

t.test('a device that is there gets its credentials replaced; a file may be sent again', async (t) => {
  const csv = (secret: string): string =>
    `ID,CREDENTIALS,TYPE,NAME,PATH,external-c8y_MAC\nagain-1,${secret},my_Type,Again,Again,mac-1`;
  t.match((await upload(csv(SECRET))).json, { numberOfCreated: 1 });
  const before = await objectOf('again-1');
  const answer = (await upload(csv('Another-pass-2'))).json;
  t.match(answer, {
    numberOfAll: 1,
    numberOfCreated: 0,
    numberOfFailed: 0,
    numberOfSuccessful: 1,
    credentialUpdatedList: [{ bulkNewDeviceStatus: 'CREDENTIAL_UPDATED', deviceId: 'again-1' }],
  });
  const old = new Rest(server.url, `${TENANT}/device_again-1`, SECRET);
  t.equal((await old.get('/user/currentUser')).status, 401);
  t.equal(
    (await new Rest(server.url, `${TENANT}/device_again-1`, 'Another-pass-2').get('/user/currentUser')).status,
    200,
  );
  t.equal((await objectOf('again-1')).id, before.id);
  t.equal(
    (await rest.read('/inventory/managedObjects?type=c8y_DeviceGroup&pageSize=100')).managedObjects.filter(
      ({ name }: any) => name === 'Again',
    ).length,
    1,
  );
});

t.test('the simple form announces devices', async (t) => {
  const answer = await upload('ID\tPATH\nsimple-1\tSimple/Sub\nsimple-2\t\n');
  t.match(answer.json, { numberOfAll: 2, numberOfCreated: 2 });
  const request = await rest.read('/devicecontrol/newDeviceRequests/simple-1');
  t.match(request, { status: 'WAITING_FOR_CONNECTION', owner: 'admin' });
  t.match(await rest.read(`/inventory/managedObjects/${request.groupId}`), { name: 'Sub' });
  t.match(await rest.read('/devicecontrol/newDeviceRequests/simple-2'), { groupId: null });
  t.equal((await rest.get(`/user/${TENANT}/users/device_simple-1`)).status, 404);
  const again = await upload('ID\tPATH\nsimple-1\tSimple/Sub\nsimple-2\t\nsimple-3\t\nsimple-3\t');
  t.match(
    again,
    { status: 201, json: { numberOfAll: 4, numberOfCreated: 3, numberOfFailed: 1, numberOfSuccessful: 3 } },
    'what an earlier try announced is no fault',
  );
  t.match(again.json.failedCreationList, [
    { bulkNewDeviceStatus: 'FAILED', deviceId: 'simple-3', failureReason: /has this ID before/ },
  ]);
  const other = await upload('ID\tPATH\nsimple-1\tOther\nsimple-2\t');
  t.match(
    other.json.failedCreationList,
    [{ bulkNewDeviceStatus: 'FAILED', deviceId: 'simple-1', failureReason: /exists already/, line: 'simple-1\tOther' }],
    'for another group',
  );
  const stranger = await userWith('bulk-second', ['ROLE_DEVICE_CONTROL_ADMIN', 'ROLE_INVENTORY_READ']);
  t.match((await upload('ID\nsimple-2', stranger)).json, { numberOfFailed: 1 }, 'of another user');
});

t.test('lines that fail do not hold up the others', async (t) => {
  const header = 'ID,CREDENTIALS,AUTH_TYPE,TYPE,NAME,ICCID';
  await rest.create(`/identity/globalIds/${await rest.createDevice('taken')}/externalIds`, {
    type: 'c8y_MAC',
    externalId: 'taken',
  });
  const rows: [line: string, reason: RegExp][] = [
    [`,${SECRET},,T,N,`, /no ID/],
    ['fail-1,,,T,N,', /no CREDENTIALS/],
    ['fail-2,short,,T,N,', /CREDENTIALS takes/],
    [`fail 3,${SECRET},,T,N,`, /ID takes/],
    [`fail-4,${SECRET},TOKEN,T,N,`, /AUTH_TYPE is TOKEN/],
    [`fail-5,${SECRET},,,N,89`, /ICCID without TYPE/],
    [`fail-6,${SECRET},,T`, /4 values for 6 columns/],
  ];
  const answer = await upload(
    [header, ...rows.map(([line]) => line), `fail-good,${SECRET},basic,T,N,`, 'fail-cert,,CERTIFICATES,T,N,'].join(
      '\r\n',
    ),
  );
  t.match(answer, {
    status: 201,
    json: { numberOfAll: rows.length + 2, numberOfFailed: rows.length, numberOfCreated: 2 },
  });
  rows.forEach(([line, reason], index) =>
    t.match(answer.json.failedCreationList[index], { failureReason: reason, line }, line),
  );
  t.match(await objectOf('fail-cert'), { owner: 'device_fail-cert' });
  const typed = await upload(`ID,CREDENTIALS,TYPE,NAME,count\r\nfail-8,${SECRET},T,N,5`);
  t.match(typed.json.failedCreationList, [{ failureReason: /count/ }], 'as objects are created elsewhere');
  t.equal(
    (await new Rest(server.url, `${TENANT}/device_fail-cert`, '').get('/user/currentUser')).status,
    401,
    'no password',
  );
  const bound = await upload(`ID,CREDENTIALS,external-c8y_MAC\nfail-7,${SECRET},taken`);
  t.match(bound.json.failedCreationList, [{ deviceId: 'fail-7', failureReason: /already bound/ }]);
  const ids = answer.json.failedCreationList.map(({ deviceId }: any) => deviceId);
  t.same(
    ids,
    ['', 'fail-1', 'fail-2', 'fail 3', 'fail-4', 'fail-5', 'fail-6'],
    'the ID is told, whatever else is wrong',
  );
});

t.test('a line that fails has changed nothing', async (t) => {
  const foreign = await rest.createDevice('half-foreign');
  for (const [type, externalId] of [
    ['half_MAC', 'm2'],
    ['c8y_Serial', 'half-foreign'],
  ]) {
    await rest.create(`/identity/globalIds/${foreign}/externalIds`, { type, externalId });
  }
  t.match((await upload(`ID,CREDENTIALS\nhalf-1,${SECRET}`)).json, { numberOfCreated: 1 });
  const { json } = await upload(
    `ID,CREDENTIALS,TYPE,NAME,PATH,external-half_MAC\nhalf-1,Changed-pass-2,T,N,Half,m2\nhalf-2,${SECRET},T,N,Half,m2\nhalf-foreign,${SECRET},T,N,Half,m3`,
    await userWith('half-registrar', ['ROLE_DEVICE_CONTROL_ADMIN']),
  );
  t.match(json, {
    numberOfFailed: 3,
    failedCreationList: [
      { failureReason: /value=m2/ },
      { failureReason: /value=m2/ },
      { failureReason: new RegExp(`c8y_Serial half-foreign is bound to the managed object ${foreign} of admin`) },
    ],
  });
  t.equal(await loginOf('half-1', SECRET), 200, 'the device in the field goes on');
  for (const id of ['half-2', 'half-foreign'])
    t.equal((await rest.get(`/user/${TENANT}/users/device_${id}`)).status, 404, id);
  for (const path of ['c8y_Serial/half-2', 'half_MAC/m3'])
    t.equal((await rest.get(`/identity/externalIds/${path}`)).status, 404, path);
  t.equal(
    (await rest.read('/inventory/managedObjects?query=name eq Half')).managedObjects.length,
    0,
    'nor is a group made',
  );
});

t.test('who may change owners takes a device that is there over', async (t) => {
  const id = await rest.createDevice('taken-over');
  await rest.create(`/identity/globalIds/${id}/externalIds`, { type: 'c8y_Serial', externalId: 'taken-over' });
  t.match((await upload(`ID,CREDENTIALS\ntaken-over,${SECRET}`)).json, { numberOfFailed: 0, numberOfSuccessful: 1 });
  t.match(await objectOf('taken-over'), { id, owner: 'device_taken-over' });
  t.equal(await loginOf('taken-over', SECRET), 200);
});

t.test('the line that failed is told without empty ones before it', async (t) => {
  const { json } = await upload(`ID,CREDENTIALS\n\r\n  \n bad id,${SECRET}\n\n`);
  t.match(json, { numberOfFailed: 1, failedCreationList: [{ line: ` bad id,${SECRET}` }] });
});

t.test('who registers takes over no user with rights that he lacks, and enables none', async (t) => {
  const registrar = await userWith('bulk-registrar', ['ROLE_DEVICE_CONTROL_ADMIN']);
  const taken = (id: string, who?: string) =>
    upload(`ID;CREDENTIALS\n${id};Taken-pass-3`, who).then(({ json }) => json);
  await userWith('device_big', ['ROLE_USER_MANAGEMENT_ADMIN']);
  await userWith('device_granted', [], { devicePermissions: { [await rest.createDevice('bulk-granted')]: ['*:*:*'] } });
  for (const id of ['big', 'granted']) {
    t.match(await taken(id, registrar), {
      numberOfFailed: 1,
      failedCreationList: [
        { deviceId: id, failureReason: `the user device_${id} has rights that bulk-registrar lacks` },
      ],
    });
    t.equal(await loginOf(id, PASSWORD), 200);
    t.match(await taken(id), { numberOfFailed: 0 }, 'an administrator has them');
    t.equal(await loginOf(id, 'Taken-pass-3'), 200);
  }
  t.match(await taken('usual', registrar), { numberOfCreated: 1 });
  t.equal((await rest.put(`/user/${TENANT}/users/device_usual`, { enabled: false })).status, 200);
  t.match(
    await taken('usual', registrar),
    { numberOfFailed: 0, credentialUpdatedList: [{ bulkNewDeviceStatus: 'CREDENTIAL_UPDATED' }] },
    'a usual device',
  );
  t.equal((await rest.read(`/user/${TENANT}/users/device_usual`)).enabled, false);
});

t.test('what is quoted is kept', async (t) => {
  t.match(
    (await upload('ID, CREDENTIALS, my_Note\nquoted-1, " blank-pass ", " a "\n quoted-2 , plain-pass , b ')).json,
    { numberOfCreated: 2 },
  );
  t.equal(await loginOf('quoted-1', ' blank-pass '), 200);
  t.equal(await loginOf('quoted-2', 'plain-pass'), 200);
  t.match([(await objectOf('quoted-1')).my_Note, (await objectOf('quoted-2')).my_Note], [' a ', 'b']);
});

t.test('files at once make a group once', async (t) => {
  for (let round = 0; round < 2; round += 1) {
    const files = Array.from(
      { length: 4 },
      (_, file) => `ID,CREDENTIALS,AUTH_TYPE,TYPE,NAME,PATH\ngroups-${round}-${file},,CERTIFICATES,T,N,px ${round}/py`,
    );
    for (const { json } of await Promise.all(files.map((file) => upload(file)))) t.match(json, { numberOfCreated: 1 });
    const found = (await rest.read(`/inventory/managedObjects?query=name eq 'px ${round}'`)).managedObjects;
    t.equal(found.length, 1);
    t.equal(
      (await rest.read(`/inventory/managedObjects/${found[0].id}/childAssets`)).references.length,
      1,
      'and the one below it',
    );
    await rest.delete(`/inventory/managedObjects/${found[0].id}?cascade=true`);
    const again = await upload(
      `ID,CREDENTIALS,AUTH_TYPE,TYPE,NAME,PATH\ngroups-again-${round},,CERTIFICATES,T,N,px ${round}/py`,
    );
    t.match(again.json, { numberOfFailed: 0 });
    const [made] = (await rest.read(`/inventory/managedObjects?query=name eq 'px ${round}'`)).managedObjects;
    t.not(made.id, found[0].id, 'a group that was deleted is made anew');
  }
});

t.test('header rules and files that cannot be used', async (t) => {
  const rows: [csv: string | Buffer, reason: RegExp][] = [
    ['', /empty/],
    ['\n\n', /empty/],
    ['NAME,TYPE\na,b', /no column ID/],
    ['ID,NAME\na,b', /no column CREDENTIALS/],
    [`ID,CREDENTIALS,PATH\na,${SECRET},b`, /PATH without TYPE and NAME/],
    [`ID,CREDENTIALS,SHELL,NAME\na,${SECRET},1,n`, /SHELL without TYPE/],
    ['ID,ID\na,b', /column ID twice/],
    ['ID,CREDENTIALS,\na,b,c', /without a name/],
    ['ID,CREDENTIALS,owner\na,b,c', /named owner/],
    ['ID,CREDENTIALS,a..b\na,b,c', /named a..b/],
    ['ID,CREDENTIALS\na,"not closed', /cannot be used/],
    [Buffer.from([0x49, 0x44, 0x0a, 0xff, 0xfe]), /UTF-8/],
    [`ID\n${'x\n'.repeat(10_001)}`, /more than 10000 lines/],
  ];
  for (const [csv, reason] of rows)
    t.match(
      await upload(csv),
      { status: 422, json: { error: 'devicecontrol/Invalid Data', message: reason } },
      String(reason),
    );
  t.equal((await rest.post(PATH, {})).status, 415);
  const noFile = await rest.request('POST', PATH, {
    body: `--b\r\nContent-Disposition: form-data; name="x"\r\n\r\ny\r\n--b--\r\n`,
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  });
  t.equal(noFile.status, 400);
  t.equal(
    (
      await rest.request('POST', PATH, {
        body: 'nothing',
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
      })
    ).status,
    400,
  );
  t.equal((await upload(`\ufeffID,CREDENTIALS\nbom-1,${SECRET}`)).status, 201, 'with a byte order mark');
  t.match(await objectOf('bom-1'), { name: 'bom-1' });
  t.equal((await upload(`id,credentials\nlower-1,${SECRET}`)).json.numberOfCreated, 1);
});

t.test("the column TENANT is the management tenant's", async (t) => {
  const csv = (id: string, tenant: string): string => `ID,CREDENTIALS,TENANT\n${id},${SECRET},${tenant}`;
  t.match((await upload(csv('tenant-1', 'management'))).json, {
    numberOfFailed: 1,
    failedCreationList: [{ failureReason: /TENANT/ }],
  });
  t.match((await upload(csv('tenant-2', TENANT))).json, { numberOfCreated: 1 }, 'the own one may be named');
  t.match((await upload(csv('tenant-3', TENANT), 'management/admin', MANAGEMENT_PASSWORD)).json, {
    numberOfCreated: 1,
  });
  t.match(await objectOf('tenant-3'), { owner: 'device_tenant-3' });
  t.match((await upload(csv('tenant-4', 'nowhere'), 'management/admin', MANAGEMENT_PASSWORD)).json, {
    numberOfFailed: 1,
  });
  await server.management.create('/tenant/tenants', {
    id: 'bulkpaused',
    domain: 'bulkpaused-d',
    company: 'Paused',
    adminEmail: 'a@example.com',
    adminName: 'ada',
    adminPass: PASSWORD,
  });
  t.equal((await server.management.put('/tenant/tenants/bulkpaused', { status: 'SUSPENDED' })).status, 200);
  t.match(
    (await upload(csv('tenant-5', 'bulkpaused'), 'management/admin', MANAGEMENT_PASSWORD)).json.failedCreationList,
    [{ failureReason: /suspended/ }],
  );
});

t.test('2,500 lines', async (t) => {
  const ids = Array.from({ length: 2_500 }, (_, index) => `many-${String(index).padStart(5, '0')}`);
  const { json } = await upload(`ID\n${ids.join('\n')}`);
  t.match(json, { numberOfAll: 2_500, numberOfCreated: 2_500, numberOfFailed: 0 });
  t.same(
    json.credentialUpdatedList.map(({ deviceId }: any) => deviceId),
    ids,
    'in the order of the lines',
  );
  t.match(
    (await rest.read('/devicecontrol/newDeviceRequests?pageSize=1&withTotalElements=true')).statistics.totalElements,
    2_500 + 3,
  );
  const page = await rest.read('/devicecontrol/newDeviceRequests?pageSize=3&currentPage=500&withTotalPages=true');
  t.match(
    page,
    { newDeviceRequests: [1497, 1498, 1499].map((index) => ({ id: ids[index] })), statistics: { totalPages: 835 } },
    'a page in the midst',
  );
  t.match(await rest.read('/devicecontrol/newDeviceRequests?pageSize=500&currentPage=6'), {
    newDeviceRequests: { length: 3 },
    next: undefined,
  });
});

t.test('role', async (t) => {
  await rest.create(`/user/${TENANT}/users`, {
    userName: 'bulk-reader',
    password: PASSWORD,
    roles: { references: [{ role: { id: 'ROLE_DEVICE_CONTROL_READ' } }] },
  });
  t.equal((await upload('ID\nx', `${TENANT}/bulk-reader`)).status, 403);
});

t.test('@c8y/client: DeviceRegistrationBulkService', async (t) => {
  const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
  const { res, data } = await client.deviceRegistrationBulk.create(Buffer.from(`ID,CREDENTIALS\nclient-1,${SECRET}`));
  t.equal(res.status, 201);
  t.match(data, { numberOfAll: 1, numberOfSuccessful: 1 });
  t.same(
    server.complaints.filter((line) => !line.includes('refused by the limit')),
    [],
  );
});
