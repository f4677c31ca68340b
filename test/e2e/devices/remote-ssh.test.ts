/** SSH sessions of pages (docs/spec/remote-access.md#ssh): the server logs in over the device's tunnel. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { WebSocket } from 'ws';
import { openTunnel } from '../../../src/cli/simulate/remote-access.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { PASSWORD, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import { FLOOD_BYTES, SSH_PASSWORD, SSH_USER_KEY, newHostKey, startSshd } from '../../helpers/running/sshd.ts';
import { until } from '../../helpers/until.ts';

const server = await startServer(t);
const { rest } = server;
const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${TENANT}/${user}:${password}`).toString('base64')}`;
const ADMIN = basic('admin', PASSWORD);
const hostKeys = [newHostKey(), newHostKey()];

interface Page {
  readonly socket: WebSocket;
  readonly closed: Promise<string>;
  text: string;
}

/** @throws Error `<status> <text>` when the server refuses. */
async function open(path: string, authorization = ADMIN): Promise<Page> {
  const socket = new WebSocket(server.url.replace(/^http/, 'ws') + path, ['binary'], { headers: { authorization } });
  t.teardown(() => socket.terminate());
  const closed = new Promise<string>((resolve) => {
    socket.on('close', (code, reason) => resolve(`${code} ${reason.toString()}`));
  });
  const page: Page = { socket, closed, text: '' };
  socket.on('message', (data) => {
    page.text += String(data);
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
  return page;
}

/** A device with an agent that serves every order for a tunnel. */
const agent = await connectDevice(t, server, 'ssh-device');
await agent.subscribe('s/ds');
await agent.publish('s/us', '100,SSH device,my_Type');
const device = (await rest.idOf('ssh-device')) as string;
const configurations = `/service/remoteaccess/devices/${device}/configurations`;
let served = 0;
const serving = setInterval(() => {
  for (const row of agent.rows('s/ds').slice(served)) {
    served += 1;
    const [, , hostname, port, connectionKey] = row.split(',');
    // A session may have ended before the device comes.
    openTunnel({ url: server.url, authorization: ADMIN }, { hostname, port: Number(port), connectionKey }).catch(
      (error: Error) => t.match(error.message, 'status 404'),
    );
  }
}, 20);
t.teardown(() => clearInterval(serving));

async function configured(port: number, credentials?: object, protocol = 'SSH'): Promise<{ id: string; path: string }> {
  const { id } = await rest.create(configurations, {
    name: 'Shell',
    hostname: '127.0.0.1',
    port,
    protocol,
    credentials,
  });
  return { id, path: `/service/remoteaccess/ssh/${device}/configurations/${id}` };
}
const port = await startSshd(t, hostKeys[0]);
const withPassword = { type: 'USER_PASS', username: 'root', password: SSH_PASSWORD };

t.test('a shell by password: sizes, keys, the end, and the host key that is kept', async (t) => {
  const { id, path } = await configured(port, withPassword);
  const page = await open(path);
  page.socket.send(JSON.stringify({ cols: 100, rows: 30 }));
  await until('the shell is there', () => page.text.includes('xterm-256color 100x30'));
  t.match(page.text, 'Welcome\r\n');
  page.socket.send(JSON.stringify({ cols: 120, rows: 40 }));
  page.socket.send(Buffer.from('päge\r'));
  await until('the shell answers', () => page.text.includes('now 120x40') && page.text.includes('päge\r'));
  // More than the buffers below it take: the session waits for the page.
  page.socket.pause();
  page.socket.send(Buffer.from('flood'));
  await pause(300);
  page.socket.resume();
  await until('much comes whole', () => page.text.length > FLOOD_BYTES);
  page.socket.send(Buffer.from('\x04'));
  t.equal(await page.closed, '1000 the shell has ended');
  const { credentials } = await rest.read(`${configurations}/${id}`);
  t.strictSame(credentials, { type: 'USER_PASS', username: 'root', hostKey: hostKeys[0].fingerprint });
  const { auditRecords } = await rest.read(`/audit/auditRecords?source=${device}&pageSize=100`);
  t.match(JSON.stringify(auditRecords), 'Remote access began');
  t.notMatch(JSON.stringify(auditRecords), SSH_PASSWORD);
});

t.test('a shell by private key', async (t) => {
  const { path } = await configured(port, { type: 'KEY_PAIR', username: 'root', privateKey: SSH_USER_KEY.private });
  const page = await open(path);
  await until('the shell is there', () => page.text.includes('xterm-256color 80x24'));
  page.socket.close();
  const bad = await configured(port, { type: 'KEY_PAIR', username: 'root', privateKey: 'nonsense' });
  t.match(await (await open(bad.path)).closed, /^1011 SSH: the private key of the configuration: /);
});

t.test('what the configuration does not know is asked for in the terminal', async (t) => {
  const { path } = await configured(port, { type: 'NONE' });
  const page = await open(path);
  await until('the name is asked for', () => page.text.includes('login as: '));
  page.socket.send(Buffer.from('ro\x1b'));
  page.socket.send(Buffer.from('ott\x7f\r'));
  await until('the password is asked for', () => page.text.includes("root's password: "));
  page.socket.send(Buffer.from(`${SSH_PASSWORD}\r`));
  await until('the shell is there', () => page.text.includes('xterm-256color'));
  t.notMatch(page.text, SSH_PASSWORD, 'passwords are not shown');
  page.socket.close();
  const ann = await open((await configured(port, { username: 'ann' })).path);
  await until('the code is asked for', () => ann.text.includes('One more\r\nCode: '));
  ann.socket.send(Buffer.from('42\r'));
  await until('the shell is there', () => ann.text.includes('xterm-256color'));
  ann.socket.close();
  const leaving = await open(path);
  await until('the name is asked for', () => leaving.text.includes('login as: '));
  leaving.socket.send(Buffer.from('\x03'));
  t.equal(await leaving.closed, '1011 SSH: the login was cancelled');
});

t.test('what is refused', async (t) => {
  const { path } = await configured(port, { ...withPassword, password: 'wrong' });
  t.equal(await (await open(path)).closed, '1011 SSH: the device refused the login of root');
  const { privateKey: large } = generateKeyPairSync('rsa', {
    modulusLength: 4_104,
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const dear = await configured(port, { type: 'KEY_PAIR', username: 'root', privateKey: large });
  t.equal(await (await open(dear.path)).closed, '1011 SSH: the private key has 4104 bits, more than 4096');
  const changed = await configured(port, { ...withPassword, hostKey: hostKeys[1].fingerprint });
  t.equal(
    await (await open(changed.path)).closed,
    `1008 host key ${hostKeys[0].fingerprint}, known is ${hostKeys[1].fingerprint}`,
  );
  const { password } = withPassword;
  await rest.put(`${configurations}/${changed.id}`, { credentials: { hostKey: hostKeys[0].public, password } });
  const known = await open(changed.path);
  await until('a whole public key is known too', () => known.text.includes('xterm-256color'));
  known.socket.send('{"cols":0}');
  t.match(await known.closed, /^1008 a text message is/);
  await rest.put(`${configurations}/${changed.id}`, { port: await startSshd(t, hostKeys[1]) });
  t.match(await (await open(changed.path)).closed, /^1008 host key/, 'another host');
  const telnet = await configured(port, undefined, 'TELNET');
  await t.rejects(open(telnet.path), { message: /^422 .*TELNET/ });
  await rest.create(`/user/${TENANT}/users`, { userName: 'reader', password: 'Reader-pass-1', email: 'r@example.com' });
  await t.rejects(open(path, basic('reader', 'Reader-pass-1')), { message: /^403/ });
  await t.rejects(open(path, basic('reader', 'wrong')), { message: /^401/ });
  await t.rejects(open(`${path}9`), { message: /^404/ });
});

t.test('a neighbour finds none of it', async (t) => {
  const { id, path } = await configured(port, withPassword);
  const login = { adminName: 'eve', adminPass: 'Neighbour-1', adminEmail: 'eve@example.com' };
  const { id: tenant } = await server.management.create('/tenant/tenants', {
    company: 'Neighbour',
    domain: 'neighbour',
    ...login,
  });
  const eve = `Basic ${Buffer.from(`${tenant}/eve:Neighbour-1`).toString('base64')}`;
  await t.rejects(open(path, eve), { message: /^404 .*managedObject/ });
  const own = new Rest(server.url, `${tenant}/eve`, 'Neighbour-1');
  await t.rejects(open(`/service/remoteaccess/ssh/${await own.createDevice('Own')}/configurations/${id}`, eve), {
    message: /^404 /,
  });
});

t.test('a host that does not speak SSH', async (t) => {
  for (const bytes of [randomBytes(100_000), Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), Buffer.from('SSH-2.0-x\r\n')]) {
    const host = createServer((socket) => socket.on('error', () => socket.destroy()).end(bytes)).listen(0, '127.0.0.1');
    t.teardown(() => host.close());
    await once(host, 'listening');
    const { path } = await configured((host.address() as AddressInfo).port, withPassword);
    t.match(await (await open(path)).closed, /^10(?:00|11) ./);
  }
});

t.test('rights that end have the session end', async (t) => {
  const { path } = await configured(port, withPassword);
  await rest.create(`/user/${TENANT}/users`, { userName: 'operator', password: 'Oper-pass-1', email: 'o@example.com' });
  await rest.create(`/user/${TENANT}/users/operator/roles`, { role: { id: 'ROLE_REMOTE_ACCESS_ADMIN' } });
  const page = await eventually('the role counts', () =>
    open(path, basic('operator', 'Oper-pass-1')).catch(() => undefined),
  );
  await until('the shell is there', () => page.text.includes('xterm-256color'));
  await rest.delete(`/user/${TENANT}/users/operator/roles/ROLE_REMOTE_ACCESS_ADMIN`);
  t.match(await page.closed, /^1008 the rights have changed/);
});
