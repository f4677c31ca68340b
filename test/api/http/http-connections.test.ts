/**
 * Bounds of HTTP connections, in all and by address, on both engines; how they follow from what the process may open.
 */
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import WebSocket from 'ws';
import { ConnectionGuard, addressKey } from '../../../src/api/http/connection-guard.ts';
import { peerAddresses } from '../../../src/api/http/peer-addresses.ts';
import { connectionBounds, descriptorsMax, processLimits } from '../../../src/operate/descriptors.ts';
import { until } from '../../helpers/until.ts';
import { ADMIN, startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';
import { ENGINES } from '../helpers/engines.ts';

interface Opened {
  readonly socket: Socket;
  answer(): string;
  isClosed(): boolean;
}

function open(t: Test, { port }: Api, localAddress = '127.0.0.1'): Opened {
  let text = '';
  let isClosed = false;
  const socket = createConnection({ port, host: '127.0.0.1', localAddress });
  socket
    .on('data', (data) => {
      text += data.toString();
    })
    .on('error', () => undefined)
    .on('close', () => {
      isClosed = true;
    });
  t.teardown(() => socket.destroy());
  return { socket, answer: () => text, isClosed: () => isClosed };
}

for (const [engine, library] of ENGINES) {
  t.test(`${engine}: more connections than the bound are told so and closed`, async (t) => {
    const silent = (): void => undefined;
    const api = await startApi(t, {
      library,
      config: { connectionsMax: 4 },
      prepare: (server) => {
        server.webSocket('/counted', { open: silent, message: silent });
        server.webSocket('/mqtt', { isBoundElsewhere: true, open: silent, message: silent });
      },
    });
    const counted: WebSocket[] = [];
    const webSocket = async (path: string): Promise<void> => {
      const client = new WebSocket(`ws://127.0.0.1:${api.port}${path}`);
      t.teardown(() => client.terminate());
      if (path === '/counted') counted.push(client);
      await new Promise((resolve, reject) => {
        client.on('open', resolve).on('error', reject);
      });
    };
    for (let count = 0; count < 3; count += 1) await webSocket('/mqtt');
    for (let count = 0; count < 4; count += 1) await webSocket('/counted');
    await until('the connections of MQTT count no more', () => api.server.connectionCount === 0);
    const refused = open(t, api);
    await until('a fifth is refused', refused.isClosed);
    t.match(
      refused.answer(),
      /^HTTP\/1.1 503 [^]*Connection: close[^]*"general\/Service Unavailable","message":"The server is busy: http\/connections \(/,
    );
    t.same(api.fake.counted, ['http/connections']);
    t.equal(api.server.connectionCount, 0);
    counted[0].terminate();
    await until('one has ended', () => api.server.webSocketCount === 6);
    t.equal((await api.call('GET', '/health')).status, 200, 'there is room again');
  });

  t.test(`${engine}: connections that send no whole request give way, also when they come again at once`, async (t) => {
    const api = await startApi(t, { library, config: { connectionsMax: 8 } });
    let isOver = false;
    let answers = '';
    const flood = (localAddress: string): void => {
      const one = open(t, api, localAddress);
      one.socket
        .on('connect', () => one.socket.write('GET /hea'))
        .on('close', () => {
          answers += one.answer();
          if (!isOver) flood(localAddress);
        });
    };
    t.teardown(() => {
      isOver = true;
    });
    for (let count = 0; count < 6; count += 1) for (const address of ['127.0.0.1', '127.0.0.2']) flood(address);
    await until('they take all places', () => api.server.connectionCount === 8);
    for (let count = 0; count < 10; count += 1) {
      const user = open(t, api, '127.0.0.3');
      user.socket.write('GET /health HTTP/1.1\r\nHost: h\r\n\r\n');
      await until('an answer', () => user.answer() !== '' || user.isClosed());
      t.match(user.answer(), /^HTTP\/1.1 200 /);
      user.socket.destroy();
    }
    isOver = true;
    t.match(answers, /^HTTP\/1.1 503 [^]*Connection: close[^]*http\/connections-without-request/);
    t.ok(api.fake.counted.includes('http/connections-without-request'));
    t.ok(api.server.connectionCount <= 8);
  });

  t.test(`${engine}: connections that have been answered keep nobody out`, async (t) => {
    const api = await startApi(t, { library, config: { connectionsMax: 4 } });
    const ask = async (localAddress: string): Promise<Opened> => {
      const one = open(t, api, localAddress);
      one.socket.write('GET /health HTTP/1.1\r\nHost: h\r\n\r\n');
      await until('an answer', () => one.answer() !== '' || one.isClosed());
      return one;
    };
    const first: Opened[] = [];
    for (let count = 0; count < 4; count += 1) first.push(await ask('127.0.0.1'));
    for (let count = 0; count < 4; count += 1) t.match((await ask('127.0.0.3')).answer(), /^HTTP\/1.1 200 /);
    t.same(api.fake.counted, [], 'none is refused');
    t.ok(api.server.connectionCount <= 4);
  });

  t.test(`${engine}: a request under way keeps its place`, async (t) => {
    const api = await startApi(t, { library, config: { connectionsMax: 2 } });
    const head = `POST /inventory/managedObjects HTTP/1.1\r\nHost: h\r\nAuthorization: ${ADMIN}\r\nContent-Type: application/json\r\n`;
    const working = [open(t, api), open(t, api)];
    for (const { socket } of working) socket.write(`${head}Content-Length: 2\r\n\r\n{`);
    await until('both are under way', () => api.server.requestCount === 2);
    const refused = open(t, api, '127.0.0.3');
    await until('a third is refused', refused.isClosed);
    t.match(refused.answer(), /^HTTP\/1.1 503 [^]*http\/connections /);
    for (const { socket } of working) socket.write('}');
    await until('answers', () => working.every(({ answer }) => answer() !== ''));
    for (const { answer } of working) t.match(answer(), /^HTTP\/1.1 201 /);
  });

  t.test(`${engine}: one address does not get all`, async (t) => {
    const api = await startApi(t, { library, config: { connectionsMax: 8, addressConnectionsMax: 4 } });
    const taken = Array.from({ length: 4 }, () => open(t, api));
    await until('four are open', () => api.server.connectionCount === 4);
    const refused = open(t, api);
    await until('the fifth is refused', refused.isClosed);
    t.match(refused.answer(), /http\/connections-of-address/);
    const other = open(t, api, '127.0.0.2');
    other.socket.write('GET /health HTTP/1.1\r\nHost: h\r\n\r\n');
    await until('an answer for another address', () => other.answer().startsWith('HTTP/1.1 200 '));
    t.same(api.fake.counted, ['http/connections-of-address']);
    for (const { socket } of taken) socket.destroy();
    await until('all but one have ended', () => api.server.connectionCount === 1);
    t.equal((await api.call('GET', '/health')).status, 200);
  });
}

t.test('the bounds follow from what the process may open', async (t) => {
  const bounds = (limit: number | undefined, more: object = {}): unknown =>
    connectionBounds(limit, {
      httpConnectionsMax: 0,
      httpAddressConnectionsMax: 0,
      mqttConnectionsMax: 18_000,
      trustProxy: 'no',
      ...more,
    });
  t.same(bounds(20_000), { http: 2_000, httpAddress: 1_500, mqtt: 17_000 }, 'a tenth at least for HTTP');
  t.same(bounds(1_048_576), { http: 20_000, httpAddress: 15_000, mqtt: 18_000 });
  t.same(bounds(undefined), { http: 20_000, httpAddress: 15_000, mqtt: 18_000 });
  t.same(bounds(4_096), { http: 1_024, httpAddress: 768, mqtt: 2_072 }, 'MQTT gives way where there is little');
  t.same(bounds(1_024), { http: 256, httpAddress: 192, mqtt: 256 });
  t.same(bounds(20_000, { trustProxy: 'yes' }), { http: 2_000, httpAddress: 2_000, mqtt: 17_000 }, 'a proxy opens all');
  t.same(bounds(20_000, { httpConnectionsMax: 5_000, httpAddressConnectionsMax: 100 }), {
    http: 5_000,
    httpAddress: 100,
    mqtt: 14_000,
  });
  t.same(bounds(20_000, { httpConnectionsMax: 100, httpAddressConnectionsMax: 200 }), {
    http: 100,
    httpAddress: 100,
    mqtt: 18_000,
  });
  t.equal(descriptorsMax('Max open files            unlimited            unlimited            files'), Infinity);
  t.equal(descriptorsMax(undefined), undefined);
  t.ok((descriptorsMax(processLimits()) ?? 1_000) > 100);
});

t.test('addresses: what counts as one, and what the system tells', async (t) => {
  t.same(
    ['10.1.2.3', '::ffff:10.1.2.3', '0000:0000:0000:0000:0000:ffff:0a01:0203', '::ffff:a01:203'].map(addressKey),
    Array(4).fill('10.1.2.3'),
  );
  t.same(
    ['2001:db8:0:1:2:3:4:5', '2001:0db8:0000:0001:ffff:0000:0000:0001', '2001:db8:0:1::9'].map(addressKey),
    Array(3).fill('2001:db8:0:1'),
  );
  t.not(addressKey('2001:db8:0:2::9'), addressKey('2001:db8:0:1::9'));
  t.equal(addressKey('::1'), '0:0:0:0');
  const head = '  sl  local_address rem_address   st tx_queue rx_queue\n';
  const files: Record<string, string> = {
    '/proc/self/net/tcp': `${head}   0: 0100007F:1F90 00000000:0000 0A x\n   1: 0100007F:1F90 0302010A:C000 01 x\n   2: 0100007F:1F91 0402010A:C000 01 x\n   3: 0100007F:1F90 0502010A:C000 08 x\n`,
    '/proc/self/net/tcp6': `${head}   0: 00000000000000000000000000000000:1F90 B80D0120000000000000000001000000:C001 01 x\n`,
  };
  t.same(
    peerAddresses(8080, (path) => files[path]),
    ['10.1.2.3', '10.1.2.5', '2001:db8:0:0:0:0:0:1'],
  );
  t.equal(
    peerAddresses(8080, () => {
      throw new Error('no /proc');
    }),
    undefined,
  );
  // Without them there is no bound by address, and what is known for a second is not asked for again.
  let asked = 0;
  const log = { warn: () => undefined } as never;
  const guard = new ConnectionGuard({ connectionsMax: 10, addressMax: 2, refusals: { count: () => undefined }, log });
  const results = [1, 2, 3, 4, 5, 6].map((count) =>
    guard.refuses(
      count,
      () => '10.0.0.1',
      () => {
        asked += 1;
        return undefined;
      },
    ),
  );
  t.same([results, asked], [Array(6).fill(undefined), 1]);
});
