/**
 * A cluster whose disks are nearly full: every node refuses by name, tells of it, reads on, and takes what gives space
 * back.
 */
import { statfsSync } from 'node:fs';
import t from 'tap';
import { ClusterLoad } from '../../helpers/cluster/load.ts';
import { missing } from '../../helpers/tools.ts';

const NODES = 2;

const freeBytesOf = (path: string): number => {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
};

t.test('less free space than --disk-free-min-bytes', { skip: missing('nats-server', 'redis-server') }, async (t) => {
  const load = await ClusterLoad.start(t, NODES);
  const { cluster } = load;
  const device = await load.createDevice('full');
  const event = { source: { id: device }, type: 'x', text: 'x', time: new Date().toISOString() };
  const stored = (await load.http('POST', '/event/events', event)).json<{ id: string }>();
  await cluster.stop();
  await cluster.startNodes(['--disk-free-min-bytes', String(Math.round(freeBytesOf(cluster.data) * 1.3))]);
  const measurement = { source: { id: device }, type: 'x', time: event.time, a: { b: { value: 1 } } };
  for (const { name, url, httpPort } of cluster.nodes) {
    for (const [path, body] of [
      ['/inventory/managedObjects', { name: 'x' }],
      ['/event/events', event],
      ['/measurement/measurements', measurement],
    ] as const) {
      t.match(
        await load.http('POST', path, body, httpPort),
        { status: 503, text: /disk\/free-bytes/ },
        `${name} refuses POST ${path}`,
      );
    }
    const health = await fetch(`${url}/health/ready`);
    const parts = {
      journal: { refusal: 'disk/free-bytes' },
      disk: { ready: true, refusal: 'disk/free-bytes' },
      clickhouse: { ready: true, refusal: 'clickhouse/free-bytes' },
    };
    t.match(
      [health.status, await health.json()],
      [200, { parts }],
      'no node is better: none is taken away by a load balancer',
    );
    t.match(
      await (await fetch(`${url}/metrics`)).text(),
      /millrace_refusals_total\{limit="disk\/free-bytes"\} [1-9][^]*millrace_clickhouse_disk_free_bytes [1-9]/,
    );
    t.equal((await load.http('GET', `/event/events/${stored.id}`, undefined, httpPort)).status, 200, 'reads work');
  }
  t.equal((await load.http('DELETE', `/event/events?source=${device}`)).status, 204, 'what gives space back is taken');
  await cluster.stop();
  await cluster.startNodes([]);
  t.equal((await load.http('POST', '/event/events', event)).status, 201, 'works again without the limit');
});
