/** Three nodes in one process: writes on any of them, answers, follow-ups over shards, what queries and caches see. */
import t from 'tap';
import { shardOf } from '../../src/ingest/journal/command-record.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { NOW, until } from '../actors/platform.ts';
import { TestCluster } from './memory/nodes.ts';

const value = (doc: string): Record<string, unknown> => JSON.parse(doc) as Record<string, unknown>;

t.test('a device on one node is seen on all: answers, follow-ups between shards, errors', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const [a, b, c] = cluster.nodes;
  t.equal(a.ownedShards.length + b.ownedShards.length + c.ownedShards.length, 64);
  const ensured = await a.request<{ id: string; created: boolean }>({
    kind: COMMAND.DEVICE_ENSURE,
    key: 'x:c8y_Serial\ngateway',
    body: {
      type: 'c8y_Serial',
      externalId: 'gateway',
      id: '11',
      owner: 'ada',
      doc: '{"com_cumulocity_model_Agent":{}}',
    },
  });
  t.same(ensured, { id: '11', created: true });
  t.ok(cluster.store.snapshot()['managedObject/1/11'], 'the answer waits for the follow-up');
  t.ok(cluster.store.snapshot()['externalIdsOf/1/11\nc8y_Serial\ngateway'], 'and for those of that one');
  await b.request({
    kind: COMMAND.DEVICE_ENSURE,
    key: 'x:c8y_Serial\nchild',
    body: {
      type: 'c8y_Serial',
      externalId: 'child',
      id: '12',
      owner: 'ada',
      doc: '{}',
      parent: { id: '11', kind: 'childDevices' },
    },
  });
  t.ok(cluster.store.snapshot()['children/1/11\nchildDevices\n12']);
  t.ok(cluster.store.snapshot()['parents/1/12\nchildDevices\n11']);
  await t.rejects(
    c.request({ kind: COMMAND.MANAGED_OBJECT_UPDATE, key: 999, body: { doc: '{}', mayChangeOwner: false } }),
    { code: 'inventory/not-found', details: { id: '999' }, status: 404 },
  );
  await t.rejects(
    c.request({ kind: COMMAND.CHILD_ADD, key: 12, body: { kind: 'childDevices', parent: '12', child: '11' } }),
    { code: 'inventory/cycle' },
  );
  const alarm = (id: string) => ({
    kind: COMMAND.ALARM_CREATE,
    key: 12,
    body: {
      id,
      type: 'A',
      time: NOW,
      severity: 'MAJOR',
      status: 'ACTIVE',
      doc: '{"type":"A","time":"2024-01-01"}',
      user: 'ada',
    },
  });
  const alarms = await Promise.all([a, b, c, a, b, c].map((node) => node.request(alarm(cluster.idBeside(12)))));
  t.same(alarms.map(({ doc }) => value(doc).count).sort(), [1, 2, 3, 4, 5, 6], 'one actor decides');
  t.equal(new Set(alarms.map(({ doc }) => value(doc).id)).size, 1);
  await c.request({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: 11, body: { cascade: true } });
  await cluster.settled();
  await until(
    () => Object.keys(cluster.store.snapshot()).length === 0,
    'the deletion went through the hierarchy, alarms with it',
  );
  t.ok(
    a.changes.some(({ kind, id }) => kind === 'object' && id === '12') &&
      c.changes.some(({ kind, id }) => kind === 'object' && id === '12'),
  );
});

t.test('links that are made at once on several nodes make no cycle', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  for (let round = 0; round < 30; round += 1) {
    const count = 2 + (round % 3);
    const ids = Array.from({ length: count }, (_, index) => String(1_000 + round * 10 + index));
    await Promise.all(
      ids.map((id, index) =>
        cluster.nodes[index % 3].request({
          kind: COMMAND.MANAGED_OBJECT_CREATE,
          key: Number(id),
          body: { id, owner: 'ada', doc: '{}' },
        }),
      ),
    );
    await Promise.allSettled(
      ids.map((parent, index) =>
        cluster.nodes[(index + round) % 3].request({
          kind: COMMAND.CHILD_ADD,
          key: Number(parent),
          body: { kind: 'childAssets', parent, child: ids[(index + 1) % count] },
        }),
      ),
    );
    await cluster.settled();
    const stored = Object.keys(cluster.store.snapshot());
    const noted = ids.filter((parent, index) =>
      stored.includes(`parents/1/${ids[(index + 1) % count]}\nchildAssets\n${parent}`),
    );
    t.ok(noted.length < count, `${noted.length} of ${count} links`);
    t.same(
      ids.filter((parent, index) => stored.includes(`children/1/${parent}\nchildAssets\n${ids[(index + 1) % count]}`)),
      noted,
      'the same at both sides',
    );
  }
});

t.test('queries on any node see what any node has acknowledged', async (t) => {
  const cluster = await TestCluster.of(t, 3, { intervalMs: 3_600_000, rowsMax: 10_000 });
  let next = 0;
  for (let round = 0; round < 10; round += 1) {
    const sent: Promise<void>[] = [];
    for (const node of cluster.nodes)
      for (let source = 1; source <= 20; source += 1) sent.push(node.measure(source, next++));
    await Promise.all(sent);
    const reader = cluster.nodes[round % 3];
    if (round % 2 === 0) {
      await reader.node.visible(10_000, { tables: ['measurements'] });
      t.equal(cluster.history.values.length, next);
    } else {
      await reader.node.visible(10_000, { tables: ['measurements'], source: 7, tenant: 1 });
      t.equal(cluster.history.values.filter(({ source }) => source === 7).length, 3 * (round + 1));
    }
  }
  await until(() => cluster.store.blocks.size === 0, 'no block is left');
  await Promise.all(cluster.nodes.map(({ node }) => node.trim()));
  await cluster.nodes[0].measure(1, next);
  await Promise.all(cluster.nodes.map(({ node }) => node.visible(10_000)));
  t.equal(cluster.history.values.length, next + 1);
});

t.test('changes are told before the answer; everything is forgotten after a cut', async (t) => {
  const cluster = await TestCluster.of(t, 2);
  const [a, b] = cluster.nodes;
  await a.request({ kind: COMMAND.USER_PUT, key: 't', body: { userName: 'eve', password: 'x' } });
  const owner = cluster.ownerOf('t');
  const gateway = owner === a ? b : a;
  await until(() => cluster.nodes.every(({ events }) => events.length > 0));
  for (const node of cluster.nodes) node.events.length = 0;
  await gateway
    .request({ kind: COMMAND.USER_PUT, key: 't', body: { userName: 'eve', roles: [] } })
    .then(() => gateway.events.push('answered'));
  t.same(gateway.events, ['user eve', 'answered']);
  t.same(owner.events, ['user eve']);
  cluster.shared.cut(gateway.nodeId);
  t.equal(gateway.node.intake.refusal, 'journal/unavailable');
  await t.rejects(gateway.request({ kind: COMMAND.USER_PUT, key: 't', body: { userName: 'eve' } }), {
    code: 'general/busy',
  });
  cluster.shared.mend(gateway.nodeId);
  t.equal(gateway.forgottenCount, 1);
  await cluster.shared.settled();
  await gateway.request({ kind: COMMAND.USER_PUT, key: 't', body: { userName: 'eve' } });
});

t.test(
  'what a former owner may not have told is read again by all nodes; after an orderly hand-over nothing is',
  async (t) => {
    const cluster = await TestCluster.of(t, 3);
    const untold = (node: (typeof cluster.nodes)[number]): number[] =>
      node.changes
        .filter(({ kind }) => kind === 'shard')
        .map(({ id }) => Number(id))
        .sort((one, other) => one - other);
    const clear = (): void => {
      for (const { changes } of cluster.nodes) changes.length = 0;
    };
    const victim = cluster.ownerOf('t');
    t.equal(untold(cluster.nodes[0]).length, 64, 'of the first owner nobody knows whether there was one before');
    clear();
    const shards = victim.ownedShards.sort((one, other) => one - other);
    victim.kill();
    await cluster.settled();
    await until(
      () => cluster.nodes.every((node) => untold(node).length >= shards.length),
      'told of the shards of the killed node',
    );
    for (const node of cluster.nodes) t.same(untold(node), shards);
    await cluster.join();
    await cluster.settled();
    clear();
    await cluster.nodes[0].node.stop();
    await cluster.settled();
    for (const node of cluster.nodes.slice(1)) t.same(untold(node), [], 'told by the one that left');
    const [, one, other] = cluster.nodes;
    cluster.shared.nodes.get(one.nodeId)?.messages.reconnected.forEach((handler) => handler());
    const own = one.ownedShards.sort((x, y) => x - y);
    await until(() => untold(other).length > 0, 'who was cut off tells of his shards');
    t.same(untold(other), own);
  },
);

t.test('a DELETE by filters: what was acknowledged before it goes, what comes after its answer stays', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const [a, b, c] = cluster.nodes;
  await Promise.all(
    [5, 6].map((id) =>
      a.request({ kind: COMMAND.MANAGED_OBJECT_CREATE, key: id, body: { id: String(id), owner: 'ada', doc: '{}' } }),
    ),
  );
  const event = (source: number, receivedAt: number) => ({
    kind: COMMAND.EVENT_CREATE,
    key: source,
    receivedAt,
    body: { id: cluster.idBeside(source), type: 'T', time: NOW, doc: '{"type":"T"}' },
  });
  let next = 0;
  for (let round = 0; round < 5; round += 1) {
    const at = NOW + round * 1_000;
    const before = await Promise.all([
      ...cluster.nodes.map((node) => node.request(event(5, at))),
      a.request(event(6, at)),
    ]);
    await Promise.all(cluster.nodes.flatMap((node) => [node.measure(5, next++), node.measure(6, next++)]));
    await Promise.all(
      ['measurements', 'events'].map((table) =>
        c.request({
          kind: COMMAND.DATA_DELETE,
          key: 't',
          receivedAt: at + 1,
          body: { table, filter: { source: '5' } },
        }),
      ),
    );
    const after = await b.request(event(5, at + 2));
    const kept = next++;
    await b.measure(5, kept);
    await a.node.visible(10_000, { tables: ['measurements'], source: 5, tenant: 1 });
    t.same(
      cluster.history.values.filter(({ source }) => source === 5).map(({ value: number }) => number),
      [kept],
    );
    // The DELETE itself, and the rows of what it has deleted.
    await a.node.visible(10_000);
    const ids = cluster.history.ids('events');
    t.ok(ids.includes(Number(value(after.doc).id)));
    t.notOk(before.slice(0, 3).some(({ doc }) => ids.includes(Number(value(doc).id))));
    t.ok(ids.includes(Number(value(before[3].doc).id)), 'of another source');
  }
  t.equal(cluster.history.values.filter(({ source }) => source === 6).length, 15);
});

t.test('a node that joins gets its share in order, one that leaves gives it back', async (t) => {
  const cluster = await TestCluster.of(t, 1);
  const [first] = cluster.nodes;
  let next = 0;
  let isDone = false;
  const load = (async () => {
    while (!isDone) await Promise.all([first.measure(next % 40, next++), first.measure(next % 40, next++)]);
  })();
  const second = await cluster.join();
  t.equal(second.ownedShards.length, 32);
  const created = await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      second.request({
        kind: COMMAND.MANAGED_OBJECT_CREATE,
        key: 1_000 + index,
        body: { id: String(1_000 + index), owner: 'ada', doc: '{}' },
      }),
    ),
  );
  t.equal(created.length, 30);
  await second.node.stop();
  t.equal(first.ownedShards.length, 64);
  isDone = true;
  await load;
  await first.node.visible(10_000);
  t.same(
    cluster.history.values.map(({ value: number }) => number).sort((x, y) => x - y),
    Array.from({ length: next }, (_, index) => index),
  );
  t.equal(cluster.history.ids('managed_objects').length, 30);
  t.equal(shardOf(1, 5), shardOf(1, 5));
});
