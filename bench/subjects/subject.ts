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
  /** Rows visible in the database since the start; undefined when it stores nothing. */
  rows?(): Promise<number>;
  stop(): Promise<void>;
}

export type SubjectName = 'millrace' | 'mosquitto' | 'aedes' | 'bare-mqtt-packet' | 'bare-uws' | 'fastify';

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
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false)).connect(port, '127.0.0.1');
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
