/** Starts the peers: mosquitto from the system, the Node servers of bench/peers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Target } from '../generator/job.ts';
import { endProcess, freePort, SERVER_CORE, startProcess } from '../processes.ts';
import { untilListening, type Subject, type SubjectName } from './subject.ts';

const START_LIMIT_MS = 10_000;

/** No storage, no logging, no limits on connections or windows: mosquitto at its fastest. */
const MOSQUITTO_SETTINGS = [
  'allow_anonymous true',
  'persistence false',
  'max_inflight_messages 0',
  'max_queued_messages 0',
  'max_connections -1',
  'set_tcp_nodelay true',
  'sys_interval 0',
  'log_type none',
  'connection_messages false',
  // A change of user would clear the signal that ends it with the suite; without root the line has no effect.
  'user root',
];

function targets(port: number): { mqtt: Target; http: Target } {
  const target = { host: '127.0.0.1', port, userName: 't1/admin', password: 'bench' };
  return { mqtt: target, http: target };
}

export async function startMosquitto(name: SubjectName, directory: string): Promise<Subject> {
  const port = await freePort();
  const file = join(directory, `mosquitto-${port}.conf`);
  writeFileSync(file, [`listener ${port} 127.0.0.1`, ...MOSQUITTO_SETTINGS, ''].join('\n'));
  const child = startProcess({
    command: '/usr/sbin/mosquitto',
    args: ['-c', file],
    core: SERVER_CORE,
    logFile: join(directory, 'mosquitto.log'),
  });
  await untilListening(port, START_LIMIT_MS, child);
  return { name, ...targets(port), pids: () => [child.pid!], stop: () => endProcess(child) };
}

/** Starts bench/peers/<name>, without `-relay`; its default settings but for what the file says. */
export async function startNodePeer(name: SubjectName, directory: string): Promise<Subject> {
  const port = await freePort();
  const entry = fileURLToPath(new URL(`../peers/${name.replace(/-relay$/, '')}.js`, import.meta.url));
  const child = startProcess({
    command: process.execPath,
    args: [entry, String(port)],
    core: SERVER_CORE,
    channel: true,
    logFile: join(directory, `${name}.log`),
  });
  await untilListening(port, START_LIMIT_MS, child);
  return { name, ...targets(port), pids: () => [child.pid!], stop: () => endProcess(child) };
}
