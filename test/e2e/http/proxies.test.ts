/** Millrace behind the proxies of deploy/proxies, each run with its file: TLS, WebSockets, certificates, addresses. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import type { RequestOptions } from 'node:https';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { connect } from 'mqtt';
import WebSocket from 'ws';
import { CertificateFactory } from '../../helpers/certificates.ts';
import type { Issued } from '../../helpers/certificates.ts';
import { ROOT } from '../../helpers/root.ts';
import { PASSWORD, TENANT, eventually, notInCluster, startServer } from '../../helpers/running/server.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { freePort } from '../../helpers/free-port.ts';
import { missing } from '../../helpers/tools.ts';

const LOOPBACK = '127.0.0.1';
const WRONG_MAX = 3;
const DEVICE_TOKEN = '/devicecontrol/deviceAccessToken';
const BODY = JSON.stringify({ name: 'behind a proxy', text: 'x'.repeat(100_000) });
const GOOD = `Basic ${Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64')}`;

interface Proxy {
  readonly program: string;
  readonly file: string;
  /** The command for the file's text with the ports and certificates of the test. */
  readonly command: (file: string, directory: string) => string[];
  readonly hasMqtt?: boolean;
}

const PROXIES: readonly Proxy[] = [
  {
    program: 'nginx',
    file: 'nginx.conf',
    command: (file, directory) => {
      const main = join(directory, 'main.conf');
      writeFileSync(
        main,
        `daemon off; user root; pid ${directory}/pid; error_log stderr; events {}\nhttp { access_log off; include ${file}; }\n`,
      );
      return ['nginx', '-c', main];
    },
  },
  {
    program: 'caddy',
    file: 'Caddyfile',
    command: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
  { program: 'haproxy', file: 'haproxy.cfg', command: (file) => ['haproxy', '-db', '-f', file], hasMqtt: true },
];

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A request through the proxy, on a connection of its own. */
function call(port: number, path: string, options: RequestOptions = {}, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const host = `localhost:${port}`;
    const headers = { host, authorization: GOOD, accept: 'application/json', ...options.headers };
    const sent = request(
      {
        host: LOOPBACK,
        servername: 'localhost',
        port,
        path,
        agent: false,
        rejectUnauthorized: false,
        ...options,
        headers,
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
        answer.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const inCluster = notInCluster('the files name one node');
for (const { program, file, command, hasMqtt = false } of PROXIES) {
  t.test(program, { skip: inCluster || missing(program, 'openssl') }, async (t) => {
    const server = await startServer(t, {
      flags: [
        ...['--http-engine', 'auto', '--trust-proxy', `${LOOPBACK},::1`, '--mqtt-proxy-protocol', 'yes'],
        ...['--device-certificate-header', 'X-Device-Certificate'],
        ...['--login-address-failures-max', String(WRONG_MAX)],
      ],
    });
    const directory = scratchDirectory(t);
    const factory = new CertificateFactory(directory);
    const own = factory.authority('proxy', { hosts: 'DNS:localhost' });
    const both = join(directory, 'both.pem');
    writeFileSync(both, own.certificate + readFileSync(own.keyFile, 'utf8'));
    const [port, mqttsPort] = [await freePort(), await freePort()];
    const replaced: readonly (readonly [RegExp, string])[] = [
      [/\/etc\/\w+\/tls\/certificate\.pem/g, own.file],
      [/\/etc\/\w+\/tls\/key\.pem/g, own.keyFile],
      [/\/etc\/\w+\/tls\/both\.pem/g, both],
      [/127\.0\.0\.1:8080/g, `${LOOPBACK}:${server.httpPort}`],
      [/127\.0\.0\.1:1883/g, `${LOOPBACK}:${server.mqttPort}`],
      [/(?<=:|listen )443\b/g, String(port)],
      [/(?<=:)8883\b/g, String(mqttsPort)],
      // More than a test machine may have descriptors.
      [/maxconn \d+/g, 'maxconn 1000'],
    ];
    let text = readFileSync(join(ROOT, 'deploy/proxies', file), 'utf8');
    for (const [from, to] of replaced) text = text.replaceAll(from, to);
    const path = join(directory, file);
    writeFileSync(path, text);
    const [name, ...args] = command(path, directory);
    const child = spawn(name, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, HOME: directory } });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const ended = new Promise((resolve) => {
      child.once('close', resolve);
    });
    t.teardown(async () => {
      child.kill('SIGTERM');
      await ended;
    });
    const ready = await eventually('the proxy serves', async () => {
      if (child.exitCode !== null) throw new Error(`${program} ended: ${said}`);
      return (await call(port, '/health')).status === 200;
    }).catch((error: Error) => error);
    if (ready instanceof Error) throw new Error(`${ready.message}\n${said}`);

    const seen = await call(port, '/inventory/managedObjects?pageSize=1', {
      headers: { 'x-forwarded-host': 'forged.example.com', forwarded: 'host=forged.example.com' },
    });
    t.match(
      JSON.parse(seen.text),
      { self: `https://localhost:${port}/inventory/managedObjects` },
      'links are those of the client',
    );

    const headers = { 'content-type': 'application/json' };
    const made = await call(port, '/inventory/managedObjects', { method: 'POST', headers }, BODY);
    t.equal(made.status, 201, 'a body');
    const chunked = { ...headers, 'transfer-encoding': 'chunked' };
    t.equal((await call(port, '/inventory/managedObjects', { method: 'POST', headers: chunked }, BODY)).status, 201);

    t.match(await handshake(`wss://localhost:${port}/notification/realtime`), [{ successful: true }], 'live data');
    await certificates(t, port, factory);
    if (hasMqtt) await mqtt(t, mqttsPort);

    const login = async (localAddress: string, authorization: string): Promise<number> =>
      (await call(port, '/user/currentUser', { localAddress, headers: { authorization } })).status;
    for (let wrong = 0; wrong < WRONG_MAX; wrong += 1)
      t.equal(await login('127.0.0.2', `Basic ${Buffer.from(`${TENANT}/x${wrong}:wrong`).toString('base64')}`), 401);
    t.not(await login('127.0.0.2', `Basic ${Buffer.from(`${TENANT}/one:more`).toString('base64')}`), 200);
    const forged = { 'x-forwarded-for': '127.0.0.2', authorization: GOOD };
    t.equal((await call(port, '/user/currentUser', { localAddress: '127.0.0.3', headers: forged })).status, 200);
    t.match(await server.metricsText(), /millrace_refusals_total\{limit="accounts\/login-failures[^"]*"\} [1-9]/);
  });
}

function handshake(url: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { rejectUnauthorized: false, headers: { authorization: GOOD } });
    socket.on('error', reject);
    socket.on('open', () =>
      socket.send(
        JSON.stringify([{ channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: ['websocket'] }]),
      ),
    );
    socket.on('message', (data: Buffer) => {
      socket.close();
      resolve(JSON.parse(data.toString()));
    });
  });
}

/** A device gets its token for the certificate that it shows the proxy, not for a header that it writes. */
async function certificates(t: Test, port: number, factory: CertificateFactory): Promise<void> {
  const plant = factory.authority('Plant');
  const device: Issued = factory.issue('pump-1', plant);
  const trusted = JSON.stringify({
    status: 'ENABLED',
    certInPemFormat: plant.certificate,
    autoRegistrationEnabled: true,
  });
  const headers = { 'content-type': 'application/json' };
  const path = `/tenant/tenants/${TENANT}/trusted-certificates`;
  t.equal((await call(port, path, { method: 'POST', headers }, trusted)).status, 201);
  const ask = async (more: RequestOptions): Promise<Answer> =>
    call(port, DEVICE_TOKEN, { method: 'POST', ...more, headers: { authorization: '', ...more.headers } });
  const { key, certificate } = device;
  const own = await ask({ key, cert: certificate });
  t.equal(own.status, 200, `its certificate: ${own.text}`);
  t.equal((await ask({})).status, 401, 'none');
  t.equal(
    (await ask({ headers: { 'x-device-certificate': encodeURIComponent(certificate) } })).status,
    401,
    'a header',
  );
  const foreign = factory.issue('pump-2', factory.authority('Foreign'));
  t.equal(
    (await ask({ key: foreign.key, cert: foreign.certificate })).status,
    401,
    'of an authority that is not trusted',
  );
}

async function mqtt(t: Test, port: number): Promise<void> {
  const client = connect(`mqtts://localhost:${port}`, {
    rejectUnauthorized: false,
    clientId: 'through-proxy',
    username: `${TENANT}/admin`,
    password: PASSWORD,
    reconnectPeriod: 0,
  });
  t.teardown(() => client.endAsync(true));
  await new Promise((resolve, reject) => {
    client.on('connect', resolve);
    client.on('error', reject);
  });
  await client.publishAsync('s/us', '100,Through a proxy,c8y_Pump', { qos: 1 });
  t.pass('MQTT');
}
