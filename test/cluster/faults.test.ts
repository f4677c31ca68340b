/**
 * Nodes that are killed, that lose their shards without knowing, and stores that fail, under load: nothing lost,
 * nothing twice.
 */
import t from 'tap';
import type { Test } from 'tap';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { NOW, TENANT, openPlatform, until } from '../actors/platform.ts';
import type { Sent } from '../actors/platform.ts';
import { rounds } from '../helpers/rounds.ts';
import { Random } from '../smartrest/random.ts';
import { TestCluster } from './memory/nodes.ts';
import type { TestNode } from './memory/nodes.ts';

const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Between two measurements of a device. */
const SEND_PAUSE_MS = 4;

/** What was acknowledged, and what nobody knows of. */
class Account {
  readonly acknowledged: { source: number; value: number }[] = [];
  readonly unknown = new Set<number>();
  #next = 0;
  #isDone = false;
  readonly #senders: Promise<void>[] = [];

  /** A device that sends one measurement after the other through any node. */
  device(cluster: TestCluster, source: number, random: Random): void {
    const send = async (): Promise<void> => {
      while (!this.#isDone) {
        const node = cluster.nodes[random.below(cluster.nodes.length)];
        const value = this.#next;
        this.#next += 1;
        this.unknown.add(value);
        // A node that is killed never answers: the device goes to another one.
        const isTaken = await Promise.race([
          node.measure(source, value).then(
            () => true,
            () => false,
          ),
          pause(300).then(() => false),
        ]);
        if (!isTaken) continue;
        this.unknown.delete(value);
        this.acknowledged.push({ source, value });
        // Else the joining of nodes, and with it the test, takes as long as the machine has work to do.
        await pause(SEND_PAUSE_MS);
      }
    };
    this.#senders.push(send());
  }

  async end(): Promise<void> {
    this.#isDone = true;
    await Promise.all(this.#senders);
  }

  /** Each once, of each device in order; beside them only what nobody knew of, at most once. */
  check(t: Test, cluster: TestCluster): void {
    const { values } = cluster.history;
    const found = values.map(({ value }) => value);
    t.equal(new Set(found).size, found.length, `${found.length} rows, none twice`);
    const rows = new Set(found);
    t.same(
      this.acknowledged.filter(({ value }) => !rows.has(value)),
      [],
      `${this.acknowledged.length} acknowledged, none is missing`,
    );
    const known = new Set(this.acknowledged.map(({ value }) => value));
    t.same(
      found.filter((value) => !known.has(value) && !this.unknown.has(value)),
      [],
      'nothing else',
    );
    const bySeq = [...values].sort((x, y) => x.seq - y.seq);
    const last = new Map<number, number>();
    t.ok(
      bySeq
        .filter(({ value }) => known.has(value))
        .every(({ source, value }) => {
          const before = last.get(source) ?? -1;
          last.set(source, value);
          return value > before;
        }),
      'each device in order',
    );
  }
}

async function visible(cluster: TestCluster): Promise<void> {
  await cluster.settled();
  await cluster.nodes[0].node.visible(20_000);
}

t.test('nodes are killed and join under load: every acknowledged measurement once', async (t) => {
  t.comment(`SEED=${SEED}`);
  const random = new Random(SEED);
  const cluster = await TestCluster.of(t, 3, { rowsMax: 60, intervalMs: 3 });
  cluster.history.partitionOf = ({ seq }) => seq % 3;
  cluster.history.loses = () => random.below(20) === 0;
  const account = new Account();
  for (let source = 1; source <= 24; source += 1) account.device(cluster, source, random);
  for (let round = 0; round < 6; round += 1) {
    await pause(20 + random.below(120));
    if (round % 3 === 2) {
      await cluster.nodes[random.below(cluster.nodes.length)].node.trim();
      continue;
    }
    cluster.nodes[random.below(cluster.nodes.length)].kill();
    await cluster.join();
  }
  await account.end();
  await visible(cluster);
  account.check(t, cluster);
  await until(async () => {
    for (const { node } of cluster.nodes) await node.trimBounds(performance.now(), 0);
    return cluster.store.blocks.size === 0;
  }, 'blocks of nodes that are gone are settled');
  await Promise.all(cluster.nodes.map(({ node }) => node.trim()));
  // A shard's position is saved after 16 groups without commands.
  t.ok(cluster.shared.stored.length <= 64 * 17, `${cluster.shared.stored.length} groups are kept`);
});

t.test('a zombie goes on with the old epoch: nothing of it takes effect', async (t) => {
  const random = new Random(SEED);
  const cluster = await TestCluster.of(t, 3, { rowsMax: 60, intervalMs: 3 });
  const account = new Account();
  for (let source = 1; source <= 24; source += 1) account.device(cluster, source, random);
  await pause(50);
  const zombies: TestNode[] = [];
  for (let round = 0; round < 2; round += 1) {
    const zombie = cluster.nodes[random.below(cluster.nodes.length)];
    zombies.push(zombie);
    zombie.becomeZombie();
    // It still takes what comes: into the journal, where its former shards have other owners.
    const value = 1_000_000 + round;
    await zombie.measure(99, value);
    account.acknowledged.push({ source: 99, value });
    await pause(60);
    await cluster.join();
  }
  await account.end();
  await visible(cluster);
  await pause(100);
  for (const zombie of zombies) {
    t.ok(zombie.documents.fencedCount > 0, 'it was refused');
    t.ok(
      zombie.node.owners.some(({ isInService }) => !isInService),
      'and has noticed where it wrote',
    );
  }
  account.check(t, cluster);
});

/**
 * A history with steps; within a step everything at once. Ids are chosen by `idBeside` so that both runs take the same.
 */
function steps(random: Random, idBeside: (key: number) => string): Sent[][] {
  const devices = Array.from({ length: 12 }, (_, index) => 200 + index);
  const ensure = (serial: string, id: number, parent?: number): Sent => ({
    kind: COMMAND.DEVICE_ENSURE,
    key: `x:c8y_Serial\n${serial}`,
    body: {
      type: 'c8y_Serial',
      externalId: serial,
      id: String(id),
      owner: 'ada',
      doc: '{"com_cumulocity_model_Agent":{}}',
      ...(parent ? { parent: { id: String(parent), kind: 'childDevices' } } : {}),
    },
  });
  const list: Sent[][] = [
    devices.slice(0, 6).map((id) => ensure(`d${id}`, id)),
    devices.slice(6).map((id, index) => ensure(`d${id}`, id, devices[index])),
  ];
  const alarmIds = new Map<number, string>();
  for (let step = 0; step < 8; step += 1) {
    const sent: Sent[] = [];
    // Each device once in a step: what is sent at the same time has no order.
    for (const id of devices) {
      const of = random.below(5);
      if (of === 0) {
        const alarmId = idBeside(id);
        if (!alarmIds.has(id)) alarmIds.set(id, alarmId);
        sent.push({
          kind: COMMAND.ALARM_CREATE,
          key: id,
          body: {
            id: alarmId,
            type: 'A',
            time: NOW,
            severity: 'MAJOR',
            status: 'ACTIVE',
            doc: '{"type":"A"}',
            user: 'ada',
          },
        });
      } else if (of === 1) {
        sent.push({
          kind: COMMAND.EVENT_CREATE,
          key: id,
          body: {
            id: idBeside(id),
            type: 'T',
            time: NOW,
            doc: '{"type":"T"}',
            managedObjectDoc: `{"c8y_Position":{"n":${step}}}`,
          },
        });
      } else if (of === 2) {
        sent.push({
          kind: COMMAND.OPERATION_CREATE,
          key: id,
          body: { id: idBeside(id), doc: '{"x":{}}', user: 'ada' },
        });
      } else if (of === 3) {
        sent.push({
          kind: COMMAND.MANAGED_OBJECT_UPDATE,
          key: id,
          body: { doc: `{"n":${step}}`, mayChangeOwner: false },
        });
      } else {
        sent.push({
          kind: COMMAND.EXTERNAL_ID_BIND,
          key: `x:other\n${id}-${step}`,
          body: { type: 'other', externalId: `${id}-${step}`, managedObject: String(id) },
        });
      }
    }
    list.push(sent);
  }
  list.push([{ kind: COMMAND.MANAGED_OBJECT_DELETE, key: devices[0], body: { cascade: true } }]);
  list.push([ensure(`d${devices[0]}`, 500), ensure(`d${devices[6]}`, 501)]);
  return list;
}

t.test('the same commands give the same state as one node, with nodes killed in between', async (t) => {
  t.comment(`SEED=${SEED}`);
  for (let run = 0; run < rounds(2, 3); run += 1) {
    const cluster = await TestCluster.of(t, 3, { answerTimeoutMs: 700 });
    const random = new Random(SEED + run);
    const list = steps(random, (key) => cluster.idBeside(key));
    const single = openPlatform(t);
    for (const step of list) {
      await Promise.allSettled(step.map((sent) => single.request(sent)));
      await single.settled();
    }
    for (const [index, step] of list.entries()) {
      const sent = step.map((command) =>
        cluster.nodes[random.below(cluster.nodes.length)].request(command).catch(() => undefined),
      );
      if (run > 0 && index % 3 === 1) {
        const before = cluster.shared.stored.length;
        // Commands that are all refused store nothing.
        let isAnswered = false;
        void Promise.all(sent).then(() => {
          isAnswered = true;
        });
        await until(() => isAnswered || cluster.shared.stored.length > before);
        for (let turn = random.below(30); turn > 0; turn -= 1)
          await new Promise((resolve) => {
            setImmediate(resolve);
          });
        cluster.nodes[random.below(3)].kill();
        await cluster.join();
      }
      await Promise.race([Promise.all(sent), pause(1_500)]);
      await cluster.settled();
      await until(
        () => Object.keys(cluster.store.snapshot()).every((key) => !key.startsWith('pending/')),
        'follow-ups are done',
      );
      // What a killed gateway had not stored yet is sent again, as its client would; all of it can be.
      if (run > 0)
        await Promise.all(
          step.map((command) => isThere(cluster, command) || cluster.nodes[0].request(command).catch(() => undefined)),
        );
      await cluster.settled();
    }
    // The projectors carry out what the deletion asks for; a single node's test has none.
    const want = documents(single);
    await until(() => Object.keys(cluster.store.snapshot()).every((key) => !key.startsWith('pending/')));
    const found = Object.fromEntries(Object.entries(cluster.store.snapshot()).filter(([key]) => !isEntity(key)));
    t.same(found, Object.fromEntries(Object.entries(want).filter(([key]) => !isEntity(key))), `run ${run}`);
    if (run > 0) continue;
    await Promise.all(cluster.nodes.map(({ node }) => node.visible(10_000)));
    const isOfDeleted = (text: string): boolean => /"id":"(200|206)"|"deviceId":"(200|206)"/.test(text);
    const entities = (all: Record<string, string>): unknown =>
      Object.entries(all).filter(([key, text]) => isEntity(key) && !isOfDeleted(text) && key.startsWith('event/'));
    t.same(entities(cluster.store.snapshot()), entities(want));
  }
});

const isEntity = (key: string): boolean => /^(alarm|event|operation|openAlarm|openAlarmLink|openOperation)\//.test(key);

/** Whether the command has had its effect. */
function isThere(cluster: TestCluster, { kind, key, body }: Sent): boolean {
  const all = cluster.store.snapshot();
  const { id, externalId, type } = body as { id?: string; externalId?: string; type?: string };
  switch (kind) {
    case COMMAND.EVENT_CREATE:
      return all[`event/${TENANT}/${id}`] !== undefined;
    case COMMAND.OPERATION_CREATE:
      return all[`operation/${TENANT}/${id}`] !== undefined;
    case COMMAND.ALARM_CREATE:
      return all[`openAlarm/${TENANT}/${key}\n${type}`] !== undefined;
    case COMMAND.EXTERNAL_ID_BIND:
    case COMMAND.DEVICE_ENSURE:
      return all[`externalId/${TENANT}/${type}\n${externalId}`] !== undefined;
    case COMMAND.MANAGED_OBJECT_DELETE:
      return all[`managedObject/${TENANT}/${key}`] === undefined;
    default:
      return false;
  }
}

function documents(platform: ReturnType<typeof openPlatform>): Record<string, string> {
  const found: [string, string][] = [];
  for (const collection of [
    'managedObject',
    'externalId',
    'externalIdsOf',
    'children',
    'parents',
    'alarm',
    'event',
    'operation',
    'openAlarm',
    'openAlarmLink',
    'openOperation',
    'user',
  ] as const) {
    for (const { id, value } of platform.stored.list(collection, TENANT, '', { limit: 10_000 }))
      found.push([`${collection}/${TENANT}/${id}`, value]);
  }
  return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}
