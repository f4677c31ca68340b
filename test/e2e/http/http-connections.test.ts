/** Connections that send nothing may not take the descriptors that MQTT, files and stores need. */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { connect } from 'mqtt';
import { DIST } from '../../helpers/root.ts';
import { CLUSTER_NODES, PASSWORD, Rest, TENANT } from '../../helpers/running/server.ts';
import { cleanEnvironment, scratchDirectory, until } from '../../helpers/setup-command.ts';
import { PATIENCE } from '../../helpers/until.ts';

const DESCRIPTORS = 400;
const START_MS = 30_000;
/**
 * More than the 100 places that HTTP gets. They come again after a pause that leaves the test's own process the time
 * for its requests.
 */
const FLOOD = 140;
const FLOOD_PAUSE_MS = 50;
const REFUSAL_LENGTH = 10_000;

/** On a connection of its own, from an address that has no other. */
async function askApart(port: number, method: string, path: string, form?: FormData): Promise<number> {
  const encoded = new Response(form ?? null);
  const body = Buffer.from(await encoded.arrayBuffer());
  const authorization = `Basic ${Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64')}`;
  const headers = {
    authorization,
    ...(form === undefined
      ? {}
      : { 'content-type': encoded.headers.get('content-type')!, 'content-length': body.length }),
  };
  return await new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, method, path, localAddress: '127.0.0.3', agent: false, headers }, (reply) => {
      reply
        .resume()
        .on('end', () => resolve(reply.statusCode!))
        .on('error', reject);
    })
      .on('error', reject)
      .end(body);
  });
}

t.test(
  'strangers open as many connections as they can: MQTT, lists and uploads go on',
  { skip: CLUSTER_NODES > 0 ? 'only a single node: the limit is that of a process' : false },
  async (t) => {
    const args = [
      'serve',
      '--host',
      '127.0.0.1',
      '--http-port',
      '0',
      '--mqtt-port',
      '0',
      '--mqtt-tls-port',
      '0',
      '--data',
      scratchDirectory(t),
      '--log-format',
      'json',
    ];
    const child = spawn(
      'sh',
      ['-c', `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`, process.execPath, join(DIST, 'src', 'main.js'), ...args],
      { env: cleanEnvironment({ MILLRACE_ADMIN_PASSWORD: PASSWORD }), stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let [output, errors] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    const ended = new Promise((resolve) => {
      child.on('close', resolve);
    });
    t.teardown(async () => {
      child.kill();
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(timer);
    });
    await until(
      'the server has started',
      () => {
        if (child.exitCode !== null) throw new Error(errors);
        return output.includes('curl -u');
      },
      START_MS,
    );
    const [, http, mqtt] = /URL\s+http:\/\/[^:]+:(\d+)[\s\S]*MQTT port\s+(\d+)/.exec(output)!;
    const rest = new Rest(`http://127.0.0.1:${http}`, `${TENANT}/admin`, PASSWORD);
    const object = await rest.createDevice('before');

    const sockets = new Set<Socket>();
    let isOver = false;
    let refusal = '';
    let refusedCount = 0;
    const flood = (localAddress: string): void => {
      const socket = createConnection({ port: Number(http), host: '127.0.0.1', localAddress });
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('data', (data) => {
          if (refusal.length < REFUSAL_LENGTH) refusal += data.toString();
        })
        .on('close', () => {
          sockets.delete(socket);
          refusedCount += 1;
          if (!isOver && sockets.size < FLOOD)
            setTimeout(() => {
              if (!isOver) flood(localAddress);
            }, FLOOD_PAUSE_MS);
        });
    };
    const endFlood = (): void => {
      isOver = true;
      for (const socket of sockets) socket.destroy();
    };
    t.teardown(endFlood);
    for (let count = 0; count < DESCRIPTORS / 2; count += 1)
      for (const address of ['127.0.0.1', '127.0.0.2']) flood(address);
    await until('some are refused', () => refusedCount > 100);
    t.match(refusal, /^HTTP\/1.1 503 [^]*Connection: close[^]*http\/connections/);
    // An accept that fails for want of a descriptor is tried again at once, for ever.
    const used = readdirSync(`/proc/${child.pid!}/fd`).length;
    t.ok(used < DESCRIPTORS - 100, `${used} of ${DESCRIPTORS} descriptors are used`);
    const client = connect(`mqtt://127.0.0.1:${mqtt}`, {
      clientId: 'd:flooded',
      username: `${TENANT}/admin`,
      password: PASSWORD,
      reconnectPeriod: 0,
      connectTimeout: 10_000 * PATIENCE,
    });
    t.teardown(() => client.endAsync(true));
    await new Promise((resolve, reject) => {
      client.on('connect', resolve).on('error', reject);
    });
    await client.publishAsync('s/us', '100,flooded,c8y_Test', { qos: 1 });
    const form = new FormData();
    form.append('object', JSON.stringify({ name: 'f.bin', type: 'application/octet-stream' }));
    form.append('file', new Blob([new Uint8Array(1000)]), 'f.bin');
    t.equal(await askApart(Number(http), 'POST', '/inventory/binaries', form), 201);
    for (let count = 0; count < 10; count += 1)
      t.equal(await askApart(Number(http), 'GET', '/event/events?pageSize=5'), 200);
    t.equal(await askApart(Number(http), 'GET', `/inventory/managedObjects/${object}`), 200);
    endFlood();
    t.match(errors, /http\/connections/, 'the log says it');
    t.notMatch(errors, /EMFILE/);
  },
);
