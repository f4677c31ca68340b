/**
 * A DELETE by filters of many entities on three nodes: who waits for it, and who goes on with it when its node is
 * killed.
 */
import t from 'tap';
import { shardOf } from '../../src/ingest/journal/command-record.ts';
import { SELECT_PAGE } from '../../src/ports/stores/history-writer.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { DATA_DELETION_PREFIX } from '../../src/model/commands/data-deletion-jobs.ts';
import { TenantJobs } from '../../src/pacing/tenant-jobs.ts';
import { NOW, TENANT, silentLog, until } from '../actors/platform.ts';
import { TestCluster } from './memory/nodes.ts';
import type { TestNode } from './memory/nodes.ts';

const DEVICE = 5;
const remove = (receivedAt: number) => ({
  kind: COMMAND.DATA_DELETE,
  key: 't',
  receivedAt,
  body: { table: 'events', filter: { source: String(DEVICE) } },
});

async function withEvents(cluster: TestCluster, count: number): Promise<void> {
  const [a] = cluster.nodes;
  await a.request({
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    key: DEVICE,
    body: { id: String(DEVICE), owner: 'ada', doc: '{}' },
  });
  for (let start = 0; start < count; start += 200) {
    await Promise.all(
      Array.from({ length: Math.min(200, count - start) }, () =>
        a.request({
          kind: COMMAND.EVENT_CREATE,
          key: DEVICE,
          body: { id: cluster.idBeside(DEVICE), type: 'T', time: NOW, doc: '{"type":"T"}' },
        }),
      ),
    );
  }
}

/** As the server runs them. @param onPage before each page. */
function startJobs(node: TestNode, onPage: () => Promise<void>): void {
  node.jobs = new TenantJobs({
    prefix: DATA_DELETION_PREFIX,
    name: 'a deletion',
    documents: node.documents.reader,
    tenants: () => [TENANT],
    log: silentLog,
    isMine: (tenant) => node.ports.leases.owned.has(shardOf(tenant, 't')),
    page: async (...page) => {
      await onPage();
      return node.node.deletion.page(...page);
    },
  });
  node.jobs.start();
}

t.test('goes on at the next owner of the tenant', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const count = 2 * SELECT_PAGE + 100;
  await withEvents(cluster, count);
  const owner = cluster.ownerOf('t');
  let pages = 0;
  for (const node of cluster.nodes) {
    startJobs(node, async () => {
      pages += 1;
      if (node !== owner || pages < 2) return;
      node.kill();
      await new Promise(() => undefined);
    });
  }
  await owner.request(remove(NOW + 1));
  await until(() => cluster.nodes.length === 2, 'the owner is killed behind its first page');
  const [other] = cluster.nodes;
  await until(() => cluster.history.ids('events').length === 0, 'the next one goes on');
  const later = cluster.idBeside(DEVICE);
  await other.request({
    kind: COMMAND.EVENT_CREATE,
    key: DEVICE,
    receivedAt: NOW + 2,
    body: { id: later, type: 'T', time: NOW, doc: '{}' },
  });
  await until(() => Object.keys(cluster.store.snapshot()).every((key) => !key.startsWith('job/')), 'and ends');
  await other.node.visible(10_000);
  t.same(cluster.history.ids('events'), [Number(later)]);
  await Promise.all(cluster.nodes.map((node) => node.jobs?.stop()));
});

t.test(
  'DELETEs of single measurements, one behind the other in the shard of their device, do not wait for themselves',
  async (t) => {
    const cluster = await TestCluster.of(t, 1);
    const [node] = cluster.nodes;
    const source = Array.from({ length: 1_000 }, (_, index) => index + 1).find(
      (id) => shardOf(TENANT, id) === shardOf(TENANT, 't'),
    ) as number;
    await Promise.all(
      ['31', '32', '33'].map((id) =>
        node.request({ ...remove(NOW), body: { table: 'measurements', filter: { id, source: String(source) } } }),
      ),
    );
    await node.node.visible(5_000);
    t.pass('they are carried out');
  },
);

t.test('a list behind the answer of a DELETE shows nothing of what it takes, whichever node is asked', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const [a, ...others] = cluster.nodes;
  const devices = Array.from({ length: 12 }, (_, index) => 5 + index);
  for (const key of devices)
    await a.request({ kind: COMMAND.MANAGED_OBJECT_CREATE, key, body: { id: String(key), owner: 'ada', doc: '{}' } });
  for (let round = 0; round < 10; round += 1) {
    await Promise.all(
      devices.map((key) =>
        a.request({
          kind: COMMAND.EVENT_CREATE,
          key,
          receivedAt: NOW + round,
          body: { id: cluster.idBeside(key), type: 'T', time: NOW, doc: '{"type":"T"}' },
        }),
      ),
    );
    // All at once: it is carried out behind the question of each list, or while it is asked.
    const removed = others[0].request({
      ...remove(NOW + round),
      body: { table: 'events', filter: { source: String(devices[round]) } },
    });
    await removed;
    await Promise.all(
      cluster.nodes.map(async ({ node }) => {
        await node.visible(10_000, { tables: ['events'], tenant: TENANT });
        t.same(
          [...(cluster.history.tables.get('events')?.values() ?? [])].filter(
            ({ source, deleted }) => source === devices[round] && !deleted,
          ),
          [],
        );
      }),
    );
  }
});

t.test('a statement on measurements that takes longer is a job, and goes on at the next owner', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const [a] = cluster.nodes;
  await a.request({
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    key: DEVICE,
    body: { id: String(DEVICE), owner: 'ada', doc: '{}' },
  });
  await Promise.all([0, 1, 2].map((value) => a.measure(DEVICE, value)));
  let isDone = false;
  cluster.history.isDeleted = () => isDone;
  for (const node of cluster.nodes) startJobs(node, async () => undefined);
  const owner = cluster.ownerOf('t');
  await owner.request({ ...remove(NOW + 1), body: { table: 'measurements', filter: { source: String(DEVICE) } } });
  await until(() => Object.keys(cluster.store.snapshot()).some((key) => key.startsWith('job/')), 'recorded');
  owner.kill();
  isDone = true;
  await until(
    () => Object.keys(cluster.store.snapshot()).every((key) => !key.startsWith('job/')),
    'ended by the next owner',
  );
  t.same(cluster.history.values, []);
  await Promise.all(cluster.nodes.map((node) => node.jobs?.stop()));
});

t.test('a shard that is held by a DELETE: who reads something else does not wait', async (t) => {
  const cluster = await TestCluster.of(t, 2);
  await withEvents(cluster, 1);
  await cluster.nodes[0].node.visible(10_000);
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { select } = cluster.history;
  cluster.history.select = async (...query) => {
    await gate;
    return select.apply(cluster.history, query);
  };
  const owner = cluster.ownerOf('t');
  await owner.request(remove(NOW + 1));
  for (const { node } of cluster.nodes) {
    await t.resolves(node.visible(2_000, { tables: ['alarms'], tenant: TENANT }));
    await t.resolves(node.visible(2_000, { tables: ['events'], tenant: TENANT + 1 }));
    await t.rejects(node.visible(300, { tables: ['events'], tenant: TENANT }));
  }
  open();
  await owner.node.visible(10_000);
  t.same(cluster.history.ids('events'), []);
});

t.test(
  'what many objects leave goes with few deletions, those of the shard that deletes too, and in the middle of other commands',
  async (t) => {
    const cluster = await TestCluster.of(t, 3);
    const [a] = cluster.nodes;
    // Among them some of the shard of the tenant's own commands.
    const own = Array.from({ length: 2_000 }, (_, index) => 1_000 + index)
      .filter((id) => shardOf(TENANT, id) === shardOf(TENANT, 't'))
      .slice(0, 10);
    const devices = [...new Set([...own, ...Array.from({ length: 110 }, (_, index) => 5 + index)])];
    await Promise.all(
      devices.map((key) =>
        a.request({ kind: COMMAND.MANAGED_OBJECT_CREATE, key, body: { id: String(key), owner: 'ada', doc: '{}' } }),
      ),
    );
    await Promise.all(
      devices.map((key) =>
        a.request({
          kind: COMMAND.EVENT_CREATE,
          key,
          body: { id: cluster.idBeside(key), type: 'T', time: NOW, doc: '{"type":"T"}' },
        }),
      ),
    );
    await Promise.all(devices.map((key) => a.measure(key, 1)));
    let selects = 0;
    const { select } = cluster.history;
    cluster.history.select = async (...query) => {
      selects += 1;
      return select.apply(cluster.history, query);
    };
    const between = (index: number): Promise<unknown> =>
      a.request({
        kind: COMMAND.RECORDS_CHANGE,
        key: 't',
        body: { changes: [{ collection: 'option', id: `o\n${index}`, expected: undefined, value: '{}' }] },
      });
    await Promise.all(
      devices.flatMap((key, index) => [
        a.request({ kind: COMMAND.MANAGED_OBJECT_DELETE, key, body: {} }),
        between(index),
      ]),
    );
    await until(() => cluster.history.ids('events').length === 0 && cluster.history.values.length === 0, 'all is gone');
    await Promise.all(cluster.nodes.map(({ node }) => node.visible(10_000)));
    t.ok(
      selects < devices.length,
      `${selects} selections for ${devices.length} objects; one by one they are 3 for each`,
    );
  },
);
