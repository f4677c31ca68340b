/** Latency of GET requests, one at a time on one connection. */
import type { QueryJob, QueryResult } from './job.ts';
import { Histogram } from '../statistics.ts';
import { answer } from './channel.ts';
import { readUsage } from '../process-figures.ts';
import { RestClient } from './rest.ts';

export async function runQuery(job: QueryJob): Promise<QueryResult> {
  const rest = new RestClient(job.target);
  const histograms = new Map<string, Histogram>();
  for (const query of job.queries) histograms.set(query.name, new Histogram());
  let failed = 0;
  let smallestAnswerBytes = Infinity;
  answer({ kind: 'connected', count: 1 });
  const { requests = Infinity, pids = [] } = job;
  const warmUpMs = job.requests === undefined ? job.warmUpMs : 0;
  const headers: Record<string, string> = job.isCold === true ? { 'X-Millrace-No-Flush': 'true' } : {};
  const before = readUsage(pids);
  const startMs = performance.now();
  for (let index = 0; index < requests && performance.now() - startMs < warmUpMs + job.measureMs; index++) {
    const query = job.queries[index % job.queries.length]!;
    const begunMs = performance.now();
    const answered = await rest.get(query.path, headers);
    const endedMs = performance.now();
    if (answered.status !== 200) {
      if (failed++ === 0)
        process.stderr.write(`bench: GET ${query.path}: ${answered.status} ${answered.body.slice(0, 300)}\n`);
    } else if (begunMs - startMs >= warmUpMs) {
      histograms.get(query.name)!.add((endedMs - begunMs) * 1000);
      smallestAnswerBytes = Math.min(smallestAnswerBytes, answered.body.length);
    }
  }
  const after = readUsage(pids);
  rest.close();
  const latencies: QueryResult['latencies'] = {};
  for (const [name, histogram] of histograms) latencies[name] = histogram.summary();
  return { latencies, failed, smallestAnswerBytes, before, after };
}
