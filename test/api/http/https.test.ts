/** HTTPS on a listener of its own, beside that without TLS. */
import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request as httpsRequest } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import type { Test } from 'tap';
import WebSocket from 'ws';
import { UntrustedCertificate } from '../../../src/accounts/certificates/certificates.ts';
import { tlsHttpLibrary } from '../../../src/api/http/node-engine/app.ts';
import type { Route } from '../../../src/api/request/route.ts';
import { CertificateFactory } from '../../helpers/certificates.ts';
import type { Issued } from '../../helpers/certificates.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { missing } from '../../helpers/tools.ts';
import { until } from '../../helpers/until.ts';
import { startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';

const skip = missing('openssl');
if (skip !== false) {
  t.test('HTTPS', { skip }, async () => undefined);
  process.exit();
}
const factory = new CertificateFactory(scratchDirectory(t));
const pairOf = ({ key, certificate }: Issued): { readonly key: Buffer; readonly cert: Buffer } => ({
  key: Buffer.from(key),
  cert: Buffer.from(certificate),
});
const [first, second, device] = ['first.example', 'second.example', 'pump-1'].map((name) => factory.authority(name));
const tell: Route = {
  method: 'GET',
  path: '/tell',
  area: 'test',
  access: 'public',
  summary: '',
  answers: [],
  handle: ({ baseUrl, exchange }) => ({
    status: 200,
    text: JSON.stringify({ baseUrl, shown: exchange.certificates.map(({ subject }) => subject) }),
  }),
};

type Secure = Api & { readonly library: ReturnType<typeof tlsHttpLibrary>; readonly securePort: number };

async function start(t: Test, config: object = {}): Promise<Secure> {
  const api = await startApi(t, {
    further: [tell],
    config,
    prepare: (server) =>
      server.webSocket('/echo', {
        open: (channel) => void channel.send(`${channel.head.isSecure}`, false),
        message: (channel, data, isBinary) => void channel.send(data, isBinary),
      }),
  });
  const library = tlsHttpLibrary(pairOf(first));
  const securePort = await api.server.listenSecurely(library, { host: '127.0.0.1', port: 0 });
  return { ...api, library, securePort };
}

function get(
  port: number,
  options: object = {},
): Promise<{ readonly json: any; readonly served: string; readonly headers: object }> {
  return new Promise((resolve, reject) => {
    httpsRequest(
      { host: '127.0.0.1', port, path: '/tell', rejectUnauthorized: false, agent: false, ...options },
      (response) => {
        const served = String((response.socket as TLSSocket).getPeerCertificate().subject.CN);
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        response.on('end', () => resolve({ json: JSON.parse(text), served, headers: response.headers }));
      },
    )
      .on('error', reject)
      .end();
  });
}

t.test('requests, links and client certificates', async (t) => {
  const { port, securePort, url } = await start(t);
  const { json, served } = await get(securePort);
  t.equal(served, 'first.example');
  t.same(json, { baseUrl: `https://127.0.0.1:${securePort}`, shown: [] });
  const shown = await get(securePort, { key: device.key, cert: device.certificate });
  t.match(shown.json.shown, ['O=Plant\nCN=pump-1']);
  t.equal((await get(securePort, { ALPNProtocols: ['http/1.0'] })).served, 'first.example', 'as curl -0 offers it');
  t.same(await (await fetch(`${url}/tell`)).json(), { baseUrl: `http://127.0.0.1:${port}`, shown: [] });
});

t.test('a device gets a token for the certificate that it shows, not for one in a header', async (t) => {
  const { securePort, platform } = await start(t, { deviceCertificateHeader: 'x-device-certificate' });
  const seen: string[][] = [];
  Object.assign(platform.accounts.certificateLogins, {
    login: async (chain: readonly X509Certificate[]) => {
      seen.push(chain.map(({ subject }) => subject));
      throw new UntrustedCertificate('there are none here');
    },
  });
  const headers = { 'x-device-certificate': device.certificate.replaceAll('\n', ' ') };
  const post = { path: '/devicecontrol/deviceAccessToken', method: 'POST', headers };
  t.match((await get(securePort, post)).json.message, /No client certificate was shown/);
  await get(securePort, { ...post, key: second.key, cert: second.certificate });
  t.same(seen, [['O=Plant\nCN=second.example']]);
});

t.test('WebSockets', async (t) => {
  const { port, securePort } = await start(t);
  for (const [url, isSecure] of [
    [`wss://127.0.0.1:${securePort}/echo`, 'true'],
    [`ws://127.0.0.1:${port}/echo`, 'false'],
  ]) {
    const socket = new WebSocket(url, { rejectUnauthorized: false });
    t.equal(String((await once(socket, 'message'))[0]), isSecure);
    socket.send('hello');
    t.equal(String((await once(socket, 'message'))[0]), 'hello');
    socket.close();
    await once(socket, 'close');
  }
});

t.test('a renewed certificate is for new connections; open ones go on', async (t) => {
  const { securePort, library } = await start(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  t.equal((await get(securePort, { agent })).served, 'first.example');
  library.renew(pairOf(second));
  t.equal((await get(securePort, { agent })).served, 'first.example');
  t.equal((await get(securePort)).served, 'second.example');
});

t.test('connections of both listeners have one bound, those in a handshake too', async (t) => {
  const { server, port, securePort } = await start(t, { connectionsMax: 3 });
  const silent = connectTcp(securePort, '127.0.0.1');
  t.teardown(() => silent.destroy());
  const ended = once(silent, 'close');
  const open = [connect({ port: securePort, rejectUnauthorized: false }), connectTcp(port, '127.0.0.1')];
  t.teardown(() => open.forEach((socket) => socket.destroy()));
  await until('three are open', () => server.connectionCount === 3);
  t.equal((await get(securePort)).served, 'first.example', 'the oldest without a request gives way');
  await ended;
  for (const socket of open) socket.destroy();
  await until('all have ended', () => server.connectionCount === 0);
  const rubbish = connectTcp(securePort, '127.0.0.1', () => rubbish.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n'));
  rubbish.on('error', () => undefined);
  await once(rubbish.resume(), 'close');
  await until('what is not TLS has ended', () => server.connectionCount === 0);
});
