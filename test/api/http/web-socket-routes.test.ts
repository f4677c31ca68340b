/** WebSocket routes with any rest of a path, those that decide before they open, and reading that stops. */
import { once } from 'node:events';
import t from 'tap';
import type { Test } from 'tap';
import WebSocket from 'ws';
import { BodyBudget } from '../../../src/api/http/body-budget.ts';
import { HttpServer } from '../../../src/api/http/server.ts';
import type {
  Admitted,
  UpgradeRefusal,
  WebSocketChannel,
  WebSocketHandlers,
} from '../../../src/api/http/web-socket.ts';
import { until } from '../../helpers/until.ts';
import type { HttpLibrary } from '../../../src/api/http/library.ts';
import type { Log } from '../../../src/ports/log.ts';
import { ENGINES } from '../helpers/engines.ts';

const silent = (): void => undefined;
const LOG: Log = {
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  child: () => LOG,
  isLevelEnabled: () => false,
};

async function serve(
  t: Test,
  library: HttpLibrary,
  handlers: Partial<WebSocketHandlers>,
): Promise<{ url: string; opened: WebSocketChannel[] }> {
  const opened: WebSocketChannel[] = [];
  const server = new HttpServer({
    library,
    log: LOG,
    bodies: new BodyBudget({ largestBytes: 1 }),
    onRequest: (exchange) => exchange.respond(404, [], 'none'),
    onFailure: () => undefined,
  });
  server.webSocket('/a/*', { open: (channel) => void opened.push(channel), message: () => undefined, ...handlers });
  const port = await server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close(0));
  return { url: `ws://127.0.0.1:${port}`, opened };
}

/** @returns the status and text that a client is refused with. */
async function refusalOf(url: string): Promise<[number, string]> {
  const socket = new WebSocket(url);
  const [, response] = await once(socket, 'unexpected-response');
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return [response.statusCode, text];
}

for (const [engine, library] of ENGINES) {
  t.test(`${engine}: any rest of the path`, async (t) => {
    const { url, opened } = await serve(t, library, { protocols: ['binary'] });
    const socket = new WebSocket(`${url}/a/b%20c/d?e=f`, ['binary']);
    await once(socket, 'open');
    t.equal(socket.protocol, 'binary');
    t.equal(opened[0].head.path, '/a/b%20c/d');
    t.strictSame(await refusalOf(`${url}/b/c`), [404, 'none'], 'other paths are not meant');
    const closed = once(socket, 'close');
    opened[0].end(1011, `${'ä'.repeat(60)}x😀`);
    const [code, reason] = await closed;
    t.strictSame([code, String(reason)], [1011, `${'ä'.repeat(60)}x`], 'whole characters in 123 bytes');
  });

  t.test(`${engine}: it is decided later whether a request becomes a WebSocket`, async (t) => {
    const decisions: ((refusal: UpgradeRefusal | undefined) => void)[] = [];
    const clients: Admitted[] = [];
    let leftCount = 0;
    const { url, opened } = await serve(t, library, {
      admit: (client) => {
        clients.push(client);
        if (client.head.path.endsWith('/throw')) throw new Error('admit');
        // As one for the login and one for what waits.
        for (let registered = 0; registered < 2; registered += 1)
          client.onLeft(() => {
            leftCount += 1;
          });
        return new Promise((resolve) => {
          decisions.push(resolve);
        });
      },
    });
    const refused = refusalOf(`${url}/a/1`);
    await until('the server has seen it', () => decisions.length === 1);
    decisions[0]({ status: 403, text: '{"error":"no"}', headers: ['Retry-After', '3'] });
    t.strictSame(await refused, [403, '{"error":"no"}']);
    const socket = new WebSocket(`${url}/a/2`);
    await until('the server has seen it', () => decisions.length === 2);
    t.equal(opened.length, 0);
    decisions[1](undefined);
    await once(socket, 'open');
    t.equal(opened[0].head, clients[1].head, 'what was found out is kept by the head');
    socket.terminate();
    t.equal((await refusalOf(`${url}/a/throw`))[0], 500);
    if (engine === 'node') return;
    const leaving = new WebSocket(`${url}/a/3`);
    leaving.on('error', () => undefined);
    await until('the server has seen it', () => decisions.length === 3);
    leaving.terminate();
    await until('the server has seen it', () => leftCount === 2);
    decisions[2](undefined);
    t.equal(opened.length, 1, 'a client that has left does not open one');
  });

  t.test(`${engine}: reading that stops`, async (t) => {
    let receivedBytes = 0;
    const { url, opened } = await serve(t, library, {
      message: (_channel, data) => {
        receivedBytes += data.length;
      },
    });
    const socket = new WebSocket(`${url}/a/1`);
    await once(socket, 'open');
    const isPaused = opened[0].pause();
    t.equal(isPaused, engine === 'node', 'uWebSockets.js cannot');
    const piece = Buffer.alloc(60_000);
    for (let count = 0; count < 400; count += 1) socket.send(piece);
    if (isPaused) {
      await until('the server has seen it', () => socket.bufferedAmount > 1_000_000);
      t.ok(receivedBytes < 2_000_000, `${receivedBytes} bytes were read`);
      opened[0].resume();
    }
    await until('the server has seen it', () => receivedBytes === 400 * piece.length);
    socket.terminate();
  });
}
