/** Answers to clients that read slowly, or not at all. */
import { createConnection } from 'node:net';
import t from 'tap';
import { EXPORTS_MAX } from '../../../src/history/exports.ts';
import type { ApiRequest } from '../../../src/api/request/request.ts';
import type { Platform } from '../../../src/api/request/platform.ts';
import { ANSWERED } from '../../../src/api/request/answer.ts';
import type { Route } from '../../../src/api/request/route.ts';
import type { Answer } from '../../../src/api/request/answer.ts';
import { until } from '../../helpers/until.ts';
import { ADMIN, startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';

/** More than the kernel takes of a connection, some 4 MiB. */
const BYTES = 8 * 1024 * 1024;
const LETTER = 0x7e;
/** Longer than a client that reads needs for a piece. */
const WAITED_MS = 1_000;
const PIECE = Buffer.alloc(300_000, LETTER);
const route = (path: string, handle: (request: ApiRequest) => Answer | typeof ANSWERED): Route => ({
  method: 'GET',
  path,
  area: 'test',
  access: 'user',
  summary: '',
  answers: [],
  handle,
});

/** @param stopMs behind the first piece that had to wait for its client. */
async function* pieces(stopMs = 0): AsyncGenerator<Buffer> {
  let pauseMs = stopMs;
  for (let left = BYTES; left > 0; left -= PIECE.length) {
    const givenMs = performance.now();
    yield PIECE.subarray(0, left);
    if (pauseMs === 0 || performance.now() - givenMs < WAITED_MS) continue;
    await new Promise((resolve) => {
      setTimeout(resolve, pauseMs);
    });
    pauseMs = 0;
  }
}

const streamed =
  (stopMs: number) =>
  (request: ApiRequest): typeof ANSWERED => {
    request.stream(200, 'text/plain');
    void request.exchange.pipe(pieces(stopMs));
    return ANSWERED;
  };
const further = [
  route('/streamed', streamed(0)),
  route('/streamed-slowly', streamed(14_000)),
  route('/sized', (request) => {
    void request.sendContent(200, [], BYTES, pieces());
    return ANSWERED;
  }),
  route('/whole', () => ({ status: 200, text: '~'.repeat(BYTES), contentType: 'text/plain' })),
];

interface Read {
  readonly bytes: number;
  readonly ended: boolean;
}

/** More than the server needs to go on, less than what the library tells of. */
const SIP_BYTES = 500_000;

/**
 * Reads a little and stops for a time. @param againMs for which it stops a second time, behind a sip.
 * @returns how much of the body came, and whether it was complete.
 */
function read(api: Api, path: string, pauseMs: number, againMs = 0): Promise<Read> {
  return new Promise((resolve) => {
    let bytes = 0;
    let tail = Buffer.alloc(0);
    const stop = (ms: number): void => {
      socket.pause();
      setTimeout(() => socket.resume(), ms);
    };
    const socket = createConnection(api.port, '127.0.0.1', () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\nAuthorization: ${ADMIN}\r\n\r\n`);
      socket.once('data', () => stop(pauseMs));
    });
    const hasEnded = (): boolean =>
      path.startsWith('/streamed') ? tail.toString() === '\r\n0\r\n\r\n' : bytes === BYTES;
    socket.on('data', (data) => {
      // By index: an iterator takes a second of CPU time for each body. The head has none.
      const before = bytes;
      for (let at = 0; at < data.length; at += 1) if (data[at] === LETTER) bytes += 1;
      tail = Buffer.concat([tail, data.subarray(-7)]).subarray(-7);
      if (againMs > 0 && before < SIP_BYTES && bytes >= SIP_BYTES) stop(againMs);
      if (bytes >= BYTES && hasEnded()) socket.end();
    });
    socket.on('close', () => resolve({ bytes, ended: hasEnded() }));
    socket.on('error', () => undefined);
  });
}

t.test('who stops for longer than the library waits gets everything', async (t) => {
  const api = await startApi(t, { further });
  const paths = ['/streamed', '/sized', '/whole', '/streamed-slowly'];
  // While the last one stops again, the server stops too.
  const found = await Promise.all(
    paths.map((path) => (path === '/streamed-slowly' ? read(api, path, 3_000, 17_000) : read(api, path, 14_000))),
  );
  found.forEach(({ bytes, ended }, index) => {
    t.equal(bytes, BYTES, `${paths[index]}: all bytes`);
    t.ok(ended, `${paths[index]}: to the end`);
  });
  t.strictSame(api.fake.counted, []);
  t.equal(api.server.requestCount, 0);
});

t.test('who takes nothing at all is cut off after a time, and counted', async (t) => {
  const api = await startApi(t, { further, config: { answerStalledMsMax: 1_000 } });
  const paths = ['/streamed', '/sized', '/whole'];
  const found = await Promise.all(paths.map((path) => read(api, path, 4_000)));
  found.forEach(({ bytes, ended }, index) => {
    t.ok(bytes < BYTES, `${paths[index]}: ${bytes} bytes`);
    t.notOk(ended);
  });
  t.strictSame(
    api.fake.counted,
    paths.map(() => 'http/stalled-answers'),
  );
  t.equal(api.server.requestCount, 0, 'nothing is held');
});

t.test('all three ways to answer count the request and tell the rate', async (t) => {
  const counted: string[] = [];
  const api = await startApi(t, {
    further,
    platform: {
      usage: {
        count: (tenant: number, name: string) => void counted.push(`${tenant} ${name}`),
      } as unknown as NonNullable<Platform['usage']>,
      rates: {
        take: () => ({ isAllowed: true, name: 'http/user-rate', limit: 9, remaining: 7, retryAfterSeconds: 0 }),
      } as unknown as NonNullable<Platform['rates']>,
    },
  });
  for (const path of ['/streamed', '/sized', '/whole']) {
    counted.length = 0;
    const { headers } = await api.call('GET', path);
    t.equal(headers.get('x-ratelimit-limit'), '9', path);
    t.equal(headers.get('x-ratelimit-remaining'), '7', path);
    t.strictSame(counted, ['2 requests', '2 device_requests'], path);
  }
});

t.test('exports under way are bounded, and their queries leave room', async (t) => {
  const api = await startApi(t);
  const exports = api.fake.exports;
  const user = { tenantNumber: 2, userName: 'admin' };
  const ends = Array.from({ length: EXPORTS_MAX.user }, () => exports.begin(user));
  const refused = await api.call('GET', '/event/events?format=csv');
  t.equal(refused.status, 503);
  t.equal(refused.headers.get('retry-after'), '1');
  t.match(refused.json.message, 'exports/of-user');
  t.strictSame(api.fake.counted, ['exports/of-user']);
  for (let count = EXPORTS_MAX.user; count < EXPORTS_MAX.tenant; count += 1)
    ends.push(exports.begin({ tenantNumber: 2, userName: `u${count}` }));
  t.throws(() => exports.begin({ tenantNumber: 2, userName: 'other' }), /exports\/of-tenant/);
  for (let count = EXPORTS_MAX.tenant; count < EXPORTS_MAX.server; count += 1)
    ends.push(exports.begin({ tenantNumber: count, userName: 'u' }));
  t.throws(() => exports.begin({ tenantNumber: 99, userName: 'other' }), /exports\/of-server/);
  for (const end of ends) end();
  t.equal(exports.count, 0);
  t.equal((await api.call('GET', '/event/events?format=csv')).status, 200);
  t.equal(exports.count, 0, 'an export that has ended counts no more');
  let running = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 6 }, () =>
      exports.query({ tenantNumber: 1, userName: 'a' }, async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => {
          setTimeout(resolve, 5);
        });
        running -= 1;
      }),
    ),
  );
  t.equal(most, 2);
});

t.test('queries are those of the user, and end when the client leaves', async (t) => {
  const api = await startApi(t);
  api.fake.queried = new Promise(() => undefined);
  const left = new AbortController();
  const call = fetch(`http://127.0.0.1:${api.port}/event/events`, {
    headers: { Authorization: ADMIN },
    signal: left.signal,
  });
  await until('a query of the list', () => api.fake.askers.length === 1);
  t.match(api.fake.askers[0], { tenant: 2, user: 'admin', signal: { aborted: false } });
  left.abort();
  await t.rejects(call, { name: 'AbortError' });
  await until('its signal', () => api.fake.askers[0]?.signal?.aborted === true);
});
