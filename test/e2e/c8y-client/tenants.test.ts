/**
 * `@c8y/client`, unmodified: tenants, options of tenants and of the server, login options, trusted and revoked
 * certificates.
 */
import { createSign } from 'node:crypto';
import { BasicAuth, Client, CrlService, TrustedCertificateService } from '@c8y/client';
import t from 'tap';
import { leftOut } from '../../helpers/clients/c8y-client-calls.ts';
import { CertificateFactory } from '../../helpers/certificates.ts';
import { MANAGEMENT_PASSWORD, PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { missing } from '../../helpers/tools.ts';

const server = await startServer(t);
const clientOf = (tenant: string, password: string): any => {
  const client: any = new Client(new BasicAuth({ tenant, user: 'admin', password }), server.url);
  client.core.tenant = tenant;
  return client;
};
const management = clientOf('management', MANAGEMENT_PASSWORD);
const client = clientOf(TENANT, PASSWORD);
/** The error that the client throws. */
const failure = (answer: Promise<any>): Promise<any> =>
  answer.then(
    () => undefined,
    (error: unknown) => error,
  );
const statusOf = async (answer: Promise<any>): Promise<number> => (await failure(answer))?.res.status;

t.test('TenantService', async (t) => {
  t.match((await client.tenant.current({ withParent: true })).data, {
    name: TENANT,
    parent: 'management',
    allowCreateTenants: false,
  });
  const { data: made, res } = await management.tenant.create({
    company: 'c',
    domain: 'by-client',
    adminName: 'ada',
    adminEmail: 'a@b.c',
    adminPass: 'Analytical-1',
  });
  t.equal(res.status, 201);
  t.match(made, { id: /^t\d+$/, status: 'ACTIVE', domain: 'by-client' });
  const ada: any = new Client(new BasicAuth({ tenant: made.id, user: 'ada', password: 'Analytical-1' }), server.url);
  t.equal((await ada.tenant.current()).data.name, made.id, 'its administrator logs in');
  t.match((await management.tenant.detail(made.id)).data, { company: 'c' });
  t.ok((await management.tenant.list({ pageSize: 100 })).data.some(({ id }: any) => id === made.id));
  t.match((await management.tenant.update({ id: made.id, company: 'd' })).data, { company: 'd' });
  t.equal(await client.tenant.currentTenantType(), 'REGULAR');
  await management.tenant.update({ id: made.id, customProperties: { tenantType: 'TRIAL' } });
  t.equal(await ada.tenant.currentTenantType(), 'TRIAL');
  t.equal((await management.tenant.delete(made.id)).res.status, 204);
  t.equal(await statusOf(management.tenant.detail(made.id)), 404);
  t.ok(await eventually('nobody logs in there', async () => (await statusOf(ada.tenant.current())) === 401));
});

t.test('TenantService: subscriptions', async (t) => {
  const { data: app } = await management.application.create({
    key: 'sub',
    name: 'sub',
    type: 'EXTERNAL',
    externalUrl: 'https://example.com',
  });
  t.equal((await management.tenant.subscribeApplication({ id: TENANT }, app)).res.status, 201);
  t.equal(await statusOf(management.tenant.subscribeApplication({ id: TENANT }, app)), 409);
  const names = async (): Promise<string[]> =>
    (await client.tenant.current()).data.applications.references.map(({ application }: any) => application.name);
  t.same(await names(), ['sub']);
  t.equal((await management.tenant.unsubscribeApplication({ id: TENANT }, app)).res.status, 204);
  t.same(await names(), []);
});

t.test('TenantService: two-factor authentication', async (t) => {
  t.match(await client.tenant.getTfaSettings({ name: TENANT }), {
    strategy: 'TOTP',
    enabledOnTenantLevel: false,
    totpEnforcedOnTenantLevel: false,
  });
  t.match((await client.tenant.updateTfaStrategy({ id: TENANT }, 'TOTP')).res, { status: 200 });
  t.match((await client.options.tenant.detail({ category: 'two-factor-authentication', key: 'strategy' })).data, {
    value: 'TOTP',
  });
  t.match(await failure(client.tenant.updateTfaStrategy({ id: TENANT }, 'SMS')), {
    res: { status: 422 },
    data: { message: /strategy.*SMS.*TOTP/ },
  });
  t.match(await client.tenant.getTfaSettings({ name: TENANT }), { strategy: 'TOTP' });
});

t.test('TenantService: support users of the vendor: a clear refusal', async (t) => {
  t.match(
    (await client.options.system.detail({ category: 'support-user', key: 'enabled' })).data,
    { value: 'true' },
    'front ends offer it only when this is false',
  );
  for (const ask of [() => client.tenant.enableSupportUser(), () => client.tenant.disableSupportUser()]) {
    t.match(await failure(ask()), { res: { status: 404 }, data: { error: String, message: /support-user/ } });
  }
});

t.test('TenantOptionsService and SystemOptionsService', async (t) => {
  const option = { category: 'by', key: 'client', value: 'x' };
  t.match((await client.options.tenant.create(option)).data, option);
  t.match((await client.options.tenant.detail(option)).data, option);
  t.match((await client.options.tenant.update({ ...option, value: 'y' })).data, { value: 'y' });
  t.ok(
    (await client.options.tenant.list({ pageSize: 100 })).data.some(
      ({ category, value }: any) => category === 'by' && value === 'y',
    ),
  );
  t.equal((await client.options.tenant.delete(option)).res.status, 204);
  t.equal(await statusOf(client.options.tenant.detail(option)), 404);
  const origins = { category: 'access.control', key: 'allow.origin' };
  const evaluated = (evaluate: string): Promise<any> => client.options.tenant.detail(origins, { evaluate });
  t.equal(await statusOf(evaluated('current')), 404, 'the tenant has set nothing');
  await client.options.tenant.create({ ...origins, value: 'https://example.com' });
  t.match((await evaluated('current')).data, { value: 'https://example.com' });
  t.match((await evaluated('inherited')).data, { value: '*' });
  t.match((await client.options.tenant.detail(origins)).data, { value: 'https://example.com' });
  t.equal((await client.options.tenant.delete(origins)).res.status, 204);
  const named = { category: 'with blank', key: 'a/b', value: '1' };
  await client.options.tenant.create(named);
  t.match((await client.options.tenant.detail(named)).data, named, 'names are encoded');
  const password = { category: 'password', key: 'limit.validity' };
  t.match(
    (await client.options.tenant.update({ ...password, value: '30' })).data,
    { value: '30' },
    'by security-options',
  );
  t.match((await client.options.tenant.detail(password)).data, { value: '30' });
  t.match((await client.options.system.detail({ category: 'system', key: 'version' })).data, { value: /^1017/ });
  t.ok((await client.options.system.list()).data.length > 10);
  t.equal(await statusOf(client.options.system.detail({ category: 'system', key: 'none' })), 404);
});

t.test('TenantSecurityOptionsService', async (t) => {
  t.match((await client.options.security.detail({ key: 'green.min-length' })).data, {
    category: 'password',
    key: 'green.min-length',
    value: '8',
  });
  t.equal(await statusOf(client.options.security.detail({ key: 'none' })), 404);
});

t.test('TenantLoginOptionsService', async (t) => {
  const { login } = client.options;
  t.same(
    (await login.listForCurrentTenant()).data.map((one: any) => one.type),
    ['OAUTH2_INTERNAL', 'BASIC'],
  );
  t.match((await login.listForManagement()).data[0].initRequest, /management$/);
  t.equal((await login.detail('BASIC')).data.id, 'BASIC');
  t.equal((await login.list({ tenantId: TENANT })).data.length, 2);
  t.match(
    (
      await login.create({
        type: 'OAUTH2_INTERNAL',
        grantType: 'PASSWORD',
        userManagementSource: 'INTERNAL',
        visibleOnLoginPage: true,
        buttonName: 'In',
      })
    ).data,
    { buttonName: 'In' },
  );
  t.equal(await statusOf(login.create({ type: 'OAUTH2_INTERNAL', buttonName: 'In' })), 409);
  t.match(
    (await login.save({ type: 'BASIC', buttonName: 'Go' })).data,
    { id: 'BASIC', buttonName: 'Go' },
    'without an id as a new one',
  );
  t.match((await login.save({ id: 'OAUTH2_INTERNAL', buttonName: 'Enter' })).data, { buttonName: 'Enter' });
  t.match((await login.update({ id: 'OAUTH2_INTERNAL', visibleOnLoginPage: false })).data, {
    visibleOnLoginPage: false,
  });
  t.match(
    (await login.list()).data.find(({ type }: any) => type === 'OAUTH2_INTERNAL'),
    { buttonName: 'Enter', visibleOnLoginPage: false },
  );
  t.equal((await login.delete('OAUTH2_INTERNAL')).res.status, 204);
  t.match((await login.detail('OAUTH2_INTERNAL')).data, { visibleOnLoginPage: true, buttonName: undefined });
});

t.test('TrustedCertificateService', { skip: missing('openssl') }, async (t) => {
  const { certificate, key } = new CertificateFactory(scratchDirectory(t)).authority('Client CA');
  const certificates: any = new TrustedCertificateService(client.core);
  const withoutLines = certificate.replace(/-----[A-Z ]+-----|\s/g, '');
  const { data, res } = await certificates.create({
    name: 'n',
    status: 'ENABLED',
    certInPemFormat: withoutLines,
    autoRegistrationEnabled: false,
  });
  t.equal(res.status, 201);
  t.match(data.fingerprint, /^[0-9a-f]{40}$/);
  t.equal(await statusOf(certificates.create({ name: 'n', status: 'ENABLED', certInPemFormat: certificate })), 409);
  t.match((await certificates.detail(data.fingerprint)).data, { name: 'n', subject: /Client CA/ });
  t.equal((await certificates.list()).data.length, 1);
  t.match((await certificates.update({ fingerprint: data.fingerprint, status: 'DISABLED' })).data, {
    status: 'DISABLED',
    name: 'n',
  });
  t.match(
    (await certificates.update({ ...(await certificates.detail(data)).data, name: 'm' })).data,
    { status: 'DISABLED', name: 'm' },
    'as it was read',
  );
  const { data: renewed } = await certificates.regeneratePoPVerificationCode(data);
  t.match(renewed, { proofOfPossessionValid: false });
  const signed = (code: string): string => createSign('sha256').update(code).sign(key, 'base64');
  t.equal(await statusOf(certificates.verifySignedVerificationCode(data, signed('another code'))), 422);
  const proven = await certificates.verifySignedVerificationCode(
    data,
    signed(renewed.proofOfPossessionUnsignedVerificationCode),
  );
  t.match(proven.data, { proofOfPossessionValid: true });
  t.match((await certificates.detail(data)).data, { proofOfPossessionValid: true });
  t.equal((await certificates.delete(data)).res.status, 204);
  t.equal((await certificates.list()).data.length, 0);
  for (const ask of [
    () => certificates.generateCertificateAuthority(),
    () => certificates.renewCertificateAuthority(),
  ]) {
    t.match(await failure(ask()), { res: { status: 404 }, data: { error: String, message: /certificate-authority/ } });
  }
});

t.test('CrlService', async (t) => {
  const crl: any = new CrlService(client.core);
  t.equal(
    (await crl.uploadCrls([{ serialNumberInHex: '24234', revocationDate: '2023-01-13T23:00:00.000Z' }])).res.status,
    204,
  );
  t.equal((await crl.uploadCrlFile(Buffer.from('SERIALNO,DATE\nabc,2023-01-01T00:00:00.000Z\n'))).res.status, 204);
  const text = await (await crl.downloadCrlFile()).text();
  t.same(text.trim().split('\n').sort(), [
    '24234,2023-01-13T23:00:00.000Z',
    'SERIALNO,DATE',
    'abc,2023-01-01T00:00:00.000Z',
  ]);
  t.equal(await statusOf(crl.uploadCrlFile(Buffer.from('abc\n'))), 422);
});

t.test('every method of these classes was called', { skip: missing('openssl') }, async (t) => {
  t.same(leftOut('tenants'), []);
});
