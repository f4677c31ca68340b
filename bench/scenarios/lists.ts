/** How long pages of lists take among many stored entities, the first and the 1,000th, while messages arrive. */
import { generate } from '../generators.ts';
import type { QueryResult } from '../generator/job.ts';
import { fill } from '../lists/fill.ts';
import { listsOf } from '../lists/lists.ts';
import type { ListUnderTest } from '../lists/lists.ts';
import { backgroundLoad } from '../load-round.ts';
import type { Scenario } from '../scenario.ts';
import type { Millrace } from '../subjects/millrace.ts';

/** Messages a second that arrive over MQTT during the queries. */
const INGEST_RATE = 1_000;
/** One list is given up after this. */
const LIST_MS = 120_000;
const DEEP_PAGE = 1_000;
const SMALL = 5;
const LARGE = 100;

interface Variant {
  readonly name: string;
  readonly path: string;
  /** Whether the history is asked each time. */
  readonly isCold: boolean;
}

/** Variants of one list: name and what stands behind its filters. */
function variantsOf(list: ListUnderTest): Variant[] {
  const variants = [
    { name: `p1 ${SMALL}`, tail: `pageSize=${SMALL}` },
    { name: `p1 ${LARGE}`, tail: `pageSize=${LARGE}` },
    { name: `p1 ${SMALL} total`, tail: `pageSize=${SMALL}&withTotalPages=true&withTotalElements=true` },
  ];
  if (list.isDeep) {
    variants.push(
      { name: `p${DEEP_PAGE} ${SMALL}`, tail: `pageSize=${SMALL}&currentPage=${DEEP_PAGE}` },
      { name: `p${DEEP_PAGE} ${LARGE}`, tail: `pageSize=${LARGE}&currentPage=${DEEP_PAGE}` },
      { name: `p${DEEP_PAGE} ${LARGE} total`, tail: `pageSize=${LARGE}&currentPage=${DEEP_PAGE}&withTotalPages=true` },
    );
  }
  const found = variants.map(({ name, tail }) => ({
    name: `${list.name}, ${name}`,
    path: `${list.path}${list.path.includes('?') ? '&' : '?'}${tail}`,
    isCold: true,
  }));
  const again = found.slice(1, 3).map(({ name, path }) => ({ name: `${name}, unchanged`, path, isCold: false }));
  return [...found, ...again];
}

export const lists: Scenario = {
  name: 'lists',
  standard: false,
  question: `Pages of every list among stored entities, beside ${INGEST_RATE} new measurements a second`,
  columns: ['p99Ms', 'p50Ms', 'maximumMs', 'cpuMsEach', 'queries', 'failed', 'smallestAnswerBytes'],
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const { requests, ...sizes } = context.options.lists;
    const subject = (await context.start('millrace')) as Millrace;
    await subject.stop();
    const endMs = Date.now();
    const begunMs = performance.now();
    await fill(subject.data, sizes, endMs, context.progress);
    context.note(
      `lists: ${JSON.stringify(sizes)} were stored in ${((performance.now() - begunMs) / 1000).toFixed(0)} s`,
    );
    await subject.startProcess();
    for (let round = 1; round <= context.rounds; round++) {
      context.progress(`lists: round ${round}`);
      const background = backgroundLoad(subject, INGEST_RATE, 4 * LIST_MS * 1000);
      try {
        await background.connected();
        for (const query of listsOf(sizes, endMs).flatMap(variantsOf)) {
          const result = await generate<QueryResult>({
            kind: 'query',
            target: subject.http,
            warmUpMs: 0,
            measureMs: LIST_MS,
            requests,
            queries: [{ name: query.name, path: query.path }],
            isCold: query.isCold,
            pids: subject.pids(),
          });
          const latency = result.latencies[query.name]!;
          const { before, after } = result;
          const cpuSeconds =
            after.serverCpuSeconds + after.childCpuSeconds - before.serverCpuSeconds - before.childCpuSeconds;
          if (latency.count === 0) throw new Error(`${query.name} failed: GET ${query.path}`);
          context.record({
            scenario: 'lists',
            subject: query.name,
            round,
            values: {
              p99Ms: latency.p99Ms,
              p50Ms: latency.p50Ms,
              maximumMs: latency.maximumMs,
              queries: latency.count,
              failed: result.failed,
              smallestAnswerBytes: result.smallestAnswerBytes,
              cpuMsEach: (1000 * cpuSeconds) / Math.max(1, latency.count),
            },
          });
        }
      } finally {
        await background.kill();
      }
    }
    await subject.stop();
  },
};
