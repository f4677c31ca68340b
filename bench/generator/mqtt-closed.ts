/** QoS 1 in a closed loop: a PUBACK lets the next PUBLISH of its connection go. No allocation per message. */
import type { MqttClosedJob, WindowResult } from './job.ts';
import { answer } from './channel.ts';
import { closeConnections, openConnections, type MqttConnection } from './mqtt-connection.ts';
import { packetIdOffset, PUBACK, publishRun, UPSTREAM_TOPIC, type PublishRun } from './mqtt-packets.ts';
import { subscribeAll } from './mqtt-subscriber.ts';
import { rawWriter } from './raw-write.ts';
import { measure, type Load } from './window.ts';

/** Connections opened at the same time. */
const PARALLEL_OPENS = 100;

class ClosedLoop implements Load {
  sent = 0;
  counted = 0;
  failed = 0;
  private answeredConnections = 0;
  private stopped = false;
  private readonly connections: MqttConnection[];
  private readonly writers: ((bytes: Buffer) => void)[];
  private readonly inFlight: number;
  /** Places in the send buffer, for connections that begin with either row. */
  private readonly layouts: PublishRun[];

  private readonly packetIdOffset: number;

  constructor(connections: MqttConnection[], { inFlight, published }: MqttClosedJob) {
    this.connections = connections;
    this.inFlight = inFlight;
    this.packetIdOffset = packetIdOffset(published?.topic ?? UPSTREAM_TOPIC);
    this.layouts = [publishRun(inFlight, 0, 1, published), publishRun(inFlight, 1, 1, published)];
    this.writers = connections.map((connection) => rawWriter(connection.socket));
    for (const connection of connections) {
      const layout = this.layouts[connection.index & 1]!;
      connection.run = Buffer.from(layout.bytes);
      connection.views = layout.starts.map((end) => connection.run!.subarray(0, end));
      connection.onBytes = (one, bytes, length) => this.acknowledged(one, bytes, length);
    }
  }

  start(): void {
    for (const connection of this.connections) this.send(connection, this.inFlight);
  }

  stop(): void {
    this.stopped = true;
  }

  isWarm(): boolean {
    return this.answeredConnections === this.connections.length;
  }

  outstanding(): number {
    return this.connections.every((connection) => connection.closed) ? 0 : this.sent - this.counted;
  }

  private acknowledged(connection: MqttConnection, bytes: Buffer, length: number): void {
    for (let at = (4 - connection.partial) & 3; at < length; at += 4) {
      if (bytes[at] !== PUBACK) {
        this.failed++;
        connection.socket.destroy(new Error('a packet that is no PUBACK'));
        return;
      }
    }
    const all = connection.partial + length;
    const count = all >> 2;
    connection.partial = all & 3;
    this.counted += count;
    if (!connection.hasAnswer) {
      connection.hasAnswer = true;
      this.answeredConnections++;
    }
    if (count > 0 && !this.stopped) this.send(connection, count);
  }

  /** Writes `count` messages with new identifiers and values; at most `inFlight` are ever unanswered. */
  private send(connection: MqttConnection, count: number): void {
    const layout = this.layouts[connection.index & 1]!;
    const run = connection.run!;
    for (let index = 0; index < count; index++) {
      const packetId = connection.packetId === 65535 ? 1 : connection.packetId + 1;
      connection.packetId = packetId;
      const at = layout.starts[index]! + this.packetIdOffset;
      run[at] = packetId >> 8;
      run[at + 1] = packetId & 0xff;
      run[layout.digits[index]!] = 48 + (packetId % 10);
    }
    this.sent += count;
    this.writers[connection.index]!(connection.views[count]!);
  }
}

export async function runMqttClosed(job: MqttClosedJob): Promise<WindowResult> {
  const connections = await openConnections({
    target: job.target,
    count: job.connections,
    parallel: PARALLEL_OPENS,
    clientPrefix: 'bench-',
  });
  const subscriber = job.subscribe ? await subscribeAll(job.target) : undefined;
  // What is relayed is read and forgotten: only acknowledgements are counted.
  if (subscriber !== undefined) subscriber.onBytes = () => {};
  answer({ kind: 'connected', count: connections.length });
  const result = await measure(new ClosedLoop(connections, job), job);
  const lost = connections.filter((connection) => connection.closed).length;
  if (lost > 0 && job.serverDies !== true)
    throw new Error(`${lost} connections were closed by the server during the load`);
  await closeConnections(subscriber === undefined ? connections : [...connections, subscriber]);
  return result;
}
