/**
 * QoS 0: bursts of messages, each ended by a PINGREQ. At most `bursts` PINGRESPs are owed to a connection, so that what
 * lies in the kernel's buffers stays small and the server, not the buffer, sets the pace.
 */
import type { MqttFloodJob, WindowResult } from './job.ts';
import { answer } from './channel.ts';
import { closeConnections, openConnections, type MqttConnection } from './mqtt-connection.ts';
import { PINGREQ, PINGRESP, publishRun } from './mqtt-packets.ts';
import { subscribeAll } from './mqtt-subscriber.ts';
import { measure, type Load } from './window.ts';

const PARALLEL_OPENS = 100;
/** Different bursts, so that values vary. */
const VARIANTS = 10;

class Flood implements Load {
  sent = 0;
  counted = 0;
  failed = 0;
  private passed = 0;
  private stopped = false;
  private readonly connections: MqttConnection[];
  private readonly job: MqttFloodJob;
  private readonly variants: Buffer[] = [];

  constructor(connections: MqttConnection[], job: MqttFloodJob) {
    this.connections = connections;
    this.job = job;
    for (let variant = 0; variant < VARIANTS; variant++) {
      const run = publishRun(job.burst, variant & 1, 0);
      for (let index = 0; index < job.burst; index++) run.bytes[run.digits[index]!] = 48 + ((variant + index) % 10);
      this.variants.push(Buffer.concat([run.bytes, PINGREQ]));
    }
    for (const connection of connections)
      connection.onBytes = (one, bytes, length) => this.answered(one, bytes, length);
  }

  start(): void {
    for (const connection of this.connections) {
      for (let burst = 0; burst < this.job.bursts; burst++) this.send(connection);
    }
  }

  stop(): void {
    this.stopped = true;
  }

  outstanding(): number {
    return this.sent - (this.job.subscribe ? this.counted : this.passed);
  }

  /** PUBLISH packets of the one subscriber: their lengths are below 128, so that each header has two bytes. */
  relayed(subscriber: MqttConnection, bytes: Buffer, length: number): void {
    // `partial` holds how many bytes of the current packet are still to come, or -1 when only its first byte was seen.
    let at = subscriber.partial;
    if (at === -1) {
      this.counted++;
      at = bytes[0]! + 1;
    }
    while (at < length - 1) {
      this.counted++;
      at += 2 + bytes[at + 1]!;
    }
    subscriber.partial = at === length - 1 ? -1 : at - length;
  }

  private answered(connection: MqttConnection, bytes: Buffer, length: number): void {
    if (bytes[connection.partial & 1] !== PINGRESP && length > 1) this.failed++;
    const all = connection.partial + length;
    connection.partial = all & 1;
    for (let index = 0; index < all >> 1; index++) {
      this.passed += this.job.burst;
      if (!this.job.subscribe) this.counted += this.job.burst;
      if (!this.stopped) this.send(connection);
    }
  }

  private send(connection: MqttConnection): void {
    connection.packetId = (connection.packetId + 1) % VARIANTS;
    this.sent += this.job.burst;
    connection.socket.write(this.variants[connection.packetId]!);
  }
}

export async function runMqttFlood(job: MqttFloodJob): Promise<WindowResult> {
  const connections = await openConnections({
    target: job.target,
    count: job.connections,
    parallel: PARALLEL_OPENS,
    clientPrefix: 'bench-',
  });
  const load = new Flood(connections, job);
  if (job.subscribe) {
    const subscriber = await subscribeAll(job.target);
    subscriber.onBytes = (one, bytes, length) => load.relayed(one, bytes, length);
    answer({ kind: 'connected', count: connections.length });
    const result = await measure(load, job);
    await closeConnections([...connections, subscriber]);
    return result;
  }
  answer({ kind: 'connected', count: connections.length });
  const result = await measure(load, job);
  await closeConnections(connections);
  return result;
}
