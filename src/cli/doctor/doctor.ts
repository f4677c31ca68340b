/**
 * `millrace doctor`: whether this machine, and the servers of a cluster, can run the server; a line for each check,
 * with the remedy where one is needed.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { DESCRIPTORS_RESERVED, connectionBounds, descriptorsMax, processLimits } from '../../operate/descriptors.ts';
import type { ConnectionSettings } from '../../operate/descriptors.ts';
import type { Finding } from '../../ports/finding.ts';
import { clusterFindings } from './cluster.ts';
import { isServerRunning } from '../../operate/control.ts';
import { checkJournal } from './journal.ts';
import { EXIT_FAILED, EXIT_OK } from '../../operate/exit-codes.ts';
import { wantedPorts, withHosts, type WantedPort } from '../../server/free-ports.ts';

const NODE_MIN = [20, 19] as const;
/** Of the binary of lmdb; the engine and the HTTP library want less. */
const GLIBC_MIN = [2, 34] as const;
const DESCRIPTORS_MIN = 1024;
const DISK_COMFORTABLE_BYTES = 5 * 1024 ** 3;
const MEMORY_COMFORTABLE_BYTES = 1024 ** 3;
const LOAD_TIMEOUT_MS = 30_000;

/** Run in a process of its own with the package's name and a scratch directory as arguments. */
const LOADS: readonly { name: string; packageName: string; code: string }[] = [
  {
    name: 'engine',
    packageName: 'chdb',
    code:
      'const s = new m.Session(scratch); const r = s.query("SELECT version()", "TabSeparated");' +
      ' console.log(String(r?.text?.() ?? r).trim()); process.exit(0);',
  },
  {
    name: 'document store',
    packageName: 'lmdb',
    code:
      'const d = m.open({ path: scratch }); await d.put("a", 1);' +
      ' if (d.get("a") !== 1) throw new Error("a value did not come back"); await d.close(); console.log("reads and writes");',
  },
];
const CHOOSE_ENGINE =
  'const [file, engine, proxy] = process.argv.slice(1); const { chooseHttpEngine } = await import(file);' +
  ' const { description, isFallback } = await chooseHttpEngine({ engine, trustsProxy: proxy !== "no" });' +
  ' console.log(JSON.stringify({ description, isFallback })); process.exit(0);';
const LOAD_PREFIX = 'const [name, scratch] = process.argv.slice(1); const m = await import(name); ';

/**
 * Runs every check; prints to standard output; exit code 1 when one failed. @param isRepair mends what can be mended.
 */
export async function doctor(config: Config, isRepair = false): Promise<number> {
  const cluster = clusterFindings(config);
  const findings: Finding[] = [
    checkNode(process.versions.node),
    checkGlibc(runningGlibc()),
    checkDescriptors(config, processLimits()),
    checkMemory(),
    checkData(config),
    checkDisk(config),
    checkRegistration(config),
  ];
  const isRunning = await isServerRunning(resolve(config.data));
  for (const wanted of wantedPorts(await withHosts(config), true)) {
    const isOpened = wanted.setting !== 'ops-port' || wanted.port > 0;
    if (isOpened) findings.push(await checkPort(wanted, isRunning));
  }
  for (const load of LOADS) findings.push(await checkLoad(load));
  findings.push(
    await checkHttpEngine(config),
    ...(await checkJournal(resolve(config.data), isRepair)),
    ...(await cluster),
  );
  for (const finding of findings) process.stdout.write(findingLine(finding));
  const failed = findings.filter((finding) => finding.state === 'fail').length;
  process.stdout.write(
    failed === 0 ? 'This machine can run the server.\n' : `${failed} of ${findings.length} checks failed.\n`,
  );
  return failed === 0 ? EXIT_OK : EXIT_FAILED;
}

export function findingLine({ state, name, fact, remedy }: Finding): string {
  return `${state.padEnd(5)} ${name.padEnd(18)} ${fact}${remedy === undefined || state === 'ok' ? '' : `: ${remedy}`}\n`;
}

function atLeast(version: string, minimum: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  for (let index = 0; index < minimum.length; index += 1) {
    if (parts[index] !== minimum[index]) return parts[index] > minimum[index];
  }
  return true;
}

export function checkNode(version: string): Finding {
  const state = atLeast(version, NODE_MIN) ? 'ok' : 'fail';
  return { state, name: 'Node', fact: version, remedy: `install Node ${NODE_MIN.join('.')} or newer` };
}

function runningGlibc(): string | undefined {
  return (process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined)?.header
    ?.glibcVersionRuntime;
}

/** @param version undefined: there is none. */
export function checkGlibc(version: string | undefined, platform: string = process.platform): Finding {
  if (platform !== 'linux')
    return {
      state: 'warn',
      name: 'glibc',
      fact: `not needed on ${platform}`,
      remedy: 'this server was run on Linux only',
    };
  if (version === undefined) {
    return { state: 'fail', name: 'glibc', fact: 'not found', remedy: 'the engine needs a Linux with glibc, not musl' };
  }
  const state = atLeast(version, GLIBC_MIN) ? 'ok' : 'fail';
  return {
    state,
    name: 'glibc',
    fact: version,
    remedy: `the prebuilt document store needs ${GLIBC_MIN.join('.')}: take a newer distribution or the container`,
  };
}

/** @param limits text of /proc/self/limits. */
export function checkDescriptors(config: ConnectionSettings, limits: string | undefined): Finding {
  const name = 'descriptors';
  const limit = descriptorsMax(limits);
  if (limit === undefined)
    return { state: 'warn', name, fact: 'the limit is not known', remedy: 'this system has no /proc; see ulimit -n' };
  const wanted = config.mqttConnectionsMax + DESCRIPTORS_RESERVED;
  const state = limit < DESCRIPTORS_MIN ? 'fail' : limit < wanted ? 'warn' : 'ok';
  const { http, httpAddress, mqtt } = connectionBounds(limit, config);
  return {
    state,
    name,
    fact: `${limit} open files: ${mqtt} MQTT and ${http} HTTP connections, ${httpAddress} of one address`,
    remedy: `${wanted} are needed for mqtt-connections-max ${config.mqttConnectionsMax}: ulimit -n ${wanted}, or lower the setting`,
  };
}

function checkMemory(): Finding {
  const name = 'memory';
  const kib = existsSync('/proc/meminfo')
    ? /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]
    : undefined;
  if (kib === undefined)
    return { state: 'warn', name, fact: 'not known', remedy: 'the server and its engine need about 1 GiB' };
  const bytes = Number(kib) * 1024;
  return {
    state: bytes < MEMORY_COMFORTABLE_BYTES ? 'warn' : 'ok',
    name,
    fact: `${gib(bytes)} GiB available`,
    remedy: 'the server and its engine need about 1 GiB under load',
  };
}

const gib = (bytes: number): string => (bytes / 1024 ** 3).toFixed(1);

/** The directory itself, or the nearest one above it that exists. */
function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}

/** @param access throws where the directory cannot be written. */
export function checkData(
  config: Pick<Config, 'data'>,
  access = (path: string): void => accessSync(path, constants.W_OK | constants.X_OK),
): Finding {
  const path = existing(resolve(config.data));
  try {
    access(path);
    return { state: 'ok', name: 'data directory', fact: resolve(config.data) };
  } catch {
    return {
      state: 'fail',
      name: 'data directory',
      fact: `${path} cannot be written`,
      remedy: 'change its owner or take another --data',
    };
  }
}

export function checkDisk(config: Pick<Config, 'data' | 'journalMaxBytes' | 'diskFreeMinBytes'>): Finding {
  const { bavail, bsize } = statfsSync(existing(resolve(config.data)));
  const free = bavail * bsize;
  const comfortable = Math.max(DISK_COMFORTABLE_BYTES, config.journalMaxBytes + config.diskFreeMinBytes);
  const state = free < config.diskFreeMinBytes ? 'fail' : free < comfortable ? 'warn' : 'ok';
  return {
    state,
    name: 'disk',
    fact: `${gib(free)} GiB free`,
    remedy: `writes are refused below disk-free-min-bytes, and the journal alone may take ${gib(config.journalMaxBytes)} GiB`,
  };
}

/** A token keeps a tenant that guesses a serial number from registering another's device. */
export function checkRegistration({ deviceTokenPolicy }: Pick<Config, 'deviceTokenPolicy'>): Finding {
  return {
    state: deviceTokenPolicy === 'IGNORED' ? 'warn' : 'ok',
    name: 'security tokens',
    fact: `${deviceTokenPolicy} for new devices of tenants without the option device-registration/security-token.policy`,
    remedy:
      'set --device-token-policy OPTIONAL or REQUIRED: a tenant that guesses a serial number can register the device of another',
  };
}

function checkPort({ host, hostSetting, port, setting: name }: WantedPort, isRunning: boolean): Promise<Finding> {
  if (port === 0) return Promise.resolve({ state: 'ok', name, fact: 'any free port' });
  return new Promise((resolvePort) => {
    const server = createServer();
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' && isRunning)
        resolvePort({ state: 'ok', name, fact: `${port} is used by the running server` });
      else {
        const remedy =
          error.code === 'EADDRINUSE'
            ? `stop what listens there (ss -ltnp) or choose another --${name}`
            : error.code === 'EACCES'
              ? `ports below 1024 need a privilege; choose another --${name}`
              : `check --${hostSetting} and --${name}`;
        resolvePort({ state: 'fail', name, fact: `${host}:${port} cannot be opened (${error.code})`, remedy });
      }
    });
    server.listen({ host, port, exclusive: true }, () =>
      server.close(() => resolvePort({ state: 'ok', name, fact: `${port} is free` })),
    );
  });
}

interface ChildResult {
  readonly code: number | null;
  readonly output: string;
  readonly reason: string;
}

/** Runs code in a process of its own: what crashes there does not take the doctor along. */
function runApart(code: string, ...args: readonly string[]): Promise<ChildResult> {
  return new Promise((resolveRun) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', code, ...args], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LOAD_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.on('close', (exitCode, signal) => {
      const reason =
        /^\w*Error.*$/m.exec(errors)?.[0] ?? (signal === null ? `exit code ${exitCode}` : `ended by ${signal}`);
      resolveRun({ code: exitCode, output: output.trim(), reason });
    });
  });
}

/** Loads a native package. */
export async function checkLoad({
  name,
  code,
  packageName,
}: {
  name: string;
  code: string;
  packageName: string;
}): Promise<Finding> {
  const scratch = mkdtempSync(join(tmpdir(), 'millrace-doctor-'));
  const result = await runApart(LOAD_PREFIX + code, packageName, scratch);
  rmSync(scratch, { recursive: true, force: true });
  return result.code === 0
    ? { state: 'ok', name, fact: `${packageName}: ${result.output}` }
    : {
        state: 'fail',
        name,
        fact: `${packageName} does not load (${result.reason})`,
        remedy: `install the packages again; they were seen to load on Linux on x64 with glibc, this is ${process.platform} on ${process.arch}`,
      };
}

/** Chooses as a start does. @param module the built file that chooses, from here. */
export async function checkHttpEngine(
  config: Pick<Config, 'httpEngine' | 'trustProxy'>,
  module = '../../api/http/engines/engine.js',
): Promise<Finding> {
  const name = 'HTTP server';
  const { code, output, reason } = await runApart(CHOOSE_ENGINE, module, config.httpEngine, config.trustProxy);
  if (code !== 0)
    return { state: 'fail', name, fact: reason, remedy: 'see --http-engine; build again, or take --http-engine node' };
  const { description, isFallback } = JSON.parse(output) as { description: string; isFallback: boolean };
  return {
    state: isFallback ? 'warn' : 'ok',
    name,
    fact: `${description}; it answered the request in several reads that doctor sent it`,
    remedy: 'the faster one runs with Node 20, 22 and 24 on Linux with glibc',
  };
}
