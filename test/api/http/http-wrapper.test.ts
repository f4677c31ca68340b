import { Agent, request as httpRequest } from 'node:http';
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import WebSocket from 'ws';
import type { HttpExchange } from '../../../src/api/http/exchange.ts';
import type { ApiRequest } from '../../../src/api/request/request.ts';
import { BodyBudget } from '../../../src/api/http/body-budget.ts';
import { HttpServer } from '../../../src/api/http/server.ts';
import { ANSWERED, type Answer } from '../../../src/api/request/answer.ts';
import type { Route } from '../../../src/api/request/route.ts';
import type { HttpLibrary } from '../../../src/api/http/library.ts';
import type { WebSocketChannel } from '../../../src/api/http/web-socket.ts';
import type { Log } from '../../../src/ports/log.ts';
import { FakePlatform } from '../helpers/fake-platform.ts';
import { ADMIN, startApi as startApiOn } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';
import { ENGINES } from '../helpers/engines.ts';

const route = (
  path: string,
  handle: (request: ApiRequest) => Answer | typeof ANSWERED | Promise<Answer | typeof ANSWERED>,
  more: Partial<Route> = {},
): Route => ({ method: 'GET', path, area: 'test', access: 'public', summary: '', answers: [], handle, ...more });
const echo = route(
  '/echo',
  (request) => ({
    status: 200,
    contentType: 'text/plain',
    text: `${request.body.length}:${request.bodyText().slice(0, 10)}`,
  }),
  { method: 'POST', body: { form: 'bytes', mediaTypes: [] } },
);

/** Writes raw text and collects what comes until `done` or the end. */
function raw(
  port: number,
  write: (socket: Socket) => void | Promise<void>,
  done: (text: string) => boolean,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1', () => void write(socket));
    let text = '';
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (done(text)) socket.destroy();
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}
/** The engine of the test that runs. */
let library: HttpLibrary;
/** Every test runs on both engines, one after the other. */
function test(name: string, run: (t: Test, engine: string) => Promise<void>): void {
  for (const [engine, its] of ENGINES) {
    t.test(`${engine}: ${name}`, (t) => {
      library = its;
      return run(t, engine);
    });
  }
}
const startApi = (t: Test, options: Parameters<typeof startApiOn>[1] = {}): Promise<Api> =>
  startApiOn(t, { library, ...options });
const answers = (text: string): number => text.split('HTTP/1.1 ').length - 1;
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

test('no answer names the software, and HTTP/1.0 is served or told the remedy', async (t, engine) => {
  const api = await startApi(t, { further: [echo] });
  const answer = (text: string): Promise<string> =>
    raw(
      api.port,
      (socket) => void socket.write(text),
      () => false,
    );
  const [old, end] = await Promise.all([
    answer('GET /health HTTP/1.0\r\nHost: h\r\n\r\n'),
    answer('GET /health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'),
  ]);
  const wrong = await answer('GET /health HTTP/1.1\r\n\r\n');
  const large = await answer(`GET /health HTTP/1.1\r\nHost: h\r\n${'X-A: b\r\n'.repeat(150)}\r\n`);
  t.match([end, wrong, large], [/^HTTP\/1.1 200 /, /^HTTP\/1.1 400 /, /^HTTP\/1.1 431 /]);
  if (engine === 'node') t.match(old, /^HTTP\/1.1 200 OK\r\n[^]*Connection: close\r\n/);
  else {
    t.match(old, /^HTTP\/1.1 505 [^]*\r\nContent-Type: application\/json\r\n\r\n/);
    t.match(JSON.parse(old.slice(old.indexOf('\r\n\r\n'))), {
      message: /HTTP\/1.1.*proxy_http_version 1.1;.*--http-engine node/,
    });
  }
  for (const text of [old, end, wrong, large]) t.notMatch(text, /uwebsockets|\r\nserver:/i);
});

test('both families of addresses on one listener; an IPv4 address is written as one', async (t) => {
  const seen: string[] = [];
  const server = new HttpServer({
    library,
    log: new FakePlatform().platform().log,
    bodies: new BodyBudget({ largestBytes: 1 }),
    onRequest: (exchange) => {
      seen.push(exchange.remoteAddress);
      exchange.respond(204, [], '');
    },
    onFailure: (_exchange, error) => t.fail(String(error)),
  });
  t.teardown(() => server.close(0));
  const port = await server.listen({ host: '::', port: 0 });
  for (const host of ['127.0.0.1', '[::1]']) t.equal((await fetch(`http://${host}:${port}/`)).status, 204);
  t.same(seen, ['127.0.0.1', '::1']);
});

test('bodies: in one piece, in many, chunked, slow', async (t) => {
  const api = await startApi(t, { further: [echo], config: { trustsProxy: false } });
  const large = 'x'.repeat(19_000);
  t.equal((await api.call('POST', '/echo', { body: large, headers: { accept: '*/*' } })).text, '19000:xxxxxxxxxx');
  const accept = 'Host: h\r\nAccept: */*';
  const slow = await raw(
    api.port,
    async (socket) => {
      socket.write(`POST /echo HTTP/1.1\r\n${accept}\r\nContent-Length: 6\r\n\r\n`);
      for (const byte of 'abcdef') {
        await pause(5);
        socket.write(byte);
      }
    },
    (text) => text.includes('6:abcdef'),
  );
  t.match(slow, /^HTTP\/1.1 200 OK/);
  const chunked = await raw(
    api.port,
    async (socket) => {
      socket.write(`POST /echo HTTP/1.1\r\n${accept}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`);
      await pause(20);
      socket.write('2\r\nde\r\n0\r\n\r\n');
    },
    (text) => text.includes('5:abcde'),
  );
  t.match(chunked, /^HTTP\/1.1 200 OK/);
  t.equal((await api.call('POST', '/echo', { headers: { accept: '*/*' } })).text, '0:', 'without body');
  const inTwoReads = (head: string): Promise<string> =>
    raw(
      api.port,
      async (socket) => {
        socket.setNoDelay(true);
        socket.write(head.slice(0, -20));
        await pause(50);
        socket.write(head.slice(-20));
      },
      (text) => text.includes('\r\n\r\n'),
    );
  for (const length of ['', 'Content-Length: 0\r\n']) {
    t.match(
      await inTwoReads(`POST /echo HTTP/1.1\r\n${accept}\r\n${length}X-Long: ${'x'.repeat(12_000)}\r\n\r\n`),
      /^HTTP\/1.1 200 OK/,
      `a long head in two reads ${length}`,
    );
  }
  t.match(
    await inTwoReads(`POST /echo HTTP/1.1\r\n${accept}\r\nX-Long: ${'x'.repeat(17_000)}\r\n\r\n`),
    /^HTTP\/1.1 431 /,
    'one that is too long',
  );
  t.equal(api.server.requestCount, 0);
});

test('a body above the limit: 413, by its announced and by its real length', async (t) => {
  const api = await startApi(t, { further: [echo], config: { trustsProxy: false } });
  const reply = await api.call('POST', '/echo', { body: 'x'.repeat(20_001) });
  t.equal(reply.status, 413);
  t.equal(reply.json.error, 'general/Payload Too Large');
  const announced = await raw(
    api.port,
    (socket) => void socket.write('POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\nabc'),
    (text) => text.includes('}'),
  );
  t.match(announced, /^HTTP\/1.1 413 /, 'answered before the body has come');
  const chunked = await raw(
    api.port,
    (socket) => {
      socket.write('POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (let index = 0; index < 30; index += 1) socket.write(`3e8\r\n${'x'.repeat(1000)}\r\n`);
    },
    (text) => text.includes('}'),
  );
  t.match(chunked, /^HTTP\/1.1 413 /);
  t.strictSame(new Set(api.fake.counted), new Set(['http/body-bytes']));
  t.equal((await api.call('GET', '/health')).status, 200, 'goes on');
});

test('a client that goes: while it sends, while it waits, while it reads', async (t) => {
  let aborted = 0;
  let release: () => void = () => undefined;
  const api = await startApi(t, {
    further: [
      echo,
      route('/wait', (request) => {
        request.exchange.onAborted(() => {
          aborted += 1;
        });
        return new Promise((resolve) => {
          release = () => resolve({ status: 200, text: 'x' });
        });
      }),
      route('/endless', (request) => {
        request.stream(200, 'text/plain');
        void request.exchange.pipe(
          (async function* () {
            try {
              for (;;) {
                yield 'x'.repeat(65_536);
                await pause(0);
              }
            } finally {
              aborted += 1;
            }
          })(),
        );
        return ANSWERED;
      }),
    ],
  });
  await raw(
    api.port,
    async (socket) => {
      socket.write('POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc');
      await pause(30);
      socket.destroy();
    },
    () => false,
  );
  await raw(
    api.port,
    async (socket) => {
      socket.write('GET /wait HTTP/1.1\r\nHost: h\r\n\r\n');
      await pause(30);
      socket.destroy();
    },
    () => false,
  );
  release();
  await raw(
    api.port,
    (socket) => void socket.write('GET /endless HTTP/1.1\r\nHost: h\r\n\r\n'),
    (text) => text.length > 200_000,
  );
  for (let tries = 0; tries < 100 && (api.server.requestCount > 0 || aborted < 2); tries += 1) await pause(10);
  t.equal(aborted, 2);
  t.equal(api.server.requestCount, 0);
  t.equal((await api.call('GET', '/health')).status, 200);
});

test('a reader that stops holds up the source', async (t) => {
  let pieces = 0;
  const api = await startApi(t, {
    further: [
      route('/large', (request) => {
        request.stream(200, 'text/plain');
        void request.exchange.pipe(
          (async function* () {
            for (; pieces < 400; pieces += 1) yield 'x'.repeat(65_536);
          })(),
        );
        return ANSWERED;
      }),
    ],
  });
  let length = 0;
  await new Promise<void>((resolve) => {
    const socket = createConnection(api.port, '127.0.0.1', () =>
      socket.write('GET /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'),
    );
    socket.pause();
    setTimeout(() => {
      t.ok(pieces < 399, `stopped after ${pieces} pieces`);
      socket.resume();
    }, 200);
    socket.on('data', (data) => {
      length += data.length;
      if (data.includes('\r\n0\r\n\r\n')) {
        socket.destroy();
        resolve();
      }
    });
  });
  t.ok(length > 400 * 65_536, 'everything came');
});

test('pipelined requests do not end the process', async (t) => {
  const api = await startApi(t);
  const one = `GET /user/currentUser HTTP/1.1\r\nHost: h\r\nAuthorization: ${ADMIN}\r\n\r\n`;
  await Promise.race([
    raw(
      api.port,
      (socket) => void socket.write(one.repeat(3)),
      (text) => answers(text) === 3,
    ),
    pause(500),
  ]);
  t.equal((await api.call('GET', '/health')).status, 200);
  const sequential = await raw(
    api.port,
    async (socket) => {
      for (let index = 0; index < 3; index += 1) {
        socket.write(one);
        await pause(30);
      }
    },
    (text) => answers(text) === 3,
  );
  t.equal(answers(sequential), 3, 'keep-alive');
});

test('keep-alive: every request is answered after a HEAD, whatever answers it', async (t) => {
  const content = 'x'.repeat(1000);
  const api = await startApi(t, {
    further: [
      route('/sized', (request) => {
        void (request.exchange as HttpExchange).respondSized(
          200,
          [],
          content.length,
          (async function* () {
            yield Buffer.from(content);
          })(),
        );
        return ANSWERED;
      }),
      route('/streamed', (request) => {
        request.stream(200, 'text/plain');
        void request.exchange.pipe(
          (async function* () {
            yield content;
          })(),
        );
        return ANSWERED;
      }),
      route('/nothing', () => ({ status: 204, text: '' })),
    ],
  });
  const { text } = await api.call('GET', '/health');
  const wanted = [
    'GET /health',
    'HEAD /health',
    'GET /health',
    'HEAD /sized',
    'GET /sized',
    'HEAD /streamed',
    'GET /health',
    'HEAD /nothing',
    'GET /health',
  ];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const sockets = new Set<unknown>();
  for (const one of wanted) {
    const [method, path] = one.split(' ');
    const answer = await new Promise<{ status: number | undefined; length: string | undefined; body: string }>(
      (resolve, reject) => {
        httpRequest({ port: api.port, host: '127.0.0.1', method, path, agent }, (response) => {
          let body = '';
          response.setEncoding('utf8').on('data', (piece: string) => {
            body += piece;
          });
          response.on('end', () =>
            resolve({ status: response.statusCode, length: response.headers['content-length'], body }),
          );
        })
          .on('socket', (socket) => sockets.add(socket))
          .on('error', (error) => reject(new Error(`${one}: ${error.message}`)))
          .end();
      },
    );
    t.equal(answer.status, path === '/nothing' ? 204 : 200, one);
    if (method === 'GET') t.equal(answer.body, path === '/health' ? text : content, one);
    else t.equal(answer.body, '', one);
    if (path === '/sized') t.equal(answer.length, String(content.length), one);
  }
  t.equal(sockets.size, 1, 'on one connection');
});

test('HEAD, OPTIONS, 405, paths, override', async (t) => {
  const api = await startApi(t);
  const get = await api.call('GET', '/health');
  const both = await raw(
    api.port,
    async (socket) => {
      socket.write('HEAD /health HTTP/1.1\r\nHost: h\r\n\r\n');
      await pause(30);
      socket.write('GET /health HTTP/1.1\r\nHost: h\r\n\r\n');
    },
    (text) => answers(text) === 2 && text.endsWith(get.text),
  );
  t.equal(answers(both), 2, 'the connection stays');
  const [, head, after] = both.split('HTTP/1.1 ');
  t.match(
    head,
    new RegExp(`^200 OK\r\n(.+\r\n)*Content-Length: ${get.text.length}\r\n(.+\r\n)*\r\n$`),
    'the length and no body',
  );
  t.equal(head.match(/content-length/gi)?.length, 1);
  t.ok(after.startsWith('200 OK') && after.endsWith(get.text), 'the next request has its answer');
  const wrong = await api.call('POST', '/inventory/managedObjects/count', { body: {} });
  t.equal(wrong.status, 405);
  t.equal(wrong.headers.get('allow'), 'GET, HEAD, OPTIONS');
  t.equal((await api.call('DELETE', '/inventory')).status, 405);
  t.equal((await api.call('PATCH', '/inventory')).status, 405);
  const preflight = await api.call('OPTIONS', '/any/path', {
    headers: { authorization: undefined, origin: 'https://a.example' },
  });
  t.equal(preflight.status, 204);
  t.equal(preflight.headers.get('access-control-allow-origin'), '*');
  t.equal(preflight.headers.get('access-control-allow-credentials'), null);
  t.match(preflight.headers.get('access-control-allow-headers'), /X-Cumulocity-Processing-Mode/);
  t.equal(
    (await api.call('GET', '/health', { headers: { origin: 'https://a.example' } })).headers.get(
      'access-control-allow-origin',
    ),
    '*',
  );
  t.equal((await api.call('GET', '/inventory/managedObjects/%zz')).status, 400);
  t.equal((await api.call('GET', '/event/events?type=%ff')).status, 400);
  t.equal((await api.call('GET', '/nowhere')).status, 404);
  t.equal((await api.call('GET', '/health/')).status, 200, 'a slash at the end');
  api.fake.addManagedObject('5');
  t.equal(
    (await api.call('POST', '/inventory/managedObjects/5', { body: { a: 1 }, headers: { 'x-http-method': 'put' } }))
      .status,
    200,
  );
});

test('what a handler throws is a 500 with a reference and no stack', async (t) => {
  const api = await startApi(t, {
    further: [
      route('/throws', () => {
        throw new Error('secret cause');
      }),
      route('/rejects', () => Promise.reject(new Error('secret cause'))),
    ],
  });
  for (const path of ['/throws', '/rejects']) {
    const reply = await api.call('GET', path);
    t.equal(reply.status, 500);
    t.notMatch(reply.text, /secret|at /);
    t.match(reply.json.message, /[0-9a-f]{12}/);
  }
  t.equal(api.fake.failures.length, 2);
});

test('WebSockets: protocol, copies, back-pressure, close', async (t) => {
  const seen: string[] = [];
  let channel: WebSocketChannel | undefined;
  let drained = 0;
  const api = await startApi(t, {
    prepare: (server) =>
      server.webSocket('/socket', {
        protocols: ['mqtt', 'mqttv3.1'],
        bufferedBytesMax: 100_000,
        maxPayloadBytes: 1000,
        open: (opened) => {
          channel = opened;
        },
        message: (from, data, binary) => {
          seen.push(`${binary}:${data.toString()}`);
          if (data.toString() === 'throw') throw new Error('handler');
          setImmediate(() => from.send(data, binary));
        },
        drain: () => {
          drained += 1;
        },
        close: (_closed, code, reason) => void seen.push(`close ${code} ${reason}`),
      }),
  });
  const socket = new WebSocket(`ws://127.0.0.1:${api.port}/socket/?a=b`, ['other', 'mqttv3.1'], {
    headers: { authorization: ADMIN },
  });
  await new Promise((resolve) => {
    socket.on('open', resolve);
  });
  t.equal(socket.protocol, 'mqttv3.1');
  t.equal(channel?.head.headers.get('authorization'), ADMIN);
  t.equal(channel?.head.queryText, 'a=b');
  t.equal(channel?.remoteAddress.includes('127.0.0.1') || channel?.remoteAddress.includes('0000'), true);
  const echoed = new Promise((resolve) => {
    socket.once('message', (data) => resolve(String(data)));
  });
  socket.send(Buffer.from('hello'));
  t.equal(await echoed, 'hello', 'the data is a copy that outlives the call');
  socket.pause();
  let isTaken = true;
  for (let count = 0; isTaken && count < 300; count += 1) isTaken = channel?.send(Buffer.alloc(65_536), true) ?? false;
  t.equal(isTaken, false);
  t.ok((channel?.bufferedBytes ?? 0) > 100_000);
  socket.resume();
  for (let tries = 0; tries < 200 && drained === 0; tries += 1) await pause(10);
  t.ok(drained > 0, 'drain');
  const closed = new Promise((resolve) => {
    socket.on('close', resolve);
  });
  socket.send('throw');
  t.equal(await closed, 1011, 'a handler that throws ends its connection only');
  t.equal(channel?.send('late', false), false);
  t.equal(channel?.isOpen, false);
  t.match(seen, ['true:hello', 'false:throw', /^close 1011/]);
  const second = new WebSocket(`ws://127.0.0.1:${api.port}/socket`);
  await new Promise((resolve) => {
    second.on('open', resolve);
  });
  const ended = new Promise((resolve) => {
    second.on('close', resolve);
  });
  await api.server.close(100);
  t.equal(await ended, 1001, 'a stopping server says so');
  t.throws(
    () => api.server.webSocket('/x', { idleTimeoutSeconds: 5, open: () => undefined, message: () => undefined }),
    /8 to 960/,
  );
});

test('open connections are counted, WebSockets apart', async (t) => {
  const api = await startApi(t, {
    prepare: (server) =>
      server.webSocket('/socket', { protocols: [], open: () => undefined, message: () => undefined }),
  });
  const becomes = async (http: number, webSockets: number, what: string): Promise<void> => {
    const counts = (): number[] => [api.server.connectionCount, api.server.webSocketCount];
    for (let tries = 0; tries < 300 && `${counts()}` !== `${http},${webSockets}`; tries += 1) await pause(10);
    t.strictSame(counts(), [http, webSockets], what);
  };
  await becomes(0, 0, 'at first');
  const sockets = [createConnection(api.port, '127.0.0.1'), createConnection(api.port, '127.0.0.1')];
  await becomes(2, 0, 'without a request');
  sockets[0].write('GET /health HTTP/1.1\r\nHost: h\r\n\r\n');
  await new Promise((resolve) => {
    sockets[0].once('data', resolve);
  });
  await becomes(2, 0, 'kept alive behind its answer');
  t.equal(api.server.requestCount, 0);
  const client = new WebSocket(`ws://127.0.0.1:${api.port}/socket`);
  await new Promise((resolve, reject) => {
    client.once('open', resolve).once('error', reject);
  });
  await becomes(2, 1, 'a WebSocket is no HTTP connection any more');
  client.terminate();
  await becomes(2, 0, 'a WebSocket that ends');
  for (const socket of sockets) socket.destroy();
  await becomes(0, 0, 'all closed');
});

test('at debug: a line for each connection that opens or closes; at other levels none is made', async (t) => {
  for (const isDebug of [true, false]) {
    const lines: { details: Record<string, unknown>; message: string }[] = [];
    const silent = (): void => undefined;
    const log: Log = {
      debug: (details, message) => void lines.push({ details: details as Record<string, unknown>, message }),
      info: silent,
      warn: silent,
      error: silent,
      child: () => log,
      isLevelEnabled: (level) => level === 'debug' && isDebug,
    };
    const server = new HttpServer({
      library,
      log,
      bodies: new BodyBudget({ largestBytes: 1 }),
      onRequest: (exchange) => exchange.respond(204, [], ''),
      onFailure: silent,
    });
    server.webSocket('/socket', { protocols: ['mqtt'], open: silent, message: silent });
    const port = await server.listen({ host: '127.0.0.1', port: 0 });
    const client = new WebSocket(`ws://127.0.0.1:${port}/socket`, ['mqtt']);
    await new Promise((resolve) => {
      client.on('open', resolve);
    });
    client.close(4001, 'enough');
    await new Promise((resolve) => {
      client.on('close', resolve);
    });
    await raw(
      port,
      (socket) => void socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n'),
      (text) => text.includes('204'),
    );
    for (let tries = 0; tries < 300 && server.connectionCount > 0; tries += 1) await pause(10);
    await server.close(100);
    const expected = [
      'http connection opened',
      'WebSocket opened',
      'WebSocket closed',
      'http connection opened',
      'http connection closed',
    ];
    t.same(
      lines.map(({ message }) => message),
      isDebug ? expected : [],
    );
    if (!isDebug) continue;
    const { remoteAddress, ...opened } = lines[1].details;
    t.same(opened, { path: '/socket', protocol: 'mqtt', httpConnections: 0, webSockets: 1 });
    t.ok(String(remoteAddress).length > 6, String(remoteAddress));
    t.same(lines[2].details, { ...opened, remoteAddress, code: 4001, reason: 'enough', webSockets: 0 });
    for (const index of [0, 3]) t.same(lines[index].details, { remoteAddress, httpConnections: 1, webSockets: 0 });
    t.same(lines[4].details, { httpConnections: 0, webSockets: 0 });
  }
});

test('a port that is in use, and closing with an answer under way', async (t) => {
  let release: () => void = () => undefined;
  const api = await startApi(t, {
    further: [
      route(
        '/wait',
        () =>
          new Promise((resolve) => {
            release = () => resolve({ status: 200, text: 'done', contentType: 'text/plain' });
          }),
      ),
    ],
  });
  const { log } = new FakePlatform().platform();
  const bodies = new BodyBudget({ largestBytes: 1 });
  const second = new HttpServer({ library, log, bodies, onRequest: () => undefined, onFailure: () => undefined });
  await t.rejects(second.listen({ host: '127.0.0.1', port: api.port }), /in use/);
  const answer = api.call('GET', '/wait');
  for (let tries = 0; tries < 100 && api.server.requestCount === 0; tries += 1) await pause(5);
  const closing = api.server.close(2000);
  await pause(20);
  const late = createConnection({ host: '127.0.0.1', port: api.port });
  t.equal(
    await new Promise(
      (resolve) =>
        void late.on('connect', () => resolve('taken')).on('error', ({ code }: NodeJS.ErrnoException) => resolve(code)),
    ),
    'ECONNREFUSED',
    'no new connection while answers are under way',
  );
  late.destroy();
  release();
  t.equal((await answer).text, 'done');
  await closing;
  await t.rejects(api.call('GET', '/health'));
});
