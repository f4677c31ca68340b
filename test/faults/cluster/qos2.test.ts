/** QoS 2 over the nodes of a cluster: each message once, however its sender comes back and whichever node is killed. */
import t from 'tap';
import { ClusterLoad } from '../../helpers/cluster/load.ts';
import { eventually } from '../../helpers/running/server.ts';
import { seeded } from '../../helpers/process/server.ts';
import { ExactlyOnceSender } from '../../helpers/process/qos2.ts';
import { missing } from '../../helpers/tools.ts';

const NODES = 3;
const LOAD_MS = 20_000;
/** Of nodes, one after the other. */
const QOS2_KILLS = 2;

const skip = missing('nats-server', 'redis-server');
const load = skip === false ? await ClusterLoad.start(t, NODES, { MILLRACE_ANSWER_TIMEOUT_MS: '5000' }) : undefined;

t.test('persistent sessions with QoS 2 in flight move between nodes', { skip }, async (t) => {
  if (load === undefined) return;
  const random = seeded(t);
  // Each connection comes to the next node: every drop is a move.
  const senders = ([4, 5, 4] as const).map(
    (version, index) => new ExactlyOnceSender(load, `moving-${index}`, random, version),
  );
  const runs = senders.map((sender) => sender.run());
  try {
    await eventually(
      'messages were completed over several nodes',
      () =>
        senders.every(
          ({ ledger, drops, resumptions }) => ledger.acknowledged.size > 100 && drops > 10 && resumptions > 10,
        ),
      LOAD_MS,
    );
  } finally {
    for (const sender of senders) sender.isStopped = true;
  }
  await Promise.all(runs);
  t.comment(
    `completed ${senders.map(({ ledger }) => ledger.acknowledged.size).join(' ')}, connections dropped ${senders
      .map(({ drops }) => drops)
      .join(' ')}, sessions resumed ${senders.map(({ resumptions }) => resumptions).join(' ')}`,
  );
  const ledgers = new Map<string, { source: string; ledger: ExactlyOnceSender['ledger'] }>();
  for (const [index, { ledger }] of senders.entries()) {
    t.equal(ledger.acknowledged.size, ledger.sent, 'every message was completed');
    ledgers.set(`moving-${index}`, { source: await load.deviceOf(`moving-${index}`), ledger });
  }
  t.strictSame(
    senders.flatMap(({ problems }) => problems),
    [],
    'no session was lost',
  );
  t.strictSame((await load.accountOf(ledgers)).problems, [], 'each is stored once, in order');
});

t.test('QoS 2 in flight while nodes are killed: once, whether PUBREC came or not', { skip }, async (t) => {
  if (load === undefined) return;
  const random = seeded(t);
  const senders = ([4, 5, 5, 4] as const).map(
    (version, index) => new ExactlyOnceSender(load, `killed-${index}`, random, version),
  );
  const runs = senders.map((sender) => sender.run());
  try {
    for (let kill = 0; kill < QOS2_KILLS; kill += 1) {
      const before = senders.map(({ ledger }) => ledger.acknowledged.size);
      await eventually(
        'every sender goes on',
        () => senders.every(({ ledger }, index) => ledger.acknowledged.size > before[index] + 5),
        LOAD_MS * 2,
      );
      await load.cluster.nodes[Math.floor(random() * NODES)].kill();
      await load.cluster.startNodes();
    }
  } finally {
    for (const sender of senders) sender.isStopped = true;
  }
  await Promise.all(runs);
  await load.cluster.complete();
  t.comment(
    `completed ${senders.map(({ ledger }) => ledger.acknowledged.size).join(' ')}, sessions resumed ${senders.map(({ resumptions }) => resumptions).join(' ')}`,
  );
  const ledgers = new Map<string, { source: string; ledger: ExactlyOnceSender['ledger'] }>();
  for (const [index, { ledger }] of senders.entries())
    ledgers.set(`killed-${index}`, { source: await load.deviceOf(`killed-${index}`), ledger });
  t.strictSame(
    senders.flatMap(({ problems }) => problems),
    [],
    'no session was lost',
  );
  t.strictSame((await load.accountOf(ledgers)).problems, [], 'each is stored once, in order');
});
