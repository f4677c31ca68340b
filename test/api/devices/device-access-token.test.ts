/** Device access tokens take no certificate before the operator has said in which header a proxy hands them over. */
import t from 'tap';
import { certificatesOf } from '../../../src/api/devices/access-token.ts';
import { startApi } from '../helpers/api.ts';

const headers = {
  authorization: undefined,
  'x-ssl-cert-chain': '-----BEGIN CERTIFICATE----- AAAA -----END CERTIFICATE-----',
};

t.test('without the setting every certificate is refused', async (t) => {
  const { call, fake } = await startApi(t);
  const reply = await call('POST', '/devicecontrol/deviceAccessToken', { headers });
  t.equal(reply.status, 403);
  t.match(reply.json, { error: 'security/Forbidden', message: /--device-certificate-header/ });
  t.ok(fake.counted.includes('accounts/device-certificate'));
});

t.test('with it X-Ssl-Cert-Chain of the client proves nothing', async (t) => {
  const { call } = await startApi(t, { config: { deviceCertificateHeader: 'x-device-certificate' } });
  const reply = await call('POST', '/devicecontrol/deviceAccessToken', { headers });
  t.equal(reply.status, 401);
  t.match(reply.json, { message: /No client certificate was shown/ });
});

t.test('what is no certificate', async (t) => {
  const texts = [
    '',
    ' ',
    ',',
    '%',
    'x',
    '::',
    '-----BEGIN CERTIFICATE-----',
    '-----BEGIN CERTIFICATE----- AAAA',
    `${'AAAA,'.repeat(5_000)}`,
    '-'.repeat(50_000),
    '-----BEGIN CERTIFICATE-----'.repeat(1_000),
    'A'.repeat(100_000),
  ];
  for (const text of texts) t.equal(certificatesOf(text), undefined, text.slice(0, 40));
});
