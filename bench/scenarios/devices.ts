/**
 * What grows with the number of devices: memory, disk and the time of a start, and what a measurement and a new object
 * cost among them.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpClosedJob } from '../generator/job.ts';
import { generate } from '../generators.ts';
import { FIRST_OBJECT } from '../lists/data.ts';
import { fill } from '../lists/fill.ts';
import { loadRound } from '../load-round.ts';
import { readUsage } from '../process-figures.ts';
import type { Context, Scenario } from '../scenario.ts';
import type { Millrace } from '../subjects/millrace.ts';

const COUNTS = [10_000, 100_000, 1_000_000];
/** What a server knows by heart, to compare with. */
const FEW = 1_000;
const PER_BODY = 1_000;
const CONNECTIONS = 16;
const OBJECT_CONNECTIONS = 64;
/** Behind a start, until what it still does is done. */
const REST_MS = 3_000;
const BLOCK_BYTES = 512;
const MEBIBYTE = 1024 ** 2;

/** MiB on the disk. */
function diskMebibytes(path: string): number {
  const stat = lstatSync(path);
  const own = (stat.blocks * BLOCK_BYTES) / MEBIBYTE;
  return stat.isDirectory() ? readdirSync(path).reduce((sum, name) => sum + diskMebibytes(join(path, name)), own) : own;
}

async function measured(context: Context, count: number): Promise<void> {
  const subject = (await context.start('millrace')) as Millrace;
  await subject.stop();
  const none = { alarms: 0, events: 0, others: 0 };
  await fill(subject.data, { objects: count, ...none, areAllDevices: true }, Date.now(), context.progress);
  await subject.startProcess();
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  const atRest = readUsage(subject.pids());
  const values: Record<string, number> = {
    readyMs: subject.readyAfterMs,
    serverMebibytes: atRest.serverBytes / MEBIBYTE,
    engineMebibytes: atRest.childBytes / MEBIBYTE,
    documentsMebibytes: diskMebibytes(join(subject.data, 'documents')),
    historyMebibytes: diskMebibytes(join(subject.data, 'clickhouse')),
  };
  const { warmUpMs, measureMs } = context.options;
  const job = (own: Partial<HttpClosedJob>): HttpClosedJob => ({
    kind: 'http-closed',
    target: subject.http,
    connections: CONNECTIONS,
    measurementsPerBody: PER_BODY,
    sources: [],
    firstTimeMs: Date.now(),
    stepMs: 1,
    pids: subject.pids(),
    warmUpMs,
    measureMs,
    ...own,
  });
  const load = (own: Partial<HttpClosedJob>): Promise<Record<string, number>> => loadRound(subject, job(own));
  const sources = Array.from({ length: count }, (_, index) => String(FIRST_OBJECT + index));
  for (let round = 1; round <= context.rounds; round++) {
    context.progress(`devices: ${count}, round ${round}`);
    const few = await load({ sources: sources.slice(0, FEW) });
    // In a window of some seconds only a part of the devices measures: each has to be known before it.
    await generate(job({ sources, requests: count / PER_BODY }));
    const all = await load({ sources });
    const objects = await load({ connections: OBJECT_CONNECTIONS, measurementsPerBody: 1, entity: 'managedObject' });
    const after = readUsage(subject.pids());
    const cost = (from: Record<string, number>): number =>
      from['serverMicrosPerMessage']! + from['engineMicrosPerMessage']!;
    context.record({
      scenario: 'devices',
      subject: `${count} devices`,
      round,
      values: {
        ...values,
        fewServerMicros: few['serverMicrosPerMessage']!,
        fewEngineMicros: few['engineMicrosPerMessage']!,
        allServerMicros: all['serverMicrosPerMessage']!,
        allEngineMicros: all['engineMicrosPerMessage']!,
        allToFew: cost(all) / cost(few),
        objectServerMicros: objects['serverMicrosPerMessage']!,
        objectEngineMicros: objects['engineMicrosPerMessage']!,
        loadedServerMebibytes: after.serverBytes / MEBIBYTE,
        loadedEngineMebibytes: after.childBytes / MEBIBYTE,
        missingRows: few['missingRows']! + all['missingRows']!,
        failed: few['failed']! + all['failed']! + objects['failed']!,
      },
    });
  }
  await subject.stop();
}

export const devices: Scenario = {
  name: 'devices',
  standard: false,
  question: `What grows from ${COUNTS[0]} to ${COUNTS.at(-1)} devices: a start, memory, disk, a measurement of ${FEW} and of all of them, a new object`,
  columns: [
    'allToFew',
    'fewServerMicros',
    'fewEngineMicros',
    'allServerMicros',
    'allEngineMicros',
    'objectServerMicros',
    'objectEngineMicros',
    'readyMs',
    'serverMebibytes',
    'loadedServerMebibytes',
    'engineMebibytes',
    'loadedEngineMebibytes',
    'documentsMebibytes',
    'historyMebibytes',
    'missingRows',
    'failed',
  ],
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    for (const count of COUNTS) await measured(context, count);
  },
};
