/**
 * The server's configuration: one table from which come flags, environment names, the keys of the JSON file, `--help`
 * and docs/reference/settings.md. All of it is checked before anything is opened, and all mistakes are reported at once.
 */
import { readFileSync } from 'node:fs';
import { checkAuthorities, checkDataDirectory, checkKeyPair, readSettingFile } from './files.ts';
import {
  camelCase,
  environmentName,
  readSettings,
  SettingsError,
  suggestion,
  type Setting,
  type SettingValues,
} from './settings.ts';
import { changedValues, markdownTable } from './text.ts';
import { JSON_BODY_BYTES_MAX } from '../model/commands/group-bounds.ts';
import { PROXIES_RULE, TrustedProxies } from './trusted-proxies.ts';
import { isWeakPassword, STRONG_PASSWORD_RULE } from '../model/access/password.ts';
import { natsUrlsOf } from './nats.ts';
import { readRedisTarget } from './redis.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const PORT_MAX = 65_535;

const USER_NAME = { source: '[^\\s/:+$\\\\]+', words: 'no space and none of / : + $ \\' } as const;
/** One URL or several, comma separated. */
const urls = (protocols: string, several = true): { source: string; words: string } => {
  const one = `(?:${protocols})://[^\\s,]+`;
  const words = `a URL with ${protocols.replaceAll('|', ' or ')}${several ? ', or several, comma separated' : ''}`;
  return { source: several ? `${one}(?:,${one})*` : one, words };
};
const PASSWORD = { minimum: 1, maximum: 256, secret: true } as const;
/** In the place of each secret in the files of deploy/. */
const PLACEHOLDER = 'change-me';
/** One of 28 million random keys of 32 hexadecimal digits has fewer. */
const KEY_CHARACTERS_MIN = 8;
const KEY_RULE = `at least ${KEY_CHARACTERS_MIN} different characters, as \`openssl rand -hex 32\` makes them`;

/** The table. Sizes are in bytes, times in milliseconds; the unit is the last word of the name. */
export const SETTINGS = [
  {
    group: 'General',
    name: 'config',
    type: 'text',
    unit: 'file',
    default: null,
    file: false,
    description: 'JSON file with settings: an object whose keys are the flags without the dashes.',
  },
  {
    group: 'Network',
    name: 'host',
    type: 'host',
    default: '::',
    description: 'Address that every listener binds to. :: takes IPv6 and IPv4, or IPv4 on a machine without IPv6.',
  },
  {
    name: 'http-port',
    type: 'integer',
    default: 8080,
    minimum: 0,
    maximum: PORT_MAX,
    description: 'Port of REST, WebSocket and MQTT over WebSocket; 0 takes any free one.',
  },
  {
    name: 'http-engine',
    type: 'choice',
    choices: ['auto', 'uws', 'node'],
    default: 'auto',
    description:
      "What serves HTTP: uws is uWebSockets.js, a binary for Node 20, 22 and 24 on Linux with glibc; node is Node's own HTTP, slower, on every " +
      'platform; auto takes uws where it loads and passes its check, but node with --trust-proxy: there uws refuses bodies in chunks.',
  },
  {
    name: 'https-port',
    type: 'integer',
    default: 8443,
    minimum: 0,
    maximum: PORT_MAX,
    description:
      'Port of REST, WebSocket and MQTT over WebSocket with TLS, opened when a key and a certificate are given; 0 takes any free one.',
  },
  {
    name: 'mqtt-port',
    type: 'integer',
    default: 1883,
    minimum: 0,
    maximum: PORT_MAX,
    description: 'Port of MQTT over TCP; 0 takes any free one.',
  },
  {
    name: 'mqtt-tls-port',
    type: 'integer',
    default: 8883,
    minimum: 0,
    maximum: PORT_MAX,
    description: 'Port of MQTT over TLS, opened when a key and a certificate are given; 0 takes any free one.',
  },
  {
    name: 'ops-port',
    type: 'integer',
    default: 0,
    minimum: 0,
    maximum: PORT_MAX,
    description: 'Port of /metrics and of /health/ready with its details, without credentials; 0 opens none.',
  },
  { name: 'ops-host', type: 'host', default: '127.0.0.1', description: 'Address that this port binds to.' },
  {
    name: 'metrics-access',
    type: 'choice',
    choices: ['operators', 'everyone'],
    default: 'operators',
    description:
      'Who gets /metrics and the details of /health/ready on the HTTP port: users of the tenant management with ROLE_TENANT_MANAGEMENT_READ or ' +
      '_ADMIN, or everyone, without credentials.',
  },
  {
    name: 'tls-key',
    type: 'text',
    unit: 'file',
    default: null,
    description: 'Private key for HTTPS and MQTT over TLS, PEM.',
  },
  {
    name: 'tls-certificate',
    type: 'text',
    unit: 'file',
    default: null,
    description: 'Certificate chain for HTTPS and MQTT over TLS, PEM, that of the server first.',
  },
  {
    group: 'Data',
    name: 'data',
    type: 'text',
    unit: 'directory',
    default: './data',
    description: 'Directory of everything that is stored.',
  },
  {
    group: 'Accounts',
    name: 'tenant',
    type: 'text',
    default: 't1',
    maximum: 32,
    pattern: { source: '[a-z][a-z0-9_-]*', words: 'lower-case letters, digits, - and _, a letter first' },
    description: 'Id of the first tenant, made on the first start.',
  },
  {
    name: 'admin-user',
    type: 'text',
    default: 'admin',
    maximum: 254,
    pattern: USER_NAME,
    description: "Name of the first tenant's administrator.",
  },
  {
    name: 'admin-password',
    type: 'text',
    default: null,
    ...PASSWORD,
    description:
      'Password of the administrator; on the first start one is generated and shown when none is given. On later starts a different ' +
      `value resets the password; the same value keeps a password changed meanwhile. It takes ${STRONG_PASSWORD_RULE}.`,
  },
  {
    name: 'management-user',
    type: 'text',
    default: 'admin',
    maximum: 254,
    pattern: USER_NAME,
    description: 'Name of the administrator of the tenant "management".',
  },
  {
    name: 'management-password',
    type: 'text',
    default: null,
    ...PASSWORD,
    description:
      'Password of the management administrator, likewise and by the same rule; generated into <data>/secrets.json when none is given.',
  },
  {
    name: 'bootstrap-password',
    type: 'text',
    default: null,
    ...PASSWORD,
    description:
      'Password of management/devicebootstrap, with which new devices ask for credentials; generated likewise, by the same rule.',
  },
  {
    group: 'Network',
    name: 'base-url',
    type: 'url',
    default: null,
    description:
      'URL under which clients reach the server, for links in answers and mails; without it the Host header decides in answers.',
  },
  {
    name: 'domain-suffix',
    type: 'text',
    default: null,
    maximum: 253,
    pattern: {
      source: '[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*',
      words: 'a host name in lower case',
    },
    description:
      'Name below which tenants are reached by their domains: <domain>.<suffix>. Without it no host name means a tenant. Give --base-url too ' +
      'where the server itself is below the suffix, so that no tenant takes its name.',
  },
  {
    name: 'trust-proxy',
    type: 'text',
    default: 'no',
    maximum: 4096,
    pattern: { source: 'no|yes|[1-9]\\d?|[0-9a-fA-F:.,/ ]+', words: PROXIES_RULE },
    description:
      "Proxies whose X-Forwarded-* and Forwarded headers give the client's address and the URL that it called. yes: one proxy that replaces " +
      'what clients write there. A number: as many proxies, each of which appends; the value at that place from the right counts. Addresses and networks ' +
      '(10.0.0.0/8,::1): only these proxies; the client is the last address that is not one of them.',
  },
  {
    name: 'mqtt-proxy-protocol',
    type: 'choice',
    choices: ['no', 'yes'],
    default: 'no',
    description:
      'Whether MQTT connections from the proxies that --trust-proxy names begin with a header of the PROXY protocol, version 1 or 2, which gives ' +
      "the client's address (send-proxy-v2 in HAProxy).",
  },
  {
    name: 'device-certificate-header',
    type: 'text',
    default: null,
    maximum: 100,
    pattern: { source: '[A-Za-z][A-Za-z0-9-]*', words: 'letters, digits and -' },
    description:
      'Header in which a proxy hands over the certificate of a device whose key it has checked (mTLS), for device access tokens. The proxy ' +
      'has to replace what clients write into it. Without this setting no certificate is taken over HTTP.',
  },
  {
    group: 'Log',
    name: 'log-level',
    type: 'choice',
    choices: ['debug', 'info', 'warn', 'error'],
    default: 'info',
    description: 'The least urgent entries that are logged; debug has a line for every connection.',
  },
  {
    name: 'log-format',
    type: 'choice',
    choices: ['auto', 'json', 'pretty'],
    default: 'auto',
    description: 'Form of the log on standard error; auto is pretty on a terminal and JSON otherwise.',
  },
  {
    group: 'Limits',
    name: 'body-size-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 16 * MIB,
    minimum: 64 * KIB,
    maximum: GIB,
    description: 'Largest HTTP body with a collection of measurements; larger ones get 413.',
  },
  {
    name: 'file-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 50 * MIB,
    minimum: KIB,
    maximum: 1024 * GIB,
    description: 'Largest file in the inventory or attached to an event; larger ones get 413.',
  },
  {
    name: 'scoring-threads',
    type: 'integer',
    default: 0,
    minimum: 0,
    maximum: 256,
    description:
      'Threads that apply models of one tenant; 0 takes one for each core, at most one for each 2 GiB of memory and for each 32 MiB of --scoring-memory-max-bytes. One more is there for others. They begin with the first model that is applied.',
  },
  {
    name: 'scoring-memory-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 512 * MIB,
    minimum: 16 * MIB,
    maximum: 1024 * GIB,
    description:
      'Memory of compiled models, in equal parts for the scoring threads: each has its own. Beyond it the model that was used longest ago is ' +
      'unloaded, and loaded again when it is used. A model that is larger than one part is refused.',
  },
  {
    name: 'scoring-task-max-ms',
    type: 'integer',
    unit: 'ms',
    default: 60_000,
    minimum: 1_000,
    maximum: 3_600_000,
    description:
      'Longest time that a scoring thread works on one task; then it is replaced and the request gets 503. Uploads have five times as long.',
  },
  {
    name: 'scoring-processes',
    type: 'integer',
    default: 0,
    minimum: 0,
    maximum: 64,
    description:
      'Processes that compute ONNX models, each one model at a time; 0 takes one for each core, 4 at most, and one more. A tenant takes all but ' +
      'one. They begin with the first model and end when they were idle for 10 minutes.',
  },
  {
    name: 'scoring-process-memory-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 2048 * MIB,
    minimum: 256 * MIB,
    maximum: 1024 * GIB,
    description:
      'Memory of each process for ONNX models. Loaded models take half of it at most: the one that was used longest ago gives way. What a model ' +
      'asks for beyond it is refused with 400.',
  },
  {
    name: 'scoring-python',
    type: 'choice',
    choices: ['pyodide', 'system', 'off'],
    default: 'pyodide',
    description:
      'What runs the Python scripts of pipelines: pyodide is Python as WebAssembly, which needs nothing on the machine; system is /usr/bin/python3 ' +
      'under bubblewrap (bwrap), with the packages of the machine, such as python3-numpy and python3-pil; off refuses scripts.',
  },
  {
    name: 'scoring-python-wheels',
    type: 'text',
    unit: 'directory',
    default: null,
    description:
      'Folder of wheels (.whl) that scripts may import with --scoring-python pyodide: pure Python, or built for its version of Pyodide. They are ' +
      'unpacked when an interpreter starts.',
  },
  {
    name: 'scoring-python-processes',
    type: 'integer',
    default: 3,
    minimum: 1,
    maximum: 64,
    description:
      'Python interpreters, each one script at a time and for one tenant, which takes all but one. They begin with the first script and end when ' +
      'they were idle for 10 minutes.',
  },
  {
    name: 'scoring-python-memory-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 512 * MIB,
    minimum: 64 * MIB,
    maximum: 2048 * MIB,
    description: 'Memory of one Python interpreter; a script that needs more gets MemoryError, and its request 400.',
  },
  {
    name: 'scoring-script-max-ms',
    type: 'integer',
    unit: 'ms',
    default: 30_000,
    minimum: 100,
    maximum: 3_600_000,
    description:
      'Longest time of one run of a Python script; then its interpreter is ended and replaced, and the request gets 400.',
  },
  {
    name: 'json-body-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: MIB,
    minimum: 16 * KIB,
    maximum: GIB,
    description: `Largest HTTP body of any other kind; larger ones get 413. In a cluster ${JSON_BODY_BYTES_MAX / KIB} KiB at most, which is its default.`,
  },
  {
    name: 'mqtt-payload-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 16_184,
    minimum: 128,
    maximum: 256 * MIB - 1,
    description: 'Largest payload of an MQTT message; a larger packet ends the connection before it is buffered.',
  },
  {
    name: 'mqtt-rate-max',
    type: 'integer',
    unit: 'messages a second',
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
    description: 'Messages a second that one MQTT connection may send before it is slowed down; 0 sets no limit.',
  },
  {
    name: 'mqtt-rate-queue-max',
    type: 'integer',
    unit: 'messages',
    default: 1000,
    minimum: 1,
    maximum: 1_000_000,
    description: 'Messages of a slowed connection that wait; one more ends the connection.',
  },
  {
    name: 'http-tenant-rate-max',
    type: 'integer',
    unit: 'requests a second',
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
    description:
      'HTTP requests a second of a tenant whose property limit.http.requests says nothing else; 429 above, 0 sets no limit.',
  },
  {
    name: 'http-user-rate-max',
    type: 'integer',
    unit: 'requests a second',
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
    description:
      'HTTP requests a second of a user whose tenant has no option limit/http.requests.user; 429 above, 0 sets no limit.',
  },
  {
    name: 'http-connections-max',
    type: 'integer',
    unit: 'connections',
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
    description:
      'Most HTTP connections at once, Bayeux WebSockets among them; more get 503. 0 derives it from what the process may open: beside those of MQTT ' +
      'and 1,000 for files and stores, at most 20,000.',
  },
  {
    name: 'http-address-connections-max',
    type: 'integer',
    unit: 'connections',
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
    description:
      'Most HTTP connections of one IPv4 address or one /64 of IPv6; 0 is three quarters of all, and all of them with --trust-proxy.',
  },
  {
    name: 'mqtt-connections-max',
    type: 'integer',
    unit: 'connections',
    default: 18_000,
    minimum: 1,
    maximum: 1_000_000,
    description: 'MQTT connections at a time; each needs a file descriptor.',
  },
  {
    name: 'journal-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 4 * GIB,
    minimum: 16 * MIB,
    maximum: 1024 * GIB,
    description: 'Size of the journal on disk at which back-pressure begins.',
  },
  {
    group: 'Data',
    name: 'disk-free-min-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 256 * MIB,
    minimum: 0,
    maximum: 1024 * GIB,
    description: 'Free space on the data disk, and of a cluster on that of ClickHouse, below which writes are refused.',
  },
  {
    name: 'disk-free-warn-bytes',
    type: 'integer',
    unit: 'bytes',
    default: GIB,
    minimum: 0,
    maximum: 1024 * GIB,
    description:
      "Free space on the data disk or ClickHouse's below which the log warns; on ClickHouse's, retention runs early with --retention-early yes.",
  },
  {
    name: 'retention-early',
    type: 'choice',
    choices: ['no', 'yes'],
    default: 'no',
    description:
      'Whether the retention rules are applied at once and each hour while the disk fills up, not only at night.',
  },
  {
    name: 'retention-hour',
    type: 'integer',
    unit: "o'clock, UTC",
    default: 2,
    minimum: 0,
    maximum: 23,
    description: 'When the retention rules are applied each day.',
  },
  {
    name: 'retention-default-days',
    type: 'integer',
    unit: 'days',
    default: 60,
    minimum: 0,
    maximum: 3650,
    description:
      'Age at which the rule that each tenant begins with removes its data; 0 keeps data until there is a rule.',
  },
  {
    name: 'topic-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 100_000_000,
    minimum: MIB,
    maximum: 100 * GIB,
    description:
      'What a persistent topic of Notifications 2.0 keeps for its subscribers; beyond it the oldest messages are removed, which the log and /metrics tell.',
  },
  {
    name: 'tenant-topics-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: GIB,
    minimum: MIB,
    maximum: 1024 * GIB,
    description:
      'What the persistent topics of a tenant keep together, in a cluster those that a node is the home of; beyond it the largest of them gives way.',
  },
  {
    name: 'topic-max-age-days',
    type: 'integer',
    unit: 'days',
    default: 7,
    minimum: 1,
    maximum: 3650,
    description: 'Age at which a persistent topic of Notifications 2.0 removes a message that was not acknowledged.',
  },
  {
    name: 'retention-clock-difference-max-ms',
    type: 'integer',
    unit: 'milliseconds',
    default: 86_400_000,
    minimum: 60_000,
    maximum: 3_153_600_000_000,
    description:
      'When the clock differs by more than this from the newest time in the journal, retention and the end of MQTT sessions wait.',
  },
  {
    name: 'retention-clock-settle-ms',
    type: 'integer',
    unit: 'milliseconds',
    default: 86_400_000,
    minimum: 0,
    maximum: 31_536_000_000,
    description:
      'Time that they wait then after a start of the machine, counted while the server runs, before the clock is believed; 0 believes it at once. A clock that is set while the machine runs is believed with 0 only.',
  },
  {
    group: 'Limits',
    name: 'clickhouse-memory-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 2 * GIB,
    minimum: 256 * MIB,
    maximum: 1024 * GIB,
    description:
      'Memory that the embedded engine may use in all, beside some 250 MiB of its program; one statement may take half.',
  },
  {
    name: 'tenant-files-max-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 0,
    minimum: 0,
    maximum: 1024 * 1024 * GIB,
    description:
      'Bytes of the files of one tenant: binaries, attachments, archives. 0 bounds it by the room alone: nine times what is free of the disk, ' +
      'or in a cluster of what NATS may store beside the journal.',
  },
  {
    name: 'history-query-max-ms',
    type: 'integer',
    unit: 'milliseconds',
    default: 30_000,
    minimum: 1000,
    maximum: 55_000,
    description:
      "Longest time that a query of the history (a list, series, an export's piece) runs, and that it waits for its turn; then 413 or 503.",
  },
  {
    group: 'Tuning',
    name: 'projector-batch-rows',
    type: 'integer',
    unit: 'rows',
    default: 50_000,
    minimum: 1,
    maximum: 1_000_000,
    description: 'Most rows in one insert into the engine; reads wait behind an insert.',
  },
  {
    name: 'projector-interval-ms',
    type: 'integer',
    unit: 'milliseconds',
    default: 250,
    minimum: 1,
    maximum: 60_000,
    description:
      'Time that a row waits for its insert when no query asks for it; two and a half times as long while many rows come (embedded history).',
  },
  {
    name: 'shutdown-timeout-ms',
    type: 'integer',
    unit: 'milliseconds',
    default: 4500,
    minimum: 100,
    maximum: 600_000,
    description: 'Time for draining and flushing after SIGTERM; past it the process ends with exit code 1.',
  },
  {
    name: 'documents-map-size-bytes',
    type: 'integer',
    unit: 'bytes',
    default: 64 * GIB,
    minimum: 64 * MIB,
    maximum: 16_384 * GIB,
    description: 'Address space reserved for documents and journal; the files grow with what is stored.',
  },
  {
    group: 'Cluster',
    name: 'nats',
    type: 'text',
    default: null,
    maximum: 4096,
    secret: true,
    pattern: urls('nats|tls'),
    description:
      'NATS servers of a cluster, comma separated: journal, ownership of shards, messages between nodes. Wants --redis and --clickhouse too.',
  },
  {
    name: 'nats-credentials',
    type: 'text',
    needs: 'nats',
    unit: 'file',
    default: null,
    description: 'NATS credentials file (JWT and key).',
  },
  {
    name: 'nats-replicas',
    type: 'integer',
    needs: 'nats',
    default: 1,
    minimum: 1,
    maximum: 5,
    description: 'Copies that JetStream keeps of journal, leases and binaries; more than one wants a NATS cluster.',
  },
  {
    name: 'nats-monitor',
    type: 'text',
    needs: 'nats',
    default: null,
    maximum: 4096,
    pattern: urls('http|https'),
    description:
      'Monitoring ports of the NATS servers, comma separated, where doctor and nodes read how often JetStream synchronises and how much it stores; ' +
      'port 8222 of the hosts in --nats when none is given.',
  },
  {
    name: 'accept-power-loss',
    type: 'choice',
    needs: 'nats',
    choices: ['no', 'yes'],
    default: 'no',
    description:
      'Whether a power failure of NATS or Redis may lose acknowledged data: with yes doctor does not fail, and nodes do not warn.',
  },
  {
    name: 'redis',
    type: 'text',
    default: null,
    maximum: 4096,
    secret: true,
    pattern: urls('redis|rediss'),
    description: 'Redis server of a cluster, or several, comma separated, of a Redis Cluster: the documents.',
  },
  {
    name: 'clickhouse',
    type: 'text',
    default: null,
    maximum: 4096,
    secret: true,
    pattern: urls('http|https', false),
    description:
      'ClickHouse server of a cluster: the history. A single node has its engine embedded and takes no other.',
  },
  {
    name: 'clickhouse-database',
    type: 'text',
    needs: 'nats',
    default: 'millrace',
    maximum: 64,
    pattern: { source: '[A-Za-z_][A-Za-z0-9_]*', words: 'letters, digits and _' },
    description: 'Database on that server; made when it is missing.',
  },
  {
    name: 'ca-certificate',
    type: 'text',
    needs: 'nats',
    unit: 'file',
    default: null,
    description:
      'Certificates of authorities that are trusted for NATS, Redis and ClickHouse over TLS (tls://, rediss://, https://), PEM.',
  },
  {
    name: 'client-certificate',
    type: 'text',
    needs: 'nats',
    unit: 'file',
    default: null,
    description:
      'Certificate that this node shows to NATS, Redis and ClickHouse over TLS, PEM. Wants --client-key too.',
  },
  {
    name: 'client-key',
    type: 'text',
    needs: 'nats',
    unit: 'file',
    default: null,
    description: 'Key of that certificate, PEM, not encrypted.',
  },
  {
    name: 'cluster-prefix',
    type: 'text',
    needs: 'nats',
    default: 'millrace',
    maximum: 32,
    pattern: { source: '[a-z][a-z0-9-]*', words: 'lower-case letters, digits and -, a letter first' },
    description: 'Start of the names of streams, buckets and keys: several clusters can share the same servers.',
  },
  {
    name: 'node-name',
    type: 'text',
    needs: 'nats',
    default: null,
    maximum: 63,
    pattern: { source: '[A-Za-z0-9][A-Za-z0-9._-]*', words: 'letters, digits, ., _ and -' },
    description: 'Name of this node in logs and metrics; the host name when none is given.',
  },
  {
    name: 'roles',
    type: 'text',
    needs: 'nats',
    default: 'gateway,shard,scoring',
    maximum: 64,
    pattern: {
      source: '(gateway|shard|scoring)(,(gateway|shard|scoring))*',
      words: 'gateway, shard and scoring, comma separated',
    },
    description:
      'What this node of a cluster does: gateway takes devices and requests (without it there are /health and /metrics only), shard owns ' +
      'shards; scoring has no effect yet.',
  },
  {
    name: 'lease-time-ms',
    type: 'integer',
    needs: 'nats',
    unit: 'milliseconds',
    default: 3000,
    minimum: 1000,
    maximum: 60_000,
    description: 'Time after which the shards of a silent node are taken over.',
  },
  {
    name: 'answer-timeout-ms',
    type: 'integer',
    needs: 'nats',
    unit: 'milliseconds',
    default: 30_000,
    minimum: 1000,
    maximum: 600_000,
    description: 'Longest time that a request of a cluster waits for the shard that decides it; then 503.',
  },
  {
    group: 'Accounts',
    name: 'device-token-policy',
    type: 'choice',
    choices: ['OPTIONAL', 'REQUIRED', 'IGNORED'],
    default: 'OPTIONAL',
    description:
      'Whether new devices show a security token, which the user who accepts them has to enter: the policy of tenants without the option ' +
      'device-registration/security-token.policy.',
  },
  {
    name: 'login-failures-max',
    type: 'integer',
    unit: 'wrong passwords',
    default: 10,
    minimum: 0,
    maximum: 1_000_000,
    description:
      'Wrong passwords of one account within five minutes that lock it for a while, for the address that they come from and on the node that ' +
      'counted them; ten times as many lock it for all addresses that no login came from before. A repeated password counts once. 0 never locks.',
  },
  {
    name: 'login-address-failures-max',
    type: 'integer',
    unit: 'wrong passwords',
    default: 100,
    minimum: 0,
    maximum: 1_000_000,
    description:
      'Wrong passwords of all accounts from one address that lock it, or from one IPv6 network of 64 bits; 0 never locks. ' +
      'Addresses of local networks count only where a trusted proxy names them (--trust-proxy).',
  },
  {
    name: 'login-lock-ms',
    type: 'integer',
    unit: 'milliseconds',
    default: 60_000,
    minimum: 100,
    maximum: 86_400_000,
    description: 'How long the first such lock lasts; each further one lasts twice as long, up to an hour.',
  },
  {
    name: 'password-cost',
    type: 'integer',
    default: 17,
    minimum: 14,
    maximum: 20,
    description:
      'Binary logarithm of the cost N of scrypt (r = 8, p = 1) for passwords of people: 17 takes 128 MiB and about 0.4 s of one core for each ' +
      'login that is not known yet. Stored passwords are hashed anew at their next login when it changes.',
  },
  {
    group: 'Mail',
    name: 'smtp',
    type: 'text',
    default: null,
    maximum: 4096,
    secret: true,
    pattern: urls('smtp|smtps', false),
    description:
      'Mail server for links to set a password, smtp://user:password@host:port; without one they are written to the log. ' +
      'Wants --mail-from and --base-url.',
  },
  {
    name: 'smtp-tls',
    type: 'choice',
    choices: ['auto', 'require', 'try'],
    default: 'auto',
    description:
      'Whether mails over smtp:// wait when the mail server offers no TLS: require, try (they are sent without), or auto, which requires it ' +
      'of every mail server but one on this machine.',
  },
  {
    name: 'mail-from',
    type: 'text',
    default: null,
    maximum: 320,
    pattern: { source: '[^<>@]*<?[^<>@\\s]+@[^<>@\\s]+>?', words: 'an address, or a name and <address>' },
    description: 'Sender of these mails.',
  },
  {
    group: 'Accounts',
    name: 'secret-key',
    type: 'text',
    default: null,
    minimum: 32,
    maximum: 256,
    secret: true,
    description:
      'Key of what is encrypted in the store and of login tokens, the same on every node of a cluster; ' +
      `generated into <data>/secrets.json when none is given. It takes ${KEY_RULE}.`,
  },
] as const satisfies readonly Setting[];

/** The configuration in force. Optional settings that were not given are undefined. */
export type Config = SettingValues<typeof SETTINGS>;

/** Flags by setting name (`{'http-port': '8080'}`; true where the value is missing) and the process environment. */
export interface ConfigInput {
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** `warnings` are for the log: variables that look like settings and are none. */
export interface LoadedConfig {
  readonly config: Config;
  readonly warnings: readonly string[];
}

/** Prefixes of variables that belong to tests, measurements and other commands, not to the server. */
const FOREIGN_PREFIXES = ['MILLRACE_TEST_', 'MILLRACE_BENCH_', 'MILLRACE_URL', 'MILLRACE_NEW_PASSWORD'];

/**
 * Reads and checks the configuration: flag before environment before file before default. Of files only those that
 * settings name are read.
 * @param extraMistakes mistakes found before, such as unknown flags, to be reported with the others.
 * @throws SettingsError with every mistake.
 */
export function loadConfig(input: ConfigInput, extraMistakes: readonly string[] = []): LoadedConfig {
  const mistakes = [...extraMistakes];
  const read = readSettings(SETTINGS, { ...input, ...configFile(input, mistakes) });
  mistakes.push(
    ...read.mistakes,
    ...relationMistakes(read.values, read.mistaken),
    ...diskMistakes(read.values, read.mistaken),
    ...secretMistakes(read.values, read.mistaken),
  );
  const config = fittedToCluster(read.values, read.given, mistakes);
  if (mistakes.length > 0) throw new SettingsError(mistakes);
  return { config, warnings: unknownVariables(input.environment) };
}

/** A JSON body has to fit into one message of the cluster's journal. */
function fittedToCluster(config: Config, given: ReadonlySet<string>, mistakes: string[]): Config {
  if (config.nats === undefined || config.jsonBodyMaxBytes <= JSON_BODY_BYTES_MAX) return config;
  if (given.has('json-body-max-bytes')) {
    mistakes.push(
      `--json-body-max-bytes is ${config.jsonBodyMaxBytes} and --nats is given; in a cluster it takes at most ${JSON_BODY_BYTES_MAX}: ` +
        'a body is one message of NATS, which has 1 MiB',
    );
  }
  return { ...config, jsonBodyMaxBytes: JSON_BODY_BYTES_MAX };
}

/**
 * Reads the settings of a command that works on the server's data directory, from where the server has its own.
 * @param table has a setting `data`. In the file the other settings of the server are passed over.
 * @throws SettingsError with every mistake.
 */
export function loadDataSettings<Table extends readonly Setting[]>(
  table: Table,
  input: ConfigInput,
  extraMistakes: readonly string[],
): SettingValues<Table> {
  const mistakes = [...extraMistakes];
  const read = readSettings(table, { ...input, ...configFile(input, mistakes), fileSettings: SETTINGS });
  mistakes.push(...read.mistakes);
  if (!read.mistaken.has('data')) checkDataDirectory(String(Reflect.get(read.values, 'data')), mistakes);
  if (mistakes.length > 0) throw new SettingsError(mistakes);
  return read.values;
}

/** The file that `--config` or MILLRACE_CONFIG names; nothing when neither does. */
function configFile(input: ConfigInput, mistakes: string[]): { file?: Record<string, unknown>; fileName?: string } {
  const fileName = input.flags['config'] ?? (input.environment['MILLRACE_CONFIG'] || undefined);
  const file = typeof fileName === 'string' && fileName !== '' ? readConfigFile(fileName, mistakes) : undefined;
  return file === undefined ? {} : { file, fileName: fileName as string };
}

function readConfigFile(fileName: string, mistakes: string[]): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(fileName, 'utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    mistakes.push(
      `the configuration file ${fileName} holds ${Array.isArray(value) ? 'an array' : typeof value}; it takes a JSON object`,
    );
  } catch (error) {
    mistakes.push(`the configuration file ${fileName} cannot be read: ${(error as Error).message}`);
  }
  return undefined;
}

/**
 * Mistakes that concern several settings. Where one of them is mistaken itself, nothing is said of it: it has its
 * default.
 */
function relationMistakes(config: Config, mistaken: ReadonlySet<string>): string[] {
  const mistakes: string[] = [];
  const areRight = (...names: string[]): boolean => !names.some((name) => mistaken.has(name));
  /** Both or none. */
  const checkPair = (
    first: [name: string, value: unknown],
    second: [name: string, value: unknown],
    reason: string,
  ): void => {
    if (!areRight(first[0], second[0]) || (first[1] === undefined) === (second[1] === undefined)) return;
    const [given, absent] = first[1] === undefined ? [second[0], first[0]] : [first[0], second[0]];
    mistakes.push(`--${given} is given without --${absent}${reason}`);
  };
  const { tlsKey, tlsCertificate, httpPort, mqttPort, mqttTlsPort } = config;
  checkPair(['tls-key', tlsKey], ['tls-certificate', tlsCertificate], '; TLS takes both');
  if (areRight('http-port', 'mqtt-port') && httpPort !== 0 && httpPort === mqttPort) {
    mistakes.push(`--http-port and --mqtt-port are both ${httpPort}; they take different ports`);
  }
  const taken: [name: string, port: number][] = [
    ['http-port', httpPort],
    ['mqtt-port', mqttPort],
  ];
  const ofTls = [
    ['mqtt-tls-port', mqttTlsPort],
    ['https-port', config.httpsPort],
  ] as const;
  for (const [name, port] of tlsKey === undefined ? [] : ofTls) {
    const isTaken = taken.some(([other, itsPort]) => areRight(other, name) && port !== 0 && port === itsPort);
    if (isTaken) mistakes.push(`--${name} is ${port}, which another listener has; it takes a port of its own`);
    taken.push([name, port]);
  }
  checkPair(['smtp', config.smtp], ['mail-from', config.mailFrom], '; mails take both');
  if (config.smtp !== undefined && config.baseUrl === undefined && areRight('base-url')) {
    mistakes.push(
      '--smtp is given without --base-url: the links in mails begin with it, never with what a request calls the server',
    );
  }
  try {
    if (areRight('trust-proxy')) new TrustedProxies(config.trustProxy);
  } catch (error) {
    mistakes.push(`--trust-proxy: ${(error as Error).message}; it takes ${PROXIES_RULE}`);
  }
  if (
    config.deviceCertificateHeader !== undefined &&
    config.trustProxy === 'no' &&
    areRight('device-certificate-header', 'trust-proxy')
  ) {
    mistakes.push(
      '--device-certificate-header wants --trust-proxy: without a proxy that writes it, clients could show any certificate',
    );
  }
  if (
    config.mqttProxyProtocol === 'yes' &&
    config.trustProxy === 'no' &&
    areRight('mqtt-proxy-protocol', 'trust-proxy')
  ) {
    mistakes.push('--mqtt-proxy-protocol wants --trust-proxy: without it any client could name any address');
  }
  const { nats, redis, clickhouse } = config;
  const servers = Object.entries({ nats, redis, clickhouse });
  const namesOf = (isGiven: boolean): string[] =>
    servers.filter(([, url]) => (url !== undefined) === isGiven).map(([name]) => `--${name}`);
  const [given, absent] = [namesOf(true), namesOf(false)];
  if (given.length > 0 && absent.length > 0 && areRight('nats', 'redis', 'clickhouse')) {
    mistakes.push(
      `${given.join(' and ')} ${given.length > 1 ? 'are' : 'is'} given without ${absent.join(' and ')}: a cluster takes all three, ` +
        'so that journal, documents and history are the same on every node; a single node has its own and takes none',
    );
  }
  mistakes.push(...serverMistakes(config));
  const shared = [
    ['admin-password', config.adminPassword],
    ['management-password', config.managementPassword],
    ['bootstrap-password', config.bootstrapPassword],
    ['secret-key', config.secretKey],
  ] as const;
  for (const [name, value] of nats === undefined ? [] : shared) {
    if (value !== undefined || !areRight(name)) continue;
    mistakes.push(
      `--nats is given without --${name}: the nodes of a cluster have to agree on it, so none can generate it`,
    );
  }
  checkPair(
    ['client-key', config.clientKey],
    ['client-certificate', config.clientCertificate],
    "; a client's certificate takes both",
  );
  if (config.tenant === 'management') {
    mistakes.push('--tenant is "management"; that is the tenant which manages the others: take another id');
  }
  return mistakes;
}

/** What is wrong within the URLs of servers. It repeats none of them: they may have passwords. */
function serverMistakes({ nats, natsCredentials, redis, clickhouse }: Config): string[] {
  const mistakes: string[] = [];
  const check = (name: string, read: () => unknown): void => {
    try {
      read();
    } catch (error) {
      mistakes.push(`--${name} cannot be used: ${(error as Error).message}`);
    }
  };
  if (nats !== undefined)
    check('nats', () =>
      natsUrlsOf({ servers: nats, ...(natsCredentials === undefined ? {} : { credentialsFile: natsCredentials }) }),
    );
  if (redis !== undefined) check('redis', () => readRedisTarget(redis));
  if (clickhouse !== undefined) check('clickhouse', () => new URL(clickhouse));
  return mistakes;
}

/** Mistakes that the disk shows: files that are none, keys and certificates that cannot be used. */
function diskMistakes(config: Config, mistaken: ReadonlySet<string>): string[] {
  const mistakes: string[] = [];
  checkKeyPair(
    { name: 'tls-key', path: config.tlsKey },
    { name: 'tls-certificate', path: config.tlsCertificate },
    mistakes,
  );
  if (!mistaken.has('data')) checkDataDirectory(config.data, mistakes);
  readSettingFile({ name: 'nats-credentials', path: config.natsCredentials }, mistakes);
  checkAuthorities({ name: 'ca-certificate', path: config.caCertificate }, mistakes);
  checkKeyPair(
    { name: 'client-key', path: config.clientKey },
    { name: 'client-certificate', path: config.clientCertificate },
    mistakes,
  );
  return mistakes;
}

/** Secrets that can be guessed: weak passwords of the first start's accounts, to which no tenant's rules apply, and published ones. */
function secretMistakes(config: Config, mistaken: ReadonlySet<string>): string[] {
  const problems: Readonly<Record<string, (value: string) => string | undefined>> = {
    'admin-password': weakness,
    'management-password': weakness,
    'bootstrap-password': weakness,
    'secret-key': (value) =>
      new Set(value).size < KEY_CHARACTERS_MIN ? `has too few different characters; it takes ${KEY_RULE}` : undefined,
  };
  const given = SETTINGS.flatMap((setting) => {
    const value: unknown = Reflect.get(config, camelCase(setting.name));
    const isSecret = 'secret' in setting && typeof value === 'string' && !mistaken.has(setting.name);
    return isSecret ? [{ name: setting.name, value }] : [];
  });
  return given.flatMap(({ name, value }) => {
    const problem = value.toLowerCase().includes(PLACEHOLDER)
      ? `contains ${PLACEHOLDER}, which the examples in deploy/ have; it takes a value of your own`
      : problems[name]?.(value);
    return problem === undefined ? [] : [`--${name} ${problem}`];
  });
}

const weakness = (password: string): string | undefined =>
  isWeakPassword(password) ? `is too weak; it takes ${STRONG_PASSWORD_RULE}` : undefined;

function unknownVariables(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = SETTINGS.map((setting) => environmentName(setting)).filter((name): name is string => name !== null);
  return Object.keys(environment)
    .filter((name) => name.startsWith('MILLRACE_') && !known.includes(name))
    .filter((name) => !FOREIGN_PREFIXES.some((prefix) => name.startsWith(prefix)))
    .map((name) => `the environment variable ${name} is not a setting${suggestion(name, known)}`);
}

/** Whether the node belongs to a cluster. */
export const isClustered = (
  config: Config,
): config is Config & { readonly nats: string; readonly redis: string; readonly clickhouse: string } =>
  config.nats !== undefined;

/** The values that differ from the defaults, by setting name, secrets masked. */
export function changedConfig(config: Config): Record<string, string | number | boolean> {
  return changedValues(SETTINGS, config);
}

/** The whole text of docs/reference/settings.md; `npm run docs` writes it and a test compares it. */
export function configurationPage(): string {
  return `<!-- Generated from src/config/config.ts by \`npm run docs\`; do not edit. -->
# Configuration

Every setting can be given as a flag of \`millrace serve\` (or \`npm start -- <flags>\`), as an environment variable or in a JSON
file named by \`--config\` or \`MILLRACE_CONFIG\`. A flag wins over the environment, the environment over the file, the file over
the default. The file holds one object; its keys are the flags without the dashes:

\`\`\`json
{ "http-port": 8081, "data": "/var/lib/millrace", "journal-max-bytes": "8GiB" }
\`\`\`

Sizes take a number of bytes or a number with KiB, MiB, GiB or TiB. Everything is checked before anything is opened; all
mistakes are reported at once and the exit code is 2. The start logs the settings that differ from their defaults, secrets masked.
\`millrace backup\` and \`millrace restore\` find \`config\` and \`data\` in the same places.

${markdownTable(SETTINGS)}`;
}
