/** How long writes wait while shards move: a node stops in order, comes back, and is killed. */
import type { Context, Scenario } from '../scenario.ts';
import { Histogram } from '../statistics.ts';
import type { Cluster } from '../subjects/cluster.ts';
import { clusterMissing } from '../subjects/cluster.ts';
import type { Millrace } from '../subjects/millrace.ts';

/** Over all shards, one and a half of each. */
const OBJECTS = 96;
const GAP_MS = 10;
const QUIET_MS = 2_000;

/** Updates each object again and again over the nodes that stay: an answer needs the decision of the object's owner. */
class Prober {
  readonly latencies = new Histogram();
  failed = 0;
  #isStopped = false;
  readonly #loops: Promise<void>[];

  constructor(ids: readonly string[], nodes: readonly Millrace[]) {
    this.#loops = ids.map((id, index) => this.#probe(id, nodes[index % nodes.length]!));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#loops);
  }

  async #probe(id: string, node: Millrace): Promise<void> {
    for (let count = 1; !this.#isStopped; count++) {
      const begunMs = performance.now();
      if (await node.updateObject(id, { bench_Count: { count } }))
        this.latencies.add(1_000 * (performance.now() - begunMs));
      else this.failed++;
      await settle(GAP_MS);
    }
  }
}

const settle = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface SetUp {
  readonly ids: readonly string[];
  readonly nodes: readonly Millrace[];
}

async function probe(
  context: Context,
  subject: string,
  round: number,
  setUp: SetUp,
  move: () => Promise<void>,
): Promise<void> {
  context.progress(`hand-over: round ${round}, ${subject}`);
  const prober = new Prober(setUp.ids, setUp.nodes);
  await settle(QUIET_MS);
  await move();
  await settle(QUIET_MS);
  await prober.stop();
  const { latencies, failed } = prober;
  context.record({
    scenario: 'hand-over',
    subject,
    round,
    values: {
      maximumMs: latencies.maximumMicros / 1_000,
      p50Ms: latencies.percentileMs(0.5),
      p99Ms: latencies.percentileMs(0.99),
      failed,
      probes: latencies.count,
    },
  });
}

export const handOver: Scenario = {
  name: 'hand-over',
  standard: false,
  columns: ['maximumMs', 'p50Ms', 'p99Ms', 'failed', 'probes'],
  question:
    'Three nodes, of which one stops, comes back and is killed: the longest time that an update of an object waited for its answer over the others',
  run: async (context) => {
    const missing = clusterMissing();
    if (missing !== undefined) throw new Error(missing);
    context.note(
      'hand-over: nodes, NATS, Redis and ClickHouse share one core: what a node needs to stop or to start delays the others. ' +
        'Leases have their default time.',
    );
    const cluster = (await context.start('millrace-3')) as Cluster;
    const [leaving, ...staying] = cluster.nodes;
    const ids: string[] = [];
    for (let index = 0; index < OBJECTS; index++) ids.push(await cluster.createDevice(`bench-hand-over-${index}`));
    const setUp = { ids, nodes: staying };
    for (let round = 1; round <= context.rounds; round++) {
      await probe(context, 'nothing moves', round, setUp, () => settle(QUIET_MS));
      await probe(context, 'a node stops', round, setUp, async () => {
        await leaving!.stop();
        await cluster.untilShared(staying);
      });
      await probe(context, 'a node joins', round, setUp, async () => {
        await leaving!.startProcess();
        await cluster.untilShared();
      });
      await probe(context, 'a node is killed', round, setUp, async () => {
        await leaving!.kill();
        await cluster.untilShared(staying);
      });
      await leaving!.startProcess();
      await cluster.untilShared();
    }
  },
};
