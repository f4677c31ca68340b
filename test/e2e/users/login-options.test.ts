/**
 * Ways to log in that a tenant sets: visibility, lifetime of sessions, who may not use Basic, and whom the management
 * tenant keeps out (docs/spec/login.md#options).
 */
import { Client, TenantLoginOptionsService } from '@c8y/client';
import { decodeJwt } from 'jose';
import t from 'tap';
import WebSocket from 'ws';
import {
  MANAGEMENT_PASSWORD,
  PASSWORD,
  TENANT,
  eventually,
  notInCluster,
  startServer,
} from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest, management } = server;
const OPTIONS = '/tenant/loginOptions';
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
async function accessToken(): Promise<string> {
  const response = await fetch(`${server.url}/tenant/oauth/token?tenant_id=${TENANT}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'PASSWORD', username: 'admin', password: PASSWORD }).toString(),
  });
  return ((await response.json()) as any).access_token;
}
const lifetime = async (): Promise<number> => {
  const claims = decodeJwt(await accessToken()) as any;
  return claims.exp - claims.iat;
};
const statusAs = async (userAgent: string, path = '/user/currentUser'): Promise<number> =>
  (await rest.request('GET', path, { headers: { 'user-agent': userAgent } })).status;
const anonymous = async (type: string): Promise<any> =>
  ((await (await fetch(`${server.url}${OPTIONS}?tenantId=${TENANT}`)).json()) as any).loginOptions.find(
    (one: any) => one.type === type,
  );

t.test('POST, PUT, DELETE: the lifetime of sessions, what a login page shows', async (t) => {
  t.equal(await lifetime(), 1_209_600);
  const created = await rest.post(OPTIONS, {
    type: 'oauth2_internal',
    providerName: 'Mill',
    sessionConfiguration: { absoluteTimeoutMillis: 600_000 },
  });
  t.equal(created.status, 200);
  t.match(created.json, {
    type: 'OAUTH2_INTERNAL',
    providerName: 'Mill',
    sessionConfiguration: { absoluteTimeoutMillis: 600_000 },
    self: `${server.url}${OPTIONS}/OAUTH2_INTERNAL`,
  });
  t.equal(await lifetime(), 600);
  t.match((await rest.post(OPTIONS, { type: 'OAUTH2_INTERNAL' })).json, { error: 'LoginOptions/Duplicate' });
  const read = await rest.read(`${OPTIONS}/OAUTH2_INTERNAL`);
  t.equal(
    (await rest.put(`${OPTIONS}/oauth2_internal`, { ...read, visibleOnLoginPage: false })).status,
    200,
    'what was read is taken back',
  );
  t.match(await anonymous('OAUTH2_INTERNAL'), {
    visibleOnLoginPage: false,
    providerName: 'Mill',
    tfaStrategy: 'TOTP',
    tfaSupported: true,
  });
  t.equal(await lifetime(), 600, 'a PUT leaves alone what it does not name');
  t.equal((await rest.delete(`${OPTIONS}/OAUTH2_INTERNAL`)).status, 204);
  t.equal(await lifetime(), 1_209_600, 'the defaults hold again');
  t.equal((await rest.get(`${OPTIONS}/OAUTH2_INTERNAL`)).status, 200, 'the way itself stays');
  const { auditRecords } = await rest.read('/audit/auditRecords?type=TenantAuthConfig&pageSize=10');
  t.same(auditRecords.map(({ activity }: any) => activity).sort(), [
    'Login option created',
    'Login option deleted',
    'Login option updated',
  ]);
});

t.test("the tenant's option of the lifetime, from 300 s", async (t) => {
  const option = '/tenant/options/oauth.internal/basic-token.lifespan.seconds';
  for (const [value, wanted] of [
    ['3600', 3_600],
    ['7', 300],
    ['99999999', 1_209_600],
    ['', 1_209_600],
    [' ', 1_209_600],
    ['soon', 1_209_600],
  ] as const) {
    t.equal((await rest.put(option, { value })).status, 200);
    t.equal(await lifetime(), wanted, JSON.stringify(value));
  }
  t.equal((await rest.delete(option)).status, 204);
});

t.test('sessions end with terminateUserSessions', async (t) => {
  const token = await accessToken();
  const status = async (): Promise<number> =>
    (await fetch(`${server.url}/user/currentUser`, { headers: { authorization: `Bearer ${token}` } })).status;
  t.equal((await rest.put(`${OPTIONS}/BASIC`, { visibleOnLoginPage: false })).status, 200);
  t.equal(await status(), 200);
  t.equal((await rest.put(`${OPTIONS}/BASIC?terminateUserSessions=true`, { visibleOnLoginPage: true })).status, 200);
  t.equal(await status(), 401);
});

t.test('what is not offered is refused, and changes nothing', async (t) => {
  for (const [what, path, body, message] of [
    ['single sign-on', OPTIONS, { type: 'OAUTH2' }, /type has the value OAUTH2/],
    ['no type', OPTIONS, {}, /type/],
    ['another type', `${OPTIONS}/BASIC`, { type: 'OAUTH2_INTERNAL' }, /no change/],
    ['remote users', `${OPTIONS}/BASIC`, { userManagementSource: 'REMOTE' }, /INTERNAL/],
    [
      'too short',
      `${OPTIONS}/OAUTH2_INTERNAL`,
      { sessionConfiguration: { absoluteTimeoutMillis: 299_999 } },
      /absoluteTimeoutMillis from 300000/,
    ],
    [
      'too long',
      `${OPTIONS}/OAUTH2_INTERNAL`,
      { sessionConfiguration: { absoluteTimeoutMillis: 1_209_600_001 } },
      /absoluteTimeoutMillis/,
    ],
    [
      'counted sessions',
      `${OPTIONS}/OAUTH2_INTERNAL`,
      { sessionConfiguration: { maximumNumberOfParallelSessions: 5 } },
      /neither counted/,
    ],
    [
      'bound to a user agent',
      `${OPTIONS}/OAUTH2_INTERNAL`,
      { sessionConfiguration: { userAgentValidationRequired: true } },
      /sessionConfiguration/,
    ],
    [
      'other clients',
      `${OPTIONS}/BASIC`,
      { authenticationRestrictions: { forbiddenClients: ['TELEPHONES'] } },
      /forbiddenClients/,
    ],
    [
      'an empty agent',
      `${OPTIONS}/BASIC`,
      { authenticationRestrictions: { forbiddenUserAgents: [''] } },
      /forbiddenUserAgents/,
    ],
  ] as const) {
    const reply = await rest.request(path === OPTIONS ? 'POST' : 'PUT', path, { body });
    t.equal(reply.status, 422, what);
    t.match(reply.json.message, message, what);
  }
  t.match(await anonymous('OAUTH2_INTERNAL'), { sessionConfiguration: { absoluteTimeoutMillis: 1_209_600_000 } });
  t.equal((await rest.put(`${OPTIONS}/SSO`, {})).status, 404);
  t.equal((await rest.delete(`${OPTIONS}/SSO`)).status, 404);
});

t.test('Basic is taken from some user agents only', async (t) => {
  const set = async (authenticationRestrictions: object): Promise<void> => {
    t.equal(
      (
        await rest.request('PUT', `${OPTIONS}/BASIC`, {
          body: { authenticationRestrictions },
          headers: { 'user-agent': 'setup/1' },
        })
      ).status,
      200,
    );
  };
  t.equal(await statusAs(FIREFOX), 200);
  // The nodes of a cluster follow within a second.
  const follows = (userAgent: string, expected: number): Promise<boolean> =>
    eventually(`${userAgent}: ${expected}`, async () => (await statusAs(userAgent)) === expected);
  await set({ forbiddenClients: ['WEB_BROWSERS'] });
  await follows(FIREFOX, 401);
  const refused = (await rest.request('GET', '/user/currentUser', { headers: { 'user-agent': FIREFOX } })).json;
  t.match(refused, { error: 'security/Unauthorized', message: /no Basic authentication from this user agent/ });
  t.equal(await statusAs('curl/8'), 200);
  t.equal(
    (
      await fetch(`${server.url}/user/currentUser`, {
        headers: { authorization: `Bearer ${await accessToken()}`, 'user-agent': FIREFOX },
      })
    ).status,
    200,
    'tokens are no Basic',
  );
  t.equal(
    (await management.request('GET', '/user/currentUser', { headers: { 'user-agent': FIREFOX } })).status,
    200,
    'another tenant has its own rules',
  );
  await set({
    forbiddenClients: ['WEB_BROWSERS'],
    trustedUserAgents: ['Firefox/140'],
    forbiddenUserAgents: ['curl/', 'Firefox'],
  });
  await follows(FIREFOX, 200);
  t.equal(await statusAs(FIREFOX), 200, 'trusted counts more');
  await follows('curl/8', 401);
  t.match(await anonymous('BASIC'), { authenticationRestrictions: { forbiddenUserAgents: ['curl/', 'Firefox'] } });
  // User and password in a message, and at the opening of a WebSocket.
  const url = `${server.url}/notification/realtime`;
  const handshake = (credentials: string): object => ({
    channel: '/meta/handshake',
    version: '1.0',
    supportedConnectionTypes: ['long-polling'],
    ext: { 'com.cumulocity.authn': { token: credentials } },
  });
  const poll = async (userAgent: string, credentials: string): Promise<any> =>
    (
      (await (
        await fetch(url, {
          method: 'POST',
          body: JSON.stringify([handshake(credentials)]),
          headers: { 'content-type': 'application/json', 'user-agent': userAgent },
        })
      ).json()) as any[]
    )[0];
  const ofSocket = (userAgent: string, message: object, headers: object = {}): Promise<any> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url.replace('http', 'ws'), { headers: { 'user-agent': userAgent, ...headers } });
      socket.on('open', () => socket.send(JSON.stringify([message])));
      socket.on('message', (data) => {
        resolve(JSON.parse(String(data))[0]);
        socket.close();
      });
      socket.on('close', (_code, reason) => resolve({ successful: false, error: String(reason) }));
      socket.on('error', reject);
    });
  const credentials = Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64');
  const ways: [what: string, ask: () => Promise<any>][] = [
    ['long polling', () => poll('curl/8', credentials)],
    ['a WebSocket', () => ofSocket('curl/8', handshake(credentials))],
    ['a header of the WebSocket', () => ofSocket('curl/8', handshake(''), { authorization: `Basic ${credentials}` })],
  ];
  for (const [what, ask] of ways) {
    const refusal = await eventually(what, async () => {
      const answer = await ask();
      return !answer.successful && answer;
    });
    t.match(refusal.error, /no Basic authentication from this user agent/, what);
  }
  t.match(await poll(FIREFOX, credentials), { successful: true }, 'a trusted one');
  t.match(await ofSocket(FIREFOX, handshake(''), { authorization: `Basic ${credentials}` }), { successful: true });
  t.match(await poll('curl/8', await accessToken()), { successful: true }, 'a token');
  t.equal((await rest.request('DELETE', `${OPTIONS}/BASIC`, { headers: { 'user-agent': 'setup/1' } })).status, 204);
  await follows('curl/8', 200);
});

t.test('the management tenant keeps an option to itself', async (t) => {
  const path = `${OPTIONS}/BASIC/restrict?targetTenant=${TENANT}`;
  t.equal((await rest.put(path, { onlyManagementTenantAccess: true })).status, 403);
  t.equal(
    (await management.put(`${OPTIONS}/BASIC/restrict`, { onlyManagementTenantAccess: true })).status,
    422,
    'of whom',
  );
  t.equal(
    (await management.put(`${OPTIONS}/BASIC/restrict?targetTenant=t9`, { onlyManagementTenantAccess: true })).status,
    404,
  );
  t.match((await management.put(path, { onlyManagementTenantAccess: true })).json, {
    type: 'BASIC',
    onlyManagementTenantAccess: true,
  });
  t.match((await rest.put(`${OPTIONS}/BASIC`, { visibleOnLoginPage: false })).json, {
    error: 'LoginOptions/Forbidden',
  });
  t.equal((await rest.delete(`${OPTIONS}/BASIC`)).status, 403);
  t.equal((await management.put(path, { onlyManagementTenantAccess: false })).status, 200);
  t.equal((await rest.put(`${OPTIONS}/BASIC`, { visibleOnLoginPage: true })).status, 200);
});

t.test('TenantLoginOptionsService of @c8y/client', async (t) => {
  const client: any = await Client.authenticate(
    { tenant: 'management', user: 'admin', password: MANAGEMENT_PASSWORD },
    server.url,
  );
  const options = new TenantLoginOptionsService(client.core) as any;
  t.equal((await options.listForManagement()).data.length, 2);
  t.match((await options.create({ type: 'OAUTH2_INTERNAL', buttonName: 'In' })).data, { buttonName: 'In' });
  t.match((await options.save({ id: 'OAUTH2_INTERNAL', buttonName: 'Enter' }, { terminateUserSessions: true })).data, {
    buttonName: 'Enter',
  });
  t.match((await options.update({ id: 'OAUTH2_INTERNAL', visibleOnLoginPage: true })).data, {
    visibleOnLoginPage: true,
  });
  t.ok((await options.list()).data.some(({ type }: { type: string }) => type === 'OAUTH2_INTERNAL'));
  t.match((await options.detail('OAUTH2_INTERNAL')).data, { id: 'OAUTH2_INTERNAL', buttonName: 'Enter' });
  t.equal((await options.delete('OAUTH2_INTERNAL')).res.status, 204);
});

t.test('restrictions hold after a restart', { skip: notInCluster('restarts a process') }, async (t) => {
  await rest.put(`${OPTIONS}/BASIC`, { authenticationRestrictions: { forbiddenUserAgents: ['bad-agent'] } });
  await server.stop();
  const again = await startServer(t, { data: server.data });
  t.equal(
    (await again.rest.request('GET', '/user/currentUser', { headers: { 'user-agent': 'bad-agent/1' } })).status,
    401,
  );
  t.equal((await again.rest.get('/user/currentUser')).status, 200);
});
