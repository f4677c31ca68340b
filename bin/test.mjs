/**
 * `npm test [-- <part of a file name> | --only | --everywhere | --sdk]…`: installs what is missing, builds, and runs
 * test/**\/*.test.ts in rings, the cheapest first: types and files that start no process (as `npm run check` does), files
 * that start servers, then those that kill them (test/faults) beside some files of test/e2e with a cluster of three
 * nodes on a second version of Node. What costs most takes turns: a commit runs half of test/e2e with one node, on the
 * first or on the second version, half of HALF_FILES, and a quarter of the rest; `--everywhere` runs all of it, a file's name that file and
 * nothing else. `--sdk` runs test/sdk alone,
 * which nothing else does: it builds an application of the web SDK first. Ends with the line
 * `N passed, N failed` (`, N skipped`). The build and the type check count as one each. On CI a test skipped for a
 * missing program is a failure.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import {
  buildTests,
  checkNode,
  checkFormat,
  checkTypes,
  compiledTestPath,
  ensureBuilt,
  ensureInstalled,
  ensurePrograms,
  hasProgram,
  root,
  say,
} from './setup.mjs';
import { ensureSdkApplication } from './sdk-application.mjs';
import { ensureOlderVersion } from './older-version.mjs';
import { ensureSecondNode } from './second-node.mjs';
import { startsNoProcess } from './test-graph.mjs';
import { TURNS, TestRun, childrenCpuMs, isOnly, namedFiles, optionsFor, turn } from './test-run.mjs';

const PROGRAMS = {
  'redis-server': 'redis-server',
  'nats-server': 'nats-server',
  mosquitto: 'mosquitto',
  mosquitto_pub: 'mosquitto-clients',
  'chromium-headless-shell': 'chromium-headless-shell',
  curl: 'curl',
  openssl: 'openssl',
  haproxy: 'haproxy',
  nginx: 'nginx',
  caddy: 'caddy',
  '/usr/bin/python3:paho.mqtt': 'python3-paho-mqtt',
  '/usr/bin/python3:numpy': 'python3-numpy',
  '/usr/bin/python3:PIL': 'python3-pil',
  bwrap: 'bubblewrap',
  '/usr/sbin/sshd': 'openssh-server',
  ssh: 'openssh-client',
  gcc: 'gcc',
  'stdlib.h': 'libc6-dev',
  'mosquitto.h': 'libmosquitto-dev',
};

/** What runs against a cluster, and what that needs; see CONTRIBUTING.md. */
const says = (name, text) => readFileSync(join(root, name), 'utf8').includes(text);
const isClusterFile = (name) => name.startsWith('test/e2e/') && says(name, 'helpers/running/server.ts');
/** Beside those of test/e2e, files whose servers run on hosts. */
const HOSTED_FILES = new Set(
  ['cli/manage', 'document-1/endpoints', 'document-1/fields', 'document-1/rules'].map((name) => `test/${name}.test.ts`),
);
const isHostedFile = (name) => isClusterFile(name) || HOSTED_FILES.has(name) || name.startsWith('test/web/');
const CLUSTER_PROGRAMS = ['redis-server', 'nats-server'];
const CLUSTER_NODES = 3;
/** Processes with nodes of clusters, and so files at a time. */
const CLUSTER_HOSTS = 2;
/** Of each version of Node, processes with single nodes. */
const NODE_HOSTS = 2;
/**
 * What runs against one node and against the cluster, because the cluster does it by other means: sessions, operations
 * and live data that cross nodes, caches of users and tenants, deletions, files, both HTTP engines. The other files run
 * against one node; the contracts of the stores and of the journal are tested for both shapes. Named files, and all
 * with --everywhere, run both ways.
 */
const CLUSTER_TOO_FILES = new Set(
  [
    'applications/application-binaries',
    'devices/device-registration',
    'devices/last-error',
    'devices/remote-access',
    'http/hostile-routes',
    'http/notification-subscriptions',
    'http/openapi-answers',
    'inventory/inventory',
    'operations/bulk-operations',
    'operations/operations',
    'scoring/bindings',
    'scoring/models',
    'users/users-and-groups',
    'alarms/alarms',
    'clients/live-clients',
    'http/http-connections',
    'inventory/deleted-hierarchies',
    'mqtt/connection-list',
    'mqtt/connections',
    'mqtt/custom-templates',
    'mqtt/deleted',
    'mqtt/operations',
    'tenants/tenants',
    'users/login',
  ].map((name) => `test/e2e/${name}.test.ts`),
);
const HOST_START_MS = 240_000;
const HOST_STOP_MS = 60_000;

/** Of test/faults what every commit runs: the others, and the files of the cluster, take turns. */
const EVERY_TIME_FAULTS = new Set(['kill-server', 'power-cut'].map((name) => `test/faults/${name}.test.ts`));
/** Long files: every other commit, those at even places in turns 0 and 2, the others in 1 and 3. */
const HALF_FILES = ['guide/guide', 'web/screens', 'web/states', 'web/walk', 'cli/backup'].map(
  (name) => `test/${name}.test.ts`,
);
/** Beside them, files that take 10 to 35 s of CPU time, of parts that seldom change. */
const COSTLY_FILES = new Set(
  [
    'cli/doctor-cluster',
    'operate/older-data',
    'operate/start-order',
    'scoring-workers/script/engine',
    'store/clickhouse/document-lists',
    'store/clickhouse/killed-insert',
    'store/embedded-clickhouse/engine',
    'store/redis/reader',
  ].map((name) => `test/${name}.test.ts`),
);
/** @returns of files in mixed order those whose turn it is. */
const inTurn = (names, turn) => names.filter((_, index) => index % TURNS === turn);

/**
 * What runs on the second version of Node too, in turn, with the servers that it starts: native packages, the engines
 * of HTTP, starts and kills.
 */
const SECOND_NODE_FILES = new Set(
  ['api/http/http-engine', 'cli/first-start', 'e2e/http/cut-requests', 'faults/kill-server', 'store/lmdb/journal'].map(
    (name) => `test/${name}.test.ts`,
  ),
);
/** Half of the files with one node runs in turns 0 and 2, the other half in 1 and 3; in 2 and 3 on the second version of Node. */
const isInHalf = (name, turn) => {
  const place = HALF_FILES.indexOf(name);
  return (place < 0 ? createHash('sha256').update(name).digest()[0] : place) % 2 === turn % 2;
};
const isOfSecondNode = (name, turn) =>
  isClusterFile(name) && !CLUSTER_TOO_FILES.has(name) && !SECOND_NODE_FILES.has(name) && turn >= TURNS / 2;

/** Files at a time: two more than cores, because what kills and waits leaves them idle. */
const JOBS = 4;

/** Early in their ring, the longest first, so that none of them is the last to end. */
const LONG_FILES = [
  'faults/cluster/cluster',
  'faults/cluster/kills',
  'faults/cluster/power-cut',
  'faults/disk-full',
  'faults/cluster/cut',
  'faults/cluster/qos2',
  'faults/data-deletion',
  'e2e/retention/retention',
  'e2e/tenants/tenants',
  'cli/backup',
  'guide/guide',
].map((name) => `test/${name}.test.ts`);
/** Others between two of them: they do not all run at once. */
const BETWEEN_LONG_FILES = 3;

/** A cluster goes from the version before to this one: with --everywhere and where it is named, since that is built first. */
const UPGRADE_FILE = 'test/faults/cluster/upgrade.test.ts';

/** A ring of its own: what it builds takes minutes, once. */
const SDK_FOLDER = 'test/sdk/';
const isSdk = process.argv.includes('--sdk');
const isSdkFile = (name) => name.startsWith(SDK_FOLDER);

/** Always the same, and no folder by itself: files that need a whole machine do not meet each other. */
function inMixedOrder(one, other) {
  const [first, second] = [one, other].map((name) => createHash('sha256').update(name).digest('hex'));
  return first < second ? -1 : 1;
}

/** A long file, some others, the next long file. */
function longEarly(items) {
  const long = LONG_FILES.flatMap((name) => items.filter(({ file }) => file === name));
  const others = items.filter((item) => !long.includes(item));
  return [...long.flatMap((item) => [item, ...others.splice(0, BETWEEN_LONG_FILES)]), ...others];
}

function testFiles(filters) {
  const files = readdirSync(join(root, 'test'), { recursive: true }).filter((name) => name.endsWith('.test.ts'));
  return files
    .map((name) => `test/${name.replaceAll('\\', '/')}`)
    .filter((name) => filters.length === 0 || filters.some((filter) => name.includes(filter)))
    .filter((name) => isSdkFile(name) === isSdk)
    .sort(inMixedOrder);
}

/**
 * A process that runs nodes for tests (test/helpers/cluster/node-host.ts), with its port; it ends when its standard
 * input does.
 */
async function startHost(node, nodes) {
  const args = [...optionsFor(node), compiledTestPath('test/helpers/cluster/node-host.ts')];
  const env = { ...process.env, MILLRACE_TEST_CLUSTER: String(nodes) };
  const child = spawn(node, args, {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
    env,
  });
  child.stdin.on('error', () => undefined);
  // Where this process ends without `stop`, standard input ends too, and the host ends its servers.
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  const port = await new Promise((resolve, reject) => {
    child.stdout.once('data', (chunk) => resolve(Number(chunk.toString())));
    setTimeout(
      () => reject(new Error(`a host of nodes has not started within ${HOST_START_MS} ms`)),
      HOST_START_MS,
    ).unref();
    void ended.then((code) => reject(new Error(`a host of nodes ended with ${code} while it started`)));
  });
  const stop = async () => {
    child.stdin.end();
    const timer = setTimeout(() => child.kill('SIGKILL'), HOST_STOP_MS);
    const code = await ended;
    clearTimeout(timer);
    return code;
  };
  return { port, hasEnded: () => child.exitCode !== null || child.signalCode !== null, stop };
}

/** Hosts of one kind while files run on them, started for the first file: each takes one at a time. */
class Hosts {
  count;
  /** Files that run. */
  busy = 0;
  #node;
  #nodes;
  /** By place, promises of those that run. */
  #running = [];
  /** Promises of all that were started. */
  #started = [];

  /** @param node path of the interpreter. @param nodes of a cluster; 0 for a single node with embedded engines. */
  constructor({ count, node = process.execPath, nodes }) {
    this.count = count;
    this.#node = node;
    this.#nodes = nodes;
  }

  /** @returns the environment of a test process. */
  async environment() {
    const hosts = await Promise.all(Array.from({ length: this.count }, (_, index) => this.#host(index)));
    return {
      MILLRACE_TEST_CLUSTER: String(this.#nodes),
      MILLRACE_TEST_NODE_HOSTS: hosts.map(({ port }) => port).join(','),
    };
  }

  /** The host of a place; another one where a file has ended it. */
  async #host(index) {
    const known = this.#running[index];
    if (known !== undefined && !(await known).hasEnded()) return known;
    if (this.#running[index] === known) {
      this.#running[index] = startHost(this.#node, this.#nodes);
      this.#started.push(this.#running[index]);
    }
    return this.#running[index];
  }

  /** @returns exit codes. Where one could not start, each file has said so; the others end with this process. */
  async stop() {
    const hosts = await Promise.allSettled(this.#started);
    return Promise.all(hosts.flatMap(({ value }) => (value === undefined ? [] : [value.stop()])));
  }
}

checkNode();
// Beside the packages and the build: the browser alone takes a minute.
const programs = ensurePrograms(PROGRAMS);
await ensureInstalled();
const isEverywhere = process.argv.includes('--everywhere');
const OPTIONS = ['--only', '--everywhere', '--sdk'];
const given = process.argv.slice(2).filter((argument) => !OPTIONS.includes(argument));
const flags = given.filter((argument) => argument.startsWith('-'));
if (flags.length > 0) {
  say(`${flags.join(' ')}: there are ${OPTIONS.join(', ')}, everything else is a part of a file name`);
  process.exit(2);
}
const files = testFiles(given);
const run = new TestRun();
const absentNames = [
  ...CLUSTER_TOO_FILES,
  ...COSTLY_FILES,
  ...HALF_FILES,
  ...HOSTED_FILES,
  ...SECOND_NODE_FILES,
  ...LONG_FILES,
  ...namedFiles,
  UPGRADE_FILE,
].filter((name) => !existsSync(join(root, name)));
if (absentNames.length > 0) run.step(`bin/test.mjs names ${absentNames.join(', ')}, which does not exist`, false);
if (files.length === 0) run.step(`no test file is named like ${given.join(' ')}`, false);
run.step('build', (await ensureBuilt()) && (await buildTests()));

const application = isSdk ? await ensureSdkApplication() : undefined;
if (application !== undefined) run.step(application.reason ?? 'web application', application.folder !== undefined);
const runsBothWays = isEverywhere || isSdk || given.length > 0;
const isFault = (name) => name.startsWith('test/faults/');
const takesTurns = (name) => (isFault(name) && !EVERY_TIME_FAULTS.has(name)) || COSTLY_FILES.has(name);
const turnFiles = runsBothWays
  ? files
  : inTurn(
      files.filter((name) => takesTurns(name) || CLUSTER_TOO_FILES.has(name)),
      turn,
    );
const takesPart = (name) => {
  if (runsBothWays) return true;
  if (takesTurns(name)) return turnFiles.includes(name);
  return (!isClusterFile(name) && !HALF_FILES.includes(name)) || isInHalf(name, turn);
};
if (!runsBothWays)
  say(`turn ${turn} of 0 to ${TURNS - 1}: which of the costly files this commit runs (--everywhere: all)`);
const clusterFiles = turnFiles.filter(isClusterFile);
const secondFiles = files.filter((name) => SECOND_NODE_FILES.has(name) && takesPart(name));
const againFiles = runsBothWays ? secondFiles : inTurn(secondFiles, turn);
// Beside the tests: it is a download.
const wantsSecondNode = clusterFiles.length + againFiles.length > 0 || files.some((name) => isOfSecondNode(name, turn));
const settingUpNode = wantsSecondNode ? ensureSecondNode() : undefined;
// A process that others share cannot choose tests.
const light = isOnly ? [] : files.filter(startsNoProcess);
// Who names files runs them again and again.
const checks = given.length > 0 || isSdk ? [] : [checkFormat, checkTypes];
await Promise.all([
  ...checks.map((check) => check().then((isGood) => run.step(check === checkTypes ? 'type check' : 'format', isGood))),
  run.together(light, availableParallelism()),
]);

await programs;
const heavy = files.filter((name) => !light.includes(name) && takesPart(name));
const secondNode = await settingUpNode;
if (secondNode?.reason !== undefined) {
  run.skip(`what runs on a second Node: it runs on ${process.versions.node}`, secondNode.reason, true);
}
const OLD_MAIN = 'MILLRACE_TEST_OLD_MAIN';
const wantsOlder = runsBothWays && heavy.includes(UPGRADE_FILE) && process.env[OLD_MAIN] === undefined;
const older = wantsOlder ? await ensureOlderVersion() : {};
if (older.reason !== undefined) say(`no cluster is upgraded: ${older.reason}`);
const title = `Node ${(secondNode?.version ?? process.versions.node).split('.')[0]}`;
const clusterTitle = ` (cluster, ${title})`;
const again =
  secondNode?.path === undefined
    ? []
    : againFiles.map((file) => ({ file, title: ` (${title})`, node: secondNode.path }));
const absent = CLUSTER_PROGRAMS.find((name) => !hasProgram(name));
if (absent !== undefined)
  for (const name of clusterFiles) run.skip(name + clusterTitle, `${absent} is not installed`, true);
const clusterHosts = new Hosts({
  count: Math.min(CLUSTER_HOSTS, clusterFiles.length),
  node: secondNode?.path,
  nodes: CLUSTER_NODES,
});
const hosted =
  absent === undefined ? clusterFiles.map((file) => ({ file, title: clusterTitle, hosts: clusterHosts })) : [];
const nodeHosts = new Hosts({ count: NODE_HOSTS, nodes: 0 });
const secondNodeHosts = new Hosts({ count: NODE_HOSTS, node: secondNode?.path, nodes: 0 });
const itemsOf = (names) =>
  names.map((file) => {
    const isOfSecond = secondNode?.path !== undefined && !runsBothWays && isOfSecondNode(file, turn);
    const item = isOfSecond ? { file, title: ` (${title})`, node: secondNode.path } : { file };
    if (application?.folder !== undefined) return { ...item, env: { MILLRACE_TEST_SDK: application.folder } };
    if (file === UPGRADE_FILE && older.main !== undefined) return { ...item, env: { [OLD_MAIN]: older.main } };
    return isHostedFile(file) ? { ...item, hosts: isOfSecond ? secondNodeHosts : nodeHosts } : item;
  });
// One queue: a ring begins while the last files of the one before still run.
const quick = itemsOf(heavy.filter((name) => !isFault(name)));
// What kills mostly waits, what the hosts run needs processors: they are mixed.
const slow = [...again, ...itemsOf(heavy.filter(isFault)), ...hosted].sort((one, other) =>
  inMixedOrder(one.file, other.file),
);
await run.apart([...longEarly(quick), ...longEarly(slow)], JOBS);
const beforeHostsMs = childrenCpuMs();
for (const hosts of [nodeHosts, secondNodeHosts, clusterHosts])
  for (const code of await hosts.stop()) if (code !== 0) run.step(`a host of nodes ended with ${code}`, false);
// No other child ends meanwhile.
if (beforeHostsMs !== undefined) say(`CPU of the hosts: ${((childrenCpuMs() - beforeHostsMs) / 1_000).toFixed(1)} s`);
run.finish();
