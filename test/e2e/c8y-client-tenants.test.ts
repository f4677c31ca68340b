/** @c8y/client, unmodified: tenants, options, system options, trusted certificates. */
import { BasicAuth, Client, TrustedCertificateService } from '@c8y/client';
import t from 'tap';
import { CertificateFactory } from '../helpers/certificates.ts';
import { MANAGEMENT_PASSWORD, PASSWORD, TENANT, startServer } from '../helpers/running-server.ts';
import { scratchDirectory } from '../helpers/setup-command.ts';
import { missing } from '../helpers/tools.ts';

const server = await startServer(t);
const clientOf = (tenant: string, password: string): Client => {
  const client = new Client(new BasicAuth({ tenant, user: 'admin', password }), server.url);
  client.core.tenant = tenant;
  return client;
};
const management = clientOf('management', MANAGEMENT_PASSWORD);
const client = clientOf(TENANT, PASSWORD);

t.test('TenantService', async (t) => {
  t.match((await client.tenant.current({ withParent: true })).data, { name: TENANT, parent: 'management', allowCreateTenants: false });
  const { data: made } = await management.tenant.create({ company: 'c', domain: 'by-client', adminName: 'ada', adminEmail: 'a@b.c', adminPass: 'Analytical-1' });
  t.match(made, { id: /^t\d+$/, status: 'ACTIVE', domain: 'by-client' });
  t.match((await management.tenant.detail(made.id as string)).data, { company: 'c' });
  t.ok((await management.tenant.list({ pageSize: 100 })).data.some(({ id }) => id === made.id));
  t.match((await management.tenant.update({ id: made.id as string, company: 'd' })).data, { company: 'd' });
  t.match(await management.tenant.getTfaSettings(made), { strategy: 'TOTP' });
  await management.tenant.updateTfaStrategy(made, 'TOTP' as never);
  t.match(await management.tenant.getTfaSettings(made), { strategy: 'TOTP' });
  t.equal((await management.tenant.delete(made.id as string)).res.status, 204);
  const gone = await management.tenant.detail(made.id as string).catch((error: unknown) => error as { res: Response });
  t.equal(gone.res.status, 404);
});

t.test('TenantOptionsService and SystemOptionsService', async (t) => {
  const option = { category: 'by', key: 'client', value: 'x' };
  t.match((await client.options.tenant.create(option)).data, option);
  t.match((await client.options.tenant.detail(option)).data, option);
  t.match((await client.options.tenant.update({ ...option, value: 'y' })).data, { value: 'y' });
  t.ok((await client.options.tenant.list({ pageSize: 100 })).data.some(({ category }) => category === 'by'));
  t.equal((await client.options.tenant.delete(option)).res.status, 204);
  t.match((await client.options.system.detail({ category: 'system', key: 'version' })).data, { value: /^1017/ });
  t.ok((await client.options.system.list()).data.length > 10);
});

t.test('TrustedCertificateService', { skip: missing('openssl') }, async (t) => {
  const { certificate } = new CertificateFactory(scratchDirectory(t)).authority('Client CA');
  const certificates = new TrustedCertificateService(client.core);
  const { data } = await certificates.create({ name: 'n', status: 'ENABLED', certInPemFormat: certificate });
  t.match(data.fingerprint, /^[0-9a-f]{40}$/);
  t.equal((await certificates.list()).data.length, 1);
  t.equal((await certificates.update({ fingerprint: data.fingerprint, status: 'DISABLED' })).data.status, 'DISABLED');
  t.match((await certificates.regeneratePoPVerificationCode(data)).data, { proofOfPossessionValid: false });
  t.equal((await certificates.delete(data)).res.status, 204);
});
