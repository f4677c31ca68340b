/**
 * A cluster of three nodes under load while its nodes and the servers behind it are killed: what was acknowledged is
 * stored exactly once and in the order in which each device sent it, and everything goes on without a restart of ours.
 */
import mqtt from 'mqtt';
import t from 'tap';
import { underLoad } from '../../helpers/cluster/under-load.ts';
import type { Disturb } from '../../helpers/cluster/under-load.ts';
import { ClusterLoad, acknowledgedAgain } from '../../helpers/cluster/load.ts';
import { MANAGEMENT_PASSWORD, Rest, TENANT, eventually } from '../../helpers/running/server.ts';
import { PASSWORD, USER, delay } from '../../helpers/process/server.ts';
import { RawMqtt } from '../../helpers/process/mqtt.ts';
import { missing } from '../../helpers/tools.ts';

const NODES = 3;
const DEVICES = 6;
const AWAY_MS = 1_500;
/** More than --lease-time-ms and what the others need to notice. */
const PAUSE_MS = 6_000;
/** The answer of a command is lost with its owner; its device waits for it. */
const ANSWER_TIMEOUT_MS = '5000';
/** What other nodes are told has reached them after this time. */
const NOTICE_MS = 1_000;

const skip = missing('nats-server', 'redis-server');
const load =
  skip === false ? await ClusterLoad.start(t, NODES, { MILLRACE_ANSWER_TIMEOUT_MS: ANSWER_TIMEOUT_MS }) : undefined;

/** A test of its own for each fault. */
function faulted(name: string, disturb: Disturb): void {
  t.test(name, { skip }, async (t) => {
    if (load !== undefined) await underLoad(t, load, { devices: DEVICES }, disturb);
  });
}

faulted('kill -9 of a node', async (cluster) => {
  const [victim] = cluster.nodes;
  await victim.kill();
  await delay(AWAY_MS);
  await cluster.startNodes();
});

faulted('kill -9 of nats-server', (cluster) => cluster.restart(cluster.nats, AWAY_MS));

faulted('kill -9 of redis-server', (cluster) => cluster.restart(cluster.redis, AWAY_MS));

faulted('kill -9 of ClickHouse, three times', async (cluster) => {
  for (let kill = 0; kill < 3; kill += 1) {
    cluster.killClickHouse();
    await delay(AWAY_MS);
  }
});

faulted('rolling restart', async (cluster, devices, t) => {
  for (const node of cluster.nodes) {
    const startMs = Date.now();
    t.equal(await node.stop(), 0, `${node.name} stops in order`);
    const takenMs = await acknowledgedAgain(devices);
    t.comment(
      `${node.name} stopped and every device acknowledged elsewhere after ${Date.now() - startMs} ms, the last ${takenMs} ms of it running`,
    );
    await cluster.startNodes();
  }
});

faulted('a node that is paused for longer than its lease', async (cluster) => {
  const node = cluster.nodes[1];
  node.signal('SIGSTOP');
  await delay(PAUSE_MS);
  // The others have all shards: what the paused one still does for its own is too late.
  await cluster.complete();
  node.signal('SIGCONT');
  await cluster.complete();
});

t.test('a connection to another node ends the older one', { skip }, async (t) => {
  if (load === undefined) return;
  const [here, there] = load.cluster.nodes;
  const older = await RawMqtt.connect(here.mqttPort, { clientId: 'one-at-a-time', version: 5 });
  await acknowledged(older, '200,fault,n,1');
  const startMs = Date.now();
  const newer = await RawMqtt.connect(there.mqttPort, { clientId: 'one-at-a-time', version: 5 });
  t.comment(`connected to the other node after ${Date.now() - startMs} ms`);
  await eventually('the older connection ends', () => older.isClosed);
  t.equal(older.disconnectCode, 0x8e, 'session taken over');
  await acknowledged(newer, '200,fault,n,2');
  newer.disconnect();
});

t.test('credentials are the same everywhere at once', { skip }, async (t) => {
  if (load === undefined) return;
  const [a, b, c] = load.cluster.nodes;
  const admin = new Rest(a.url, USER, PASSWORD);
  const userName = 'passing';
  const users = `/user/${TENANT}/users`;
  await admin.create(users, { userName, password: 'first-Secret-1' });
  await admin.create(`${users}/${userName}/roles`, { role: { self: `${a.url}/user/roles/ROLE_DEVICE_CONTROL_ADMIN` } });
  const login = async (node: { readonly url: string }, password: string): Promise<number> =>
    (await new Rest(node.url, `${TENANT}/${userName}`, password).get('/user/currentUser')).status;
  for (const node of [a, b, c])
    t.equal(
      await eventually('the login', async () => {
        const status = await login(node, 'first-Secret-1');
        return status !== 401 && status;
      }),
      200,
    );
  t.equal((await admin.put(`${users}/${userName}`, { password: 'second-Secret-2' })).status, 200);
  const changedMs = Date.now();
  for (const node of [b, c])
    await eventually(
      'the old password is refused',
      async () => (await login(node, 'first-Secret-1')) === 401,
      NOTICE_MS,
    );
  t.comment(`the old password was refused by the other nodes after ${Date.now() - changedMs} ms`);
  for (const node of [b, c]) t.equal(await login(node, 'second-Secret-2'), 200);

  const client = mqtt.connect(`mqtt://127.0.0.1:${c.mqttPort}`, {
    clientId: 'of-passing',
    username: `${TENANT}/${userName}`,
    password: 'second-Secret-2',
    reconnectPeriod: 0,
    protocolVersion: 4,
  });
  t.teardown(() => client.endAsync(true));
  await new Promise<void>((done, fail) => {
    client.once('connect', () => done()).once('error', fail);
  });
  const ended = new Promise<void>((done) => {
    client.once('close', () => done());
  });
  const disabledMs = Date.now();
  t.equal((await admin.put(`${users}/${userName}`, { enabled: false })).status, 200);
  let isEnded = false;
  void ended.then(() => {
    isEnded = true;
  });
  await eventually('the connection of the disabled user ends', () => isEnded, NOTICE_MS);
  t.comment(`the connection to another node ended ${Date.now() - disabledMs} ms after the request`);
  t.equal(await login(b, 'second-Secret-2'), 401);
});

t.test('options, tokens, groups and inventory roles: every node follows within a second', { skip }, async (t) => {
  if (load === undefined) return;
  const [a, ...others] = load.cluster.nodes;
  const admin = new Rest(a.url, USER, PASSWORD);
  const users = `/user/${TENANT}/users`;
  const secret = 'first-Secret-1';
  const follow = (what: string, isSo: (node: { readonly url: string }) => Promise<boolean>): Promise<unknown> =>
    Promise.all(others.map((node) => eventually(what, () => isSo(node), NOTICE_MS)));
  await admin.create(users, { userName: 'clerk', password: secret });
  await admin.create(users, { userName: 'holder', password: secret });
  const object = await admin.create('/inventory/managedObjects', { name: 'guarded' });
  const at = (node: { readonly url: string }): Rest => new Rest(node.url, `${TENANT}/clerk`, secret);
  const path = `/inventory/managedObjects/${object.id as string}`;
  for (const node of others)
    await eventually('the user is known', async () => (await at(node).get(path)).status === 403);

  const assigned = await admin.post(`${users}/clerk/roles/inventory`, { managedObject: object.id, roles: [{ id: 1 }] });
  t.equal(assigned.status, 200);
  await follow('an inventory role counts', async (node) => (await at(node).get(path)).status === 200);
  t.equal((await admin.delete(`${users}/clerk/roles/inventory/${(assigned.json as { id: number }).id}`)).status, 204);
  await follow('it does no longer', async (node) => (await at(node).get(path)).status === 403);
  const { id: group } = (
    await admin.post(`/user/${TENANT}/groups`, {
      name: 'inventory-readers',
      roles: { references: [{ role: { id: 'ROLE_INVENTORY_READ' } }] },
    })
  ).json as { id: number };
  await admin.create(`/user/${TENANT}/groups/${group}/users`, { user: { id: 'clerk' } });
  await follow('the role of a group counts', async (node) => (await at(node).get(path)).status === 200);
  t.equal((await admin.delete(`/user/${TENANT}/groups/${group}`)).status, 204);
  await follow('the group is gone', async (node) => (await at(node).get(path)).status === 403);

  const origin = 'https://followed.example.com';
  const allowed = async (node: { readonly url: string }): Promise<boolean> =>
    (await fetch(`${node.url}/platform`, { headers: { origin } })).headers.get('access-control-allow-origin') ===
    origin;
  t.equal((await admin.put('/tenant/options/access.control/allow.origin', { value: origin })).status, 200);
  await follow('a tenant option counts', allowed);
  const limited = async (node: { readonly url: string }): Promise<boolean> =>
    (await at(node).get('/user/currentUser')).headers.get('x-ratelimit-limit') === '1000';
  t.equal((await admin.put('/tenant/options/limit/http.requests.user', { value: '1000' })).status, 200);
  await follow('a limit counts', limited);
  t.equal((await admin.delete('/tenant/options/limit/http.requests.user')).status, 204);
  await follow('it does no longer', async (node) => !(await limited(node)));

  const form = new URLSearchParams({ grant_type: 'PASSWORD', username: 'holder', password: secret });
  const { access_token: token } = (await (
    await fetch(`${a.url}/tenant/oauth/token?tenant_id=${TENANT}`, { method: 'POST', body: form })
  ).json()) as { access_token: string };
  const taken = async (node: { readonly url: string }): Promise<number> =>
    (await fetch(`${node.url}/user/currentUser`, { headers: { authorization: `Bearer ${token}` } })).status;
  for (const node of load.cluster.nodes) t.equal(await taken(node), 200);
  t.equal((await admin.post(`/user/logout/${TENANT}/allUsers`, {})).status, 200);
  await follow('a token that was ended is taken nowhere', async (node) => (await taken(node)) === 401);
});

t.test('roles: a node without gateway takes nobody, one without shard owns nothing', { skip }, async (t) => {
  if (load === undefined) return;
  const { cluster } = load;
  const worker = cluster.further('worker', ['--roles', 'shard']);
  const front = cluster.further('front', ['--roles', 'gateway']);
  t.teardown(() => Promise.all([worker.kill(), front.kill()]));
  for (const node of [worker, front]) node.launch();
  await Promise.all([worker.listening(), front.listening()]);
  t.equal(worker.mqttPort, 0);
  t.match(worker.output, /MQTT port +none: this node is not a gateway/);
  t.notMatch(worker.output, /mosquitto_pub/);
  const statusOf = async (node: { url: string }, path: string): Promise<number> =>
    (await fetch(`${node.url}${path}`, { headers: { accept: '*/*' } })).status;
  const shardsOf = async (node: { url: string }): Promise<number> =>
    Number(/^millrace_cluster_shards (\d+)/m.exec(await (await fetch(`${node.url}/metrics`)).text())?.[1]);
  await eventually('the worker owns its share', async () => (await shardsOf(worker)) >= 64 / (NODES + 1) - 1);
  t.equal(await shardsOf(front), 0);
  t.same(await Promise.all(['/health', '/health/ready'].map((path) => statusOf(worker, path))), [200, 200]);
  const atWorker = new Rest(worker.url, USER, PASSWORD);
  for (const path of ['/inventory/managedObjects', '/platform', '/openapi.json'])
    t.equal((await atWorker.get(path)).status, 404, path);
  const rest = new Rest(front.url, USER, PASSWORD);
  const device = await rest.create('/inventory/managedObjects', { name: 'by the front', c8y_IsDevice: {} });
  t.match(
    await new Rest(cluster.nodes[0].url, USER, PASSWORD).read(`/inventory/managedObjects/${device.id as string}`),
    { name: 'by the front' },
  );
  const through = await RawMqtt.connect(front.mqttPort, { clientId: 'through-the-front', version: 5 });
  await acknowledged(through, '200,fault,n,1');
  through.disconnect();
  for (const node of [worker, front]) t.equal(await node.stop(), 0);
});

t.test('rights that end, end what is connected to any node', { skip }, async (t) => {
  if (load === undefined) return;
  const { nodes } = load.cluster;
  const admin = new Rest(nodes[0].url, USER, PASSWORD);
  /** A connection to each node, by turns; resolves with what tells whether they are closed. */
  const everywhere = (name: string, username: string, password: string): Promise<() => boolean> =>
    Promise.all(
      nodes.map(
        (node, index) =>
          new Promise<{ isClosed: boolean }>((done, fail) => {
            const client = mqtt.connect(`mqtt://127.0.0.1:${node.mqttPort}`, {
              clientId: `${name}-${index}`,
              username,
              password,
              reconnectPeriod: 0,
              protocolVersion: 4,
            });
            t.teardown(() => client.endAsync(true));
            const state = { isClosed: false };
            client
              .once('connect', () => done(state))
              .once('error', fail)
              .once('close', () => {
                state.isClosed = true;
              });
          }),
      ),
    ).then((states) => () => states.every(({ isClosed }) => isClosed));

  const users = `/user/${TENANT}/users`;
  await admin.create(users, { userName: 'grouped', password: 'first-Secret-1' });
  const { id } = (
    await admin.post(`/user/${TENANT}/groups`, {
      name: 'senders',
      roles: { references: [{ role: { id: 'ROLE_DEVICE_CONTROL_ADMIN' } }] },
    })
  ).json;
  await admin.create(`/user/${TENANT}/groups/${id}/users`, { user: { id: 'grouped' } });
  const ofGroup = await everywhere('of-group', `${TENANT}/grouped`, 'first-Secret-1');
  t.notOk(ofGroup());
  t.equal((await admin.delete(`/user/${TENANT}/groups/${id}/roles/ROLE_DEVICE_CONTROL_ADMIN`)).status, 204);
  await eventually('the members of a group with a role less are ended on every node', ofGroup, NOTICE_MS);

  const management = new Rest(nodes[1].url, 'management/admin', MANAGEMENT_PASSWORD);
  await management.create('/tenant/tenants', {
    id: 'paused',
    domain: 'paused-domain',
    company: 'Paused',
    adminName: 'ada',
    adminPass: 'first-Secret-1',
    adminEmail: 'a@example.com',
  });
  const ofTenant = await eventually('the new tenant is known everywhere', () =>
    everywhere('of-tenant', 'paused/ada', 'first-Secret-1').catch(() => false as const),
  );
  t.equal((await management.put('/tenant/tenants/paused', { status: 'SUSPENDED' })).status, 200);
  await eventually('what is connected of a suspended tenant is ended on every node', ofTenant, NOTICE_MS);
  for (const node of nodes)
    t.equal((await new Rest(node.url, 'paused/ada', 'first-Secret-1').get('/user/currentUser')).status, 401);
});

/** Resolves when the server has acknowledged the payload. */
async function acknowledged(client: RawMqtt, payload: string): Promise<void> {
  await new Promise<void>((done, fail) => {
    client.onPuback = () => done();
    client.onClose = () => fail(new Error('the connection was closed'));
    client.publish('s/us', payload, 1, 9);
  });
  client.onClose = undefined;
}
