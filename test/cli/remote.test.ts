/** Commands against stand-ins for a server, in this process: what they refuse. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createSocketServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { read } from '../../src/cli/command.ts';
import type { CommandEntry } from '../../src/cli/command.ts';
import { DEVICE_COMMANDS } from '../../src/cli/device.ts';
import { RemoteApi } from '../../src/cli/remote/client.ts';
import { REMOTE_SETTINGS } from '../../src/cli/remote/settings.ts';
import { USER_COMMANDS } from '../../src/cli/user.ts';
import { scratchDirectory } from '../helpers/until.ts';

type Answers = Readonly<Record<string, readonly [status: number, body: object]>>;

/** Answers these requests, and 404 to all else. */
async function startApi(t: Test, answers: Answers): Promise<{ url: string; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const name = `${request.method} ${request.url}`;
    requests.push(name);
    const [status, body] = answers[name] ?? [404, { message: 'not found' }];
    response.writeHead(status, { connection: 'close' }).end(JSON.stringify(body));
  });
  t.teardown(() => server.close());
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** Runs a command with a password. */
const run = (commands: readonly CommandEntry[], name: string, url: string, flags: object, word: string) =>
  (commands.find((command) => command.name === name) as CommandEntry).run({
    flags: { url, password: 'secret', ...flags },
    mistakes: [],
    words: [word],
  });

t.test('the token of the control socket goes to this machine and to the URLs of the server alone', async (t) => {
  const data = scratchDirectory(t);
  const control = createSocketServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () =>
      socket.end('{"ok":true,"url":"http://192.0.2.7:8080","baseUrl":"https://mill.example","token":"T"}\n'),
    );
  });
  t.teardown(() => control.close());
  await new Promise<void>((resolve) => {
    control.listen(join(data, 'control.sock'), resolve);
  });
  const connect = (url: string): Promise<RemoteApi> =>
    RemoteApi.connect(read(REMOTE_SETTINGS, { flags: { url, data }, mistakes: [], words: [] }));
  for (const url of [
    'http://localhost:1',
    'http://127.0.0.1:1',
    'http://[::1]:1',
    'https://192.0.2.7:8443',
    'https://mill.example',
  ])
    t.equal((await connect(url)).authorization, 'Bearer T', url);
  for (const url of ['http://192.0.2.8:8080', 'https://mill.example.org', 'http://localhost.example'])
    await t.rejects(connect(url), { message: /is not an address of the server on .*; give --password/ }, url);
});

t.test('device create leaves the password of a device alone', async (t) => {
  const { url, requests } = await startApi(t, { 'GET /user/t1/users/device_kiln-7': [200, {}] });
  await t.rejects(run(DEVICE_COMMANDS, 'device create', url, {}, 'kiln-7'), {
    message: /has the user t1\/device_kiln-7 already; millrace device password kiln-7 gives/,
  });
  t.equal(requests.length, 1);
});

t.test('user create shows the password also when a group is refused', async (t) => {
  const { url } = await startApi(t, {
    'GET /user/t1/groupByName/admins': [200, { id: 2 }],
    'POST /user/t1/users': [201, { self: 'ada' }],
    'POST /user/t1/groups/2/users': [403, { message: 'Access is denied' }],
  });
  const written = t.capture(process.stdout, 'write');
  const created = run(USER_COMMANDS, 'user create', url, { groups: 'admins', json: true }, 'ada');
  const error = await created.then(
    () => undefined,
    (reason: Error) => reason.message,
  );
  written.restore();
  t.match(error, /^the user ada is made and does not join admins: .* 403 Access is denied$/);
  t.match(JSON.parse(String(written.args()[0][0])), { user: 'ada', password: /^.{20}$/ });
});
