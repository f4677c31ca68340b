/**
 * Logging in and out: Basic with tenant, domain and alias, tokens as Bearer and as cookie, links for passwords
 * (docs/spec/login.md).
 */
import { decodeJwt, SignJWT } from 'jose';
import t from 'tap';
import {
  CLUSTER_NODES,
  MANAGEMENT_PASSWORD,
  PASSWORD as ADMIN_PASSWORD,
  Rest,
  TENANT,
  eventually,
  notInCluster,
  startServer,
} from '../../helpers/running/server.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { rawRequest } from '../../api/helpers/raw-http.ts';

const server = await startServer(t, {
  flags: ['--login-failures-max', '3', '--login-lock-ms', '6000'],
});
const { rest, httpPort } = server;
const PASSWORD = 'Analytical-1';
const USERS = `/user/${TENANT}/users`;
const CURRENT = '/user/currentUser';
const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const newUser = (userName: string, members: object = {}): Promise<any> =>
  rest.create(USERS, { userName, password: PASSWORD, ...members });

interface FormReply {
  status: number;
  cookies: string[];
  text: string;
  headers: Headers;
}
async function post(
  path: string,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<FormReply> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    body: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8', ...headers },
  });
  return {
    status: response.status,
    cookies: response.headers.getSetCookie(),
    text: await response.text(),
    headers: response.headers,
  };
}
const formOf = (username: string, password = PASSWORD): Record<string, string> => ({
  grant_type: 'PASSWORD',
  username,
  password,
});
const token = async (username: string, password = PASSWORD): Promise<string> =>
  JSON.parse((await post(`/tenant/oauth/token?tenant_id=${TENANT}`, formOf(username, password))).text).access_token;
const status = async (path: string, headers: Record<string, string>, method = 'GET'): Promise<number> =>
  (await fetch(server.url + path, { method, headers })).status;
const bearer = (jwt: string): Record<string, string> => ({ authorization: `Bearer ${jwt}` });

interface Session {
  cookie: string;
  'x-xsrf-token': string;
}
async function cookieSession(username: string): Promise<Session> {
  const { cookies } = await post('/tenant/oauth', formOf(username));
  const pairs = cookies.map((cookie) => cookie.split(';')[0]);
  return {
    cookie: pairs.join('; '),
    'x-xsrf-token': pairs.find((pair) => pair.startsWith('XSRF-TOKEN='))?.slice('XSRF-TOKEN='.length) ?? '',
  };
}

t.test('login options, without credentials', async (t) => {
  const { loginOptions, self } = (await (await fetch(`${server.url}/tenant/loginOptions`)).json()) as any;
  t.equal(self, `${server.url}/tenant/loginOptions`);
  t.match(loginOptions, [
    {
      id: 'OAUTH2_INTERNAL',
      type: 'OAUTH2_INTERNAL',
      _type: 'INTERNAL',
      userManagementSource: 'INTERNAL',
      grantType: 'PASSWORD',
      visibleOnLoginPage: true,
      initRequest: `${server.url}/tenant/oauth?tenant_id=${TENANT}`,
      loginRedirectDomain: '',
      tfaStrategy: 'TOTP',
      enforceStrength: false,
      greenMinLength: 8,
      strengthValidity: false,
      sessionConfiguration: { absoluteTimeoutMillis: 1_209_600_000, userAgentValidationRequired: false },
      self: `${server.url}/tenant/loginOptions/OAUTH2_INTERNAL`,
    },
    {
      id: 'BASIC',
      type: 'BASIC',
      _type: 'BASIC',
      visibleOnLoginPage: true,
      userManagementSource: 'INTERNAL',
      authenticationRestrictions: { forbiddenClients: [], forbiddenUserAgents: [], trustedUserAgents: [] },
    },
  ]);
  for (const query of ['?management=true', '?tenantId=management']) {
    t.match(
      ((await (await fetch(`${server.url}/tenant/loginOptions${query}`)).json()) as any).loginOptions[0].initRequest,
      /tenant_id=management$/,
    );
  }
  t.match(await rest.get('/tenant/loginOptions?tenantId=ghost'), { status: 404, json: { message: /ghost/ } });
  t.match(await rest.read('/tenant/loginOptions/BASIC'), { id: 'BASIC' });
  t.equal((await rest.get('/tenant/loginOptions/SSO')).status, 404);
});

t.test('access token: form, claims, Bearer', async (t) => {
  await newUser('bearer');
  const reply = await post(`/tenant/oauth/token?tenant_id=${TENANT}`, { ...formOf('bearer'), tfa_code: 'undefined' });
  t.equal(reply.status, 200);
  const jwt = JSON.parse(reply.text).access_token;
  const claims = decodeJwt(jwt) as any;
  t.match(claims, {
    sub: 'bearer',
    ten: TENANT,
    iss: '127.0.0.1',
    aud: '127.0.0.1',
    xsrfToken: /./,
    jti: /./,
    tfa: false,
  });
  t.equal(claims.exp - claims.iat, 1_209_600, '2 weeks');
  t.equal(claims.nbf, claims.iat);
  t.match(await (await fetch(server.url + CURRENT, { headers: bearer(jwt) })).json(), { userName: 'bearer' });
  t.equal(await status(CURRENT, { authorization: `bearer ${jwt}` }), 200, 'the scheme in any case');
  t.equal((await post('/tenant/oauth/token', formOf(`${TENANT}/bearer`))).status, 200, 'the tenant in the name');
  t.equal((await post('/tenant/oauth/token', formOf('bearer'))).status, 200, 'the default tenant');
  t.equal((await post('/tenant/oauth/token?tenant_id=management', formOf('admin', MANAGEMENT_PASSWORD))).status, 200);
  for (const [what, path, form, wanted] of [
    ['a wrong password', '/tenant/oauth/token', formOf('bearer', 'Wrong-password-1'), 401],
    ['another tenant', '/tenant/oauth/token?tenant_id=management', formOf('bearer'), 401],
    ['no such tenant', '/tenant/oauth/token?tenant_id=t9', formOf('bearer'), 401],
    ['no user', '/tenant/oauth/token', { grant_type: 'PASSWORD', password: 'x' }, 400],
    ['another grant', '/tenant/oauth/token', { ...formOf('bearer'), grant_type: 'AUTHORIZATION_CODE' }, 400],
    ['no grant', '/tenant/oauth', { username: 'bearer', password: PASSWORD }, 400],
    ['a wrong password', '/tenant/oauth', formOf('bearer', 'Wrong-password-1'), 401],
  ] as const)
    t.equal((await post(path, form)).status, wanted, what);
  t.equal(
    (await rest.request('POST', '/tenant/oauth/token', { body: { grant_type: 'PASSWORD' } })).status,
    400,
    'JSON is no form',
  );
  const [head, body, signature] = jwt.split('.');
  const forged = await new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from('another key of thirty-two bytes!!'));
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`;
  const raised = `${head}.${Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url')}.${signature}`;
  for (const wrong of [forged, none, raised, `${jwt}x`, 'x.y.z', '', 'x'.repeat(9_000)])
    t.equal(await status(CURRENT, bearer(wrong)), 401, wrong.slice(0, 30));
});

t.test('cookies: both are set, and the header is needed', async (t) => {
  await newUser('cookie', { roles: ['ROLE_INVENTORY_CREATE'] });
  const reply = await post('/tenant/oauth', formOf('cookie'));
  t.equal(reply.status, 200);
  t.equal(reply.text, '');
  t.match(reply.cookies, [
    /^authorization=[\w-]+\.[\w-]+\.[\w-]+; HttpOnly; Path=\/; Max-Age=1209600; SameSite=Lax$/,
    /^XSRF-TOKEN=[\w-]+; Path=\/; Max-Age=1209600; SameSite=Lax$/,
  ]);
  t.match((await post('/tenant/oauth', formOf('cookie'), { 'x-forwarded-proto': 'https' })).cookies, [
    /; Secure$/,
    /; Secure$/,
  ]);
  const session = await cookieSession('cookie');
  const all = { ...session };
  t.equal(await status(CURRENT, all), 200);
  t.match(await fetch(server.url + CURRENT, { headers: { cookie: session.cookie } }).then((answer) => answer.json()), {
    error: 'security/Unauthorized',
    message: /X-XSRF-TOKEN/,
  });
  for (const [what, headers, wanted] of [
    ['no header', { cookie: session.cookie }, 401],
    ['a wrong header', { ...all, 'x-xsrf-token': 'x' }, 401],
    ['that of another session', { ...all, 'x-xsrf-token': (await cookieSession('cookie'))['x-xsrf-token'] }, 401],
    ['no cookie', { 'x-xsrf-token': session['x-xsrf-token'] }, 401],
    ['another cookie before it', { ...all, cookie: `a=b; ${session.cookie}` }, 200],
    ['Basic counts first', { ...all, authorization: basic(`${TENANT}/cookie`, PASSWORD), 'x-xsrf-token': '' }, 200],
  ] as [string, Record<string, string>, number][])
    t.equal(await status(CURRENT, headers), wanted, what);
  const made = await fetch(`${server.url}/inventory/managedObjects`, {
    method: 'POST',
    body: '{}',
    headers: { ...all, 'content-type': 'application/json' },
  });
  t.equal(made.status, 201);
});

t.test('logout ends one session and clears the cookies', async (t) => {
  await newUser('leaver');
  const [one, other] = [await cookieSession('leaver'), await cookieSession('leaver')];
  t.equal(await status('/user/logout', { cookie: one.cookie }, 'POST'), 401, 'it needs the header');
  const reply = await fetch(`${server.url}/user/logout`, {
    method: 'POST',
    headers: { ...one, 'content-type': 'application/json' },
    body: '{}',
  });
  t.equal(reply.status, 200);
  t.match(reply.headers.getSetCookie(), [/^authorization=; .*Max-Age=0/, /^XSRF-TOKEN=; .*Max-Age=0/]);
  t.ok(await eventually('no node takes the token', async () => (await status(CURRENT, { ...one })) === 401));
  t.equal(await status(CURRENT, { ...other }), 200);
  t.equal(await status(CURRENT, { authorization: basic(`${TENANT}/leaver`, PASSWORD) }), 200);
});

t.test('what ends all tokens of a user', async (t) => {
  const ends: [what: string, act: (name: string) => Promise<unknown>][] = [
    ['a new password by an administrator', (name) => rest.put(`${USERS}/${name}`, { password: 'Another-one-2' })],
    [
      'a new password',
      (name) =>
        rest.put(`${USERS}/${name}/password`, { currentUserPassword: ADMIN_PASSWORD, newPassword: 'Another-one-2' }),
    ],
    ['disabling', (name) => rest.put(`${USERS}/${name}`, { enabled: false })],
    [
      'disabling and enabling',
      async (name) => {
        await rest.put(`${USERS}/${name}`, { enabled: false });
        await rest.put(`${USERS}/${name}`, { enabled: true });
      },
    ],
    ['deleting', (name) => rest.delete(`${USERS}/${name}`)],
    [
      'deleting and making again',
      async (name) => {
        await rest.delete(`${USERS}/${name}`);
        await newUser(name);
      },
    ],
    ['a logout of all', () => rest.post(`/user/logout/${TENANT}/allUsers`, {})],
  ];
  for (const [index, [what, act]] of ends.entries()) {
    const name = `ended-${index}`;
    await newUser(name);
    const jwt = await token(name);
    t.equal(await status(CURRENT, bearer(jwt)), 200);
    await act(name);
    // Other nodes than the one that answered hear of it a moment later.
    if (CLUSTER_NODES > 0) await eventually(what, async () => (await status(CURRENT, bearer(jwt))) === 401, 1_000);
    t.equal(await status(CURRENT, bearer(jwt)), 401, what);
  }
  await newUser('profile');
  const jwt = await token('profile');
  await rest.put(`${USERS}/profile`, { firstName: 'x' });
  t.equal(await status(CURRENT, bearer(jwt)), 200, 'a name ends nothing');
  t.equal((await rest.post(`${USERS}/profile/roles`, { role: { id: 'ROLE_ALARM_READ' } })).status, 201);
  t.equal(await status('/alarm', bearer(jwt)), 200, 'a new role counts for the token');
  t.equal((await rest.delete(`${USERS}/profile/roles/ROLE_ALARM_READ`)).status, 204);
  t.equal(await status('/alarm', bearer(jwt)), 403);
  t.equal((await rest.post('/user/logout/management/allUsers', {})).status, 403);
  const atOnce = await Promise.all(Array.from({ length: 5 }, () => rest.post(`/user/logout/${TENANT}/allUsers`, {})));
  t.same(
    atOnce.map((reply) => reply.status),
    [200, 200, 200, 200, 200],
    'who finds it done by somebody else has it done',
  );
  await eventually('the audit record', async () =>
    (await rest.read('/audit/auditRecords?type=User&pageSize=100')).auditRecords.some(
      (record: any) => record.activity === 'All users logged out' && record.user === 'admin',
    ),
  );
});

t.test('a password that is changed while it is being checked opens nothing', async (t) => {
  await newUser('racer', { roles: ['ROLE_DEVICE', 'ROLE_INVENTORY_CREATE'] });
  await newUser('disabled', { roles: ['ROLE_DEVICE', 'ROLE_INVENTORY_CREATE'] });
  t.equal((await rest.get(CURRENT)).status, 200);
  // What the checks are busy with.
  const noise = Array.from({ length: 40 }, (_, index) =>
    status(CURRENT, { authorization: basic(`${TENANT}/noise-${index}`, 'wrong') }),
  );
  const connected = connectDevice(t, server, 'racer-1', { username: `${TENANT}/disabled`, password: PASSWORD }).catch(
    () => undefined,
  );
  const reply = post(`/tenant/oauth/token?tenant_id=${TENANT}`, formOf('racer'));
  await rest.put(`${USERS}/disabled`, { enabled: false });
  await rest.put(`${USERS}/racer`, { password: 'Another-one-2' });
  const device = await connected;
  if (CLUSTER_NODES === 0) t.equal(device, undefined, 'the change came first');
  // The node of the change may have to check the administrator's password first, behind noise of its own: then the
  // login was before the change.
  else await eventually('the connection has ended', () => device?.client.connected !== true);
  const { status: answered, text } = await reply;
  if (answered === 200)
    t.equal(
      await status(CURRENT, bearer(JSON.parse(text).access_token)),
      401,
      'a token from before the change has ended',
    );
  else t.equal(answered, 401);
  await Promise.all(noise);
});

t.test('tenant prefix, host, and the tenant id as a subdomain', async (t) => {
  await newUser('host');
  const call = async (host: string, user: string): Promise<number> =>
    (await rawRequest(httpPort, 'GET', CURRENT, { host, authorization: basic(user, PASSWORD) })).status;
  for (const [host, user, wanted, what] of [
    ['iot.example.com', `${TENANT}/host`, 200, 'with a prefix'],
    ['iot.example.com', 'host', 200, 'the default tenant'],
    ['127.0.0.1', 'host', 200, 'an address'],
    [`${TENANT}.example.com`, 'host', 403, 'the tenant id as a subdomain'],
    [`${TENANT}.example.com:8080`, 'host', 403, 'with a port'],
    ['MANAGEMENT.example.com', 'host', 403, 'of any tenant'],
    [`${TENANT}.example.com`, `${TENANT}/host`, 200, 'irrelevant with a prefix'],
    [TENANT, 'host', 200, 'a host without a domain'],
    ['iot.example.com', 'management/host', 401, 'a wrong prefix'],
    ['iot.example.com', 't9/host', 401, 'a prefix that is none'],
  ] as const)
    t.equal(await call(host, user), wanted, `${host} ${user}: ${what}`);
  const headers = { bearer: bearer(await token('host')), cookie: { ...(await cookieSession('host')) } };
  for (const [what, credentials] of Object.entries(headers)) {
    const at = async (host: string): Promise<number> =>
      (await rawRequest(httpPort, 'GET', CURRENT, { host, ...credentials })).status;
    for (const [host, wanted] of [
      ['iot.example.com', 200],
      [`${TENANT}.example.com`, 403],
      ['management.example.com', 403],
      [TENANT, 200],
      ['iot.example.com', 200],
    ] as const) {
      t.equal(await at(host), wanted, `${what} at ${host}`);
    }
  }
  const form = new URLSearchParams(formOf('host')).toString();
  const login = async (host: string, path: string): Promise<number> =>
    (
      await rawRequest(
        httpPort,
        'POST',
        path,
        { host, 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(form.length) },
        form,
      )
    ).status;
  t.equal(await login(`${TENANT}.example.com`, '/tenant/oauth/token'), 403);
  t.equal(await login(`${TENANT}.example.com`, `/tenant/oauth/token?tenant_id=${TENANT}`), 200);
  t.match(
    JSON.parse(
      (
        await rawRequest(httpPort, 'GET', CURRENT, {
          host: `${TENANT}.example.com`,
          authorization: basic('host', PASSWORD),
        })
      ).text,
    ),
    { error: 'security/Forbidden' },
  );
});

t.test('a user in `ext` of a Bayeux message logs in as one in a header', async (t) => {
  await newUser('in-message', { alias: 'by-nickname' });
  await server.management.create('/tenant/tenants', {
    id: 'hosts',
    company: 'h',
    domain: 'hosts-d',
    adminName: 'boss',
    adminEmail: 'boss@example.com',
    adminPass: PASSWORD,
  });
  const handshake = (host: string, user: string): Promise<unknown> =>
    shake(host, Buffer.from(`${user}:${PASSWORD}`).toString('base64'));
  const shake = async (host: string, credentials: string): Promise<unknown> => {
    const ext = { 'com.cumulocity.authn': { token: credentials } };
    const text = JSON.stringify([
      { channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: ['long-polling'], ext },
    ]);
    const headers = { host, 'content-type': 'application/json', 'content-length': String(text.length) };
    const [{ successful, error }] = JSON.parse(
      (await rawRequest(httpPort, 'POST', '/notification/realtime', headers, text)).text,
    ) as { successful: boolean; error?: string }[];
    return successful || error;
  };
  for (const [host, user, wanted] of [
    ['hosts-d.example.com', 'boss', true],
    ['hosts-d.example.com', 'in-message', '401::Unauthorized'],
    ['hosts-d.example.com', `${TENANT}/in-message`, true],
    ['iot.example.com', 'in-message', true],
    ['iot.example.com', 'boss', '401::Unauthorized'],
    ['iot.example.com', 'by-nickname', true],
  ] as const)
    t.equal(
      await eventually(`${host} ${user}`, async () => (await handshake(host, user)) === wanted && wanted),
      wanted,
      `${host} ${user}`,
    );
  t.match(await handshake('hosts.example.com', 'boss'), /^403::.*hosts/, 'the tenant id as a subdomain');
  const jwt = await token('in-message');
  t.match(await shake('hosts.example.com', jwt), /^403::.*hosts/, 'for a token too');
  t.equal(await shake('iot.example.com', jwt), true);
});

t.test('aliases are for people, over HTTP', async (t) => {
  await newUser('with-alias', { alias: 'nickname', roles: ['ROLE_DEVICE'] });
  t.equal(await status(CURRENT, { authorization: basic(`${TENANT}/nickname`, PASSWORD) }), 200);
  t.equal(await status(CURRENT, bearer(await token('nickname'))), 200);
  t.equal((decodeJwt(await token('nickname')) as any).sub, 'with-alias');
  await t.rejects(connectDevice(t, server, 'alias-1', { username: `${TENANT}/nickname`, password: PASSWORD }), {
    code: 4,
  });
  await connectDevice(t, server, 'alias-2', { username: `${TENANT}/with-alias`, password: PASSWORD });
});

t.test("Basic in UTF-8, and in Latin-1 as Python's requests sends it", async (t) => {
  await newUser('jürgen', { password: 'Grün-Pass1' });
  for (const encoding of ['utf8', 'latin1'] as const) {
    const login = (password: string): string =>
      `Basic ${Buffer.from(`${TENANT}/jürgen:${password}`, encoding).toString('base64')}`;
    t.equal(await status(CURRENT, { authorization: login('Grün-Pass1') }), 200, encoding);
    t.equal(await status(CURRENT, { authorization: login('Grän-Pass1') }), 401, `${encoding}, wrong`);
  }
});

t.test('a link to set the password, through the log', async (t) => {
  t.equal(
    (await rest.post(USERS, { userName: 'invited', email: 'invited@example.com', sendPasswordResetEmail: true }))
      .status,
    201,
  );
  const linkOf = (): URL | undefined => {
    const line = server.complaints.findLast((text) => text.includes('invited@example.com'));
    const link = /http:[^\s\\"]+\?token=[^\s\\"]+/.exec(line ?? '')?.[0];
    return link === undefined ? undefined : new URL(link);
  };
  const link = await eventually('the mail in the log', linkOf);
  t.equal(link.hostname, 'localhost');
  const [linkToken, email] = [link.searchParams.get('token') ?? '', link.searchParams.get('email') ?? ''];
  t.equal(email, 'invited@example.com');
  t.equal(link.searchParams.get('tenantId'), TENANT);
  const validate = (given: string, address = email): Promise<number> =>
    status(`/user/passwordReset/validate?${new URLSearchParams({ token: given, email: address })}`, {});
  t.equal(await validate(linkToken), 200);
  t.equal(await validate('x'), 422);
  t.equal(await validate(linkToken, 'other@example.com'), 422);
  const set = async (body: object): Promise<number> =>
    (
      await fetch(`${server.url}/user/passwordReset?tenantId=${TENANT}`, {
        method: 'PUT',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      })
    ).status;
  t.equal(await set({ token: linkToken, email, newPassword: 'short' }), 422);
  t.equal(await set({ token: linkToken, email, newPassword: 'Chosen-word-1' }), 200);
  t.equal(await status(CURRENT, { authorization: basic(`${TENANT}/invited`, 'Chosen-word-1') }), 200);
  t.equal(await set({ token: linkToken, email, newPassword: 'Chosen-word-2' }), 422, 'once');
  const ask = async (address: string, query = '', headers: Record<string, string> = {}): Promise<number> =>
    (
      await fetch(`${server.url}/user/passwordReset${query}`, {
        method: 'POST',
        body: JSON.stringify({ email: address }),
        headers: { 'content-type': 'application/json', ...headers },
      })
    ).status;
  const before = server.complaints.length;
  t.equal(await ask('nobody@example.com'), 200, 'the same answer for an address that nobody has');
  t.equal(server.complaints.length, before);
  t.equal(
    await ask('Invited@Example.com', `?tenantId=${TENANT}`, {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
    }),
    200,
  );
  await eventually('another link', () => linkOf()?.searchParams.get('token') !== linkToken);
  t.equal(linkOf()?.origin, link.origin, 'what the request calls the server is not in the link');
  t.equal(await ask('x@example.com', '?tenantId=t9'), 404);
  t.match(await server.metricsText(), /millrace_mails_total\{result="logged"\} 2/);
});

const perNode = notInCluster('each node counts wrong passwords by itself, and requests come to all of them');
t.test('too many wrong passwords lock for a while, the right one too', { skip: perNode }, async (t) => {
  await newUser('guessed');
  const account = `${TENANT}/guessed`;
  for (let index = 0; index < 3; index += 1)
    t.equal(await status(CURRENT, { authorization: basic(account, `wrong-${index}`) }), 401);
  const locked = await fetch(server.url + CURRENT, { headers: { authorization: basic(account, PASSWORD) } });
  t.equal(locked.status, 401);
  t.match(await locked.json(), {
    error: 'security/Unauthorized',
    message: /locked for \d+ s \(accounts\/login-failures\)/,
  });
  await eventually('the log says so', () =>
    server.complaints.some((line) => line.includes(account) && line.includes('accounts/login-failures')),
  );
  t.match(
    await (await fetch(`${server.url}/metrics`)).text(),
    /millrace_refusals_total\{limit="accounts\/login-failures"\} \d/,
  );
  t.equal((await rest.get(CURRENT)).status, 200, 'others are not locked');
  await eventually(
    'the end of the lock',
    async () => (await status(CURRENT, { authorization: basic(account, PASSWORD) })) === 200,
  );
});

t.test('live data: a token or a cookie with its header opens a session, which ends with a logout', async (t) => {
  await newUser('live');
  const bayeux = async (message: object, headers: Record<string, string> = {}): Promise<any> =>
    (
      (await (
        await fetch(`${server.url}/notification/realtime`, {
          method: 'POST',
          body: JSON.stringify([message]),
          headers: { 'content-type': 'application/json', ...headers },
        })
      ).json()) as any[]
    )[0];
  const handshake = { channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: ['long-polling'] };
  t.equal(
    (await bayeux({ ...handshake, ext: { 'com.cumulocity.authn': { token: await token('live') } } })).successful,
    true,
    'a token in ext',
  );
  t.equal((await bayeux({ ...handshake, ext: { 'com.cumulocity.authn': { token: 'x.y.z' } } })).successful, false);
  const session = await cookieSession('live');
  t.equal((await bayeux(handshake, { ...session })).successful, true, 'cookie and header');
  t.equal((await bayeux(handshake, { cookie: session.cookie })).successful, false, 'a cookie alone');
  const opened = await bayeux(
    { ...handshake, ext: { 'com.cumulocity.authn': { xsrfToken: session['x-xsrf-token'] } } },
    { cookie: session.cookie },
  );
  t.equal(opened.successful, true, 'the other half in ext');
  const connect = {
    channel: '/meta/connect',
    clientId: opened.clientId,
    connectionType: 'long-polling',
    advice: { timeout: 0 },
  };
  t.equal((await bayeux(connect, { cookie: session.cookie })).successful, true);
  t.equal(await status('/user/logout', { ...session }, 'POST'), 200);
  // Other nodes hear of it; a connect in between may be answered.
  await eventually('the session ends', async () => {
    const { successful, error } = await bayeux(connect);
    return successful === false && /402/.test(error);
  });
});

t.test('a cookie whose session has ended does not lock a browser out, and a logout takes it away', async (t) => {
  await newUser('ended');
  const session = { ...(await cookieSession('ended')) };
  t.equal(await status('/apps/nothing-there/', session), 404, 'before');
  t.equal(await status('/user/logout', session, 'POST'), 200);
  await eventually('the session ends', async () => (await status(CURRENT, session)) === 401);
  t.equal(await status('/apps/nothing-there/', session), 404, 'web applications are for everybody');
  t.equal(await status('/apps/nothing-there/', { cookie: 'authorization=garbage' }), 404);
  t.equal(
    await status('/apps/nothing-there/', { authorization: 'Bearer garbage' }),
    401,
    'who says who he is has to be right',
  );
  const again = await fetch(`${server.url}/user/logout`, { method: 'POST', headers: { cookie: session.cookie } });
  t.equal(again.status, 200, 'without the other half, too: there is nothing to end');
  t.match(again.headers.getSetCookie(), [/^authorization=; Path=\/; Max-Age=0/, /^XSRF-TOKEN=; Path=\/; Max-Age=0/]);
  t.equal(await status('/user/logout', {}, 'POST'), 401, 'nobody');
  const live = await cookieSession('ended');
  t.equal(
    await status('/user/logout', { cookie: live.cookie }, 'POST'),
    401,
    'a session that goes on is not ended by pages of others',
  );
  t.equal(await status(CURRENT, { ...live }), 200);
});

t.test('a user ends all sessions at once', async (t) => {
  await newUser('everywhere');
  const [here, there, jwt] = [
    await cookieSession('everywhere'),
    await cookieSession('everywhere'),
    await token('everywhere'),
  ];
  t.equal(await status('/user/logout?everywhere=true', { ...here }, 'POST'), 200);
  for (const session of [{ ...here }, { ...there }, bearer(jwt)])
    await eventually('the session ends', async () => (await status(CURRENT, session)) === 401);
  t.equal(await status(CURRENT, bearer(await token('everywhere'))), 200, 'a new login is one');
  t.equal(await status('/user/logout?everywhere=true', { ...here }, 'POST'), 401, 'an ended one ends no others');
});

t.test('tokens and their ends outlive a restart', async (t) => {
  await newUser('durable');
  const [jwt, ended] = [await token('durable'), await token('durable')];
  t.equal(await status('/user/logout', bearer(ended), 'POST'), 200);
  const wrong = new Rest(server.url, `${TENANT}/durable`, 'wrong');
  for (const _ of [1, 2]) t.equal((await wrong.get(CURRENT)).status, 401);
  await server.stop();
  const again = await startServer(t, { data: server.data });
  const at = async (given: string): Promise<number> =>
    (await fetch(again.url + CURRENT, { headers: bearer(given) })).status;
  t.equal(await at(jwt), 200);
  t.equal(await at(ended), 401);
  t.equal((await new Rest(again.url, `${TENANT}/durable`, PASSWORD).get(CURRENT)).status, 200);
  // In a cluster the two came to two nodes, each of which has written its first one at once.
  if (CLUSTER_NODES > 0) return;
  const { auditRecords } = await again.rest.read('/audit/auditRecords?type=UserAuthentication&user=durable');
  t.ok(
    auditRecords.some(({ text }: any) => text === "Another login of user 'durable' failed within a minute"),
    'the stop writes what the minute had added up',
  );
});
