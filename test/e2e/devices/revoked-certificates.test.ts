/** Revoked certificates: uploaded as JSON and as a file, refused and disconnected over MQTT, kept over a restart. */
import { X509Certificate } from 'node:crypto';
import { Client, CrlService } from '@c8y/client';
import t from 'tap';
import { CertificateFactory } from '../../helpers/certificates.ts';
import type { Issued } from '../../helpers/certificates.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import type { Device } from '../../helpers/running/mqtt.ts';
import { PASSWORD, Rest, TENANT, notInCluster, startServer } from '../../helpers/running/server.ts';
import type { RunningServer } from '../../helpers/running/server.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('openssl');
if (skip !== false) {
  t.test('revoked certificates', { skip }, async () => undefined);
  process.exit();
}
const factory = new CertificateFactory(scratchDirectory(t));
const tls = factory.authority('localhost', { hosts: 'DNS:localhost,IP:127.0.0.1' });
const plant = factory.authority('Plant');
const flags = ['--tls-key', tls.keyFile, '--tls-certificate', tls.file];
const server = await startServer(t, { flags });
const { rest, management } = server;
const CRL = '/tenant/trusted-certificates/settings/crl';
await rest.create(`/tenant/tenants/${TENANT}/trusted-certificates`, {
  status: 'ENABLED',
  autoRegistrationEnabled: true,
  certInPemFormat: plant.certificate,
});

const connect = (clientId: string, issued: Issued, to: RunningServer = server): Promise<Device> =>
  connectDevice(t, to, clientId, {
    transport: 'tls',
    ca: tls.certificate,
    key: issued.key,
    cert: issued.certificate,
    username: undefined,
    password: undefined,
  });
const serial = ({ certificate }: Issued): string => new X509Certificate(certificate).serialNumber;
const revoke = (...serials: string[]): Promise<any> =>
  rest.put(CRL, { crls: serials.map((serialNumberInHex) => ({ serialNumberInHex })) });
const upload = (text: string): Promise<Response> => {
  const form = new FormData();
  form.append('file', new Blob([text]), 'crl.csv');
  return fetch(server.url + CRL, {
    method: 'PUT',
    body: form,
    headers: { authorization: `Basic ${Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64')}` },
  });
};
const [lost, kept, middle] = [
  factory.issue('lost', plant),
  factory.issue('kept', plant),
  factory.issue('Middle', plant, { isAuthority: true }),
];

t.test('a revoked certificate is refused, and who came by it goes', async (t) => {
  const device = await connect('lost', lost);
  const other = await connect('kept', kept);
  const ended = new Promise<void>((resolve) => {
    device.client.once('close', () => resolve());
  });
  t.equal(
    (await management.put(CRL, { crls: [{ serialNumberInHex: serial(lost) }] })).status,
    204,
    'another tenant has a list of its own',
  );
  await other.publish('s/us', '211,1');
  t.ok(device.client.connected);
  t.equal((await revoke(`00${serial(lost).toUpperCase()}`)).status, 204, 'zeros and letter case do not matter');
  await ended;
  await t.rejects(connect('lost', lost), /Not authorized/i);
  await other.publish('s/us', '211,2');
  const below = factory.issue('below', middle);
  const chain = { ...below, certificate: below.certificate + middle.certificate };
  await connect('below', chain);
  t.equal((await revoke(serial(middle))).status, 204);
  await t.rejects(connect('below', chain), /Not authorized/i, 'one of the chain');
  const { auditRecords: all } = await rest.read('/audit/auditRecords?type=TrustedCertificates&pageSize=100');
  const auditRecords = all.filter(({ activity }: any) => activity === 'Certificates revoked');
  t.equal(auditRecords.length, 2);
});

t.test('as a file; what is read back', async (t) => {
  t.equal(
    (await upload('SERIALNO,DATE\n0ABC,2023-01-01T00:00:00.000Z\nabc,2024-01-01T00:00:00.000Z\n1234567890abcdef\n'))
      .status,
    204,
  );
  const reply = await rest.get(CRL);
  t.match(reply.headers.get('content-type'), /^text\/csv/);
  t.match(reply.text, /^SERIALNO,DATE\n/);
  t.match(reply.text, '\nabc,2023-01-01T00:00:00.000Z\n', 'the first of a serial number counts');
  t.match(reply.text, /\n1234567890abcdef,\d{4}-/);
  t.equal((await upload(reply.text)).status, 204, 'what was read can be sent');
  t.equal((await rest.get(CRL)).text, reply.text);
  t.equal(
    (await rest.put(CRL, { crls: [{ serialNumberInHex: 'abc', revocationDate: '2022-01-01T00:00:00.000Z' }] })).status,
    204,
  );
  t.match((await rest.get(CRL)).text, '\nabc,2022-01-01T00:00:00.000Z\n', 'an entry is changed');
});

t.test('what is wrong changes nothing', async (t) => {
  const before = (await rest.get(CRL)).text;
  for (const [body, status] of [
    [{ crls: [{ serialNumberInHex: 'f1' }, { serialNumberInHex: 'xyz' }] }, 422],
    [{ crls: [{ serialNumberInHex: '' }] }, 422],
    [{ crls: [] }, 422],
    [{}, 422],
    [{ crls: [{ serialNumberInHex: 'f1', revocationDate: 'yesterday' }] }, 422],
    [{ crls: [{ serialNumberInHex: 'f1', revocationDate: '2999-01-01T00:00:00.000Z' }] }, 422],
    [{ crls: [{ serialNumberInHex: 'f'.repeat(41) }] }, 422],
    ['{', 400],
  ] as [object | string, number][])
    t.equal((await rest.put(CRL, body)).status, status, JSON.stringify(body).slice(0, 100));
  t.equal((await upload('f1,2023-01-01T00:00:00.000Z\n')).status, 422, 'without its first line');
  t.equal((await upload('SERIALNO,DATE\n"f1\n')).status, 422, 'a quote that does not end');
  const many = Array.from({ length: 5_000 }, (_, index) => ({ serialNumberInHex: (0x10000 + index).toString(16) }));
  const full = await rest.put(CRL, { crls: many });
  t.equal(full.status, 422);
  t.match(full.json.message, /at most 5000 revoked certificates \(certificates\/revocations\)/);
  t.equal((await rest.get(CRL)).text, before);
  const user = new Rest(server.url, `${TENANT}/nobody`, 'Analytical-1');
  await rest.create(`/user/${TENANT}/users`, { userName: 'nobody', password: 'Analytical-1' });
  t.equal((await user.get(CRL)).status, 403);
  t.equal((await user.put(CRL, { crls: [{ serialNumberInHex: 'f1' }] })).status, 403);
});

t.test('CrlService of @c8y/client', async (t) => {
  const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
  const crl: any = new CrlService(client.core);
  t.equal(
    (await crl.uploadCrls([{ serialNumberInHex: '24234', revocationDate: '2023-01-13T23:00:00.000Z' }])).res.status,
    204,
  );
  t.match(await (await crl.downloadCrlFile()).text(), '\n24234,2023-01-13T23:00:00.000Z\n');
});

t.test('after a restart', { skip: notInCluster('restarts a process') }, async (t) => {
  await server.stop();
  const again = await startServer(t, { data: server.data, flags });
  await t.rejects(connect('lost', lost, again), /Not authorized/i);
  await connect('kept', kept, again);
});
