/** Time from the publication of a measurement until a query that flushes nothing returns it. */
import type { ProbeResult, VisibleJob } from './job.ts';
import { Histogram } from '../statistics.ts';
import { answer, sleep } from './channel.ts';
import { closeConnections, openConnections, type MqttConnection } from './mqtt-connection.ts';
import { publishPacket } from './mqtt-packets.ts';
import { RestClient, sourceOfSerial } from './rest.ts';

/** Pause between two polls of one probe: the precision of the result. */
const POLL_EVERY_MS = 100;
const GIVE_UP_MS = 10_000;
/** Asks the server to answer from what is visible, without first flushing what was acknowledged. */
const NO_FLUSH = { 'X-Millrace-No-Flush': 'true' };

export async function runVisible(job: VisibleJob): Promise<ProbeResult> {
  const devices = await openConnections({
    target: job.target,
    count: job.probes,
    parallel: job.probes,
    clientPrefix: job.clientPrefix,
  });
  for (const device of devices) device.socket.write(publishPacket('200,c8y_BenchProbe,n,0,', 1));
  answer({ kind: 'connected', count: devices.length });
  const latency = new Histogram();
  const counters = { sent: 0, lost: 0 };
  const endMs = performance.now() + job.measureMs;
  await Promise.all(devices.map((device) => probe(job, device, { endMs, latency, counters })));
  await closeConnections(devices);
  return { ...counters, latency: latency.summary() };
}

interface ProbeState {
  endMs: number;
  latency: Histogram;
  counters: { sent: number; lost: number };
}

async function probe(job: VisibleJob, device: MqttConnection, state: ProbeState): Promise<void> {
  const rest = new RestClient({ ...job.target, port: job.httpPort });
  const source = await sourceOfSerial(rest, `${job.clientPrefix}${device.index}`);
  const path = `/measurement/measurements?source=${source}&dateFrom=1970-01-01&revert=true&pageSize=1`;
  await sleep((device.index * 37) % 250); // the probes do not ask in step
  for (let sequence = 1; performance.now() < state.endMs; sequence++) {
    const begunMs = performance.now();
    device.socket.write(publishPacket(`200,c8y_BenchProbe,n,${sequence},`, (sequence % 65535) + 1));
    state.counters.sent++;
    const wanted = new RegExp(`"c8y_BenchProbe":\\{"n":\\{[^}]*"value":${sequence}\\b`);
    let seen = false;
    while (!seen && performance.now() - begunMs < GIVE_UP_MS) {
      const answered = await rest.get(path, NO_FLUSH);
      if (answered.status !== 200) throw new Error(`GET ${path}: ${answered.status} ${answered.body.slice(0, 300)}`);
      seen = wanted.test(answered.body);
      if (!seen) await sleep(POLL_EVERY_MS);
    }
    if (seen) state.latency.add((performance.now() - begunMs) * 1000);
    else state.counters.lost++;
  }
  rest.close();
}
