/** Connections that send nothing may not take the descriptors that MQTT, files and stores need. */
import { spawn } from 'node:child_process';
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { connect } from 'mqtt';
import { DIST } from '../helpers/root.ts';
import { CLUSTER_NODES, PASSWORD, Rest, TENANT } from '../helpers/running-server.ts';
import { cleanEnvironment, scratchDirectory, until } from '../helpers/setup-command.ts';

const DESCRIPTORS = 400;
const START_MS = 30_000;

t.test('strangers open as many connections as they can: MQTT, lists and uploads go on', { skip: CLUSTER_NODES > 0 ? 'only a single node: the limit is that of a process' : false }, async (t) => {
  const args = ['serve', '--host', '127.0.0.1', '--http-port', '0', '--mqtt-port', '0', '--mqtt-tls-port', '0', '--data', scratchDirectory(t), '--log-format', 'json'];
  const child = spawn('sh', ['-c', `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`, process.execPath, join(DIST, 'src', 'main.js'), ...args],
    { env: cleanEnvironment({ MILLRACE_ADMIN_PASSWORD: PASSWORD }), stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString(); });
  child.stderr.on('data', (chunk: Buffer) => { errors += chunk.toString(); });
  const ended = new Promise((resolve) => { child.on('close', resolve); });
  t.teardown(async () => {
    child.kill();
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(timer);
  });
  await until('the server has started', () => {
    if (child.exitCode !== null) throw new Error(errors);
    return output.includes('curl -u');
  }, START_MS);
  const [, http, mqtt] = /URL\s+http:\/\/[^:]+:(\d+)[\s\S]*MQTT port\s+(\d+)/.exec(output)!;
  const url = `http://127.0.0.1:${http}`;
  const rest = new Rest(url, `${TENANT}/admin`, PASSWORD);
  const object = await rest.createDevice('before');

  const sockets: Socket[] = [];
  t.teardown(() => { for (const socket of sockets) socket.destroy(); });
  let refusal = '';
  let refusedCount = 0;
  for (let count = 0; count < DESCRIPTORS + 100; count += 1) {
    const socket = createConnection(Number(http), '127.0.0.1');
    socket.on('error', () => undefined).on('close', () => { refusedCount += 1; }).on('data', (data) => { refusal += data.toString(); });
    sockets.push(socket);
  }
  await until('some are refused', () => refusedCount > 100);
  t.match(refusal, /^HTTP\/1.1 503 [^]*Connection: close[^]*http\/connections/);
  // An accept that fails for want of a descriptor is tried again at once, for ever.
  const used = readdirSync(`/proc/${child.pid!}/fd`).length;
  t.ok(used < DESCRIPTORS - 100, `${used} of ${DESCRIPTORS} descriptors are used`);
  const client = connect(`mqtt://127.0.0.1:${mqtt}`, { clientId: 'd:flooded', username: `${TENANT}/admin`, password: PASSWORD, reconnectPeriod: 0, connectTimeout: 10_000 });
  t.teardown(() => client.endAsync(true));
  await new Promise((resolve, reject) => { client.on('connect', resolve).on('error', reject); });
  await client.publishAsync('s/us', '100,flooded,c8y_Test', { qos: 1 });
  // One of them gives way, as it would when its time is over.
  sockets[0].destroy();
  const file = new FormData();
  file.append('object', JSON.stringify({ name: 'f.bin', type: 'application/octet-stream' }));
  file.append('file', new Blob([new Uint8Array(1000)]), 'f.bin');
  let status = 0;
  await until('an upload', async () => {
    const reply = await fetch(`${url}/inventory/binaries`, { method: 'POST', body: file, headers: { authorization: `Basic ${Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64')}` } })
      .catch(() => undefined);
    status = reply?.status ?? 0;
    return status === 201;
  });
  t.equal(status, 201);
  t.equal((await rest.get(`/inventory/managedObjects/${object}`)).status, 200);
  t.equal((await rest.get('/event/events?pageSize=5')).status, 200);
  t.match(errors, /http\/connections/, 'the log says it');
  t.notMatch(errors, /EMFILE/);
});
