/** Tokens for devices that show their certificates to a proxy in front (docs/spec/login.md#device-tokens). */
import { X509Certificate } from 'node:crypto';
import { request } from 'node:http';
import t from 'tap';
import { CertificateFactory } from '../../helpers/certificates.ts';
import type { Issued } from '../../helpers/certificates.ts';
import { PASSWORD, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('openssl');
if (skip !== false) {
  t.test('device access tokens', { skip }, async () => undefined);
  process.exit();
}
const PATH = '/devicecontrol/deviceAccessToken';
const HEADER = 'x-device-certificate';
const CHAIN = 'x-ssl-cert-chain';
const factory = new CertificateFactory(scratchDirectory(t));
const server = await startServer(t, { flags: ['--device-certificate-header', 'X-Device-Certificate'] });
const { rest, management } = server;

const plant = factory.authority('Plant');
const { fingerprint } = await trust(plant, { autoRegistrationEnabled: true });

function trust(issued: Issued, more: object = {}, of = rest, tenant = TENANT): Promise<any> {
  return of.create(`/tenant/tenants/${tenant}/trusted-certificates`, {
    status: 'ENABLED',
    certInPemFormat: issued.certificate,
    ...more,
  });
}

interface Answer {
  readonly status: number;
  readonly json: any;
  readonly headers: Headers;
}

/** What a proxy sends on, without the headers of other clients of these tests. */
async function ask(headers: Record<string, string>): Promise<Answer> {
  const reply = await fetch(server.url + PATH, { method: 'POST', headers });
  return { status: reply.status, json: await reply.json(), headers: reply.headers };
}
const escaped = ({ certificate }: Pick<Issued, 'certificate'>): string => encodeURIComponent(certificate);
const inOneLine = ({ certificate }: Pick<Issued, 'certificate'>): string => certificate.trim().replaceAll('\n', ' ');
const der = ({ certificate }: Issued): string => new X509Certificate(certificate).raw.toString('base64');
const tokenOf = async (issued: Issued): Promise<string> => {
  const { status, json } = await ask({ [HEADER]: escaped(issued) });
  t.equal(status, 200, JSON.stringify(json));
  return json.accessToken as string;
};
/** Behind a change of what lets devices in: other nodes learn of it a moment later. */
const nextTokenOf = (issued: Issued): Promise<string> =>
  eventually('the device gets a token again', async () => {
    const { status, json } = await ask({ [HEADER]: escaped(issued) });
    return status === 200 && (json.accessToken as string);
  });
/** Likewise when they are kept out. */
const refused = (issued: Issued, message: RegExp): Promise<boolean> =>
  eventually(`the device gets no token: ${message.source}`, async () => {
    const { status, json } = await ask({ [HEADER]: escaped(issued) });
    return status === 401 && message.test(json.message);
  });
const claimsOf = (token: string): any => JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString());
const statusOf = async (token: string): Promise<number> =>
  (await fetch(`${server.url}/inventory/managedObjects`, { headers: { authorization: `Bearer ${token}` } })).status;

t.test('a device gets a token, and is its user with it', async (t) => {
  const reply = await ask({ [HEADER]: escaped(factory.issue('one', plant)) });
  t.equal(reply.status, 200);
  t.equal(reply.headers.get('content-type'), 'application/json;charset=UTF-8', 'also without Accept');
  t.equal(reply.headers.get('cache-control'), 'no-store');
  t.same(Object.keys(reply.json), ['accessToken']);
  const { accessToken } = reply.json;
  t.match(claimsOf(accessToken), { sub: 'device_one', ten: TENANT });
  t.equal(claimsOf(accessToken).exp - claimsOf(accessToken).iat, 3_600);
  const call = async (method: string, path: string, body?: object): Promise<Response> =>
    fetch(server.url + path, {
      method,
      headers: {
        authorization: `Bearer ${accessToken}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  t.match(await (await call('POST', '/inventory/managedObjects', { name: 'one', c8y_IsDevice: {} })).json(), {
    owner: 'device_one',
  });
  t.equal((await call('GET', '/user/t1/users')).status, 403, 'it may no more than its user');
});

t.test('the lifetime is that of the option', async (t) => {
  const option = { category: 'oauth.internal', key: 'device-token.lifespan.seconds' };
  const device = factory.issue('lasting', plant);
  for (const [value, seconds] of [
    ['7200', 7_200],
    ['10', 300],
    ['soon', 3_600],
  ] as const) {
    t.equal((await rest.post('/tenant/options', { ...option, value })).status, 200);
    const { exp, iat } = claimsOf(await tokenOf(device));
    t.equal(exp - iat, seconds, value);
  }
  await rest.delete(`/tenant/options/${option.category}/${option.key}`);
});

t.test('forms of the header', async (t) => {
  const middle = factory.issue('Middle', plant, { isAuthority: true });
  const [device, below] = [factory.issue('formed', plant), factory.issue('below', middle)];
  const rows: [what: string, headers: Record<string, string>, user: string][] = [
    ['PEM with blanks', { [HEADER]: inOneLine(device) }, 'device_formed'],
    ['base64 of the DER form', { [HEADER]: der(device) }, 'device_formed'],
    ['RFC 9440', { [HEADER]: `:${der(device)}:` }, 'device_formed'],
    [
      'further ones behind it, percent-encoded',
      { [HEADER]: escaped({ certificate: below.certificate + middle.certificate }) },
      'device_below',
    ],
    ['further ones, comma separated', { [HEADER]: `${der(below)},${der(middle)}` }, 'device_below'],
    ['further ones of the device itself', { [HEADER]: escaped(below), [CHAIN]: inOneLine(middle) }, 'device_below'],
    [
      'with its own among them',
      { [HEADER]: escaped(below), [CHAIN]: `${inOneLine(below)} ${inOneLine(middle)}` },
      'device_below',
    ],
    [
      'the end as the examples of Cumulocity write it',
      { [HEADER]: inOneLine(device).replace(/-+$/, '') },
      'device_formed',
    ],
  ];
  for (const [what, headers, user] of rows) {
    const { status, json } = await ask(headers);
    t.equal(status, 200, `${what} ${JSON.stringify(json)}`);
    t.equal(claimsOf(json.accessToken).sub, user, what);
  }
});

t.test('who gets none', async (t) => {
  const device = factory.issue('refused', plant);
  const quiet = factory.authority('Quiet');
  await trust(quiet);
  const rows: [what: string, headers: Record<string, string>, message: RegExp][] = [
    ['nothing was shown', {}, /No client certificate was shown/],
    ['what the device sends proves nothing', { [CHAIN]: inOneLine(device) }, /No client certificate was shown/],
    ['no certificate', { [HEADER]: 'nothing' }, /the header x-device-certificate has no certificate/],
    ['a broken encoding', { [HEADER]: '%zz' }, /has no certificate/],
    ['a chain that is none', { [HEADER]: escaped(device), [CHAIN]: 'nothing' }, /X-Ssl-Cert-Chain has no certificates/],
    [
      'another issuer',
      { [HEADER]: escaped(factory.issue('foreign', factory.authority('Foreign'))) },
      /no trusted certificate has issued it/,
    ],
    [
      'without what leads to the trusted one',
      { [HEADER]: escaped(factory.issue('lost', factory.issue('Gap', plant, { isAuthority: true }))) },
      /no trusted/,
    ],
    ['not registered', { [HEADER]: escaped(factory.issue('stranger', quiet)) }, /the device is not registered/],
    [
      'no name of a device',
      { [HEADER]: escaped(factory.issue('nobody', plant, { commonName: '' })) },
      /its common name is not a device identifier/,
    ],
  ];
  const before = await refusedCount();
  for (const [what, headers, message] of rows) {
    const { status, json } = await ask(headers);
    t.equal(status, 401, what);
    t.match(json, { error: 'security/Unauthorized', message }, what);
  }
  t.equal((await refusedCount()) - before, rows.length, 'counted');
  const twice = await new Promise<number>((resolve, reject) => {
    const { hostname, port } = new URL(server.url);
    request(
      {
        method: 'POST',
        hostname,
        port,
        path: PATH,
        headers: { [HEADER]: [escaped(device), escaped(device)] },
        agent: false,
      },
      (reply) => {
        reply.resume();
        resolve(reply.statusCode ?? 0);
      },
    )
      .on('error', reject)
      .end();
  });
  t.equal(twice, 401, 'a proxy that adds to what clients write is no proof');
});

async function refusedCount(): Promise<number> {
  return Number(
    /^millrace_refusals_total\{limit="accounts\/device-certificate"\} (\d+)$/m.exec(await server.metricsText())?.[1] ??
      0,
  );
}

t.test('tokens end with what they were given for', async (t) => {
  const path = `/tenant/tenants/${TENANT}/trusted-certificates/${fingerprint}`;
  const device = factory.issue('ending', plant);
  let token = await tokenOf(device);
  t.equal(await statusOf(token), 200);
  t.equal((await rest.put(path, { status: 'DISABLED' })).status, 200);
  await eventually('the token has ended with the trusted certificate', async () => (await statusOf(token)) === 401);
  await refused(device, /the trusted certificate is disabled/);
  await rest.put(path, { status: 'ENABLED' });
  token = await nextTokenOf(device);
  const user = `/user/${TENANT}/users/device_ending`;
  t.equal((await rest.put(user, { enabled: false })).status, 200);
  await eventually('the token has ended with the user', async () => (await statusOf(token)) === 401);
  await refused(device, /the user of the device is disabled/);
  await rest.put(user, { enabled: true });
  token = await nextTokenOf(device);
  t.equal((await rest.delete(user)).status, 204);
  await eventually('the token has ended with the user that was deleted', async () => (await statusOf(token)) === 401);
  const revoked = factory.issue('revoked', plant);
  token = await tokenOf(revoked);
  await rest.put('/tenant/trusted-certificates/settings/crl', {
    crls: [{ serialNumberInHex: new X509Certificate(revoked.certificate).serialNumber }],
  });
  await eventually('the token has ended with the certificate', async () => (await statusOf(token)) === 401);
  await refused(revoked, /is revoked/);
});

t.test('of a tenant that is suspended', async (t) => {
  await management.create('/tenant/tenants', {
    company: 'Two',
    domain: 'two',
    id: 'two-tenant',
    adminName: 'boss',
    adminEmail: 'boss@example.com',
    adminPass: PASSWORD,
  });
  const authority = factory.authority('Two');
  const device = factory.issue('of-two', authority);
  await trust(
    authority,
    { autoRegistrationEnabled: true },
    new Rest(server.url, 'two-tenant/boss', PASSWORD),
    'two-tenant',
  );
  const token = await nextTokenOf(device);
  t.equal(claimsOf(token).ten, 'two-tenant', 'the trusted certificate names the tenant');
  t.match((await ask({ [HEADER]: escaped(device), 'x-forwarded-host': 'two.example.com' })).status, 200, 'or the host');
  await management.put('/tenant/tenants/two-tenant', { status: 'SUSPENDED' });
  await eventually('the token has ended', async () => (await statusOf(token)) === 401);
  await refused(device, /suspended/);
});
