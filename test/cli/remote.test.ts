/** Commands against stand-ins for a server, in this process: what they refuse. */
import { createServer as createSocketServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { read } from '../../src/cli/command.ts';
import { RemoteApi } from '../../src/cli/remote/client.ts';
import { REMOTE_SETTINGS } from '../../src/cli/remote/settings.ts';
import { scratchDirectory } from '../helpers/until.ts';

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
