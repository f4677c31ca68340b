/**
 * `@c8y/client`, unmodified: its ways to log in, with passwords, tokens and cookies, of devices and microservices, in
 * Node.js and on a page; live data with each.
 */
import {
  BasicAuth,
  BearerAuth,
  BearerAuthFromSessionStorage,
  Client,
  CookieAuth,
  FetchClient,
  MicroserviceClientRequestAuth,
  NodeJSCookieAuth,
  Realtime,
} from '@c8y/client';
import t from 'tap';
import { openPage } from '../../helpers/browser-globals.ts';
import { leftOut } from '../../helpers/clients/c8y-client-calls.ts';
import { MANAGEMENT_PASSWORD, PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import type { Teardown } from '../../helpers/running/server.ts';

const BOOTSTRAP_PASSWORD = 'Boot-strap-9';
const SECRET = 'Analytical-1';
const server = await startServer(t, { flags: ['--bootstrap-password', BOOTSTRAP_PASSWORD] });
const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
const ADMIN = { tenant: TENANT, user: 'admin', password: PASSWORD };

/** Status of an answer, also of one that the client throws. */
const statusOf = async (answer: Promise<any>): Promise<number> => {
  const found = await answer.catch((error: unknown) => error);
  return found.res?.status ?? found.status;
};
const newUser = (userName: string): Promise<unknown> => client.user.create({ userName, password: SECRET });
const createDevice = async (name: string): Promise<string> =>
  (await client.inventory.create({ name, c8y_IsDevice: {} })).data.id;

/** Answer to a form of a login page. */
const logIn = (path: string, username: string, password: string): Promise<Response> =>
  fetch(`${server.url}${path}?tenant_id=${TENANT}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'PASSWORD', username, password }).toString(),
  });
const tokenOf = async (username: string, password: string): Promise<string> =>
  (JSON.parse(await (await logIn('/tenant/oauth/token', username, password)).text()) as { access_token: string })
    .access_token;
/** As a browser sends them. */
const cookiesOf = async (username: string, password: string): Promise<string> =>
  (await logIn('/tenant/oauth', username, password)).headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');

/** Nothing tells when a subscription is in force: an alarm of another type until one arrives. */
const alarmsUntil = (device: string, isSeen: () => boolean): Promise<unknown> =>
  eventually('an alarm', async () => {
    await client.alarm.create({
      source: { id: device },
      type: `a-${Date.now()}`,
      text: 't',
      severity: 'MINOR',
      time: new Date().toISOString(),
    });
    return isSeen();
  });

/** Live alarms of a new device arrive with these credentials. */
async function seesAlarms(
  t: Teardown & { match(found: unknown, wanted: unknown, name: string): unknown },
  fetching: FetchClient,
  name: string,
): Promise<void> {
  const device = await createDevice(name);
  const realtime: any = new Realtime(fetching);
  t.teardown(() => {
    realtime.disconnect();
  });
  const seen: any[] = [];
  realtime.subscribe(`/alarms/${device}`, (message: any) => seen.push(message));
  await alarmsUntil(device, () => seen.length > 0);
  t.match(
    seen[0],
    { channel: `/alarms/${device}`, data: { realtimeAction: 'CREATE', data: { source: { id: device } } } },
    name,
  );
  await new Promise<void>((resolve) => {
    realtime.disconnect(() => resolve());
  });
}

t.test('BasicAuth: right and wrong, changed, logged out', async (t) => {
  t.equal(client.core.tenant, TENANT);
  await t.rejects(Client.authenticate({ ...ADMIN, password: 'wrong' }, server.url));
  const withoutTenant = { user: 'admin', password: PASSWORD } as any;
  for (const by of ['authenticate', 'authenticateViaOAuthInternal', 'authenticateViaOAuthInternalCookie'] as const) {
    t.equal((await Client[by](withoutTenant, server.url)).core.tenant, TENANT, `${by}: the tenant of the server`);
  }
  const auth = new BasicAuth(ADMIN);
  const other: any = new Client(auth, server.url);
  t.equal((await other.user.current()).data.userName, 'admin');
  t.ok(other.core.authIsInstanceOf(BasicAuth));
  t.notOk(other.core.authIsInstanceOf(BearerAuth));
  auth.updateCredentials({ tenant: TENANT, user: 'admin', password: 'wrong' });
  t.equal(await statusOf(other.user.current()), 401);
  other.setAuth(new BasicAuth(ADMIN));
  t.equal((await other.core.fetch('/user/currentUser', { params: { a: ['b', 'c d'] } })).status, 200);
  t.equal(
    other.core.getUrl('/user/currentUser', { params: { a: ['b', 'c d'] } }),
    `${server.url}/user/currentUser?a=b&a=c%20d`,
  );
  other.core.performLogoutOnCurrentAuthStrategy();
  t.equal(await statusOf(other.user.current()), 401);
  await seesAlarms(t, new FetchClient(new BasicAuth(ADMIN), server.url), 'by Basic');
});

t.test('BearerAuth: a token until the logout', async (t) => {
  await newUser('traveller');
  const credentials = { tenant: TENANT, user: 'traveller', password: SECRET };
  const bearer: any = await Client.authenticateViaOAuthInternal(credentials, server.url);
  t.equal((await bearer.user.current()).data.userName, 'traveller');
  const management: any = await Client.authenticateViaOAuthInternal(
    { tenant: 'management', user: 'admin', password: MANAGEMENT_PASSWORD } as any,
    server.url,
  );
  t.equal((await management.tenant.current()).data.name, 'management');
  await t.rejects(Client.authenticateViaOAuthInternal({ ...credentials, password: 'wrong-password' }, server.url));
  await seesAlarms(t, new FetchClient(new BearerAuth(await tokenOf('admin', PASSWORD)), server.url), 'by a token');
  const [first, second] = [await tokenOf('traveller', SECRET), await tokenOf('traveller', SECRET)];
  const auth = new BearerAuth(first);
  const one: any = new Client(auth, server.url);
  t.equal((await one.user.current()).data.userName, 'traveller');
  await t.test('the logout, which knows no base URL outside of a page', async (t) => {
    openPage(t, server.url);
    t.equal(((await auth.logout()) as any).status, 200);
  });
  await t.test('ends this token alone', async (t) => {
    t.equal(await statusOf(one.user.current()), 401, 'the client has forgotten it');
    auth.updateCredentials({ token: first } as any);
    t.ok(await eventually('the token is not good any more', async () => (await statusOf(one.user.current())) === 401));
    auth.updateCredentials({ token: second } as any);
    t.equal((await one.user.current()).data.userName, 'traveller');
  });
});

t.test('BearerAuthFromSessionStorage: what a page keeps', async (t) => {
  const page = openPage(t, server.url);
  t.throws(() => new BearerAuthFromSessionStorage());
  page.storage.set('bearerAuthToken', await tokenOf('admin', PASSWORD));
  const auth = new BearerAuthFromSessionStorage();
  t.equal(page.storage.size, 0, 'taken once');
  const stored: any = new Client(auth, server.url);
  t.equal((await stored.user.current()).data.userName, 'admin');
  t.match(stored.core.getCometdHandshake(), { ext: { 'com.cumulocity.authn': { token: String } } });
  auth.updateCredentials({ token: await tokenOf('admin', PASSWORD) } as any);
  t.equal((await stored.tenant.current()).data.name, TENANT);
  t.equal(((await auth.logout()) as any).status, 200);
  page.storage.set('bearerAuthToken', 'x');
  BearerAuthFromSessionStorage.removeEntriesFromSessionStorage();
  t.equal(page.storage.size, 0);
  t.equal(await statusOf(stored.user.current()), 401);
});

t.test('CookieAuth: a page keeps the cookies, the client repeats the XSRF token', async (t) => {
  const page = openPage(t, server.url);
  const onPage: any = await Client.authenticateViaOAuthInternalCookie(ADMIN, server.url);
  t.ok(onPage.core.authIsInstanceOf(CookieAuth));
  t.equal((await onPage.user.current()).data.userName, 'admin');
  t.equal((await onPage.tenant.current()).data.name, TENANT);
  t.equal((await onPage.inventory.create({ name: 'by a page' })).res.status, 201);
  const [, xsrf] = /^XSRF-TOKEN=([^;]+)$/.exec(page.cookie) ?? [];
  t.ok(xsrf, 'all that scripts see');
  t.match(onPage.core.getCometdHandshake(), { ext: { 'com.cumulocity.authn': { xsrfToken: xsrf } } });
  t.match(onPage.core.getFetchOptions(), { headers: { 'X-XSRF-TOKEN': xsrf, UseXBasic: true } });
  const auth = new CookieAuth();
  auth.updateCredentials({ user: 'admin' });
  onPage.setAuth(auth);
  t.equal((await onPage.user.current()).data.userName, 'admin');
  t.equal((await onPage.core.performLogoutOnCurrentAuthStrategy()).status, 200);
  t.equal(page.cookie, '');
  t.ok(await eventually('the session ends', async () => (await statusOf(onPage.user.current())) === 401));
});

t.test('NodeJSCookieAuth and MicroserviceClientRequestAuth: what a request brought', async (t) => {
  const node: any = await Client.authenticateViaOAuthInternalCookie(ADMIN, server.url);
  t.equal((await node.user.current()).data.userName, 'admin');
  t.match(node.core.getCometdHandshake(), { ext: { 'com.cumulocity.authn': { token: String } } });
  t.equal(node.core.performLogoutOnCurrentAuthStrategy(), undefined);
  t.equal(await statusOf(node.user.current()), 401, 'the client has forgotten it');
  const own: any = new NodeJSCookieAuth((await logIn('/tenant/oauth', 'admin', PASSWORD)) as any);
  t.equal(own.updateCredentials(), undefined, 'it has those of the answer');
  t.equal((await (new Client(own, server.url) as any).user.current()).data.userName, 'admin');
  await newUser('visitor');
  const cookie = await cookiesOf('visitor', SECRET);
  const basic = `Basic ${Buffer.from(`${TENANT}/visitor:${SECRET}`).toString('base64')}`;
  for (const headers of [
    { cookie },
    { authorization: basic },
    { authorization: `Bearer ${await tokenOf('visitor', SECRET)}` },
  ]) {
    const auth = new MicroserviceClientRequestAuth(headers);
    const passing: any = new Client(auth, server.url);
    t.equal((await passing.user.current()).data.userName, 'visitor', Object.keys(headers).join());
    t.match(auth.getCometdHandshake(), { ext: { 'com.cumulocity.authn': { token: String } } });
    t.equal((auth as any).updateCredentials(), undefined);
    auth.logout();
    t.equal(await statusOf(passing.user.current()), 401);
  }
  await seesAlarms(
    t,
    new FetchClient(
      new MicroserviceClientRequestAuth({
        authorization: `Basic ${Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64')}`,
      }),
      server.url,
    ),
    'by a microservice for its caller',
  );
});

t.test('Client.deviceBootstrap: a device asks until it is accepted', async (t) => {
  const basicAuthToken = Buffer.from(`management/devicebootstrap:${BOOTSTRAP_PASSWORD}`).toString('base64');
  await client.deviceRegistration.create({ id: 'bootstrapped' });
  let isDone = false;
  const asking = Client.deviceBootstrap({
    deviceId: 'bootstrapped',
    timeout: 30_000,
    baseUrl: server.url,
    basicAuthToken,
  }).finally(() => {
    isDone = true;
  });
  await eventually(
    'it has asked',
    async () => (await client.deviceRegistration.detail('bootstrapped')).data.status === 'PENDING_ACCEPTANCE',
  );
  t.notOk(isDone);
  await client.deviceRegistration.accept('bootstrapped');
  const device: any = await asking;
  t.equal(device.core.tenant, TENANT);
  t.equal((await device.user.current()).data.userName, 'device_bootstrapped');
  t.match((await device.inventory.create({ name: 'Self-made', c8y_IsDevice: {} })).data, {
    owner: 'device_bootstrapped',
  });
  const wrong = Buffer.from('management/devicebootstrap:wrong').toString('base64');
  await t.rejects(Client.deviceBootstrap({ deviceId: 'bootstrapped', baseUrl: server.url, basicAuthToken: wrong }));
});

t.test('Client.getMicroserviceSubscriptions', async (t) => {
  const { data: app } = await client.application.create({
    key: 'asks',
    name: 'asks',
    type: 'MICROSERVICE',
    requiredRoles: ['ROLE_INVENTORY_READ'],
  });
  const { data: bootstrap } = await client.application.getBootstrapUser(app);
  const credentials = { tenant: bootstrap.tenant, user: bootstrap.name, password: bootstrap.password };
  t.same(await Client.getMicroserviceSubscriptions(credentials, server.url), []);
  const management: any = new Client(
    new BasicAuth({ tenant: 'management', user: 'admin', password: MANAGEMENT_PASSWORD }),
    server.url,
  );
  t.equal((await management.tenant.subscribeApplication({ id: TENANT }, app)).res.status, 201);
  const subscriptions: any[] = await Client.getMicroserviceSubscriptions(credentials, server.url);
  t.match(subscriptions, [{ tenant: TENANT, user: 'service_asks', password: /./ }]);
  const service: any = await Client.authenticate(subscriptions[0], server.url);
  t.equal((await service.inventory.list({ pageSize: 1 })).res.status, 200);
  t.equal(await statusOf(service.inventory.create({ name: 'no' })), 403, 'required roles only');
});

t.test('Realtime: listeners, subscriptions, the end', async (t) => {
  const device = await createDevice('Live');
  const { realtime } = client;
  t.teardown(() => {
    realtime.disconnect();
  });
  t.equal(realtime.isDisconnected(), true);
  const handshakes: any[] = [];
  const connects: any[] = [];
  const handshakeListener = realtime.addHandshakeListener((message: any) => handshakes.push(message));
  realtime.addConnectListener((message: any) => connects.push(message));
  const seen: any[] = [];
  const subscription = realtime.subscribe(`/alarms/${device}`, (message: any) => seen.push(message.data));
  const others: any[] = [];
  const all = realtime.subscribe('/alarms/*', (message: any) => others.push(message.data));
  await alarmsUntil(device, () => seen.length > 0 && others.length > 0);
  t.match(handshakes, [{ successful: true, clientId: String }]);
  t.match(connects[0], { channel: '/meta/connect', successful: true });
  t.equal(realtime.isDisconnected(), false);
  t.match(seen[0], { realtimeAction: 'CREATE', data: { severity: 'MINOR', source: { id: device } } });
  realtime.removeListener(handshakeListener);
  realtime.unsubscribe(all);
  const count = (): number => seen.length;
  const before = count();
  const again = realtime.resubscribe(subscription);
  await alarmsUntil(device, () => count() > before);
  realtime.unsubscribe(again);
  await new Promise<void>((resolve) => {
    realtime.disconnect(() => resolve());
  });
  t.equal(realtime.isDisconnected(), true);
  realtime.subscribe(`/alarms/${device}`, (message: any) => seen.push(message.data));
  const ended = count();
  await alarmsUntil(device, () => count() > ended);
  t.equal(handshakes.length, 1, 'its listener is gone');
  realtime.disconnect();
});

t.test('Realtime: what the services do is told, in each area', async (t) => {
  const device = (await client.inventory.create({ name: 'Told', c8y_IsDevice: {}, com_cumulocity_model_Agent: {} }))
    .data.id;
  const credentials = new FetchClient(new BasicAuth(ADMIN), server.url);
  const listeners: any[] = [new Realtime(credentials), new Realtime(credentials, '/notification/operations')];
  t.teardown(() => {
    for (const one of listeners) one.disconnect();
  });
  const told: string[] = [];
  const listen = (realtime: any, channel: string): void =>
    realtime.subscribe(channel, ({ data: { realtimeAction, data } }: any) =>
      told.push(`${channel} ${realtimeAction} ${data.status ?? data.type ?? data.id ?? data}`),
    );
  for (const area of ['measurements', 'events', 'managedobjects']) listen(listeners[0], `/${area}/${device}`);
  listen(listeners[1], `/${device}`);
  /** Nothing tells when a subscription is in force: what it tells is done again until it arrives. */
  const wanted = (text: string, repeat: () => Promise<unknown>): Promise<unknown> =>
    eventually(text, async () => {
      if (told.includes(text)) return true;
      await repeat();
      return false;
    });
  const source = { id: device };
  const made: any[] = [];
  const event = async (): Promise<void> => {
    made.push((await client.event.create({ source, type: 'my_E', text: 't', time: new Date().toISOString() })).data);
  };
  await wanted(`/measurements/${device} CREATE my_M`, () =>
    client.measurement.create({ sourceId: device, type: 'my_M', my_M: { T: { value: 1 } } }),
  );
  await wanted(`/events/${device} CREATE my_E`, event);
  await client.event.update({ id: made[0].id, text: 'changed' });
  await client.event.delete(made[0].id);
  await wanted(`/events/${device} UPDATE my_E`, async () => undefined);
  await wanted(`/events/${device} DELETE ${made[0].id}`, async () => undefined);
  await wanted(`/managedobjects/${device} UPDATE my_Type`, () =>
    client.inventory.update({ id: device, type: 'my_Type', at: Date.now() }),
  );
  const operations: any[] = [];
  await wanted(`/${device} CREATE PENDING`, async () => {
    operations.push((await client.operation.create({ deviceId: device, c8y_Restart: {} })).data);
  });
  await client.operation.update({ id: operations[0].id, status: 'EXECUTING' });
  await wanted(`/${device} UPDATE EXECUTING`, async () => undefined);
});

t.test('every method of these classes was called', async (t) => {
  t.same(leftOut('login'), []);
});
