/** Remote access (docs/spec/remote-access.md): tunnels of clients and devices, over the nodes of a cluster too. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { WebSocket } from 'ws';
import { openTunnel } from '../../../src/cli/simulate/remote-access.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import type { Device } from '../../helpers/running/mqtt.ts';
import { PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import { COMMAND } from '../../helpers/setup-command.ts';
import { missing } from '../../helpers/tools.ts';
import { scratchDirectory, until } from '../../helpers/until.ts';

const server = await startServer(t);
const { rest } = server;
const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${TENANT}/${user}:${password}`).toString('base64')}`;
const ADMIN = basic('admin', PASSWORD);
const configurations = (id: string): string => `/service/remoteaccess/devices/${id}/configurations`;

interface Opened {
  readonly socket: WebSocket;
  readonly closed: Promise<{ code: number; reason: string }>;
  text: string;
}

/** @throws Error `<status> <text>` when the server refuses. */
async function open(path: string, authorization?: string, protocols = ['binary']): Promise<Opened> {
  const socket = new WebSocket(server.url.replace(/^http/, 'ws') + path, protocols, {
    ...(authorization === undefined ? {} : { headers: { authorization } }),
  });
  const opened: Opened = {
    socket,
    text: '',
    closed: new Promise((resolve) => {
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    }),
  };
  socket.on('message', (data) => {
    opened.text += String(data);
  });
  await new Promise<void>((resolve, reject) => {
    socket.on('open', resolve).on('error', reject);
    socket.on('unexpected-response', async (_request, response: IncomingMessage) => {
      let text = '';
      for await (const chunk of response) text += String(chunk);
      socket.terminate();
      reject(new Error(`${response.statusCode} ${text}`));
    });
  });
  t.teardown(() => socket.terminate());
  return opened;
}

/** A device that gets its operations as rows, and where its tunnels lead to. */
async function remoteDevice(serial: string, port: number): Promise<{ device: Device; id: string; path: string }> {
  const device = await connectDevice(t, server, serial);
  await device.subscribe('s/ds');
  await device.publish('s/us', `100,Device ${serial},my_Type`);
  const id = (await rest.idOf(serial)) as string;
  const made = await rest.create(configurations(id), { name: 'Shell', hostname: '127.0.0.1', port, protocol: 'SSH' });
  return { device, id, path: `/service/remoteaccess/client/${id}/configurations/${made.id}` };
}

/** The key of the newest operation that the device got. @param count of operations so far. */
async function keyOf(device: Device, count: number): Promise<string> {
  await eventually('the device is told', () => device.rows('s/ds').length >= count);
  return device.rows('s/ds')[count - 1].split(',').at(-1) as string;
}
const devicePath = (key: string): string => `/service/remoteaccess/device/${key}`;
const operationsOf = async (id: string): Promise<any[]> =>
  (await rest.read(`/devicecontrol/operations?deviceId=${id}&pageSize=100`)).operations;

t.test('client and device are joined by a key that is used once', async (t) => {
  const { device, id, path } = await remoteDevice('tunnel-1', 22);
  const client = await open(path, ADMIN);
  t.equal(client.socket.protocol, 'binary');
  client.socket.send('before');
  const key = await keyOf(device, 1);
  t.equal(device.rows('s/ds')[0], `530,tunnel-1,127.0.0.1,22,${key}`);
  const other = await open(devicePath(key), ADMIN);
  await until('what was sent before arrives', () => other.text === 'before');
  other.socket.send('hello');
  client.socket.send(' and after');
  await until('both ways', () => other.text === 'before and after' && client.text === 'hello');
  await t.rejects(open(devicePath(key), ADMIN), { message: /^404 .*was used before/ }, 'the key is used');
  // Bytes that the device has sent before it closes arrive.
  const large = randomBytes(3_000_000);
  const digest = createHash('sha256').update(large).digest('hex');
  const received: Buffer[] = [];
  client.socket.on('message', (data: Buffer) => received.push(data));
  for (let at = 0; at < large.length; at += 200_000) other.socket.send(large.subarray(at, at + 200_000));
  other.socket.close(1000);
  t.match(await client.closed, { code: 1000, reason: /the device has closed/ });
  t.equal(createHash('sha256').update(Buffer.concat(received)).digest('hex'), digest);
  const [operation] = await operationsOf(id);
  t.match(
    operation,
    { status: 'PENDING', c8y_RemoteAccessConnect: { hostname: '127.0.0.1', port: 22 } },
    'the device says how it is',
  );
  await eventually('the audit log tells of it', async () => {
    const { auditRecords } = await rest.read(`/audit/auditRecords?source=${id}&pageSize=100`);
    const told = auditRecords.map(({ activity }: any) => activity);
    return told.includes('Remote access began') && told.includes('Remote access ended');
  });
});

t.test('who may not', async (t) => {
  const { device, id, path } = await remoteDevice('tunnel-2', 22);
  await rest.create(`/user/${TENANT}/users`, { userName: 'reader', password: 'Reader-pass-1', email: 'r@example.com' });
  const reader = basic('reader', 'Reader-pass-1');
  await t.rejects(open(path), { message: /^401/ }, 'without credentials');
  await t.rejects(open(path, basic('admin', 'wrong')), { message: /^401/ });
  await t.rejects(open(path, reader), { message: /^403/ }, 'without the role');
  await t.rejects(open(`${path}9`, ADMIN), { message: /^404 .*configuration/ });
  await t.rejects(open(path.replace(`/${id}/`, '/999999/'), ADMIN), { message: /^404 .*managedObject/ });
  await t.rejects(open('/service/remoteaccess/client/x', ADMIN), { message: /^404/ });
  await t.rejects(open(devicePath('unknown'), ADMIN), { message: /^404 .*unknown/ });
  await t.rejects(open(devicePath('%zz'), ADMIN), { message: /^404/ });
  const client = await open(path, ADMIN);
  const key = await keyOf(device, 1);
  await t.rejects(open(devicePath(key)), { message: /^401/ });
  await t.rejects(open(devicePath(key), reader), { message: /^403/ }, 'neither the owner nor the device');
  // Refused ones have not used it. A page has its credentials in the query.
  const other = await open(devicePath(key), ADMIN, []);
  t.equal(other.socket.protocol, '');
  client.socket.close();
  await other.closed;
  const { auditRecords } = await rest.read(`/audit/auditRecords?source=${id}&pageSize=100`);
  t.notMatch(JSON.stringify(auditRecords), key, 'keys are not told');
  const token = ADMIN.slice('Basic '.length);
  const byQuery = await open(`${path}?token=${encodeURIComponent(token)}`);
  const jwt = await rest.request('POST', '/tenant/oauth?tenant_id=t1', {
    body: `grant_type=PASSWORD&username=admin&password=${encodeURIComponent(PASSWORD)}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  const cookie = jwt.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');
  const xsrf = /XSRF-TOKEN=([^;]+)/.exec(cookie)?.[1] ?? '';
  const withCookie = (query: string): Promise<number> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`${server.url.replace(/^http/, 'ws')}${path}${query}`, ['binary'], {
        headers: { cookie },
      });
      socket.on('open', () => {
        socket.terminate();
        resolve(101);
      });
      socket.on('unexpected-response', (_request, response) => {
        socket.terminate();
        resolve(response.statusCode ?? 0);
      });
      socket.on('error', () => undefined);
    });
  t.equal(await withCookie(''), 401, 'a cookie alone may be of a foreign page');
  t.equal(await withCookie(`?XSRF-TOKEN=${encodeURIComponent(xsrf)}`), 101);
  byQuery.socket.close();
});

t.test('a device that says it cannot, and a client that leaves', async (t) => {
  const { device, id, path } = await remoteDevice('tunnel-3', 22);
  const client = await open(path, ADMIN);
  await keyOf(device, 1);
  await device.publish('s/us', '502,c8y_RemoteAccessConnect,nothing listens there');
  // The row fails the oldest one that is EXECUTING.
  await device.publish('s/us', '501,c8y_RemoteAccessConnect');
  await device.publish('s/us', '502,c8y_RemoteAccessConnect,nothing listens there');
  t.match(await client.closed, { code: 1011, reason: /nothing listens there/ });
  const leaving = await open(path, ADMIN);
  const key = await keyOf(device, 2);
  leaving.socket.close();
  await eventually('its operation fails', async () =>
    (await operationsOf(id)).every(({ status }) => status === 'FAILED'),
  );
  t.match((await operationsOf(id))[1].failureReason, /the client has closed/);
  await t.rejects(open(devicePath(key), ADMIN), { message: /^404/ });
});

t.test('an operation that was posted with a key of its own', async (t) => {
  const { id, path } = await remoteDevice('tunnel-4', 22);
  for (const [key, isDeviceFirst] of [
    ['my-key-1', true],
    ['my-key-2', false],
  ] as const) {
    await rest.create('/devicecontrol/operations', {
      deviceId: id,
      c8y_RemoteAccessConnect: { hostname: '127.0.0.1', port: 22, connectionKey: key },
    });
    const ends = [() => open(`${path}?connectionKey=${key}`, ADMIN), () => open(devicePath(key), ADMIN)];
    if (isDeviceFirst) ends.reverse();
    const first = await ends[0]();
    const second = await ends[1]();
    first.socket.send('one');
    second.socket.send('two');
    await until('both are joined', () => first.text === 'two' && second.text === 'one');
    first.socket.close();
    await second.closed;
    await t.rejects(open(devicePath(key), ADMIN), { message: /^404/ }, 'it is used once, too');
  }
  t.equal((await operationsOf(id)).length, 2, 'no further operation is created');
});

t.test('rights that end have tunnels end', async (t) => {
  const { device, path } = await remoteDevice('tunnel-5', 22);
  await rest.create(`/user/${TENANT}/users`, { userName: 'operator', password: 'Oper-pass-1', email: 'o@example.com' });
  await rest.create(`/user/${TENANT}/users/operator/roles`, { role: { id: 'ROLE_REMOTE_ACCESS_ADMIN' } });
  const operator = basic('operator', 'Oper-pass-1');
  const client = await eventually('the role counts', () => open(path, operator).catch(() => undefined));
  const other = await open(devicePath(await keyOf(device, 1)), ADMIN);
  await rest.delete(`/user/${TENANT}/users/operator/roles/ROLE_REMOTE_ACCESS_ADMIN`);
  t.equal((await client.closed).code, 1008);
  await other.closed;
});

t.test('an end that does not read has the other end wait', async (t) => {
  const target = createServer((socket: Socket) => {
    socket.on('data', () => socket.write(Buffer.alloc(1_500_000, 'x')));
  }).listen(0, '127.0.0.1');
  await once(target, 'listening');
  t.teardown(() => target.close());
  const { port } = target.address() as AddressInfo;
  const { device, path } = await remoteDevice('tunnel-6', port);
  const client = await open(path, ADMIN);
  const order = { hostname: '127.0.0.1', port, connectionKey: await keyOf(device, 1) };
  const tunnel = await openTunnel({ url: server.url, authorization: ADMIN }, order);
  let received = 0;
  client.socket.on('message', (data: Buffer) => {
    received += data.length;
  });
  for (let round = 1; round <= 3; round += 1) {
    client.socket.pause();
    client.socket.send('go');
    await new Promise((resolve) => setImmediate(resolve));
    client.socket.resume();
    await until('everything comes', () => received === round * 1_500_000);
  }
  client.socket.close();
  t.match(await tunnel.ended, { code: 1000 });
});

/** sshd wants to be called by its whole path. */
const SSHD = '/usr/sbin/sshd';
t.test('a real SSH session', { skip: missing('ssh', 'ssh-keygen', SSHD) }, async (t) => {
  const folder = scratchDirectory(t);
  const file = (name: string): string => join(folder, name);
  for (const name of ['host-key', 'user-key'])
    spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file(name)], { stdio: 'ignore' });
  writeFileSync(file('authorized'), readFileSync(file('user-key.pub')));
  chmodSync(file('authorized'), 0o600);
  // For a server that is started by root; no other process minds an empty folder.
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true });
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  const settings = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${file('host-key')}`,
    `AuthorizedKeysFile ${file('authorized')}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin yes',
    'PasswordAuthentication no',
  ];
  writeFileSync(file('config'), `${settings.join('\n')}\n`);
  const sshd = spawn(SSHD, ['-D', '-e', '-f', file('config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  t.teardown(() => sshd.kill());
  let log = '';
  sshd.stderr.on('data', (data) => {
    log += String(data);
  });
  await until('sshd listens', () => log.includes('listening') || sshd.exitCode !== null);
  const { device } = await remoteDevice('tunnel-ssh', port);
  const served = keyOf(device, 1).then((connectionKey) =>
    openTunnel({ url: server.url, authorization: ADMIN }, { hostname: '127.0.0.1', port, connectionKey }),
  );
  const proxy = `${process.execPath} ${COMMAND} connect tunnel-ssh --port ${port} --url ${server.url}`;
  const ssh = spawn(
    'ssh',
    [
      ...['-F', 'none', '-i', file('user-key'), '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=no'],
      ...['-o', `UserKnownHostsFile=${file('known')}`, '-o', `ProxyCommand=${proxy}`],
      `${userInfo().username}@tunnel-ssh`,
      'wc -c; head -c 5000000 /dev/zero | sha256sum',
    ],
    { env: { ...process.env, MILLRACE_ADMIN_PASSWORD: PASSWORD }, stdio: ['pipe', 'pipe', 'pipe'] },
  );
  let output = '';
  let errors = '';
  ssh.stdout.on('data', (data) => {
    output += String(data);
  });
  ssh.stderr.on('data', (data) => {
    errors += String(data);
  });
  ssh.stdin.on('error', () => undefined);
  ssh.stdin.end(Buffer.alloc(5_000_000));
  const [code] = await once(ssh, 'close');
  const zeros = createHash('sha256').update(Buffer.alloc(5_000_000)).digest('hex');
  t.equal(code, 0, errors + log);
  t.equal(output, `5000000\n${zeros}  -\n`, 'five megabytes each way');
  await (await served).ended;
});
