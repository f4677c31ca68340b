/** `millrace tail` against stand-ins for a server, in this process: what ends it, and how it comes back. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { read } from '../../src/cli/command.ts';
import { follow, Refused } from '../../src/cli/tail/bayeux.ts';
import { TAIL_SETTINGS } from '../../src/cli/tail/settings.ts';
import { tail } from '../../src/cli/tail/tail.ts';

t.test('tail says at once that a password is wrong', async (t) => {
  const server = createServer((_request, response) => {
    response.writeHead(401, { connection: 'close' }).end('{"message":"Bad credentials"}');
  });
  t.teardown(() => server.close());
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = read(TAIL_SETTINGS, { flags: { url, password: 'wrong' }, mistakes: [], words: [] });
  await t.rejects(tail(options), { message: 'GET /user/currentUser: 401 Bad credentials' });
});

/** A Bayeux server whose answers the test gives. @returns its URL. */
async function startBayeux(t: Test, onSocket: (socket: WebSocket) => void): Promise<string> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.teardown(() => server.close());
  server.on('connection', onSocket);
  await new Promise((resolve) => {
    server.once('listening', resolve);
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('a session that the server has forgotten is followed by another, which is connected', async (t) => {
  const sent: string[] = [];
  const url = await startBayeux(t, (socket) =>
    socket.on('message', (text) => {
      for (const { channel, clientId } of JSON.parse(String(text)) as { channel: string; clientId?: string }[]) {
        sent.push(`${channel} ${clientId ?? '-'}`);
        const isForgotten = channel === '/meta/connect' && clientId === 'first';
        const given = sent.length === 1 ? 'first' : 'second';
        socket.send(
          JSON.stringify([
            { channel, successful: !isForgotten, ...(channel === '/meta/handshake' ? { clientId: given } : {}) },
            ...(channel === '/meta/connect' && !isForgotten ? [{ channel: '/events/*', data: 1 }] : []),
          ]),
        );
      }
    }),
  );
  const ending = new AbortController();
  await follow(
    {
      url,
      channels: ['/events/*'],
      authorization: async () => 'Basic eA==',
      onData: () => {
        ending.abort();
        return undefined;
      },
      onState: () => undefined,
    },
    ending.signal,
  );
  t.same(sent.slice(0, 6), [
    '/meta/handshake -',
    '/meta/subscribe first',
    '/meta/connect first',
    '/meta/handshake -',
    '/meta/subscribe second',
    '/meta/connect second',
  ]);
});

t.test('a connection that is refused for its credentials is not tried again', async (t) => {
  const url = await startBayeux(t, (socket) => socket.close(1008, 'Invalid credentials'));
  await t.rejects(
    follow(
      {
        url,
        channels: ['/events/*'],
        authorization: async () => 'Basic eA==',
        onData: () => undefined,
        onState: () => undefined,
      },
      new AbortController().signal,
    ),
    new Refused('the server refuses the connection: Invalid credentials'),
  );
});
