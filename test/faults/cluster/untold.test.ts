/**
 * An owner that commits and cannot tell, for what it sends does not arrive: every node follows all the same when it is
 * cut off or killed.
 */
import mqtt from 'mqtt';
import t from 'tap';
import { FreezingProxy } from '../../helpers/proxies/freezing-proxy.ts';
import { RunningCluster } from '../../helpers/cluster/running.ts';
import { MANAGEMENT_PASSWORD, Rest, TENANT, eventually } from '../../helpers/running/server.ts';
import { PASSWORD, USER } from '../../helpers/process/server.ts';
import { missing } from '../../helpers/tools.ts';

/** With `PATIENCE` less than the 60 s after which a password is checked again. */
const FOLLOWS_MS = 10_000;
const skip = missing('nats-server', 'redis-server');

for (const end of ['its connection to NATS breaks', 'it is killed'] as const) {
  t.test(`changes are committed and not told, then ${end}`, { skip }, async (t) => {
    let proxy: FreezingProxy | undefined;
    const cluster = await RunningCluster.start(t, {
      nodes: 2,
      passwords: { admin: PASSWORD, management: MANAGEMENT_PASSWORD },
      flags: ['--answer-timeout-ms', '2000'],
      environmentOf: async (index, { nats }): Promise<Record<string, string>> => {
        if (index === 0) return { MILLRACE_ROLES: 'gateway' };
        proxy = await FreezingProxy.start(t, Number(new URL(nats.url).port));
        return { MILLRACE_ROLES: 'shard', MILLRACE_NATS: `nats://127.0.0.1:${proxy.port}` };
      },
    });
    const [gateway, owner] = cluster.nodes;
    const admin = new Rest(gateway.url, USER, PASSWORD);
    const management = new Rest(gateway.url, 'management/admin', MANAGEMENT_PASSWORD);
    await admin.create(`/user/${TENANT}/users`, { userName: 'joe', password: 'first-Secret-1' });
    await management.create('/tenant/tenants', {
      id: 'paused',
      domain: 'paused-domain',
      company: 'Paused',
      adminName: 'ada',
      adminPass: 'first-Secret-1',
      adminEmail: 'a@example.com',
    });
    const device = await admin.create('/inventory/managedObjects', { c8y_IsDevice: {} });
    await admin.create(`/identity/globalIds/${device.id as string}/externalIds`, {
      type: 'c8y_Serial',
      externalId: 'told',
    });
    const statusOf = async (user: string): Promise<number> =>
      (await new Rest(gateway.url, user, 'first-Secret-1').get('/user/currentUser')).status;
    for (const user of [`${TENANT}/joe`, 'paused/ada'])
      await eventually(`${user} logs in`, async () => (await statusOf(user)) === 200);
    const client = mqtt.connect(`mqtt://127.0.0.1:${gateway.mqttPort}`, {
      clientId: 'told',
      username: USER,
      password: PASSWORD,
      reconnectPeriod: 0,
    });
    t.teardown(() => client.endAsync(true));
    await new Promise<void>((done, fail) => {
      client.once('connect', () => done()).once('error', fail);
    });
    await client.publishAsync('s/us', '200,f,s,1', { qos: 1 });
    const path = `/inventory/managedObjects/${device.id as string}`;

    proxy!.mute();
    const answers = await Promise.all([
      admin.put(`/user/${TENANT}/users/joe`, { enabled: false }),
      management.put('/tenant/tenants/paused', { status: 'SUSPENDED' }),
      admin.put('/tenant/options/access.control/allow.origin', { value: 'https://told.example.com' }),
      admin.delete(path),
    ]);
    t.same(
      answers.map(({ status }) => status),
      [503, 503, 503, 503],
      'they may have been carried out',
    );
    await eventually('they were', async () => (await admin.get(path)).status === 404);
    if (end === 'it is killed') {
      await owner.kill();
      proxy!.cut();
      await cluster.startNodes();
    } else {
      proxy!.cut();
    }
    for (const user of [`${TENANT}/joe`, 'paused/ada'])
      await eventually(`${user} is refused`, async () => (await statusOf(user)) === 401, FOLLOWS_MS);
    await eventually(
      'the option counts',
      async () =>
        (
          await fetch(`${gateway.url}/inventory/managedObjects`, {
            method: 'OPTIONS',
            headers: { origin: 'https://told.example.com', 'access-control-request-method': 'GET' },
          })
        ).headers.get('access-control-allow-origin') === 'https://told.example.com',
      FOLLOWS_MS,
    );
    await eventually(
      'the device is found or created again',
      async () => {
        await client.publishAsync('s/us', '200,f,s,2', { qos: 1 });
        return (await admin.get('/identity/externalIds/c8y_Serial/told')).status === 200;
      },
      FOLLOWS_MS,
    );
  });
}
