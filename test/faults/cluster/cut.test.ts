/**
 * A node of a cluster that is cut off from Redis alone, or from ClickHouse alone: the others take its shards, and it
 * says that it is not ready.
 */
import t from 'tap';
import { FreezingProxy } from '../../helpers/proxies/freezing-proxy.ts';
import { RunningCluster } from '../../helpers/cluster/running.ts';
import type { ClusterNodeProcess } from '../../helpers/cluster/running.ts';
import { Rest, eventually } from '../../helpers/running/server.ts';
import { PASSWORD, USER, delay } from '../../helpers/process/server.ts';
import { missing } from '../../helpers/tools.ts';

interface Health {
  readonly status: number;
  readonly parts: Record<
    string,
    { readonly ready: boolean; readonly problem?: string; readonly shards?: number; readonly lagGroups?: number }
  >;
}

const NOTICE_MS = 40_000;
/** More than the lease time and the time until what nodes lack counts. */
const AWAY_MS = 9_000;
const CREATED = 12;

const skip = missing('nats-server', 'redis-server');
const proxies: { redis?: FreezingProxy; clickHouse?: FreezingProxy } = {};
const cluster =
  skip === false
    ? await RunningCluster.start(t, {
        nodes: 2,
        passwords: { admin: PASSWORD, management: 'mill-Race-8' },
        flags: ['--answer-timeout-ms', '5000'],
        environmentOf: async (index, { redis, clickHouseUrl }): Promise<Record<string, string>> => {
          if (index === 0) return {};
          proxies.redis = await FreezingProxy.start(t, redis.port);
          proxies.clickHouse = await FreezingProxy.start(t, Number(new URL(clickHouseUrl).port));
          const url = new URL(clickHouseUrl);
          url.port = String(proxies.clickHouse.port);
          return { MILLRACE_REDIS: `redis://127.0.0.1:${proxies.redis.port}`, MILLRACE_CLICKHOUSE: url.href };
        },
      })
    : undefined;

async function health(node: ClusterNodeProcess): Promise<Health> {
  const answer = await fetch(`${node.url}/health/ready`);
  return { status: answer.status, parts: ((await answer.json()) as Health).parts };
}
const shardsOf = async (node: ClusterNodeProcess): Promise<number> => (await health(node)).parts['cluster'].shards ?? 0;

/** A command that was sent while the server was away may still end with a 503 for a moment. */
const answers = (node: ClusterNodeProcess): Promise<unknown> =>
  eventually(
    'it takes what it is sent',
    async () =>
      (await new Rest(node.url, USER, PASSWORD).post('/inventory/managedObjects', { type: 'probe' })).status === 201,
    NOTICE_MS,
  );

/** Writes to shards of both nodes and lists them. */
async function works(rest: Rest, type: string): Promise<number> {
  for (let count = 0; count < CREATED; count += 1)
    await rest.create('/inventory/managedObjects', { type, c8y_IsDevice: {} });
  const listed = await rest.get(`/inventory/managedObjects?type=${type}&pageSize=100`);
  return listed.status === 200 ? (listed.json as { managedObjects: unknown[] }).managedObjects.length : -listed.status;
}

t.test('cut off from Redis: its shards go to the node that reaches it, and come back', { skip }, async (t) => {
  const [there, cut] = cluster!.nodes;
  const rest = new Rest(there.url, USER, PASSWORD);
  t.equal(await works(rest, 'before'), CREATED);
  proxies.redis!.freeze();
  const startMs = Date.now();
  await eventually('the other node has all shards', async () => (await shardsOf(there)) === 64, NOTICE_MS);
  t.comment(`taken after ${Date.now() - startMs} ms`);
  const [ofCut, ofThere] = await Promise.all([health(cut), health(there)]);
  t.equal(ofCut.status, 503);
  t.match(ofCut.parts['documents'], { ready: false, problem: /Redis: no answer for \d+ s/ });
  t.equal(ofCut.parts['cluster'].shards, 0);
  t.equal(ofThere.status, 200);
  t.equal(await works(rest, 'meanwhile'), CREATED);
  t.equal(await shardsOf(cut), 0, 'it does not take them back');
  proxies.redis!.thaw();
  await eventually(
    'both have their part',
    async () => (await shardsOf(cut)) === 32 && (await shardsOf(there)) === 32,
    NOTICE_MS,
  );
  await eventually('it is ready', async () => (await health(cut)).status === 200, NOTICE_MS);
  await answers(cut);
  t.equal(await works(new Rest(cut.url, USER, PASSWORD), 'after'), CREATED);
});

t.test('cut off from ClickHouse: lists go on at the node that reaches it', { skip }, async (t) => {
  const [there, cut] = cluster!.nodes;
  const rest = new Rest(there.url, USER, PASSWORD);
  proxies.clickHouse!.freeze();
  await eventually('the other node has all shards', async () => (await shardsOf(there)) === 64, NOTICE_MS);
  const ofCut = await health(cut);
  t.equal(ofCut.status, 503);
  t.match(ofCut.parts['clickhouse'], { ready: false, problem: /ClickHouse: no answer for \d+ s/, lagGroups: 0 });
  t.equal((await health(there)).status, 200);
  t.equal(await works(rest, 'unseen'), CREATED);
  proxies.clickHouse!.thaw();
  await eventually(
    'both have their part',
    async () => (await shardsOf(cut)) === 32 && (await shardsOf(there)) === 32,
    NOTICE_MS,
  );
  await answers(cut);
  t.equal(await works(new Rest(cut.url, USER, PASSWORD), 'seen'), CREATED);
});

t.test('Redis is away for all nodes: everybody keeps his shards and goes on', { skip }, async (t) => {
  const [there, cut] = cluster!.nodes;
  cluster!.redis.pause();
  const seen = new Set<string>();
  for (const endMs = Date.now() + AWAY_MS; Date.now() < endMs; await delay(200))
    seen.add(String(await Promise.all([shardsOf(there), shardsOf(cut)])));
  t.strictSame([...seen], ['32,32']);
  for (const node of [there, cut])
    t.match(await health(node), { status: 503, parts: { documents: { ready: false, problem: /Redis/ } } });
  cluster!.redis.proceed();
  await eventually(
    'they are ready',
    async () => (await health(there)).status === 200 && (await health(cut)).status === 200,
    NOTICE_MS,
  );
  t.strictSame(await Promise.all([shardsOf(there), shardsOf(cut)]), [32, 32]);
  await answers(cut);
  t.equal(await works(new Rest(cut.url, USER, PASSWORD), 'again'), CREATED);
});
