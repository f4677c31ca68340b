/** Connections that come through a proxy of TCP, which tells who its client is. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { MqttClient } from 'mqtt';
import t from 'tap';
import { TrustedProxies } from '../../src/config/trusted-proxies.ts';
import { parseProxyHeader } from '../../src/mqtt/transports/proxy-header.ts';
import { CertificateFactory } from '../helpers/certificates.ts';
import { freePort } from '../helpers/free-port.ts';
import { missing } from '../helpers/tools.ts';
import { until } from '../helpers/until.ts';
import { Harness } from './helpers/harness.ts';

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** @param command 1 for PROXY, 0 for LOCAL. @param family 0x11 for TCP over IPv4, 0x21 for TCP over IPv6. */
function version2(command: number, family: number, rest: readonly number[]): Buffer {
  const head = Buffer.from([0x20 | command, family, rest.length >> 8, rest.length & 255]);
  return Buffer.concat([SIGNATURE, head, Buffer.from(rest)]);
}
const IPV4 = version2(1, 0x11, [203, 0, 113, 7, 10, 0, 0, 1, 0x12, 0x34, 0x07, 0x5b]);
const IPV6 = version2(1, 0x21, [0x20, 1, 0xd, 0xb8, ...Array<number>(11).fill(0), 7, ...Array<number>(20).fill(0)]);

t.test('headers', (t) => {
  const good: readonly [string | Buffer, string | undefined][] = [
    ['PROXY TCP4 203.0.113.7 10.0.0.1 4660 1883\r\n', '203.0.113.7'],
    ['PROXY TCP6 2001:db8::7 ::1 4660 1883\r\n', '2001:db8::7'],
    ['PROXY UNKNOWN\r\n', undefined],
    [IPV4, '203.0.113.7'],
    [IPV6, '2001:db8:0:0:0:0:0:7'],
    [version2(0, 0, []), undefined],
    [version2(1, 0x31, Array<number>(216).fill(0)), undefined],
    [version2(1, 0x11, [...IPV4.subarray(16), 4, 0, 2, 1, 2]), '203.0.113.7'],
  ];
  for (const [header, address] of good) {
    const bytes = Buffer.from(header as string, 'latin1');
    for (let cut = 0; cut < bytes.length; cut += 1) t.equal(parseProxyHeader(bytes.subarray(0, cut)), undefined);
    t.same(parseProxyHeader(Buffer.concat([bytes, Buffer.from('\x10\x02')])), { length: bytes.length, address });
  }
  const bad: readonly (string | Buffer)[] = [
    '\x10\x20',
    'PROXX',
    'PROXY TCP4\r\n',
    'PROXY UDP4 1.2.3.4 1.2.3.4 1 1\r\n',
    'PROXY TCP4 ::1 ::1 1 1\r\n',
    'PROXY TCP4 localhost 1.2.3.4 1 1\r\n',
    'PROXY constructor 1.2.3.4 1.2.3.4 1 1\r\n',
    `PROXY TCP4 ${'1'.repeat(200)}`,
    version2(2, 0x11, []),
    version2(1, 0x11, [1, 2, 3]),
    Buffer.concat([SIGNATURE, Buffer.from([0x21, 0x11, 0xff, 0xff])]),
  ];
  for (const bytes of bad) t.throws(() => parseProxyHeader(Buffer.from(bytes as string, 'latin1')), /PROXY protocol/);
  t.end();
});

function selfSigned(directory: string): { readonly key: string; readonly cert: string } {
  const { key, certificate } = new CertificateFactory(directory).authority('localhost');
  return { key, cert: certificate };
}

type StreamBuilder = ConstructorParameters<typeof MqttClient>[0];

/** Connects, is answered, and goes again. @returns the address that the server took for the client's. */
async function seenFrom(harness: Harness, clientId: string, stream: StreamBuilder): Promise<string | undefined> {
  const options = { clientId, username: 't1/user', password: 'right', reconnectPeriod: 0 };
  const client = new MqttClient(stream, options);
  await new Promise((resolve) => {
    client.once('connect', resolve);
  });
  const { remoteAddress } = harness.link(clientId).connection;
  await client.endAsync();
  return remoteAddress;
}

for (const scheme of ['mqtt', 'mqtts'] as const) {
  t.test(`the client behind a proxy, over ${scheme}`, async (t) => {
    const harness = new Harness();
    t.teardown(() => harness.server.close(100));
    const tls = scheme === 'mqtts' ? { tls: selfSigned(t.testdir()) } : {};
    const listen = (proxies: string): Promise<{ port: number }> =>
      harness.server.listen({ host: '127.0.0.1', port: 0, proxies: new TrustedProxies(proxies), ...tls });
    const { port } = await listen('127.0.0.1');
    const behind =
      (header: Buffer | string, to = port): StreamBuilder =>
      () => {
        const socket = connectTcp({ host: '127.0.0.1', port: to });
        socket.write(header);
        return scheme === 'mqtt' ? socket : connectTls({ socket, rejectUnauthorized: false });
      };
    t.equal(await seenFrom(harness, 'v2', behind(IPV4)), '203.0.113.7');
    t.equal(await seenFrom(harness, 'v1', behind('PROXY TCP6 2001:db8::7 ::1 4660 1883\r\n')), '2001:db8::7');
    t.equal(await seenFrom(harness, 'local', behind(version2(0, 0, []))), '127.0.0.1', 'the proxy speaks for itself');
    const others = await listen('192.0.2.1');
    t.equal(await seenFrom(harness, 'direct', behind('', others.port)), '127.0.0.1', 'who is no proxy sends no header');
    const socket = connectTcp({ host: '127.0.0.1', port }).end('\x10\x20');
    await once(socket, 'close');
    await until('no header is counted', () => harness.counts.get('mqtt/proxy-header') === 1);
    const silent = connectTcp({ host: '127.0.0.1', port });
    await once(silent, 'connect');
    silent.destroy();
    await until('all sockets are closed', () => harness.server.socketsCount === 0);
    t.equal(harness.counts.get('mqtt/proxy-header'), 1, 'who goes by himself is not refused');
  });
}

t.test('HAProxy with send-proxy-v2', { skip: missing('haproxy') }, async (t) => {
  const harness = new Harness();
  t.teardown(() => harness.server.close(100));
  const proxies = new TrustedProxies('127.0.0.2');
  const { port } = await harness.server.listen({ host: '127.0.0.1', port: 0, proxies });
  const front = await freePort();
  const file = join(t.testdir(), 'haproxy.cfg');
  const timeouts = 'defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1m\n  timeout server 1m\n';
  const listen = `listen mqtt\n  bind 127.0.0.1:${front}\n  server one 127.0.0.1:${port} source 127.0.0.2 send-proxy-v2\n`;
  writeFileSync(file, timeouts + listen);
  const haproxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
  t.teardown(() => haproxy.kill('SIGKILL'));
  const from127003 = (): Socket => connectTcp({ host: '127.0.0.1', port: front, localAddress: '127.0.0.3' });
  await until('HAProxy listens', async () => {
    const socket = from127003();
    const isUp = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return isUp;
  });
  t.equal(await seenFrom(harness, 'device', from127003), '127.0.0.3');
});
