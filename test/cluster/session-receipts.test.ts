/**
 * QoS 2 over nodes that end at any moment: each message is there once, whichever node it is sent to again
 * (docs/internals/cluster.md).
 */
import t from 'tap';
import type { Test } from 'tap';
import type { ConnectionHolder, ConnectionRegistry } from '../../src/ports/cluster/connection-registry.ts';
import { SessionReceipts } from '../../src/cluster/gateway/session-receipts.ts';
import { SessionTakeover } from '../../src/cluster/gateway/session-takeover.ts';
import { shardOf, textKeyIn } from '../../src/ingest/journal/command-record.ts';
import { DistantMonths } from '../../src/ingest/measurements/distant-months.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { IdSource } from '../../src/ports/id-source.ts';
import type { Principal } from '../../src/model/access/principal.ts';
import { DeviceApplication } from '../../src/mqtt/devices/application.ts';
import { MqttServer } from '../../src/mqtt/server.ts';
import { SessionDocuments } from '../../src/mqtt/devices/session-documents.ts';
import { NOW, silentLog, until } from '../actors/platform.ts';
import { TestClient, connectPacket, publish, seededRandom } from '../mqtt/helpers/harness.ts';
import { InMemoryJournal } from './memory/ports.ts';
import { TestCluster } from './memory/nodes.ts';
import type { TestNode } from './memory/nodes.ts';

const SERIAL = 'sender';
const principal: Principal = {
  tenant: 't1',
  tenantNumber: 1,
  userName: 'ada',
  roles: new Set(['ROLE_DEVICE_CONTROL_ADMIN', 'ROLE_INVENTORY_ADMIN', 'ROLE_MEASUREMENT_ADMIN']),
};

/** In memory, of all nodes. */
function registryOf(): ConnectionRegistry {
  const held = new Map<string, ConnectionHolder>();
  return {
    claim: async (tenant, key, nodeId, connectionId) => {
      const former = held.get(`${tenant}/${key}`);
      held.set(`${tenant}/${key}`, { nodeId, connectionId });
      return former;
    },
    holder: async (tenant, key) => held.get(`${tenant}/${key}`),
    release: async (tenant, key, nodeId) => {
      if (held.get(`${tenant}/${key}`)?.nodeId === nodeId) held.delete(`${tenant}/${key}`);
    },
    onForgotten: () => () => undefined,
  };
}

/** Nodes with all that MQTT needs. */
class Fleet {
  readonly cluster: TestCluster;
  readonly #t: Test;
  readonly #servers = new Map<TestNode, MqttServer>();
  readonly #registry = registryOf();
  #lastId = 5_000;
  #now = NOW;

  constructor(t: Test, cluster: TestCluster) {
    this.#t = t;
    this.cluster = cluster;
  }

  serverOf(node: TestNode): MqttServer {
    const known = this.#servers.get(node);
    if (known) return known;
    const {
      documents,
      node: { commands, intake },
    } = node;
    const ids: IdSource = {
      next: () => (this.#lastId += 1),
      peek: () => this.#lastId + 1,
      nextBeside: (_tenant, key) => Number(this.cluster.idBeside(key)),
      nextInOrder: async () => (this.#lastId += 1),
      nextBesideInOrder: async (_tenant, keys) => keys.map((key) => Number(this.cluster.idBeside(key))),
    };
    const receipts = new SessionReceipts(commands, () => NOW);
    const takeover = new SessionTakeover({
      registry: this.#registry,
      messages: node.ports.messages,
      log: silentLog,
      isMember: (id) => this.cluster.nodes.some(({ nodeId }) => nodeId === id),
    });
    const server = new MqttServer({
      application: new DeviceApplication({
        events: { newest: async () => undefined },
        storedMeasurements: { find: async () => undefined },
        authenticator: { authenticate: () => principal, current: (one) => one, stillHolds: async () => true },
        distantMonths: new DistantMonths(),
        commands,
        intake,
        documents: documents.reader,
        ids,
        receipts,
        refusals: { count: () => undefined },
        log: silentLog,
        bus: { hasSubscribers: () => false, publish: () => undefined, subscribe: () => () => undefined },
        now: () => NOW,
      }),
      store: new SessionDocuments({ commands, documents: documents.reader, receipts, now: () => NOW }),
      log: silentLog,
      elsewhere: takeover,
      now: () => (this.#now += 1),
      metrics: {
        count: () => undefined,
        connections: () => undefined,
        acknowledged: () => undefined,
        messages: () => undefined,
      },
    });
    takeover.start(server.sessions);
    this.#t.teardown(() => server.close(0));
    this.#servers.set(node, server);
    return server;
  }

  /** @returns undefined when the node does not let the client in. */
  async connect(node: TestNode, change: object = {}): Promise<TestClient | undefined> {
    const client = new TestClient();
    client.use(4);
    client.connection = this.serverOf(node).accept(client);
    client.send(connectPacket(SERIAL, 4, { clean: false, ...change }));
    await until(() => client.packets.length > 0 || client.isEnded || node.documents.isGone);
    const connack = client.packets.shift();
    return connack?.returnCode === 0 ? client : undefined;
  }

  /** The values that are stored, in order. */
  async values(): Promise<number[]> {
    await this.cluster.settled();
    await this.cluster.nodes[0].node.visible(20_000);
    return this.cluster.history.values.map(({ value }) => value).sort((one, other) => one - other);
  }
}

/** A device whose object is of another shard than its session, which would hide what is tried here. */
async function fleetOf(t: Test, count: number): Promise<Fleet> {
  const cluster = await TestCluster.of(t, count, { answerTimeoutMs: 1_000 });
  const source = Array.from({ length: 100 }, (_, index) => index + 1).find(
    (one) => shardOf(1, one) !== shardOf(1, `s:${SERIAL}`),
  ) as number;
  await cluster.nodes[0].request({
    kind: COMMAND.DEVICE_ENSURE,
    key: `x:c8y_Serial\n${SERIAL}`,
    body: { type: 'c8y_Serial', externalId: SERIAL, id: String(source), owner: 'ada', doc: '{"c8y_IsDevice":{}}' },
  });
  return new Fleet(t, cluster);
}

const receiptsOf = (cluster: TestCluster): string[] =>
  cluster.store.shards.flatMap(({ values }) => [...values.keys()]).filter((key) => key.includes('/received/'));
const received = (client: TestClient, cmd: string, id: number): Promise<void> =>
  until(() => client.packets.some((packet) => packet.cmd === cmd && packet.messageId === id), `${cmd} ${id}`);

t.test(
  'a gateway that ends before PUBREC was read: the message is known to the next one, also before its owner has handled it',
  async (t) => {
    const fleet = await fleetOf(t, 3);
    const [first, second] = fleet.cluster.nodes;
    const client = (await fleet.connect(first)) as TestClient;
    client.send(publish('s/us', '200,f,s,1', 2, 7));
    await received(client, 'pubrec', 7);
    first.kill();
    const again = (await fleet.connect(second)) as TestClient;
    again.send(publish('s/us', '200,f,s,1', 2, 7, { dup: true }));
    await received(again, 'pubrec', 7);
    again.send({ cmd: 'pubrel', messageId: 7 });
    await received(again, 'pubcomp', 7);
    again.send(publish('s/us', '200,f,s,2', 2, 7));
    await until(() => again.packets.filter(({ cmd }) => cmd === 'pubrec').length === 2, 'the packet id is free again');
    t.same(await fleet.values(), [1, 2]);
  },
);

t.test(
  'a message of several shards of which only some were stored: the others follow, nothing comes twice',
  async (t) => {
    const fleet = await fleetOf(t, 2);
    const { cluster } = fleet;
    const [first, second] = cluster.nodes;
    const child = Array.from({ length: 1_000 }, (_, index) => 1_000 + index).find(
      (one) => ![SERIAL, 'x'].includes(String(one)) && shardOf(1, one) !== shardOf(1, `s:${SERIAL}`),
    ) as number;
    await first.request({
      kind: COMMAND.MANAGED_OBJECT_CREATE,
      key: child,
      body: { id: String(child), owner: 'ada', doc: '{}' },
    });
    const client = (await fleet.connect(first)) as TestClient;
    const source = JSON.parse(cluster.store.snapshot()[`externalId/1/c8y_Serial\n${SERIAL}`]).managedObject as string;
    t.not(shardOf(1, child), shardOf(1, Number(source)));
    const body = JSON.stringify({
      measurements: [source, child].map((id, index) => ({
        source: { id: String(id) },
        type: 'T',
        time: '2026-01-01T00:00:00Z',
        f: { s: { value: 10 + index } },
      })),
    });
    client.send(publish('measurement/measurements/createBulk', body, 2, 9));
    await received(client, 'pubrec', 9);
    client.send({ cmd: 'pubrel', messageId: 9 });
    await received(client, 'pubcomp', 9);
    t.same(await fleet.values(), [10, 11]);
    // The same again, and the journal takes the part of one shard only.
    const journal = first.ports.journal as InMemoryJournal;
    const append = journal.append.bind(journal);
    journal.append = (shard, ...rest) =>
      shard === shardOf(1, child) ? new Promise(() => undefined) : append(shard, ...rest);
    client.send(publish('measurement/measurements/createBulk', body.replaceAll('"value":1', '"value":2'), 2, 9));
    await until(() => cluster.shared.stored.at(-1)?.shard === shardOf(1, Number(source)));
    first.kill();
    const again = (await fleet.connect(second)) as TestClient;
    again.send(
      publish('measurement/measurements/createBulk', body.replaceAll('"value":1', '"value":2'), 2, 9, { dup: true }),
    );
    await received(again, 'pubrec', 9);
    t.same(await fleet.values(), [10, 11, 20, 21]);
    again.send({ cmd: 'pubrel', messageId: 9 });
    await received(again, 'pubcomp', 9);
    t.same(receiptsOf(cluster), [], 'no receipt is left');
  },
);

t.test(
  'a gateway that was cut off and stores a message after its session has gone on elsewhere: a new one under the packet id is no old one',
  async (t) => {
    const fleet = await fleetOf(t, 2);
    const { cluster } = fleet;
    const [first, second] = cluster.nodes;
    const holder = (): string => JSON.parse(cluster.store.snapshot()[`session/1/${SERIAL}`]).holder as string;
    const client = (await fleet.connect(first)) as TestClient;
    client.send(publish('s/us', '200,f,s,1', 2, 7));
    await received(client, 'pubrec', 7);
    client.send({ cmd: 'pubrel', messageId: 7 });
    await received(client, 'pubcomp', 7);
    const former = holder();
    const [shard] = JSON.parse(cluster.store.snapshot()[`session/1/${SERIAL}`]).receivesIn as number[];
    const late = (of: string): Promise<unknown> =>
      second.request({
        kind: COMMAND.SESSION_RECEIPT,
        key: textKeyIn(1, shard),
        body: { session: SERIAL, id: 8, part: 0, parts: 1, holder: of },
      });
    const again = (await fleet.connect(second)) as TestClient;
    t.not(holder(), former);
    await late(former);
    t.same(receiptsOf(cluster), []);
    await t.rejects(
      second.request({
        kind: COMMAND.SESSION_RECEIVES_IN,
        key: `s:${SERIAL}`,
        body: { session: SERIAL, shard: 63, holder: former },
      }),
      { code: 'mqtt/session-elsewhere' },
    );
    const third = (await fleet.connect(first)) as TestClient;
    t.ok(again.isEnded);
    third.send(publish('s/us', '200,f,s,8', 2, 8));
    await received(third, 'pubrec', 8);
    t.same(await fleet.values(), [1, 8]);
    t.equal(receiptsOf(cluster).length, 1, 'that of who has the session');
    third.send({ cmd: 'pubrel', messageId: 8 });
    await received(third, 'pubcomp', 8);
    // The session is discarded, and one of its holders stores a message only then.
    const discarded = holder();
    const fourth = (await fleet.connect(second, { clean: true, protocolVersion: 4 })) as TestClient;
    t.notOk(fourth.isEnded);
    const fifth = (await fleet.connect(second)) as TestClient;
    fifth.send(publish('s/us', '200,f,s,9', 2, 9));
    await received(fifth, 'pubrec', 9);
    await late(discarded);
    const sixth = (await fleet.connect(first)) as TestClient;
    sixth.send(publish('s/us', '200,f,s,10', 2, 8));
    await received(sixth, 'pubrec', 8);
    t.same(await fleet.values(), [1, 8, 9, 10], 'a new message under its packet id is stored');
    await fleet.connect(first, { clean: true });
    t.same(
      cluster.store.shards.flatMap(({ values }) => [...values.keys()]).filter((key) => key.includes('/receiver/')),
      [],
      'and nothing of it stays',
    );
  },
);

t.test('a session that ends takes its receipts along', async (t) => {
  const fleet = await fleetOf(t, 2);
  const { cluster } = fleet;
  const client = (await fleet.connect(cluster.nodes[0])) as TestClient;
  client.send(publish('s/us', '200,f,s,1', 2, 7));
  await received(client, 'pubrec', 7);
  await cluster.settled();
  t.equal(receiptsOf(cluster).length, 1);
  client.drop();
  const clean = (await fleet.connect(cluster.nodes[1], { clean: true })) as TestClient;
  t.same(receiptsOf(cluster), []);
  clean.send(publish('s/us', '200,f,s,2', 2, 7));
  await received(clean, 'pubrec', 7);
  t.same(await fleet.values(), [1, 2]);
});

t.test('a group whose acknowledgement was lost: the same node looks before it takes the message again', async (t) => {
  const fleet = await fleetOf(t, 2);
  const [node] = fleet.cluster.nodes;
  const client = (await fleet.connect(node)) as TestClient;
  client.send(publish('s/us', '200,f,s,1', 2, 7));
  await received(client, 'pubrec', 7);
  client.send({ cmd: 'pubrel', messageId: 7 });
  await received(client, 'pubcomp', 7);
  const journal = node.ports.journal as InMemoryJournal;
  const append = journal.append.bind(journal);
  journal.append = async (...group) => {
    journal.append = append;
    await append(...group);
    throw new Error('no answer');
  };
  client.send(publish('s/us', '200,f,s,2', 2, 8));
  await until(() => client.isEnded, 'told that it is not acknowledged');
  client.drop();
  const again = (await fleet.connect(node)) as TestClient;
  again.send(publish('s/us', '200,f,s,2', 2, 8, { dup: true }));
  await received(again, 'pubrec', 8);
  t.same(await fleet.values(), [1, 2]);
});

t.test('any number of ends: every message once', async (t) => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  const fleet = await fleetOf(t, 3);
  const { cluster } = fleet;
  const messages = 60;
  let client: TestClient | undefined;
  let node = cluster.nodes[0];
  let kills = 0;
  for (let number = 0; number < messages; number += 1) {
    const packetId = (number % 5) + 1;
    let isSent = false;
    let step: 'publish' | 'pubrel' | 'done' = 'publish';
    while (step !== 'done') {
      if (client === undefined || client.isEnded || node.documents.isGone) {
        node = cluster.nodes[Math.floor(random() * cluster.nodes.length)];
        client = await fleet.connect(node);
        if (client === undefined) continue;
      }
      const one: TestClient = client;
      one.take();
      one.send(
        step === 'publish'
          ? publish('s/us', `200,f,s,${number}`, 2, packetId, { dup: isSent })
          : { cmd: 'pubrel', messageId: packetId },
      );
      isSent = true;
      const answer = step === 'publish' ? 'pubrec' : 'pubcomp';
      const patience = random() < 0.3 ? Math.floor(random() * 12) : Number.POSITIVE_INFINITY;
      let turns = 0;
      const isAnswered = (): boolean =>
        one.packets.some((packet) => packet.cmd === answer && packet.messageId === packetId);
      await until(() => isAnswered() || one.isEnded || (turns += 1) > patience, 'an answer');
      if (turns > patience) {
        // The answer is lost, with its connection or with its node.
        client = undefined;
        if (random() < 0.4 && kills < 12) {
          kills += 1;
          node.kill();
          await cluster.join();
        } else {
          one.drop();
        }
      } else if (isAnswered()) {
        step = step === 'publish' ? 'pubrel' : 'done';
      }
    }
  }
  t.comment(`${kills} nodes were killed`);
  t.same(
    await fleet.values(),
    Array.from({ length: messages }, (_, number) => number),
  );
});
