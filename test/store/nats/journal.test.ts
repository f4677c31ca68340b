/**
 * The journal on JetStream: the port's contract, and what happens when a server, an acknowledgement or the space is
 * lost.
 */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import type { Test } from 'tap';
import { JournalUnavailable } from '../../../src/ports/cluster/journal.ts';
import { NatsConnection } from '../../../src/store/nats/connection.ts';
import { NatsJournal } from '../../../src/store/nats/journal.ts';
import { Reader, eventually, groupOf, readShard, shardJournalContract } from '../../cluster/contracts/shard-journal.ts';
import { silentLog, startNats, startNatsCluster, startNatsProxy } from '../../helpers/stores/nats-server.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('nats-server');
const MIB = 1024 ** 2;

interface Opened {
  readonly connection: NatsConnection;
  readonly journal: NatsJournal;
  close(): Promise<void>;
}

async function open(
  url: string,
  options: {
    nodeId?: string;
    prefix?: string;
    replicas?: number;
    maxBytes?: number;
    appendTimeoutMs?: number;
    trimIntervalMs?: number;
  } = {},
): Promise<Opened> {
  const {
    nodeId = 'a',
    prefix = 'test',
    replicas = 1,
    maxBytes = 256 * MIB,
    appendTimeoutMs = 10_000,
    trimIntervalMs = 0,
  } = options;
  const connection = await NatsConnection.open({ servers: url, name: nodeId }, { log: silentLog });
  const journal = await NatsJournal.open({
    connection,
    prefix,
    nodeId,
    replicas,
    maxBytes,
    log: silentLog,
    appendTimeoutMs,
    trimIntervalMs,
  });
  return {
    connection,
    journal,
    close: async () => {
      journal.close();
      await connection.close();
    },
  };
}

if (skip === false) {
  const server = await startNats(t);
  let places = 0;
  shardJournalContract(t, 'JetStream', async () => {
    const prefix = `place${(places += 1)}`;
    return { open: (nodeId) => open(server.url, { nodeId, prefix }) };
  });
} else {
  t.test('the contract on JetStream', { skip }, async () => {});
}

t.test('a journal that is opened tells when its newest batch came', { skip }, async (t) => {
  const server = await startNats(t);
  const before = Date.now();
  const first = await open(server.url);
  t.equal(first.journal.timeAtOpening, undefined, 'of an empty one nothing');
  await first.journal.append(3, 'a', groupOf(1, 1, 100), 1);
  await first.close();
  const { journal, close } = await open(server.url);
  const time = journal.timeAtOpening ?? 0;
  t.ok(time >= before && time <= Date.now(), new Date(time).toISOString());
  await close();
});

/**
 * Appends to the shards one group after the other until stopped, each with the next number. @returns the numbers by
 * shard that were acknowledged.
 */
function appendForEver(
  journal: NatsJournal,
  shards: readonly number[],
): { readonly acknowledged: Map<number, number[]>; readonly refused: number[]; stop(): Promise<void> } {
  const acknowledged = new Map<number, number[]>(shards.map((shard) => [shard, []]));
  const refused: number[] = [];
  let isStopped = false;
  const run = `run-${randomBytes(4).toString('hex')}`;
  const loops = shards.map(async (shard) => {
    for (let n = 0; !isStopped; n += 1) {
      await journal.append(shard, `${run}-${shard}-${n}`, groupOf(n, 1, 100), 1).then(
        () => acknowledged.get(shard)!.push(n),
        () => refused.push(n),
      );
    }
  });
  return {
    acknowledged,
    refused,
    stop: async () => {
      isStopped = true;
      await Promise.all(loops);
    },
  };
}

async function account(
  t: Test,
  readers: ReadonlyMap<number, Reader>,
  acknowledged: ReadonlyMap<number, number[]>,
): Promise<void> {
  for (const [shard, reader] of readers) {
    const numbers = acknowledged.get(shard)!;
    await eventually(
      `shard ${shard}: ${numbers.length} acknowledged, ${reader.numbers.length} followed`,
      () => reader.numbers.length >= numbers.length,
      60_000,
    );
    await reader.follower.stop();
    t.same([reader.faults, reader.errors], [[], []], `shard ${shard}`);
    const found = reader.numbers;
    t.equal(new Set(found).size, found.length, 'nothing twice');
    const seen = new Set(found);
    t.same(
      numbers.filter((n) => !seen.has(n)),
      [],
      'everything acknowledged is followed',
    );
    t.ok(
      found.every((n, index) => index === 0 || n > found[index - 1]),
      'in order',
    );
  }
}

t.test('a server killed in the middle of appends and follows', { skip }, async (t) => {
  const server = await startNats(t);
  const { journal, close } = await open(server.url);
  const shards = [1, 2, 3, 5, 8, 13, 21, 34, 55, 63];
  const readers = new Map(
    shards.map((shard) => [
      shard,
      new Reader(
        journal,
        shard,
        0,
        () =>
          new Promise((resolve) => {
            setImmediate(resolve);
          }),
      ),
    ]),
  );
  const appending = appendForEver(journal, shards);
  for (let round = 0; round < 3; round += 1) {
    const target = appending.acknowledged.get(1)!.length + 100;
    await eventually('appends', () => appending.acknowledged.get(1)!.length > target);
    await server.kill();
    await eventually('noticed', () => journal.unavailable);
    await server.start();
  }
  // It hangs: attempts of appends are over, and their copies arrive together when it goes on.
  server.pause();
  await new Promise((resolve) => {
    setTimeout(resolve, 2_500);
  });
  server.resume();
  const target = appending.acknowledged.get(1)!.length + 100;
  await eventually('appends after the last restart', () => appending.acknowledged.get(1)!.length > target);
  await appending.stop();
  t.same(appending.refused, [], 'appends wait for the server');
  t.equal(journal.unavailable, undefined);
  await account(t, readers, appending.acknowledged);
  await close();
});

t.test('a server that stood still is available with the first group that it stores', { skip }, async (t) => {
  const server = await startNats(t);
  const { journal, close } = await open(server.url, { appendTimeoutMs: 120_000 });
  for (let round = 0; round < 3; round += 1) {
    server.pause();
    await eventually('noticed', () => journal.unavailable);
    const appended = journal.append(1, `round-${round}`, groupOf(round, 1), 1);
    server.resume();
    await appended;
    t.equal(journal.unavailable, undefined, 'before the next look at the stream');
  }
  await close();
});

t.test('one of three servers is killed: replicas go on', { skip }, async (t) => {
  const { servers, urls } = await startNatsCluster(t);
  const { journal, close } = await open(urls, { replicas: 3 });
  const shards = [7, 8];
  const readers = new Map(shards.map((shard) => [shard, new Reader(journal, shard)]));
  const appending = appendForEver(journal, shards);
  for (const server of servers) {
    const target = appending.acknowledged.get(7)!.length + 50;
    await eventually('appends', () => appending.acknowledged.get(7)!.length > target, 30_000);
    await server.kill();
    const survived = appending.acknowledged.get(7)!.length + 50;
    await eventually('appends with two servers', () => appending.acknowledged.get(7)!.length > survived, 30_000);
    await server.start();
    // A server that is back has to catch up before the next one is killed, or there is no majority.
    await new Promise((resolve) => {
      setTimeout(resolve, 1_000);
    });
  }
  await appending.stop();
  await account(t, readers, appending.acknowledged);
  await close();
});

t.test('a lost acknowledgement: stored once', { skip }, async (t) => {
  const server = await startNats(t);
  const proxy = await startNatsProxy(t, server);
  const { journal, close } = await open(proxy.url);
  const first = await journal.append(5, 'one', groupOf(1, 2), 2);
  proxy.dropAnswers(true);
  const appended = journal.append(5, 'two', groupOf(3, 2), 2);
  await new Promise((resolve) => {
    setTimeout(resolve, 500);
  });
  proxy.dropAnswers(false);
  const second = await appended;
  t.ok(second > first);
  t.same(
    (await readShard(journal, 5)).map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq]),
    [
      [first, first + 1],
      [second, second + 1],
    ],
  );
  const late = await open(proxy.url, { nodeId: 'b', appendTimeoutMs: 1_000 });
  proxy.cut(true);
  await t.rejects(late.journal.append(5, 'three', groupOf(5, 1), 1), { name: 'Error', message: 'journal/unreachable' });
  t.equal(late.journal.unavailable, 'journal/unreachable');
  proxy.cut(false);
  await eventually('back', () => late.journal.unavailable === undefined);
  t.ok((await late.journal.append(5, 'three', groupOf(5, 1), 1)) > second);
  await late.close();
  await close();
});

t.test('the stream is full: the error names it, and trimming makes room', { skip }, async (t) => {
  const server = await startNats(t);
  const { journal, close } = await open(server.url, { maxBytes: 3 * MIB });
  let last = 0;
  let count = 0;
  const fill = async (): Promise<void> => {
    for (; ; count += 1) last = await journal.append(count % 2, `fill-${count}`, groupOf(count, 100, 1_000), 100);
  };
  await t.rejects(fill(), new JournalUnavailable('journal/bytes'));
  t.ok(count > 20 && count < 31, `${count} groups`);
  t.equal(journal.unavailable, 'journal/bytes');
  await eventually('the size', () => journal.sizeBytes > 2.8 * MIB);
  await eventually('it may be tried again', () => journal.unavailable === undefined);
  await journal.trim(0, last);
  await journal.trim(1, last);
  t.ok((await journal.append(0, 'room', groupOf(1, 1), 1)) > last);
  await eventually('the size', () => journal.sizeBytes < MIB);
  await t.rejects(journal.append(0, 'large', Buffer.alloc(MIB), 1), RangeError);
  await t.rejects(journal.append(64, 'shard', groupOf(1, 1), 1), RangeError);
  await close();
});

t.test(
  'a user who may not write to the journal is told at once, and before anything is written',
  { skip },
  async (t) => {
    const permissions = '{ publish: { allow: [">"], deny: ["test.j.>"] } }';
    const server = await startNats(t, {
      config: `authorization { users: [ { user: all, password: p }, { user: reader, password: p, permissions: ${permissions} } ] }`,
    });
    const journalOf = async (user: string): Promise<NatsJournal> => {
      const connection = await NatsConnection.open(
        { servers: `nats://${user}:p@127.0.0.1:${server.port}`, name: 'test' },
        { log: silentLog, timeoutMs: 0 },
      );
      t.teardown(() => connection.close());
      const journal = await NatsJournal.open({
        connection,
        prefix: 'test',
        nodeId: 'n1',
        replicas: 1,
        maxBytes: 2 ** 24,
        log: silentLog,
      });
      t.teardown(() => journal.close());
      return journal;
    };
    const [writer, reader] = [await journalOf('all'), await journalOf('reader')];
    t.equal(writer.unavailable, undefined);
    t.equal(reader.unavailable, 'journal/permission');
    await t.rejects(reader.append(0, 'a', Buffer.from('x'), 1), new JournalUnavailable('journal/permission'));
    t.equal(await writer.lastSeq(0), 0, 'nothing of it is stored');
  },
);

t.test('bounds are changed by opening with others', { skip }, async (t) => {
  const server = await startNats(t);
  const one = await open(server.url, { maxBytes: 3 * MIB });
  await one.journal.append(0, 'x', groupOf(1, 1), 1);
  const other = await open(server.url, { maxBytes: 5 * MIB });
  t.equal((await other.connection.manager.streams.info('TEST_JOURNAL')).config.max_bytes, 5 * MIB);
  t.equal((await readShard(other.journal, 0)).length, 1);
  await other.close();
  await one.close();
});

t.test('a shard is trimmed again after the interval only, and then up to the last wish', { skip }, async (t) => {
  const server = await startNats(t);
  const { journal, close } = await open(server.url, { trimIntervalMs: 1_500 });
  const seqs: number[] = [];
  for (let n = 0; n < 10; n += 1) seqs.push(await journal.append(1, `g${n}`, groupOf(n, 1), 1));
  const kept = async (): Promise<number> => (await readShard(journal, 1)).length;
  await journal.trim(1, seqs[2]);
  t.equal(await kept(), 8);
  await journal.trim(1, seqs[5]);
  await journal.trim(1, seqs[7]);
  await journal.trim(1, seqs[6]);
  t.equal(await kept(), 8);
  await eventually('the rest', async () => (await kept()) === 3);
  await close();
});
