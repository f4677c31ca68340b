/** Trusted certificates and devices that log in over MQTT by certificates of their own (docs/spec/certificates.md). */
import { createSign } from 'node:crypto';
import t from 'tap';
import { CertificateFactory } from '../../helpers/certificates.ts';
import type { Issued } from '../../helpers/certificates.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import type { Device } from '../../helpers/running/mqtt.ts';
import { Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('openssl');
if (skip !== false) {
  t.test('certificates', { skip }, async () => undefined);
  process.exit();
}
const factory = new CertificateFactory(scratchDirectory(t));
const tls = factory.authority('localhost', { hosts: 'DNS:localhost,IP:127.0.0.1' });
const authority = factory.authority('Plant CA');
const server = await startServer(t, { flags: ['--tls-key', tls.keyFile, '--tls-certificate', tls.file] });
const { rest, management } = server;
const BASE = `/tenant/tenants/${TENANT}/trusted-certificates`;
const add = (issued: Issued, more: object = {}, of = rest, base = BASE): Promise<any> =>
  of.create(base, { name: 'plant', status: 'ENABLED', certInPemFormat: issued.certificate, ...more });

t.test('a trusted certificate through its life', async (t) => {
  const reply = await rest.post(BASE, {
    name: 'plant',
    status: 'ENABLED',
    autoRegistrationEnabled: true,
    certInPemFormat: authority.certificate,
  });
  t.equal(reply.status, 201);
  const certificate = reply.json;
  t.match(certificate, {
    fingerprint: /^[0-9a-f]{40}$/,
    name: 'plant',
    status: 'ENABLED',
    autoRegistrationEnabled: true,
    subject: 'CN=Plant CA, O=Plant',
    issuer: 'CN=Plant CA, O=Plant',
    serialNumber: /^\d+$/,
    algorithmName: 'SHA256withECDSA',
    version: 3,
    notBefore: /^\d{4}-.*Z$/,
    notAfter: /^\d{4}-.*Z$/,
    self: `${server.url}${BASE}/${certificate.fingerprint}`,
    proofOfPossessionValid: false,
    proofOfPossessionUnsignedVerificationCode: /^[0-9a-f]{64}$/,
    proofOfPossessionVerificationCodeUsableUntil: /Z$/,
  });
  t.equal(reply.headers.get('location'), certificate.self);
  t.ok(Date.parse(certificate.notAfter) > Date.now());
  const path = `${BASE}/${certificate.fingerprint}`;
  t.same(await rest.read(path), certificate);
  t.same((await rest.read(BASE)).certificates, [certificate]);
  t.same(
    await rest.read(`/tenant/trusted-certificates/${certificate.fingerprint}`),
    certificate,
    'the newer path, without the tenant',
  );
  t.match(
    (await rest.put(path, { name: 'new', status: 'DISABLED', autoRegistrationEnabled: false, subject: 'x' })).json,
    { name: 'new', status: 'DISABLED', autoRegistrationEnabled: false, subject: certificate.subject },
  );
  t.equal((await rest.delete(path)).status, 204);
  for (const method of ['GET', 'PUT', 'DELETE'])
    t.equal((await rest.request(method, path, method === 'PUT' ? { body: {} } : {})).status, 404, method);
  t.equal((await rest.get(path)).json.error, 'certificate/Not Found');
});

t.test('what is sent', async (t) => {
  const good = { status: 'ENABLED', certInPemFormat: factory.authority('sent').certificate };
  const rows: [what: string, body: object, status: number][] = [
    ['without the certificate', { status: 'ENABLED' }, 422],
    ['without the status', { certInPemFormat: good.certInPemFormat }, 422],
    ['another status', { ...good, status: 'X' }, 422],
    ['a text that is no certificate', { ...good, certInPemFormat: 'bm90aGluZw==' }, 422],
    ['no base64', { ...good, certInPemFormat: 'not a certificate!' }, 422],
    ['a key', { ...good, certInPemFormat: authority.key }, 422],
    ['a name that is too long', { ...good, name: 'n'.repeat(257) }, 422],
    ['autoRegistrationEnabled that is no boolean', { ...good, autoRegistrationEnabled: 'yes' }, 422],
    ['without name', good, 201],
    ['the same again', good, 409],
    [
      'the same without the lines around it',
      { ...good, certInPemFormat: good.certInPemFormat.replace(/-----.*-----|\n/g, '') },
      409,
    ],
  ];
  for (const [what, body, status] of rows) t.equal((await rest.post(BASE, body)).status, status, what);
  t.equal(
    (await rest.post(BASE, {})).json.message,
    'Following mandatory fields should be included: certInPemFormat,status',
  );
  t.equal((await rest.read(BASE)).certificates[0].autoRegistrationEnabled, false, 'false by default');
  const bulk = [factory.authority('bulk-1'), factory.authority('bulk-2')].map(({ certificate }) => ({
    status: 'ENABLED',
    certInPemFormat: certificate,
  }));
  t.equal((await rest.post(`${BASE}/bulk`, { certificates: [...bulk, bulk[0]] })).status, 409, 'all or none');
  const reply = await rest.post(`${BASE}/bulk`, { certificates: bulk });
  t.equal(reply.status, 201);
  t.equal(reply.json.certificates.length, 2);
  t.equal((await rest.read(`${BASE}?withTotalElements=true`)).statistics.totalElements, 3);
});

t.test('roles and tenants', async (t) => {
  const password = 'Analytical-1';
  const user = async (userName: string, roles: string[]): Promise<Rest> => {
    await rest.create(`/user/${TENANT}/users`, {
      userName,
      password,
      roles: { references: roles.map((id) => ({ role: { id } })) },
    });
    return new Rest(server.url, `${TENANT}/${userName}`, password);
  };
  const [nobody, reader, admin] = [
    await user('nobody', []),
    await user('reader', ['ROLE_TENANT_MANAGEMENT_READ']),
    await user('admin2', ['ROLE_TENANT_ADMIN']),
  ];
  const one = `${BASE}/${'0'.repeat(40)}`;
  const proof = `/tenant/tenants/${TENANT}/trusted-certificates-pop/${'0'.repeat(40)}`;
  const rows: [method: string, path: string, body: object | undefined, reads: boolean, status: number][] = [
    ['GET', BASE, undefined, true, 200],
    ['GET', one, undefined, true, 404],
    ['POST', BASE, {}, false, 422],
    ['POST', `${BASE}/bulk`, {}, false, 422],
    ['PUT', one, {}, false, 404],
    ['DELETE', one, undefined, false, 404],
    ['POST', `${proof}/verification-code`, undefined, false, 404],
    ['POST', `${proof}/pop`, { proofOfPossessionSignedVerificationCode: 'x' }, false, 404],
  ];
  for (const [method, path, body, reads, status] of rows) {
    const options = body === undefined ? {} : { body };
    t.equal((await nobody.request(method, path, options)).status, 403, `${method} ${path}`);
    t.equal((await reader.request(method, path, options)).status, reads ? status : 403, `${method} ${path} with READ`);
    t.equal((await admin.request(method, path, options)).status, status, `${method} ${path} with ROLE_TENANT_ADMIN`);
  }
  t.equal((await rest.get('/tenant/tenants/management/trusted-certificates')).status, 404, 'of another tenant');
  t.equal((await management.get(BASE)).status, 200, 'of one below');
});

t.test('proof of possession', async (t) => {
  const proven = factory.authority('proven');
  const { fingerprint, proofOfPossessionUnsignedVerificationCode: first } = await add(proven);
  const path = `/tenant/tenants/${TENANT}/trusted-certificates-pop/${fingerprint}`;
  const signed = (code: string, { key }: Issued): string => createSign('sha256').update(code).sign(key, 'base64');
  const prove = (code: string): Promise<any> =>
    rest.post(`${path}/pop`, { proofOfPossessionSignedVerificationCode: code });
  const renewed = await rest.request('POST', `${path}/verification-code`);
  t.equal(renewed.status, 200);
  const code = renewed.json.proofOfPossessionUnsignedVerificationCode;
  t.not(code, first);
  t.equal((await prove(signed(first, proven))).status, 422, 'an old code');
  t.equal((await prove(signed(code, authority))).status, 422, 'another key');
  t.equal((await prove('x')).status, 422);
  t.equal((await prove(signed(code, proven))).json.proofOfPossessionValid, true);
  const { fingerprint: other } = await add(factory.authority('confirmed'));
  const confirmed = `/tenant/tenants/${TENANT}/trusted-certificates-pop/${other}/confirmed`;
  t.equal((await rest.request('POST', confirmed)).status, 403, 'only the management tenant confirms by hand');
  t.equal((await management.request('POST', confirmed)).json.proofOfPossessionValid, true);
});

const connect = (clientId: string, issued: Issued, more: object = {}): Promise<Device> =>
  connectDevice(t, server, clientId, {
    transport: 'tls',
    ca: tls.certificate,
    key: issued.key,
    cert: issued.certificate,
    username: undefined,
    password: undefined,
    ...more,
  });

t.test('devices log in by certificates', async (t) => {
  const plant = factory.authority('Plant 2');
  const { fingerprint } = await add(plant, { autoRegistrationEnabled: true });
  const path = `${BASE}/${fingerprint}`;
  const device = await connect('cert-1', factory.issue('cert-1', plant));
  await device.publish('s/us', '211,21.5');
  const object = await rest.deviceOf('cert-1');
  t.equal(object.owner, 'device_cert-1', 'the first connect registers the device and its user');
  t.match(await rest.read(`/user/${TENANT}/users/device_cert-1`), { userName: 'device_cert-1', enabled: true });
  await (await connect('', factory.issue('cert-2', plant))).publish('s/us', '211,1');
  t.ok(await rest.idOf('cert-2'), 'an empty client id: the common name is taken');
  await connect('d:cert-2', factory.issue('cert-2b', plant, { commonName: 'cert-2' }), { username: TENANT });
  t.pass('with the tenant as user name, and the long form of the client id; MQTT 5 next');
  await connect('cert-5', factory.issue('cert-5', plant), { protocolVersion: 5 });
  const intermediate = factory.issue('Intermediate', plant, { isAuthority: true });
  const below = factory.issue('cert-3', intermediate);
  await connect('cert-3', { ...below, certificate: below.certificate + intermediate.certificate });
  t.pass('a chain of two');

  const rows: [what: string, clientId: string, issued: Issued, more?: object][] = [
    ['an unknown issuer', 'cert-x', factory.issue('unknown', factory.authority('Plant 3'), { commonName: 'cert-x' })],
    ['one that signs itself', 'cert-self', factory.authority('cert-self')],
    [
      'an issuer of the same name with another key',
      'cert-y',
      factory.issue('same', factory.issue('fake', undefined, { commonName: 'Plant 2', isAuthority: true }), {
        commonName: 'cert-y',
      }),
    ],
    ['a chain without its middle', 'cert-4', factory.issue('cert-4', intermediate)],
    [
      'a middle that is no authority',
      'cert-6',
      (() => {
        const leaf = factory.issue('no-authority', plant);
        const under = factory.issue('cert-6', leaf);
        return { ...under, certificate: under.certificate + leaf.certificate };
      })(),
    ],
    ['another client id than the common name', 'other', factory.issue('cert-7', plant)],
    ['no common name', 'cert-8', factory.issue('cert-8', plant, { commonName: '' })],
    ['a common name that is no identifier', 'a', factory.issue('odd', plant, { commonName: 'a b' })],
    ['another tenant as user name', 'cert-9', factory.issue('cert-9', plant), { username: 'management' }],
    [
      'a tenant that does not exist',
      'cert-9',
      factory.issue('cert-9b', plant, { commonName: 'cert-9' }),
      { username: 'none' },
    ],
  ];
  for (const [what, clientId, issued, more] of rows)
    await t.rejects(connect(clientId, issued, more), /Not authorized/i, what);
  await t.rejects(
    connectDevice(t, server, 'cert-1', {
      transport: 'tls',
      ca: tls.certificate,
      username: undefined,
      password: undefined,
    }),
    'neither certificate nor password',
  );

  await rest.put(path, { autoRegistrationEnabled: false });
  await t.rejects(
    connect('cert-10', factory.issue('cert-10', plant)),
    /Not authorized/i,
    'without autoRegistrationEnabled a device has to be registered',
  );
  const ended = new Promise<void>((resolve) => {
    device.client.once('close', () => resolve());
  });
  await connect('cert-11', factory.issue('cert-11', plant)).catch(() => undefined);
  await rest.put(path, { status: 'DISABLED' });
  await ended;
  t.pass('disabling ends the connections');
  await t.rejects(
    connect('cert-1', factory.issue('cert-1c', plant, { commonName: 'cert-1' })),
    /Not authorized/i,
    'and refuses new ones',
  );
  await rest.put(path, { status: 'ENABLED' });
  await connect('cert-1', factory.issue('cert-1d', plant, { commonName: 'cert-1' }));
  await rest.put(`/user/${TENANT}/users/device_cert-2`, { enabled: false });
  await t.rejects(
    connect('cert-2', factory.issue('cert-2c', plant, { commonName: 'cert-2' })),
    /Not authorized/i,
    'a disabled user',
  );
  await rest.delete(path);
  await t.rejects(
    connect('cert-1', factory.issue('cert-1e', plant, { commonName: 'cert-1' })),
    /Not authorized/i,
    'removed',
  );
  const counted = await server.metricsText();
  t.match(counted, /millrace_refusals_total\{limit="mqtt\/connack-0x87"\} [1-9]/, 'refusals are counted');
});

t.test('a tenant that has deleted the group of devices registers devices by certificates all the same', async (t) => {
  const issuer = factory.authority('Groupless');
  await management.create('/tenant/tenants', {
    company: 'g',
    domain: 'groupless',
    id: 'groupless',
    adminName: 'a',
    adminEmail: 'a@b.c',
    adminPass: 'Analytical-1',
  });
  const admin = new Rest(server.url, 'groupless/a', 'Analytical-1');
  t.equal((await admin.delete('/user/groupless/groups/2')).status, 204);
  await add(issuer, { autoRegistrationEnabled: true }, admin, '/tenant/trusted-certificates');
  const device = await connect('groupless-1', factory.issue('groupless-1', issuer), { username: 'groupless' });
  await device.publish('s/us', '100,Groupless,c8y_MQTTDevice');
  t.match(await admin.read('/user/groupless/users/device_groupless-1'), { enabled: true });
});

t.test(
  'of two tenants that trust one issuer the one counts that is named, or that has proven possession',
  async (t) => {
    const shared = factory.authority('Shared CA');
    const tenant = await management.create('/tenant/tenants', {
      company: 'c',
      domain: 'other',
      id: 'other',
      adminName: 'a',
      adminEmail: 'a@b.c',
      adminPass: 'Analytical-1',
    });
    const other = new Rest(server.url, `${tenant.id}/a`, 'Analytical-1');
    await add(shared, { autoRegistrationEnabled: true });
    const { fingerprint } = await add(shared, { autoRegistrationEnabled: true }, other, '/tenant/trusted-certificates');
    await t.rejects(connect('shared-1', factory.issue('shared-1', shared)), /Not authorized/i, 'neither');
    const named = await connect('shared-1', factory.issue('shared-1b', shared, { commonName: 'shared-1' }), {
      username: TENANT,
    });
    await named.publish('s/us', '211,1');
    t.ok(await rest.idOf('shared-1'));
    await management.request('POST', `/tenant/tenants/other/trusted-certificates-pop/${fingerprint}/confirmed`);
    await (await connect('shared-2', factory.issue('shared-2', shared))).publish('s/us', '211,1');
    await eventually('in the tenant that has proven it', () => other.idOf('shared-2'));
    await management.put('/tenant/tenants/other', { status: 'SUSPENDED' });
    await t.rejects(
      connect('shared-2', factory.issue('shared-2b', shared, { commonName: 'shared-2' })),
      /Not authorized/i,
      'of a suspended tenant',
    );
  },
);

t.test('a public certificate of an authority gives nobody the devices of another tenant', async (t) => {
  const owned = factory.authority('Owned Root');
  const middle = factory.issue('Owned Middle', owned, { isAuthority: true });
  const chained = (name: string): Issued => {
    const issued = factory.issue(name, middle);
    return { ...issued, certificate: issued.certificate + middle.certificate };
  };
  await management.create('/tenant/tenants', {
    company: 'c',
    domain: 'thief',
    id: 'thief',
    adminName: 'a',
    adminEmail: 'a@b.c',
    adminPass: 'Analytical-1',
  });
  const thief = new Rest(server.url, 'thief/a', 'Analytical-1');
  const { fingerprint } = await add(owned, { autoRegistrationEnabled: true });
  await (await connect('owned-1', chained('owned-1'))).publish('s/us', '211,1');
  t.ok(await eventually('alone it needs no proof', () => rest.idOf('owned-1')));
  const stolen = await add(middle, { autoRegistrationEnabled: true }, thief, '/tenant/trusted-certificates');
  await t.rejects(
    connect('owned-2', chained('owned-2')),
    /Not authorized/i,
    'neither, though the other one is nearer to the device',
  );
  await rest.put(`${BASE}/${fingerprint}`, { status: 'DISABLED' });
  await t.rejects(connect('owned-2', chained('owned-2')), /Not authorized/i, 'a disabled one is no invitation');
  await rest.put(`${BASE}/${fingerprint}`, { status: 'ENABLED' });
  await management.request('POST', `/tenant/tenants/${TENANT}/trusted-certificates-pop/${fingerprint}/confirmed`);
  await (await connect('owned-2', chained('owned-2'))).publish('s/us', '211,1');
  t.ok(await eventually('proven, farther up', () => rest.idOf('owned-2')));
  await rest.put(`${BASE}/${fingerprint}`, { status: 'DISABLED' });
  await t.rejects(connect('owned-3', chained('owned-3')), /Not authorized/i, 'proven and disabled');
  t.equal(await thief.idOf('owned-1').catch(() => undefined), undefined);
  await thief.delete(`/tenant/trusted-certificates/${stolen.fingerprint}`);
});

t.test('expired certificates', async (t) => {
  const plant = factory.authority('Plant 4');
  await add(plant, { autoRegistrationEnabled: true });
  await t.rejects(connect('expired-1', factory.issue('expired-1', plant, { days: 0 })), 'of the device');
  const old = factory.authority('Plant 5', { days: 0 });
  await add(old, { autoRegistrationEnabled: true });
  await t.rejects(connect('expired-2', factory.issue('expired-2', old)), 'of the issuer');
});
