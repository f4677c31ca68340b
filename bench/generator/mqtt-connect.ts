/** New connections a second, and idle connections held open. */
import type { ConnectResult, MqttConnectJob, MqttIdleJob } from './job.ts';
import { readUsage } from '../process-figures.ts';
import { Histogram } from '../statistics.ts';
import { answer, untilFinish } from './channel.ts';
import { closeConnections, openConnections } from './mqtt-connection.ts';

/** Connections opened before the measured ones: compiled code, cached credentials. */
const WARM_UP_COUNT = 500;
const PARALLEL_OPENS = 100;

export async function runMqttConnect(job: MqttConnectJob): Promise<ConnectResult> {
  const { target, parallel } = job;
  const first = await openConnections({ target, count: WARM_UP_COUNT, parallel, clientPrefix: 'bench-warm-' });
  const latency = new Histogram();
  const cpuBefore = process.cpuUsage();
  const before = readUsage(job.pids);
  const opened = await openConnections({
    target,
    count: job.count,
    parallel,
    clientPrefix: 'bench-',
    onOpened: (micros) => latency.add(micros),
  });
  const after = readUsage(job.pids);
  const cpu = process.cpuUsage(cpuBefore);
  await closeConnections([...first, ...opened]);
  return {
    count: job.count,
    elapsedMs: after.timeMs - before.timeMs,
    generatorCpuSeconds: (cpu.user + cpu.system) / 1e6,
    before,
    after,
    latency: latency.summary(),
  };
}

export async function runMqttIdle(job: MqttIdleJob): Promise<{ open: number }> {
  const { target, count, clientPrefix } = job;
  const connections = await openConnections({ target, count, parallel: PARALLEL_OPENS, clientPrefix });
  answer({ kind: 'connected', count });
  await untilFinish();
  const open = connections.filter((connection) => !connection.closed).length;
  await closeConnections(connections);
  return { open };
}
