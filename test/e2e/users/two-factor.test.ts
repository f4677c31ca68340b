/**
 * Logging in with one-time codes: set up, asked for, used once, guessing held up, forced, revoked
 * (docs/spec/login.md#two-factors).
 */
import { Client, CookieAuth, FetchClient } from '@c8y/client';
import { decodeJwt } from 'jose';
import { Secret, TOTP } from 'otpauth';
import t from 'tap';
import {
  CLUSTER_NODES,
  PASSWORD as ADMIN_PASSWORD,
  Rest,
  TENANT,
  eventually,
  startServer,
} from '../../helpers/running/server.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';

const server = await startServer(t);
const { rest } = server;
const PASSWORD = 'Analytical-1';
const USERS = `/user/${TENANT}/users`;
const SECRET = '/user/currentUser/totpSecret';
const CODE_NEEDED = { error: 'security/Unauthorized', message: 'Invalid credentials! : TFA TOTP code required.' };
const SETUP_NEEDED = { error: 'security/Unauthorized', message: 'Invalid credentials! : TFA TOTP setup required.' };

const codeOf = (secret: string, timestamp = Date.now()): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });
/** Of the step after this one, and of one that is long gone. */
const laterCode = (secret: string): string => codeOf(secret, Date.now() + 30_000);
const wrongCode = (secret: string): string => codeOf(secret, Date.now() - 3_600_000);
const as = (user: string): Rest => new Rest(server.url, `${TENANT}/${user}`, PASSWORD);
async function newUser(userName: string, members: object = {}): Promise<Rest> {
  await rest.create(USERS, { userName, password: PASSWORD, ...members });
  return as(userName);
}
async function logIn(
  username: string,
  form: Record<string, string> = {},
  path = '/tenant/oauth/token',
): Promise<{ status: number; json: any; cookies: string[] }> {
  const response = await fetch(`${server.url}${path}?tenant_id=${TENANT}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'PASSWORD', username, password: PASSWORD, ...form }).toString(),
  });
  const text = await response.text();
  return {
    status: response.status,
    json: text === '' ? undefined : JSON.parse(text),
    cookies: response.headers.getSetCookie(),
  };
}
/** Other nodes of a cluster know what was changed within a second (issue 3 point 5). */
const noticed = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, CLUSTER_NODES > 0 ? 1_000 : 0);
  });
/** @returns the secret of a user who has set codes up. */
async function setUp(user: Rest): Promise<string> {
  const { rawSecret } = (await user.post(SECRET, {})).json;
  t.equal((await user.post(`${SECRET}/verify`, { code: codeOf(rawSecret) })).status, 204);
  t.equal((await user.post(`${SECRET}/activity`, { isActive: true })).status, 204);
  await noticed();
  return rawSecret;
}

t.test('setting up: secret, verified code, activity', async (t) => {
  const ada = await newUser('ada');
  t.same(await ada.read(`${SECRET}/activity`), { isActive: false, isForced: false });
  t.equal((await ada.post(`${SECRET}/verify`, { code: '123456' })).status, 404, 'without a secret');
  t.equal((await ada.post(`${SECRET}/activity`, { isActive: true })).status, 404);
  const generated = await ada.request('POST', SECRET);
  t.match(generated.json, { rawSecret: /^[A-Z2-7]{32}$/, secretQrUrl: /^data:image\/gif;base64,/ });
  t.equal(generated.headers.get('cache-control'), 'no-store');
  t.equal((await ada.post(`${SECRET}/activity`, { isActive: true })).status, 422, 'no code was shown');
  t.match((await ada.post(`${SECRET}/verify`, { code: wrongCode(generated.json.rawSecret) })).json, {
    error: 'users/Forbidden',
    message: 'Invalid verification code',
  });
  t.equal((await logIn('ada')).status, 200, 'a secret alone changes nothing');
  const { rawSecret } = (await ada.post(SECRET, {})).json;
  t.not(rawSecret, generated.json.rawSecret, 'the first one is replaced');
  t.equal((await ada.post(`${SECRET}/verify`, { code: codeOf(generated.json.rawSecret) })).status, 403);
  t.equal((await ada.post(`${SECRET}/verify`, { code: codeOf(rawSecret) })).status, 204);
  t.equal((await ada.post(`${SECRET}/activity`, { isActive: true })).status, 204);
  await noticed();
  t.match((await ada.get('/user/currentUser')).json, CODE_NEEDED, 'from now on the password is not enough');
  t.equal((await ada.get('/user/currentUser')).status, 401);
  t.same(await ada.read(`${SECRET}/activity`), { isActive: true, isForced: false });
  t.equal((await ada.post(SECRET, {})).status, 409, 'no new secret beside one in use');
  t.equal((await ada.post(`${SECRET}/activity`, { isActive: false })).status, 403, 'an administrator revokes it');
  t.match(await rest.read(`${USERS}/ada`), { twoFactorAuthenticationEnabled: true });
  t.match(await rest.read(`${USERS}/ada/tfa`), {
    tfaEnabled: true,
    tfaEnforced: false,
    strategy: 'TOTP',
    lastTfaRequestTime: null,
  });
  t.equal((await rest.put(`${USERS}/ada`, await rest.read(`${USERS}/ada`))).status, 200);
  t.match(await rest.read(`${USERS}/ada/tfa`), { tfaEnforced: false }, 'sending back what was read forces nobody');
  const audits = await rest.read('/audit/auditRecords?source=ada&pageSize=100');
  t.ok(audits.auditRecords.some(({ activity }: any) => activity === 'Two-factor authentication set up'));
  t.notMatch(JSON.stringify(await rest.read(`${USERS}/ada`)), rawSecret);
});

t.test('the longest names have a picture of their secret too', async (t) => {
  for (const name of ['x'.repeat(1_000), 'ä'.repeat(750), '😀'.repeat(375)]) {
    t.match(await (await newUser(name)).post(SECRET, {}), {
      status: 200,
      json: { secretQrUrl: /^data:image\/gif;base64,/ },
    });
  }
});

t.test('logging in: a code, and each once', async (t) => {
  const bob = await newUser('bob');
  const secret = await setUp(bob);
  for (const path of ['/tenant/oauth/token', '/tenant/oauth']) {
    const { status, json } = await logIn('bob', {}, path);
    t.equal(status, 401, path);
    t.match(json, CODE_NEEDED);
  }
  t.equal(
    (await logIn('bob', { tfa_code: 'undefined' })).json.message,
    CODE_NEEDED.message,
    'as clients write an absent one',
  );
  t.equal(
    (await logIn('bob', { tfa_code: codeOf(secret), password: 'Wrong-password-1' })).json.message,
    'Invalid credentials! : Bad credentials',
    'the password first',
  );
  const code = codeOf(secret);
  const { status, json } = await logIn('bob', { tfa_code: code });
  t.equal(status, 200);
  t.match(decodeJwt(json.access_token), { sub: 'bob', tfa: true });
  t.equal(
    (await fetch(`${server.url}/user/currentUser`, { headers: { authorization: `Bearer ${json.access_token}` } }))
      .status,
    200,
  );
  t.match((await logIn('bob', { tfa_code: code })).json, { message: /used already/ }, 'a code is good once');
  const next = laterCode(secret);
  const both = await Promise.all([
    logIn('bob', { tfa_code: next }),
    logIn('bob', { tfa_code: next }),
    logIn('bob', { tfa_code: next }),
  ]);
  t.same(both.map((one) => one.status).sort(), [200, 401, 401], 'also of three at once');
  t.match(await rest.read(`${USERS}/bob/tfa`), { lastTfaRequestTime: /^\d{4}-/ });
});

t.test('Basic with the token that a right code gives', async (t) => {
  const cyd = await newUser('cyd', { roles: ['ROLE_INVENTORY_READ'] });
  const secret = await setUp(cyd);
  const verified = await cyd.post(`${SECRET}/verify`, { code: codeOf(secret) });
  const tfatoken = verified.headers.get('tfatoken') ?? '';
  const read = async (token: string, user = cyd): Promise<number> =>
    (await user.request('GET', '/inventory/managedObjects', { headers: { tfatoken: token } })).status;
  t.equal(await read(tfatoken), 200);
  t.equal(
    (await cyd.get('/inventory/managedObjects')).status,
    401,
    'the password without it is not remembered as right',
  );
  t.equal((await logIn('cyd', { tfaToken: tfatoken })).status, 200);
  t.equal(
    (await fetch(`${server.url}/user/currentUser`, { headers: { authorization: `Bearer ${tfatoken}` } })).status,
    401,
    'it logs nobody in alone',
  );
  const dan = await newUser('dan', { roles: ['ROLE_INVENTORY_READ'] });
  await setUp(dan);
  // Of the other nodes of a cluster within a second.
  t.ok(await eventually('it is not good for another user', async () => (await read(tfatoken, dan)) === 401));
  t.equal(await read(`${tfatoken}x`), 401);
  t.equal((await rest.delete(`${USERS}/cyd/totpSecret/revoke`)).status, 204);
  await setUp(cyd);
  t.ok(await eventually('nor with another secret', async () => (await read(tfatoken)) === 401));
});

t.test('no way around: MQTT, Bayeux', async (t) => {
  const eve = await newUser('eve', { roles: ['ROLE_DEVICE_CONTROL_ADMIN', 'ROLE_INVENTORY_READ'] });
  const device = await connectDevice(t, server, 'd:eve', { username: `${TENANT}/eve`, password: PASSWORD });
  t.ok(device, 'before');
  const secret = await setUp(eve);
  await t.rejects(
    connectDevice(t, server, 'd:eve2', { username: `${TENANT}/eve`, password: PASSWORD }),
    'MQTT knows no second factor',
  );
  const handshake = async (tfa: string): Promise<any> => {
    const ext = { 'com.cumulocity.authn': { token: Buffer.from(`${TENANT}/eve:${PASSWORD}`).toString('base64'), tfa } };
    const message = [{ channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: ['long-polling'], ext }];
    const reply = await fetch(`${server.url}/notification/realtime`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
    });
    return JSON.parse(await reply.text());
  };
  t.match(await handshake(''), [{ successful: false, error: /^401::.*TOTP/, advice: { reconnect: 'none' } }]);
  const { headers } = await eve.post(`${SECRET}/verify`, { code: codeOf(secret) });
  t.match(await handshake(headers.get('tfatoken') ?? ''), [{ successful: true }]);
});

t.test('guessing is held up', async (t) => {
  const fay = await newUser('fay');
  const secret = await setUp(fay);
  for (let tries = 0; tries < 5; tries += 1)
    t.match((await logIn('fay', { tfa_code: wrongCode(secret) })).json, { message: /TFA TOTP code is not valid/ });
  const locked = await logIn('fay', { tfa_code: codeOf(secret) });
  t.equal(locked.status, 401, 'the right one too');
  t.match(locked.json.message, /locked for \d+ s \(accounts\/tfa-codes\)/);
  t.equal((await fay.post(`${SECRET}/verify`, { code: codeOf(secret) })).status, 401, 'by this way too');
  await eventually('the log', () => server.complaints.find((line) => line.includes('accounts/tfa-codes')));
  t.match(await server.metricsText(), /millrace_refusals_total\{[^}]*accounts\/tfa-codes[^}]*\} [1-9]/);
  const { auditRecords } = await rest.read('/audit/auditRecords?source=fay&type=UserAuthentication&pageSize=100');
  t.equal(auditRecords.filter(({ text }: any) => /one-time code/.test(text)).length, 5);
  t.equal((await rest.delete(`${USERS}/fay/totpSecret/revoke`)).status, 204, 'an administrator helps');
  t.ok(await eventually('the log-in is let in again', async () => (await logIn('fay')).status === 200));
});

t.test("forced: by the user's field, by the tenant, by a group", async (t) => {
  const gil = await newUser('gil', { twoFactorAuthenticationEnabled: true });
  const check = async (user: Rest, name: string): Promise<void> => {
    t.match((await user.get('/user/currentUser')).json, SETUP_NEEDED, name);
    t.match((await logIn(name)).json, SETUP_NEEDED, name);
    t.same(await user.read(`${SECRET}/activity`), { isActive: false, isForced: true }, name);
  };
  await check(gil, 'gil');
  const secret = await setUp(gil);
  t.equal((await logIn('gil', { tfa_code: codeOf(secret) })).status, 200, 'the code that was verified logs in');
  const group = await rest.create(`/user/${TENANT}/groups`, { name: 'Careful' });
  const hal = await newUser('hal');
  t.equal((await hal.get('/user/currentUser')).status, 200);
  await rest.create(`/user/${TENANT}/groups/${group.id}/users`, { user: { self: `/user/${TENANT}/users/hal` } });
  await rest.put('/tenant/options/two-factor-authentication', { 'enforced.group': 'Careful' });
  await noticed();
  await check(hal, 'hal');
  t.match(await rest.read(`${USERS}/hal/tfa`), { tfaEnabled: false, tfaEnforced: true });
  const keeper = (await logIn('admin', { password: ADMIN_PASSWORD })).json.access_token as string;
  const ivy = await newUser('ivy');
  await register('1');
  for (const name of ['device_hand', 'device_both']) await rest.create(USERS, { userName: name, password: PASSWORD });
  await register('both');
  await rest.put('/tenant/options/two-factor-authentication', { enforced: 'true' });
  await noticed();
  await check(ivy, 'ivy');
  for (const name of ['device_1', 'device_both'])
    t.equal((await as(name).get('/user/currentUser')).status, 200, `${name}: devices have nobody to type a code`);
  t.match(
    (await as('device_hand').get('/user/currentUser')).json,
    SETUP_NEEDED,
    'a name makes no device of one who was made by hand',
  );
  t.notOk(
    'isPerson' in
      ((await (
        await fetch(`${server.url}${USERS}/device_hand`, {
          headers: { authorization: `Bearer ${keeper}`, accept: 'application/json' },
        })
      ).json()) as object),
  );
  t.match((await rest.get('/user/currentUser')).json, SETUP_NEEDED, 'administrators too');
  const reply = await fetch(`${server.url}/tenant/options/two-factor-authentication/enforced`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${keeper}` },
  });
  t.equal(reply.status, 204, 'a session goes on');
  await noticed();
  t.equal((await ivy.get('/user/currentUser')).status, 200);
});

/** As a device, by a file. */
async function register(id: string): Promise<void> {
  const form = new FormData();
  form.append('file', new Blob([`ID,CREDENTIALS\n${id},${PASSWORD}\n`]), 'devices.csv');
  const reply = await fetch(`${server.url}/devicecontrol/bulkNewDeviceRequests`, {
    method: 'POST',
    body: form,
    headers: {
      authorization: `Basic ${Buffer.from(`${TENANT}/admin:${ADMIN_PASSWORD}`).toString('base64')}`,
      accept: 'application/json',
    },
  });
  t.match(await reply.json(), { numberOfSuccessful: 1 }, id);
}

t.test('who may take the secret of a user away', async (t) => {
  const jon = await newUser('jon', { roles: ['ROLE_INVENTORY_ADMIN'] });
  const secret = await setUp(jon);
  const kim = await newUser('kim', { roles: ['ROLE_USER_MANAGEMENT_ADMIN'] });
  t.equal((await kim.delete(`${USERS}/jon/totpSecret/revoke`)).status, 403, 'nobody with fewer roles');
  await newUser('mia', { roles: ['ROLE_INVENTORY_ADMIN'] });
  t.equal((await kim.put(`${USERS}/mia`, { twoFactorAuthenticationEnabled: true })).status, 403);
  t.equal((await rest.delete(`${USERS}/nobody/totpSecret/revoke`)).status, 404);
  t.equal((await rest.delete(`${USERS}/jon`)).status, 204);
  await newUser('jon');
  t.equal((await logIn('jon')).status, 200, 'a user made again has no secret of before');
  t.ok(secret);
});

t.test('@c8y/client: set up, log in with the cookie, revoke', async (t) => {
  await newUser('lea');
  const lea: any = await Client.authenticate({ tenant: TENANT, user: 'lea', password: PASSWORD }, server.url);
  const { data } = await lea.user.generateTotpSecret();
  t.equal((await lea.user.verifyTotpCode(codeOf(data.rawSecret))).res.status, 204);
  t.equal((await lea.user.activateTotp()).res.status, 204);
  await noticed();
  t.match((await lea.user.getActivityTotp()).data, { isActive: true });
  const tfa = (await lea.user.verifyTotpCode(codeOf(data.rawSecret))).res.headers.get('tfatoken');
  t.match(
    (
      await (
        (await Client.authenticate({ tenant: TENANT, user: 'lea', password: PASSWORD, tfa } as any, server.url)) as any
      ).user.current()
    ).data,
    { userName: 'lea' },
  );
  const { status, cookies } = await logIn('lea', { tfa_code: laterCode(data.rawSecret) }, '/tenant/oauth');
  t.equal(status, 200);
  t.equal(cookies.length, 2);
  t.ok(new FetchClient(new CookieAuth(), server.url));
  const admin: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: ADMIN_PASSWORD }, server.url);
  t.equal((await admin.user.totpRevokeSecret({ id: 'lea' })).res.status, 204);
  await noticed();
  t.match((await lea.user.current()).data, { userName: 'lea' });
});
