/**
 * QoS 1 in an open loop: bursts leave at fixed times, and each message's latency counts from the time it was due, so
 * that a server that stalls is charged for everything that waited.
 */
import type { MqttPacedJob, WindowResult } from './job.ts';
import { Histogram } from '../statistics.ts';
import { answer } from './channel.ts';
import { closeConnections, openConnections, type MqttConnection } from './mqtt-connection.ts';
import { PACKET_ID_OFFSET, PUBACK, publishRun } from './mqtt-packets.ts';
import { measure, type Load } from './window.ts';

const PARALLEL_OPENS = 100;
/** Messages of one connection whose times are remembered: more than the server lets wait. */
const REMEMBERED = 4096;
/** A burst that leaves later than this after its time is the generator's fault and is counted. */
const LATE_MS = 1;
/** Sleep only when the next burst is further away than a timer's precision. */
const SLEEP_FROM_MS = 3;

class PacedLoop implements Load {
  sent = 0;
  counted = 0;
  failed = 0;
  lateBursts = 0;
  latency = new Histogram();
  private stopped = false;
  private startMs = 0;
  private burstsSent = 0;
  private readonly connections: MqttConnection[];
  private readonly job: MqttPacedJob;
  private readonly dueMs: Float64Array;
  private readonly burstEveryMs: number;
  /** Carries the first byte of a packet identifier that was split over two reads. */
  private readonly halves: Uint8Array;

  constructor(connections: MqttConnection[], job: MqttPacedJob) {
    this.connections = connections;
    this.job = job;
    this.dueMs = new Float64Array(connections.length * REMEMBERED);
    this.halves = new Uint8Array(connections.length);
    this.burstEveryMs = (1000 * job.burst) / job.ratePerSecond;
    for (const connection of connections)
      connection.onBytes = (one, bytes, length) => this.acknowledged(one, bytes, length);
  }

  start(): void {
    this.startMs = performance.now();
    this.pace();
  }

  stop(): void {
    this.stopped = true;
  }

  reset(): void {
    this.latency = new Histogram();
    this.lateBursts = 0;
  }

  outstanding(): number {
    return this.sent - this.counted;
  }

  private pace(): void {
    if (this.stopped) return;
    const nowMs = performance.now();
    let dueMs = this.startMs + this.burstsSent * this.burstEveryMs;
    for (let limit = 256; dueMs <= nowMs && limit > 0; limit--) {
      if (nowMs - dueMs > LATE_MS) this.lateBursts++;
      this.send(this.connections[this.burstsSent % this.connections.length]!, dueMs);
      this.burstsSent++;
      dueMs = this.startMs + this.burstsSent * this.burstEveryMs;
    }
    if (this.job.sharesCores === true) setTimeout(() => this.pace(), Math.max(1, dueMs - nowMs));
    else if (dueMs - nowMs > SLEEP_FROM_MS) setTimeout(() => this.pace(), dueMs - nowMs - SLEEP_FROM_MS + 1);
    else setImmediate(() => this.pace());
  }

  private send(connection: MqttConnection, dueMs: number): void {
    const run = publishRun(this.job.burst, connection.index & 1, 1);
    for (let index = 0; index < this.job.burst; index++) {
      const packetId = connection.packetId === 65535 ? 1 : connection.packetId + 1;
      connection.packetId = packetId;
      const at = run.starts[index]! + PACKET_ID_OFFSET;
      run.bytes[at] = packetId >> 8;
      run.bytes[at + 1] = packetId & 0xff;
      run.bytes[run.digits[index]!] = 48 + (packetId % 10);
      this.dueMs[connection.index * REMEMBERED + (packetId % REMEMBERED)] = dueMs;
    }
    this.sent += this.job.burst;
    connection.socket.write(run.bytes);
  }

  private acknowledged(connection: MqttConnection, bytes: Buffer, length: number): void {
    const nowMs = performance.now();
    for (let at = 0; at < length; at++) {
      const byte = bytes[at]!;
      switch (connection.partial) {
        case 0:
          if (byte !== PUBACK) this.failed++;
          connection.partial = 1;
          break;
        case 1:
          connection.partial = 2;
          break;
        case 2:
          this.halves[connection.index] = byte;
          connection.partial = 3;
          break;
        default: {
          const packetId = (this.halves[connection.index]! << 8) | byte;
          const dueMs = this.dueMs[connection.index * REMEMBERED + (packetId % REMEMBERED)]!;
          this.latency.add((nowMs - dueMs) * 1000);
          this.counted++;
          connection.partial = 0;
        }
      }
    }
  }
}

export async function runMqttPaced(job: MqttPacedJob): Promise<WindowResult> {
  const connections = await openConnections({
    target: job.target,
    count: job.connections,
    parallel: PARALLEL_OPENS,
    clientPrefix: job.clientPrefix,
  });
  const load = new PacedLoop(connections, job);
  answer({ kind: 'connected', count: connections.length });
  const result = await measure(load, job);
  await closeConnections(connections);
  return { ...result, latency: load.latency.summary(), lateBursts: load.lateBursts };
}
