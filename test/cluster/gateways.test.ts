/**
 * The gateways' own code over a cluster: devices over MQTT and bodies of measurements, with documents that answer
 * later.
 */
import t from 'tap';
import { shardOf } from '../../src/ingest/journal/command-record.ts';
import { published } from '../mqtt/helpers/published.ts';
import { JsonMeasurementIntake } from '../../src/ingest/measurements/intake.ts';
import type { PostedMeasurements } from '../../src/ingest/measurements/intake.ts';
import { Sources } from '../../src/ingest/measurements/sources.ts';
import { DistantMonths } from '../../src/ingest/measurements/distant-months.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { IdSource } from '../../src/ports/id-source.ts';
import type { PlatformError } from '../../src/model/errors.ts';
import type { Principal } from '../../src/model/access/principal.ts';
import { PUBLISH_RESULT } from '../../src/mqtt/sessions/application.ts';
import type { DeviceConnection } from '../../src/mqtt/sessions/application.ts';
import { DeviceApplication } from '../../src/mqtt/devices/application.ts';
import { NOW, silentLog, until } from '../actors/platform.ts';
import { TestCluster } from './memory/nodes.ts';
import type { TestNode } from './memory/nodes.ts';

function idsOf(cluster: TestCluster): IdSource {
  let last = 5_000;
  return {
    next: () => (last += 1),
    peek: () => last + 1,
    nextBeside: (_tenant, key) => Number(cluster.idBeside(key)),
    nextInOrder: async () => (last += 1),
    nextBesideInOrder: async (_tenant, keys) => keys.map((key) => Number(cluster.idBeside(key))),
  };
}

const principal: Principal = {
  tenant: 't1',
  tenantNumber: 1,
  userName: 'ada',
  roles: new Set(['ROLE_DEVICE', 'ROLE_MEASUREMENT_ADMIN']),
};
const refusals = { count: () => undefined };

/** A connection that offers its messages again when it is told to. */
class Device {
  readonly acknowledged: number[] = [];
  readonly sent: string[] = [];
  readonly #link;
  readonly #queue: { topic: string; payload: string; packetId: number }[] = [];
  #isBlocked = false;
  #lastPacketId = 0;

  constructor(application: DeviceApplication, clientId: string) {
    const connection: DeviceConnection = {
      principal,
      clientId,
      protocolVersion: 5,
      isPersistent: false,
      rejected: () => undefined,
      flush: () => undefined,
      disconnect: () => undefined,
      acknowledge: (packetId) => {
        this.acknowledged.push(packetId);
      },
      deliver: ({ topic, payload }) => {
        this.sent.push(`${topic} ${Buffer.from(payload).toString()}`);
      },
      resume: () => {
        this.#isBlocked = false;
        this.#offer();
      },
    };
    this.#link = application.open(connection);
  }

  publish(topic: string, payload: string): void {
    this.#lastPacketId += 1;
    this.#queue.push({ topic, payload, packetId: this.#lastPacketId });
    this.#offer();
  }

  #offer(): void {
    while (this.#queue.length > 0 && !this.#isBlocked) {
      const { topic, payload, packetId } = this.#queue[0];
      if (this.#link.publish(published(topic, payload, packetId)) === PUBLISH_RESULT.BUSY) this.#isBlocked = true;
      else this.#queue.shift();
    }
  }
}

const applicationOf = (cluster: TestCluster, { node, documents }: TestNode): DeviceApplication =>
  new DeviceApplication({
    events: { newest: async () => undefined },
    storedMeasurements: { find: async () => undefined },
    authenticator: { authenticate: () => principal, current: (one) => one, stillHolds: async () => true },
    distantMonths: new DistantMonths(),
    commands: node.commands,
    intake: node.intake,
    documents: documents.reader,
    ids: idsOf(cluster),
    bus: { hasSubscribers: () => false, publish: () => undefined, subscribe: () => () => undefined },
    refusals,
    log: silentLog,
    now: () => NOW,
  });

t.test('a device with children: created, in order, acknowledged in order, all of it in the history', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const device = new Device(applicationOf(cluster, cluster.nodes[0]), 'gateway');
  for (let round = 0; round < 20; round += 1) {
    device.publish('s/us', `211,${round}`);
    device.publish(`s/us/child${round % 4}`, `211,${100 + round}`);
    device.publish('s/us', '301,alarm,text');
    device.publish(`s/us/child${round % 4}`, '400,type,text');
  }
  await until(() => device.acknowledged.length === 80, 'acknowledged');
  t.same(
    device.acknowledged,
    Array.from({ length: 80 }, (_, index) => index + 1),
    'in the order of the packets',
  );
  t.same(device.sent, []);
  await cluster.nodes[1].node.visible(20_000);
  t.same(
    cluster.history.values.map(({ value }) => value).sort((x, y) => x - y),
    Array.from({ length: 40 }, (_, index) => (index < 20 ? index : 80 + index)),
  );
  t.equal(cluster.history.ids('managed_objects').length, 5);
  t.equal(cluster.history.ids('events').length, 20);
  t.equal(cluster.history.ids('alarms').length, 1);
  const again = new Device(applicationOf(cluster, cluster.nodes[2]), 'gateway');
  again.publish('s/us', '211,1000');
  await until(() => again.acknowledged.length === 1);
  await cluster.nodes[1].node.visible(20_000);
  t.equal(cluster.history.ids('managed_objects').length, 5, 'found on another node');
});

t.test('a body of several sources is acknowledged as a whole', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const [node, other] = cluster.nodes;
  await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      other.request({
        kind: COMMAND.MANAGED_OBJECT_CREATE,
        key: 300 + index,
        body: { id: String(300 + index), owner: 'ada', doc: '{}' },
      }),
    ),
  );
  const intake = new JsonMeasurementIntake({
    intake: node.node.intake,
    distantMonths: new DistantMonths(),
    sources: new Sources(node.documents.reader),
    ids: idsOf(cluster),
    refusals,
    now: () => NOW,
  });
  const body = (sources: readonly number[]): Buffer =>
    Buffer.from(
      JSON.stringify({
        measurements: sources.map((source, index) => ({
          source: { id: String(source) },
          type: 'T',
          time: '2026-01-01T00:00:00Z',
          f: { s: { value: index } },
        })),
      }),
    );
  const post = (sources: readonly number[]): Promise<PostedMeasurements> =>
    new Promise((resolve, reject) => {
      intake.post({
        body: body(sources),
        principal,
        mode: 0,
        wantsBody: true,
        form: 'either',
        done: (error: PlatformError | undefined, answer) => {
          if (answer) resolve(answer);
          else reject(error as PlatformError);
        },
        heard: undefined,
      });
    });
  const { documents } = await post(Array.from({ length: 1_000 }, (_, index) => 300 + (index % 10)));
  t.equal(documents.length, 1_000);
  await other.node.visible(20_000);
  t.same(
    cluster.history.values.map(({ value }) => value).sort((x, y) => x - y),
    Array.from({ length: 1_000 }, (_, index) => index),
  );
  await t.rejects(post([300, 999]), { code: 'source/not-found' });
  cluster.shared.cut(node.nodeId);
  await t.rejects(post([300]), { code: 'general/busy', details: { limit: 'journal/unavailable' } });
});

t.test('sources and what is remembered of them: aged, forgotten, not remembered when changed meanwhile', async (t) => {
  let reads = 0;
  let owner = 'ada';
  const held: (() => void)[] = [];
  let isHeld = false;
  const sources = new Sources({
    get: () => {
      reads += 1;
      const text = `{"owner":"${owner}"}`;
      return isHeld
        ? new Promise((resolve) => {
            held.push(() => resolve(text));
          })
        : text;
    },
    getMany: () => [],
    list: () => [],
  });
  const find = async (): Promise<string | undefined> => {
    for (const name of ['ada', 'eve']) if (await sources.find(1, 5, name)) return name;
    return undefined;
  };
  t.equal(await find(), 'ada');
  sources.age();
  t.equal(await find(), 'ada');
  t.equal(reads, 1);
  sources.age();
  await find();
  t.equal(reads, 2, 'read again after the second time');
  sources.forgetAll();
  isHeld = true;
  const late = sources.find(1, 5, 'ada');
  owner = 'eve';
  sources.forget(5);
  held[0]();
  await late;
  isHeld = false;
  t.equal(await find(), 'eve', 'what was read before the change is not remembered');
});

t.test('documents that come back with an older state: the shard is loaded anew and replayed', async (t) => {
  const cluster = await TestCluster.of(t, 2);
  const [node] = cluster.nodes;
  await node.request({ kind: COMMAND.MANAGED_OBJECT_CREATE, key: 5, body: { id: '5', owner: 'ada', doc: '{}' } });
  const state = cluster.keepState(shardOf(1, 5));
  await node.request({ kind: COMMAND.MANAGED_OBJECT_UPDATE, key: 5, body: { doc: '{"n":1}', mayChangeOwner: false } });
  state.lose();
  await node.request({ kind: COMMAND.MANAGED_OBJECT_UPDATE, key: 5, body: { doc: '{"m":2}', mayChangeOwner: false } });
  t.ok(state.isLost);
  const text = JSON.parse(cluster.store.snapshot()['managedObject/1/5']) as { n: number; m: number };
  t.match(text, { n: 1, m: 2 }, 'both, from the journal');
});
