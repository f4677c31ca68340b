/** `millrace doctor` with the servers of a cluster: each of them as it should be, and each of them wrong. */
import { createServer as createHttpServer, request as httpRequest } from 'node:http';
import { createServer } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { clusterFindings } from '../../src/cli/doctor/cluster.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Config } from '../../src/config/config.ts';
import { checkClickHouse } from '../../src/store/clickhouse/doctor.ts';
import { NatsBlobs } from '../../src/store/nats/blobs.ts';
import { NatsConnection } from '../../src/store/nats/connection.ts';
import { checkNats } from '../../src/store/nats/doctor.ts';
import { findNatsDurability } from '../../src/store/nats/durability.ts';
import type { Finding } from '../../src/ports/finding.ts';
import { NatsJournal } from '../../src/store/nats/journal.ts';
import { NatsLeases } from '../../src/store/nats/leases.ts';
import type { NatsSettings } from '../../src/config/nats.ts';
import { openClickHouse } from '../helpers/stores/clickhouse.ts';
import { freePort } from '../helpers/free-port.ts';
import { silentLog, startNats } from '../helpers/stores/nats-server.ts';
import { checkRedis } from '../../src/store/redis/doctor.ts';
import { readRedisTarget } from '../../src/config/redis.ts';
import { startRedis } from '../helpers/stores/redis-server.ts';
import { millrace, scratchDirectory } from '../helpers/setup-command.ts';
import { missing } from '../helpers/tools.ts';

const SHARED = {
  'admin-password': 'Test-only-1',
  'management-password': 'Test-only-1',
  'bootstrap-password': 'Test-only-1',
  'secret-key': 'test-only-0123456789-0123456789-0123456789',
};

const configOf = (flags: Record<string, string>): Config =>
  loadConfig({ flags: { ...SHARED, ...flags }, environment: {} }).config;
const nowhere = async (): Promise<string> => `127.0.0.1:${await freePort()}`;

/** Takes connections and says nothing. */
async function startSilent(t: Test): Promise<string> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket);
  });
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

t.test(
  'the command looks at all three, and ends with 0 when all can be used',
  { skip: missing('nats-server', 'redis-server') },
  async (t) => {
    const [nats, redis, { url }] = [await startNats(t), await startRedis(t), await openClickHouse(t)];
    const flags = {
      ...SHARED,
      nats: nats.url,
      redis: redis.url,
      clickhouse: url,
      'http-port': '0',
      'mqtt-port': '0',
      data: scratchDirectory(t),
      'journal-max-bytes': '1GiB',
    };
    redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    const refused = await millrace(['doctor', ...args]);
    t.match(
      refused.stdout,
      /^fail +NATS durability .*power failure.*sync_interval: always/m,
      'what NATS loses by itself is not accepted in silence',
    );
    t.match(refused.stdout, /^1 of \d+ checks failed/m, 'that is all');
    t.equal(refused.code, 1);
    redis.cli('CONFIG', 'SET', 'appendfsync', 'everysec');
    const result = await millrace(['doctor', ...args, '--accept-power-loss', 'yes']);
    t.match(result.stdout, /^warn +redis .* appendfsync everysec: set appendonly yes and appendfsync always/m);
    t.equal(result.code, 0, result.stdout + result.stderr);
    for (const name of [
      'NATS version',
      'JetStream',
      'NATS streams',
      'redis',
      'ClickHouse version',
      'ClickHouse tables',
      'ClickHouse tokens',
      'ClickHouse queries',
    ]) {
      t.match(result.stdout, new RegExp(`^ok +${name} `, 'm'));
    }
    t.match(result.stdout, /^warn +NATS durability .*power failure/m);
    t.match(result.stdout, /^ok +ClickHouse disk|^warn +ClickHouse disk/m);
    t.match(result.stdout, /This machine can run the server/);
    t.notMatch(result.stdout, new URL(url).password, 'no password is shown');
  },
);

/** A monitoring port that tells this of the server. @returns its URL. */
async function startMonitor(t: Test, varz: object): Promise<string> {
  const server = createHttpServer((request, response) => {
    response.writeHead(request.url === '/varz' ? 200 : 404).end(JSON.stringify(varz));
  });
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

t.test('NATS: how often each server synchronises decides', async (t) => {
  let count = 0;
  const monitorOf = (config: object, version = '2.11.4'): Promise<string> => {
    count += 1;
    return startMonitor(t, { server_id: `id-${count}`, server_name: `n${count}`, version, jetstream: { config } });
  };
  const always = { sync_interval: 120_000_000_000, sync_always: true };
  const each = (ms: number): object => ({ sync_interval: ms * 1_000_000 });
  const find = async (
    configs: readonly object[],
    replicas: number,
    version = '2.11.4',
    isAccepted = false,
  ): Promise<string> => {
    const monitors = (await Promise.all(configs.map((config) => monitorOf(config, version)))).join(',');
    const { state, fact } = await findNatsDurability({
      servers: 'nats://127.0.0.1:1',
      monitors,
      version,
      replicas,
      isAccepted,
    });
    return `${state}: ${fact}`;
  };
  t.match(await find([always], 1), /^ok: 1 replica; what is acknowledged is synchronised/);
  t.match(await find([{}], 1), /^fail: 1 replica; n2 synchronises every 120 s: a power failure takes/);
  t.match(await find([each(1_000)], 1), /^fail: .* every 1 s/, 'one copy that is synchronised later');
  t.match(await find([each(1_000)], 1, '2.11.4', true), /^warn: /, 'the loss is accepted');
  t.match(
    await find([each(1_000), always, each(500)], 3),
    /^ok: 3 replicas; synchronised every 1 s: when most replicas lose power at the same time, or one before another has caught up/,
  );
  t.match(await find([always, always, {}], 3), /^fail: 3 replicas; n\d+ synchronises every 120 s/);
  t.match(await find([always, always], 3), /^warn: 3 replicas; 2 servers told/);
  t.match(await find([{ ...always }], 1, '2.9.10'), /^ok/, 'a server that says so does so');
  t.match(await find([each(1_000)], 3, '2.9.10'), /^fail/, 'one that cannot know the setting');
  const silent = `http://${await nowhere()}`;
  const options = {
    servers: 'nats://127.0.0.1:1',
    monitors: silent,
    version: '2.11.4',
    replicas: 1,
    isAccepted: false,
  };
  t.match(await findNatsDurability(options), {
    state: 'fail',
    fact: /0 servers told.*ECONNREFUSED/,
    remedy: /--nats-monitor/,
  });
  t.match(await findNatsDurability({ ...options, version: '2.9.10' }), {
    state: 'fail',
    fact: /nats-server 2\.9\.10 synchronises every 120 s/,
  });
  t.match(await findNatsDurability({ ...options, monitors: await startMonitor(t, { other: true }) }), {
    state: 'fail',
    fact: /no monitoring port/,
  });
});

t.test(
  'Redis: what it loses with the nodes is accepted by a setting only',
  { skip: missing('redis-server') },
  async (t) => {
    const redis = await startRedis(t, '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction');
    const stateOf = async (isLossAccepted: boolean): Promise<unknown> =>
      (await checkRedis(readRedisTarget(redis.url), { prefix: 'p', isLossAccepted })).find(({ fact }) =>
        fact.includes('appendfsync'),
      )?.state;
    t.equal(await stateOf(false), 'fail');
    t.equal(await stateOf(true), 'warn');
    redis.cli('CONFIG', 'SET', 'appendfsync', 'always');
    t.equal(await stateOf(false), 'ok');
  },
);

t.test('without settings of a cluster nothing of it is looked at', async (t) => {
  t.same(await clusterFindings(configOf({})), []);
});

t.test('servers that are not there are named, each with a remedy', async (t) => {
  const findings = await clusterFindings(
    configOf({
      nats: `nats://${await nowhere()}`,
      redis: `redis://${await nowhere()}`,
      clickhouse: `http://user:secret@${await nowhere()}`,
    }),
  );
  t.same(
    findings.map(({ state, name }) => `${state} ${name}`),
    ['fail NATS', 'fail redis', 'fail ClickHouse'],
  );
  for (const { fact, remedy } of findings) {
    t.notMatch(fact, /secret/);
    t.match(remedy, /^start /);
  }
});

t.test(
  'NATS: each thing that a node does and the user may not is a finding of its own',
  { skip: missing('nats-server') },
  async (t) => {
    const prefix = 'perm';
    const allowed = {
      publish: [
        '$JS.API.>',
        `${prefix}.>`,
        `$KV.${prefix}_leases.>`,
        `$KV.${prefix}_nodes.>`,
        `$O.${prefix}_blobs.>`,
        '_INBOX.>',
      ],
      subscribe: ['_INBOX.>', `${prefix}.>`],
    };
    const without = (part: string): Partial<typeof allowed> => ({
      publish: allowed.publish.filter((subject) => !subject.includes(part)),
    });
    /** What the user lacks, and what is to be allowed. */
    const lacks: Readonly<
      Record<string, [Partial<typeof allowed> & { deny?: string[]; denyHearing?: string[] }, string[]]>
    > = {
      all: [{}, []],
      groups: [{ deny: [`${prefix}.j.>`] }, [`publish ${prefix}.j.>`]],
      leases: [without('leases'), [`publish $KV.${prefix}_leases.>`]],
      heartbeats: [without('nodes'), [`publish $KV.${prefix}_nodes.>`]],
      content: [without('$O'), [`publish $O.${prefix}_blobs.>`, `publish $O.${prefix}_blobs.>`]],
      live: [
        { deny: [`${prefix}.live.>`], denyHearing: [`${prefix}.live.>`] },
        [`publish ${prefix}.live.>`, `subscribe ${prefix}.live.>`],
      ],
      broadcast: [
        { deny: [`${prefix}.all.>`], denyHearing: [`${prefix}.all.>`] },
        [`publish ${prefix}.all.>`, `subscribe ${prefix}.all.>`],
      ],
      messages: [
        { deny: [`${prefix}.n.>`], denyHearing: [`${prefix}.n.>`] },
        [`publish ${prefix}.n.>`, `subscribe ${prefix}.n.>`],
      ],
      answers: [without('_INBOX'), ['publish _INBOX.>']],
      purge: [
        { deny: ['$JS.API.STREAM.PURGE.PERM_JOURNAL', `$JS.API.STREAM.PURGE.OBJ_${prefix}_blobs`] },
        ['publish $JS.API.STREAM.PURGE.PERM_JOURNAL', `publish $JS.API.STREAM.PURGE.OBJ_${prefix}_blobs`],
      ],
      making: [
        {
          deny: [
            `$JS.API.STREAM.CREATE.KV_${prefix}_leases`,
            `$JS.API.STREAM.UPDATE.KV_${prefix}_nodes`,
            '$JS.API.STREAM.INFO.PERM_JOURNAL',
          ],
        },
        [
          `publish $JS.API.STREAM.CREATE.KV_${prefix}_leases`,
          `publish $JS.API.STREAM.UPDATE.KV_${prefix}_nodes`,
          'publish $JS.API.STREAM.INFO.PERM_JOURNAL',
        ],
      ],
      following: [
        { deny: [`$JS.API.CONSUMER.*.KV_${prefix}_leases.>`, '$JS.API.CONSUMER.MSG.NEXT.PERM_JOURNAL.>'] },
        [
          `publish $JS.API.CONSUMER.CREATE.KV_${prefix}_leases.>`,
          `publish $JS.API.CONSUMER.DELETE.KV_${prefix}_leases.>`,
          'publish $JS.API.CONSUMER.MSG.NEXT.PERM_JOURNAL.>',
        ],
      ],
      reading: [
        {
          deny: [
            '$JS.API.DIRECT.GET.PERM_JOURNAL',
            `$JS.API.DIRECT.GET.OBJ_${prefix}_blobs.>`,
            `$JS.API.STREAM.MSG.GET.KV_${prefix}_nodes`,
          ],
        },
        [
          'publish $JS.API.DIRECT.GET.PERM_JOURNAL',
          `publish $JS.API.DIRECT.GET.OBJ_${prefix}_blobs.>`,
          `publish $JS.API.STREAM.MSG.GET.KV_${prefix}_nodes`,
        ],
      ],
    };
    const users = Object.entries(lacks).map(
      ([
        user,
        [{ publish = allowed.publish, subscribe = allowed.subscribe, deny = [], denyHearing = [] }],
      ]) => `{ user: ${user}, password: p, permissions: {
    publish: { allow: ${JSON.stringify(publish)}, deny: ${JSON.stringify(deny)} }, subscribe: { allow: ${JSON.stringify(subscribe)}, deny: ${JSON.stringify(denyHearing)} } } }`,
    );
    const { port } = await startNats(t, { config: `authorization { users: [ ${users.join(', ')} ] }` });
    const connectionOf = (user: string): NatsSettings => ({
      servers: `nats://${user}:p@127.0.0.1:${port}`,
      name: 'test',
    });
    const owner = await NatsConnection.open(connectionOf('all'), { log: silentLog, timeoutMs: 0 });
    t.teardown(() => owner.close());
    const wanted = { prefix, replicas: 1, journalMaxBytes: 2 ** 30, isLossAccepted: true };
    /** Everything that there is in the streams. */
    const stored = async (): Promise<unknown[]> => {
      const found: unknown[] = [];
      for await (const { config, state } of owner.manager.streams.list()) found.push({ config, state });
      return found;
    };
    const rightsOf = (findings: readonly Finding[]): Finding[] => findings.filter(({ name }) => name === 'NATS rights');
    const check = async (): Promise<void> => {
      const before = await stored();
      for (const [user, [, grants]] of Object.entries(lacks)) {
        const findings = await checkNats(connectionOf(user), wanted, silentLog);
        const missed = rightsOf(findings).filter(({ state }) => state === 'fail');
        t.same(
          missed.map(({ remedy }) => remedy).sort(),
          grants.map((grant) => `allow the user to ${grant}`).sort(),
          user,
        );
        for (const { fact } of missed) t.match(fact, /^the user may not (publish|subscribe to) \S+ \(.+\)$/);
        if (grants.length > 0) continue;
        t.match(rightsOf(findings), [{ state: 'ok' }], 'what docs/internals/nats.md names is enough');
        t.match(
          findings.find(({ name }) => name === 'NATS streams'),
          { state: 'ok', fact: /nodes reach each other/ },
        );
        t.notOk(findings.some(({ state }) => state === 'fail'));
      }
      t.same(await stored(), before, 'nothing is left behind, and nothing changed');
    };
    await check();
    const journal = await NatsJournal.open({
      connection: owner,
      prefix,
      nodeId: 'n',
      replicas: 1,
      maxBytes: 2 ** 30,
      log: silentLog,
    });
    t.teardown(() => journal.close());
    await NatsLeases.open({
      connection: owner,
      prefix,
      nodeId: 'n',
      roles: ['shard'],
      replicas: 1,
      log: silentLog,
      leaseMs: 3_000,
    });
    const blobs = await NatsBlobs.open({ connection: owner, prefix, replicas: 1 });
    await blobs.put([Buffer.from('content')], 100);
    await journal.append(0, 'g', Buffer.from('records'), 1);
    await check();
    t.equal((await stored()).length, 4);
  },
);

t.test('NATS: room for the journal', { skip: missing('nats-server') }, async (t) => {
  const server = await startNats(t, { storageBytes: 2 ** 30 });
  const settings = { servers: server.url, name: 'test' };
  const storage = async (journalMaxBytes: number): Promise<Finding | undefined> =>
    (await checkNats(settings, { prefix: 'room', replicas: 1, journalMaxBytes }, silentLog)).find(
      ({ name }) => name === 'NATS storage',
    );
  t.match(await storage(2 ** 29), { state: 'ok' });
  t.match(await storage(2 ** 31), {
    state: 'fail',
    fact: /not enough room for a journal of 2048 MiB: insufficient storage/,
    remedy: /raise max_file_store .* lower journal-max-bytes/,
  });
  const owner = await NatsConnection.open(settings, { log: silentLog, timeoutMs: 0 });
  t.teardown(() => owner.close());
  const journal = await NatsJournal.open({
    connection: owner,
    prefix: 'room',
    nodeId: 'n',
    replicas: 1,
    maxBytes: 2 ** 29 + 2 ** 28,
    log: silentLog,
  });
  t.teardown(() => journal.close());
  t.match(await storage(2 ** 29 + 2 ** 28), { state: 'ok' }, 'what it has needs no room a second time');
  t.match(await storage(2 ** 30), { state: 'ok' });
  t.match(await storage(2 ** 30 + 2 ** 28), { state: 'fail' });
});

t.test('NATS: room for files beside the journal', { skip: missing('nats-server') }, async (t) => {
  const port = await freePort();
  const server = await startNats(t, { storageBytes: 2 ** 30, config: `http: "127.0.0.1:${port}"` });
  const find = async (wanted: {
    journalMaxBytes: number;
    monitors: string;
    tenantFilesMaxBytes?: number;
  }): Promise<Finding | undefined> =>
    (
      await checkNats({ servers: server.url, name: 'test' }, { prefix: 'files', replicas: 1, ...wanted }, silentLog)
    ).find(({ name }) => name === 'NATS files');
  const told = { journalMaxBytes: 2 ** 28, monitors: `http://127.0.0.1:${port}` };
  t.match(await find(told), {
    state: 'ok',
    fact: '768 MiB are left for them beside the journal, of 1024 MiB that the server may store',
  });
  t.match(await find({ ...told, tenantFilesMaxBytes: 2 ** 20 }), {
    state: 'ok',
    fact: /may store; a tenant may have 1 MiB$/,
  });
  t.match(await find({ ...told, journalMaxBytes: 2 ** 30 }), {
    state: 'fail',
    fact: /^0 MiB are left/,
    remedy: /raise max_file_store/,
  });
  const untold = { ...told, monitors: `http://${await nowhere()}` };
  t.match(await find(untold), {
    state: 'warn',
    fact: /nothing tells how much JetStream may store: files of all tenants together .* journal-max-bytes/,
    remedy: /--nats-monitor.*max_file/,
  });
  t.match(await find({ ...untold, tenantFilesMaxBytes: 2 ** 20 }), { state: 'ok', fact: /a tenant may have 1 MiB$/ });
});

t.test('the command ends with 1 when one of them fails', async (t) => {
  const flags = {
    ...SHARED,
    nats: `nats://${await nowhere()}`,
    redis: `redis://${await nowhere()}`,
    clickhouse: `http://${await nowhere()}`,
    'http-port': '0',
    'mqtt-port': '0',
    data: scratchDirectory(t),
  };
  const result = await millrace(['doctor', ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])]);
  t.equal(result.code, 1, result.stdout + result.stderr);
  t.match(result.stdout, /^fail +ClickHouse +.*ECONNREFUSED.*: start clickhouse-server/m);
  t.notMatch(result.stdout, /This machine can run the server/);
});

t.test('servers that take connections and do not answer: all at the same time, and not for ever', async (t) => {
  const findings = await clusterFindings(
    configOf({
      nats: `nats://${await startSilent(t)}`,
      redis: `redis://${await startSilent(t)}`,
      clickhouse: `http://${await startSilent(t)}`,
    }),
    1_000,
  );
  t.same(
    findings.map(({ state, name }) => `${state} ${name}`),
    ['fail NATS', 'fail redis', 'fail ClickHouse'],
  );
  for (const { fact } of findings) t.match(fact, /not done after 1 s/);
});

/** Stands before a ClickHouse and refuses what is not permitted, as it does. */
async function startRefusing(t: Test, url: string, refused: RegExp): Promise<string> {
  const target = new URL(url);
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
    });
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const statement = `${new URL(request.url!, target).searchParams.get('query') ?? ''} ${body.toString('latin1')}`;
      if (refused.test(statement)) {
        response.writeHead(403, { 'X-ClickHouse-Exception-Code': '497' });
        response.end('Code: 497. DB::Exception: mill: Not enough privileges. (ACCESS_DENIED) (version 26.7.2.1)');
        return;
      }
      const onward = httpRequest(
        {
          host: target.hostname,
          port: target.port,
          path: request.url,
          method: request.method,
          headers: request.headers,
          agent: false,
        },
        (answer) => {
          response.writeHead(answer.statusCode!, answer.headers);
          answer.pipe(response);
        },
      );
      onward.on('error', () => {
        response.destroy();
      });
      onward.end(body);
    });
  });
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const own = new URL(url);
  own.port = String((server.address() as { port: number }).port);
  return own.href;
}

t.test('ClickHouse: each right that is missing is a finding of its own, with what to grant', async (t) => {
  const { client, url } = await openClickHouse(t);
  const user = new URL(url).username || 'default';
  const tables = async (): Promise<unknown> =>
    client.query(
      "SELECT database, name FROM system.tables WHERE database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')",
    );
  const before = await tables();
  const rights: readonly [RegExp, string[]][] = [
    [/^\s*$/, []],
    [/CREATE DATABASE/, ['GRANT CREATE DATABASE ON default.*']],
    [/CREATE TABLE/, ['GRANT CREATE TABLE ON default.*']],
    [/INSERT INTO/, ['GRANT INSERT ON default.*']],
    [/ADD COLUMN/, ['GRANT ALTER ADD COLUMN ON default.*']],
    [/DELETE FROM/, ['GRANT ALTER DELETE ON default.*']],
    [/DROP PART/, ['GRANT ALTER DELETE ON default.*']],
    [/DELETE WHERE/, ['GRANT ALTER DELETE ON default.*']],
    [/MODIFY SETTING/, ['GRANT ALTER SETTINGS ON default.*']],
    [/ADD PROJECTION/, ['GRANT ALTER ADD PROJECTION ON default.*']],
    [/MATERIALIZE PROJECTION/, ['GRANT ALTER MATERIALIZE PROJECTION ON default.*']],
    [
      /system\.(parts|mutations|projections|merge_tree_settings)/,
      [
        'GRANT SELECT ON system.merge_tree_settings',
        'GRANT SELECT ON system.mutations',
        'GRANT SELECT ON system.parts',
        'GRANT SELECT ON system.projections',
      ],
    ],
  ];
  for (const [refused, grants] of rights) {
    const findings = await checkClickHouse({ url: await startRefusing(t, url, refused), database: 'default' });
    const failed = findings.filter(({ state }) => state === 'fail');
    t.same(
      failed.map(({ remedy }) => remedy).sort(),
      grants.map((grant) => `${grant} TO ${user}`),
      `${String(refused)}: ${JSON.stringify(failed)}`,
    );
    t.ok(failed.every(({ name, fact }) => name === 'ClickHouse rights' && fact.startsWith('cannot ')));
    if (grants.length === 0)
      t.match(
        findings.find(({ name }) => name === 'ClickHouse tables'),
        { state: 'ok' },
      );
  }
  t.same(await tables(), before, 'nothing of the check stays');
  const kept = await checkClickHouse({ url: await startRefusing(t, url, /DROP TABLE/), database: 'default' });
  t.match(
    kept.find(({ state, fact }) => state === 'warn' && fact.includes('could not be removed')),
    { remedy: /^DROP TABLE default\.doctor_/ },
  );
});

t.test('ClickHouse: what is there already is looked at, and nothing of the check stays', async (t) => {
  const { client, url } = await openClickHouse(t);
  const states = async (): Promise<string[]> =>
    (await checkClickHouse({ url, database: 'default' })).map(({ state, name }) => `${state} ${name}`);
  const found = await states();
  t.notOk(
    found.some((line) => line.startsWith('fail')),
    found.join(', '),
  );
  t.ok(found.includes('ok ClickHouse window'), found.join(', '));
  await client.command('ALTER TABLE measurements MODIFY SETTING non_replicated_deduplication_window = 100');
  t.ok((await states()).includes('fail ClickHouse window'));
  t.same(await client.query("SELECT name FROM system.tables WHERE name LIKE 'doctor%'"), []);

  const wrong = new URL(url);
  wrong.password = 'wrong';
  const [finding, ...others] = await checkClickHouse({ url: wrong.href, database: 'default' });
  t.match(finding, { state: 'fail', name: 'ClickHouse', remedy: 'check user and password in the URL of --clickhouse' });
  t.same(others, []);
});
