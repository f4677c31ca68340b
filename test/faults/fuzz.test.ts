/**
 * Garbage to every port: an error for the client, never a crash, never HTTP 500, and nothing in the journal that a
 * restart cannot replay.
 */
import { request } from 'node:http';
import { connect } from 'node:net';
import mqttPacket from 'mqtt-packet';
import type { Packet } from 'mqtt-packet';
import t from 'tap';
import type { Test } from 'tap';
import WebSocket from 'ws';
import { AUTHORIZATION, PASSWORD, seeded, ServerProcess, USER } from '../helpers/process/server.ts';
import { PATIENCE } from '../helpers/until.ts';

const MQTT_CONNECTIONS = 1_000;
const WEB_SOCKET_CONNECTIONS = 200;
const HTTP_REQUESTS = 5_000;
const PACKETS = 8;
const CONCURRENCY = 16;
/** How long garbage may wait for an answer that need not come. */
const CONNECTION_MS = 150;
const REQUEST_MS = 15_000 * PATIENCE;

/** Random things, from one seed. */
class Dice {
  readonly random: () => number;
  constructor(random: () => number) {
    this.random = random;
  }
  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }
  chance(probability: number): boolean {
    return this.random() < probability;
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  text(): string {
    return this.pick([
      () => '',
      () => 'a',
      () => 'c8y_Serial',
      () => 'x'.repeat(this.pick([255, 256, 257, 1_000, 2_000, 5_000])),
      () => '\u0000',
      () => 'ä€😀',
      () => '\ud800',
      () => String(this.below(1e6)),
      () => '-1',
      () => '1e999',
      () => '9007199254740993',
      () => "' OR 1=1 --",
      () => '{p0:UInt32}',
      () => '%zz',
      () => '../..',
      () => 'line\nfeed',
      () => '"',
      () => ',',
      () => '__proto__',
      () => 'constructor',
      () => '2026-01-01T00:00:00Z',
      () => '2026-13-45',
      () => '0001-01-01T00:00:00Z',
      () => '9999-12-31T23:59:59.999Z',
      () => 'ACTIVE',
      () => 'MAJOR',
      () => 'PENDING',
      () => 'true',
      () => 'null',
      () => this.bytes(this.below(20)).toString('latin1'),
    ])();
  }

  value(depth = 0): string {
    if (depth > 3) return '0';
    return this.pick([
      () => JSON.stringify(this.text()),
      () => String(this.below(1e9)),
      () => '1e400',
      () => '-0',
      () => '12345678901234567890',
      () => 'null',
      () => 'true',
      () => '{}',
      () => '[]',
      () => `{"id":${this.pick(['"1001"', '1001', '"0"', '-1', '"x"', '{}', '9007199254740993'])}}`,
      () => this.object(depth + 1),
      () => `[${Array.from({ length: this.below(4) }, () => this.value(depth + 1)).join(',')}]`,
      () => '{"value":1,"unit":"C"}',
      () => '{"value":"x"}',
      () => '{"T":{"value":1.5}}',
    ])();
  }

  object(depth = 0): string {
    const names = [
      'id',
      'source',
      'type',
      'time',
      'text',
      'severity',
      'status',
      'name',
      'owner',
      'c8y_Restart',
      'c8y_IsDevice',
      'deviceId',
      'description',
      'externalId',
      'managedObject',
      'measurements',
      'events',
      'alarms',
      'userName',
      'password',
      'email',
      'roles',
      'count',
      'creationTime',
      'lastUpdated',
      'self',
      'references',
      '__proto__',
      'a.b',
      'channel',
      'clientId',
      'subscription',
      'fragment',
      'value',
      'series',
      'domain',
      'company',
    ];
    const members = Array.from(
      { length: this.below(7) },
      () => `${JSON.stringify(this.chance(0.1) ? this.text() : this.pick(names))}:${this.value(depth)}`,
    );
    return `{${members.join(',')}}`;
  }

  json(): string {
    return this.pick([
      () => this.object(),
      () => this.object(),
      () => this.object(),
      () => this.value(),
      () => `[${this.object()},${this.object()}]`,
      () => this.object().slice(0, -1),
      () => '['.repeat(20_000),
      () => '{"a":'.repeat(5_000) + '1' + '}'.repeat(5_000),
      () => '',
      () => '\ufeff{}',
      () => `{"a":"${'x'.repeat(20_000)}"}`,
      () => this.valid(),
      () => this.valid(),
      () => this.valid(),
    ])();
  }

  /** Nearly right, so that it gets past the first check. */
  valid(): string {
    const parts: [string, string][] = [
      ['source', '{"id":"1001"}'],
      ['type', '"t"'],
      ['time', '"2026-01-01T00:00:00Z"'],
      ['text', '"x"'],
      ['severity', '"MAJOR"'],
      ['status', '"ACTIVE"'],
      ['name', '"n"'],
      ['deviceId', '"1001"'],
      ['externalId', '"e"'],
      ['userName', '"u"'],
      ['c8y_X', '{"T":{"value":1}}'],
    ];
    const changed = this.below(parts.length);
    return `{${parts.map(([name, value], index) => `"${name}":${index === changed ? this.value() : value}`).join(',')}}`;
  }

  smartRest(): string {
    const templates = [
      '100',
      '101',
      '102',
      '105',
      '110',
      '112',
      '114',
      '117',
      '119',
      '123',
      '200',
      '201',
      '210',
      '211',
      '212',
      '301',
      '302',
      '303',
      '304',
      '305',
      '306',
      '400',
      '401',
      '402',
      '500',
      '501',
      '502',
      '503',
      '504',
      '505',
      '506',
      '999',
      '',
    ];
    return Array.from({ length: 1 + this.below(4) }, () =>
      [this.pick(templates), ...Array.from({ length: this.below(6) }, () => this.text())].join(','),
    ).join(this.pick(['\n', '\r\n', '']));
  }

  topic(): string {
    return (
      this.pick([
        's/us',
        's/us',
        's/us',
        't/us',
        'q/us',
        'c/us',
        's/us/child',
        `s/us/${this.text()}`,
        'measurement/measurements/create',
        'event/events/create',
        'alarm/alarms/create',
        'measurement/measurements/createBulk',
        'event/events/createBulk',
        'alarm/alarms/createBulk',
        'inventory/managedObjects/create',
        'inventory/managedObjects/update/1001',
        'alarm/alarms/update/1001',
        'event/events/delete/1',
        's/ud',
        's/uc/x',
        'x',
        this.text(),
      ])
        .replaceAll(/[+#\0]/g, '')
        .slice(0, 2_000) || 'x'
    );
  }

  mutate(bytes: Buffer): Buffer {
    if (this.chance(0.4)) return bytes;
    let changed = Buffer.from(bytes);
    for (let times = 1 + this.below(3); times > 0 && changed.length > 0; times -= 1) {
      const at = this.below(changed.length);
      const action = this.below(4);
      if (action === 0) changed[at] = this.below(256);
      else if (action === 1) changed[at] ^= 1 << this.below(8);
      else if (action === 2)
        changed = Buffer.concat([changed.subarray(0, at), this.bytes(1 + this.below(4)), changed.subarray(at)]);
      else changed = Buffer.concat([changed.subarray(0, at), changed.subarray(at + 1 + this.below(4))]);
    }
    return changed;
  }
}

function connectPacket(version: 4 | 5, clientId: string, dice: Dice): Packet {
  return {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: version,
    clean: dice.chance(0.7),
    clientId,
    keepalive: dice.below(60),
    username: USER,
    password: Buffer.from(PASSWORD),
    ...(dice.chance(0.2)
      ? { will: { topic: 's/us', payload: Buffer.from(dice.smartRest()), qos: 1 as const, retain: false } }
      : {}),
  };
}

function packetOf(dice: Dice): Packet {
  const messageId = 1 + dice.below(5);
  switch (dice.below(10)) {
    case 0:
      return {
        cmd: 'subscribe',
        messageId,
        subscriptions: [{ topic: dice.pick(['s/ds', 's/e', 'error', '#', dice.topic()]), qos: dice.pick([0, 1, 2]) }],
      };
    case 1:
      return { cmd: 'unsubscribe', messageId, unsubscriptions: [dice.topic()] };
    case 2:
      return { cmd: dice.pick(['pubrel', 'pubrec', 'pubcomp', 'puback'] as const), messageId };
    case 3:
      return { cmd: dice.pick(['pingreq', 'disconnect'] as const) };
    default: {
      const topic = dice.topic();
      const payload = topic.includes('/us') ? dice.smartRest() : dice.json().slice(0, 12_000);
      const qos = dice.pick([0, 1, 1, 2] as const);
      return {
        cmd: 'publish',
        topic,
        payload: dice.chance(0.05) ? dice.bytes(50) : payload,
        qos,
        dup: dice.chance(0.1),
        retain: dice.chance(0.1),
        ...(qos === 0 ? {} : { messageId }),
      };
    }
  }
}

/** What one connection sends: chunks. */
function conversation(dice: Dice): Buffer[] {
  if (dice.chance(0.1)) return [dice.bytes(1 + dice.below(200))];
  const version = dice.pick([4, 5] as const);
  const first = mqttPacket.generate(connectPacket(version, `fuzz-${dice.below(30)}`, dice));
  const chunks = [dice.chance(0.2) ? dice.mutate(first) : first];
  const isExact = dice.chance(0.5);
  for (let count = dice.below(PACKETS); count >= 0; count -= 1) {
    try {
      const bytes = mqttPacket.generate(packetOf(dice), { protocolVersion: version });
      chunks.push(isExact ? bytes : dice.mutate(bytes));
    } catch {
      /* The library does not make it. */
    }
  }
  return dice.chance(0.5) ? [Buffer.concat(chunks)] : chunks;
}

async function inParallel(count: number, action: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (next < count) await action(next++);
    }),
  );
}

function sendTcp(port: number, chunks: readonly Buffer[]): Promise<void> {
  return new Promise((done) => {
    const socket = connect({ host: '127.0.0.1', port });
    const timer = setTimeout(() => socket.destroy(), CONNECTION_MS);
    socket.on('error', () => undefined);
    socket.on('data', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      done();
    });
    for (const chunk of chunks) socket.write(chunk);
  });
}

/** @returns whether the server said anything. */
function sendWebSocket(port: number, chunks: readonly Buffer[], dice: Dice): Promise<boolean> {
  return new Promise((done) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/mqtt`, 'mqtt', { perMessageDeflate: false });
    const timer = setTimeout(() => socket.terminate(), CONNECTION_MS);
    let isAnswered = false;
    socket.on('message', () => {
      isAnswered = true;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      done(isAnswered);
    });
    socket.on('open', () => {
      for (const chunk of chunks) socket.send(dice.chance(0.1) ? chunk.toString('latin1') : chunk);
    });
  });
}

interface Sent {
  method: string;
  path: string;
  body: string;
  status: number;
  answer: string;
}

function sendHttp(
  server: ServerProcess,
  paths: readonly (readonly [string, readonly string[]])[],
  dice: Dice,
): Promise<Sent> {
  const segment = (): string =>
    dice.pick([
      '1001',
      '1',
      '0',
      'x',
      encodeURIComponent(dice.text().toWellFormed()),
      'c8y_Serial',
      't1',
      'admin',
      '%',
      '%00',
      '9007199254740993',
    ]);
  const names = [
    'pageSize',
    'currentPage',
    'source',
    'type',
    'dateFrom',
    'dateTo',
    'fragmentType',
    'valueFragmentType',
    'valueFragmentSeries',
    'revert',
    'query',
    'q',
    'text',
    'ids',
    'status',
    'severity',
    'owner',
    'withTotalPages',
    'withTotalElements',
    'aggregationType',
    'series',
    'deviceId',
    'agentId',
    'bulkId',
    'resolved',
    'createdFrom',
    'lastUpdatedFrom',
    'withParents',
    'withChildren',
    'childDeviceId',
    'onlyRoots',
    'x',
  ];
  const query = Array.from(
    { length: dice.below(4) },
    () =>
      `${dice.pick(names)}=${dice.chance(0.1) ? dice.pick(['%', '%ff', '%00', '+', '&&']) : encodeURIComponent(dice.text().toWellFormed())}`,
  ).join('&');
  const [template, methods] = dice.pick(paths);
  const path =
    template.replaceAll(/\{[^}]*\}/g, segment) + (query === '' ? '' : `?${query}`) + (dice.chance(0.02) ? '//' : '');
  const method =
    dice.chance(0.85) && methods.length > 0
      ? dice.pick(methods)
      : dice.pick(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']);
  const body = ['GET', 'HEAD', 'OPTIONS'].includes(method) && dice.chance(0.9) ? '' : dice.json();
  const headers: Record<string, string> = {
    // Without it Node sends the body of a GET as if it were the next request.
    'content-length': String(Buffer.byteLength(body)),
    authorization: dice.chance(0.97)
      ? AUTHORIZATION
      : dice.pick(['Basic', 'Basic !!!', 'Bearer x', `Basic ${Buffer.from('t1/admin').toString('base64')}`, '']),
    'content-type': dice.pick([
      'application/json',
      'application/json',
      'application/json',
      'application/vnd.com.nsn.cumulocity.measurement+json;ver=0.9',
      'text/plain',
      ';;;',
      'application/json;charset=x',
    ]),
    ...(dice.chance(0.35)
      ? {
          accept: dice.pick([
            'application/json',
            '*/*',
            'text/csv',
            'x',
            'application/vnd.com.nsn.cumulocity.alarm+json',
            'application/json-stream',
          ]),
        }
      : {}),
    ...(dice.chance(0.1) ? { 'x-cumulocity-processing-mode': dice.pick(['TRANSIENT', 'QUIESCENT', 'CEP', 'x']) } : {}),
    ...(dice.chance(0.05) ? { 'x-http-method-override': 'DELETE', host: dice.pick(['x', 'a b', '']) } : {}),
  };
  return new Promise((done) => {
    const end = (status: number, answer: string): void =>
      done({ method, path, body: body.slice(0, 300), status, answer: answer.slice(0, 300) });
    try {
      const sent = request(
        { host: '127.0.0.1', port: server.httpPort, method, path, headers, timeout: REQUEST_MS, agent: false },
        (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          response.on('end', () => end(response.statusCode ?? 0, text));
          response.on('error', () => end(0, text));
        },
      );
      sent.on('timeout', () => {
        sent.destroy();
        end(-1, 'no answer');
      });
      sent.on('error', (error) => end(0, error.message));
      sent.end(body);
    } catch (error) {
      end(0, (error as Error).message);
    }
  });
}

async function checkHealthy(t: Test, server: ServerProcess, pid: number): Promise<void> {
  t.equal(server.isAlive && server.pid, pid, 'the same process runs');
  t.equal((await server.http('GET', '/health')).status, 200, '/health is well');
  const errors = server.stderr.split('\n').filter((line) => /"level":[56]0/.test(line));
  t.strictSame(
    errors.map((line) => line.slice(0, 1_200)),
    [],
    'no error was logged',
  );
}

t.test('garbage to MQTT, to MQTT over WebSocket and to HTTP', async (t) => {
  const dice = new Dice(seeded(t));
  const server = await new ServerProcess(t).start();
  const { pid } = server;
  for (let index = 0; index < 5; index += 1) await server.createDevice(`target-${index}`);

  await t.test('MQTT', async (t) => {
    await inParallel(MQTT_CONNECTIONS, () => sendTcp(server.mqttPort, conversation(dice)));
    await checkHealthy(t, server, pid);
  });
  await t.test('MQTT over WebSocket', async (t) => {
    let answered = 0;
    await inParallel(WEB_SOCKET_CONNECTIONS, async () => {
      if (await sendWebSocket(server.httpPort, conversation(dice), dice)) answered += 1;
    });
    // How many depends on the machine: each has CONNECTION_MS, its handshake included.
    t.ok(answered > 0, `it is MQTT that is spoken (${answered} connections were answered)`);
    await checkHealthy(t, server, pid);
  });
  await t.test('HTTP', async (t) => {
    const { paths } = (await server.http('GET', '/openapi.json')).json<{
      paths: Record<string, Record<string, unknown>>;
    }>();
    const known: [string, string[]][] = Object.entries(paths).map(([path, methods]) => [
      path,
      Object.keys(methods).map((name) => name.toUpperCase()),
    ]);
    for (const path of ['/nothing/here', '/', '/cep/realtime', '/notification/realtime', '/mqtt'])
      known.push([path, ['GET', 'POST']]);
    // Where most can go wrong.
    for (const path of [
      '/measurement/measurements',
      '/alarm/alarms',
      '/event/events',
      '/inventory/managedObjects',
      '/devicecontrol/operations',
    ])
      known.push([path, ['GET', 'POST']], [path, ['POST']]);
    const statuses = new Map<number, number>();
    const bad: Sent[] = [];
    const broken = new Map<string, number>();
    await inParallel(HTTP_REQUESTS, async () => {
      const sent = await sendHttp(server, known, dice);
      statuses.set(sent.status, (statuses.get(sent.status) ?? 0) + 1);
      // Long polling may wait for long.
      if (sent.status === 0) broken.set(sent.answer, (broken.get(sent.answer) ?? 0) + 1);
      if (sent.status >= 500 || (sent.status === -1 && !sent.path.includes('realtime'))) bad.push(sent);
    });
    t.comment(
      `statuses ${[...statuses]
        .sort(([a], [b]) => a - b)
        .map(([status, count]) => `${status}: ${count}`)
        .join(', ')}`,
    );
    t.comment(`without an answer: ${[...broken].map(([message, count]) => `${message} ${count}`).join(', ')}`);
    t.strictSame(bad.slice(0, 10), [], 'no server error');
    await checkHealthy(t, server, pid);
  });
  await t.test('what was taken can be replayed and projected', async (t) => {
    await server.kill();
    await server.start();
    await server.caughtUp(20_000);
    await checkHealthy(t, server, server.pid);
  });
});
