/** A server under load, ours or a peer. */
import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import type { Target } from '../generator/job.ts';
import { readUsage } from '../process-figures.ts';
import { endProcess, hasEnded } from '../processes.ts';

export interface Subject {
  readonly name: string;
  /** Where to publish; port 0 when it has no MQTT. */
  readonly mqtt: Target;
  readonly http: Target;
  /** The server's process first, then its children. */
  pids(): number[];
  /**
   * Kind of each of the pids, in their order (node, NATS, Redis, ClickHouse); undefined where there is nothing to tell
   * apart.
   */
  kinds?(): ProcessKind[];
  /** Bytes that other processes have sent to the servers of a cluster, and got from them. */
  traffic?(): Promise<Record<string, number>>;
  /** Creates a device over REST. @returns its id. Undefined for a peer. */
  createDevice?(name: string): Promise<string>;
  /** Rows visible in the database since the start; undefined when it stores nothing. */
  rows?(): Promise<number>;
  stop(): Promise<void>;
}

export type ProcessKind = 'node' | 'nats' | 'redis' | 'clickHouse';

/** `-relay`: the same server, with one subscriber (QoS 0) to everything that is published. */
export type SubjectName =
  | 'millrace'
  | 'millrace-distributed'
  | 'millrace-3'
  | 'mosquitto'
  | 'mosquitto-relay'
  | 'aedes'
  | 'aedes-relay'
  | 'bare-mqtt-packet'
  | 'bare-uws'
  | 'fastify';

/** The others are peers. */
export const isOurs = (name: string): boolean => name.startsWith('millrace');

/** Servers and children use less than this share of a core when they have nothing left to do. */
const QUIET_SHARE = 0.05;
const QUIET_SAMPLE_MS = 250;

/** Waits until the subject's processes are quiet (merges, collections), at most `limitMs`. */
export async function untilQuiet(subject: Subject, limitMs = 5_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (performance.now() < deadline) {
    const before = readUsage(subject.pids());
    await new Promise((resolve) => setTimeout(resolve, QUIET_SAMPLE_MS));
    const after = readUsage(subject.pids());
    const used = after.serverCpuSeconds - before.serverCpuSeconds + after.childCpuSeconds - before.childCpuSeconds;
    if (used * 1000 < QUIET_SHARE * (after.timeMs - before.timeMs)) return;
  }
}

/** Waits until the process listens. @throws after `limitMs` or when it has ended; the process is ended then. */
export async function untilListening(port: number, limitMs: number, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = new Socket();
      socket
        .once('connect', () => resolve(true))
        .once('error', () => resolve(false))
        .connect(port, '127.0.0.1');
      socket.once('connect', () => socket.destroy());
    });
    if (open) return;
    if (performance.now() > deadline || hasEnded(child)) {
      await endProcess(child);
      throw new Error(`${child.spawnargs.join(' ')}: nothing listens on port ${port}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
