/**
 * A cluster of an older version: `fixtures/cluster-8fbfd87.tar.gz` has the streams of NATS and the documents of Redis that two
 * nodes of commit 8fbfd87 left, killed while ClickHouse stood still. So all rows of its history are still in the streams.
 */
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ClusterNodeProcess, clusterSettings, untilComplete } from '../../helpers/cluster/running.ts';
import { PASSWORD } from '../../helpers/process/server.ts';
import { ROOT } from '../../helpers/root.ts';
import { Rest } from '../../helpers/running/server.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { openClickHouse } from '../../helpers/stores/clickhouse.ts';
import { freePort } from '../../helpers/free-port.ts';
import { NatsServer } from '../../helpers/stores/nats-server.ts';
import { RedisServer } from '../../helpers/stores/redis-server.ts';
import { missing } from '../../helpers/tools.ts';

const DEVICES = 4;
/** What the script that made it has written of each device. */
const OF_EACH = { measurements: 10, events: 3 };
/** Twelve hours from now: no retention run in the middle of the test. */
const FLAGS = ['--retention-hour', String((new Date().getUTCHours() + 12) % 24)];

t.test(
  'streams and documents of a cluster open and are complete',
  {
    skip: missing('nats-server', 'redis-server'),
  },
  async (t) => {
    const directory = scratchDirectory(t);
    execFileSync('tar', ['-xzf', join(ROOT, 'test/fixtures/cluster-8fbfd87.tar.gz'), '-C', directory]);
    const clickHouse = await openClickHouse(t);
    const port = await freePort();
    const store = join(directory, 'nats');
    const nats = new NatsServer(port, store, `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${store}" }`);
    t.teardown(() => nats.kill());
    await nats.start();
    const redis = new RedisServer(await freePort(), []);
    t.teardown(() => redis.end());
    cpSync(join(directory, 'redis'), redis.directory, { recursive: true });
    await redis.start();
    const settings = clusterSettings(
      { nats: nats.url, redis: redis.url, clickHouse: clickHouse.url },
      { admin: PASSWORD, management: 'mill-Race-8' },
    );
    const nodes = ['node-1', 'node-2'].map(
      (name) => new ClusterNodeProcess(name, join(directory, name), settings, FLAGS),
    );
    for (const node of nodes) {
      t.teardown(() => node.kill());
      node.launch();
    }
    await Promise.all(nodes.map((node) => node.listening()));
    await untilComplete(nodes.map(({ url }) => url));

    const [first, second] = nodes.map(({ url }) => new Rest(url, 't1/admin', PASSWORD));
    for (let number = 1; number <= DEVICES; number += 1) {
      const { managedObject } = await first.read(`/identity/externalIds/c8y_Serial/pump-${number}`);
      const device = managedObject.id;
      t.match(await second.read(`/inventory/managedObjects/${device}`), {
        name: `pump ${number}`,
        note: 'Pumpe é',
        childDevices: { references: { length: 1 } },
      });
      for (const [path, name] of [
        ['/measurement/measurements', 'measurements'],
        ['/event/events', 'events'],
      ] as const) {
        const page = (await second.read(`${path}?source=${device}&pageSize=100`))[name];
        t.equal(page.length, OF_EACH[name], `${name} of ${device}`);
        t.equal(new Set(page.map(({ id }: { id: string }) => id)).size, page.length, 'each once');
      }
      t.match((await first.read(`/alarm/alarms?source=${device}`)).alarms, [
        { text: 'too hot', severity: 'MAJOR', status: 'ACTIVE', count: 2 },
      ]);
      const { operations } = await second.read(`/devicecontrol/operations?deviceId=${device}`);
      t.same(operations.map(({ status, description }: Record<string, string>) => [status, description]).sort(), [
        ['PENDING', 'PENDING'],
        ['SUCCESSFUL', 'SUCCESSFUL'],
      ]);
    }
    t.match((await first.read('/notification2/subscriptions')).subscriptions, [{ subscription: 'fixture' }]);
    t.match(await second.read('/tenant/options/fixture/colour'), { value: 'green' });
    t.ok(
      (await first.read('/user/t1/groups?pageSize=100')).groups.some(
        ({ name }: { name: string }) => name === 'fixture',
      ),
    );
    t.match((await second.read('/retention/retentions?pageSize=100')).retentionRules, { length: 2 });
    t.equal((await new Rest(first.url, 't1/erna', 'Erna-Password-1').get('/user/currentUser')).status, 200);
    for (const node of nodes) t.equal(await node.stop(), 0, `${node.name} stops in order`);
  },
);
