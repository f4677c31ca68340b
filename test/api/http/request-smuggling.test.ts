/**
 * Requests whose end a proxy in front may see elsewhere than the server: they are refused and their connection ends, so
 * that nothing behind them is answered. Each goes to both engines, with a second request behind it in the same write,
 * and once more behind the answer.
 */
import { createConnection } from 'node:net';
import t from 'tap';
import type { HttpExchange } from '../../../src/api/http/exchange.ts';
import { ANSWERED } from '../../../src/api/request/answer.ts';
import type { ApiConfig } from '../../../src/api/request/platform.ts';
import type { Route } from '../../../src/api/request/route.ts';
import type { Api } from '../helpers/api.ts';
import { startApi } from '../helpers/api.ts';
import { ENGINES } from '../helpers/engines.ts';

const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';
const LENGTH = 'Content-Length: 3\r\n';
const END = '0\r\n\r\n';

/** What is behind `POST /echo HTTP/1.1` and its Host. */
const REFUSED: Readonly<Record<string, string>> = {
  'two lengths': `${LENGTH}Content-Length: ${HIDDEN.length + 3}\r\n\r\nabc`,
  'two lengths, the longer first': `Content-Length: ${HIDDEN.length + 3}\r\n${LENGTH}\r\nabc`,
  'two lengths, the longer first above every limit': `Content-Length: 99999999999\r\n${LENGTH}\r\nabc`,
  'a length twice': `${LENGTH}${LENGTH}\r\nabc`,
  'a length and an empty one': `${LENGTH}Content-Length:\r\n\r\nabc`,
  'an empty length': 'Content-Length: \r\n\r\nabc',
  'a list of lengths': 'Content-Length: 3, 3\r\n\r\nabc',
  'a signed length': 'Content-Length: +3\r\n\r\nabc',
  'a negative length': 'Content-Length: -3\r\n\r\nabc',
  'a hexadecimal length': 'Content-Length: 0x3\r\n\r\nabc',
  'a length with a space inside': 'Content-Length: 3 3\r\n\r\nabc',
  'a length of more than 64 bits': 'Content-Length: 18446744073709551619\r\n\r\nabc',
  'a length with a space before the colon': 'Content-Length : 3\r\n\r\nabc',
  'a length and chunks': `${LENGTH}${CHUNKED}3\r\nabc\r\n${END}`,
  'chunks and a length': `Transfer-Encoding: chunked\r\n${LENGTH}\r\n3\r\nabc\r\n${END}`,
  'chunks with a space before the colon': `Transfer-Encoding : chunked\r\n\r\n3\r\nabc\r\n${END}`,
  'chunks and a length, the chunks with a space before the colon': `Transfer-Encoding : chunked\r\n${LENGTH}\r\nabc`,
  'chunks twice': `Transfer-Encoding: chunked\r\n${CHUNKED}3\r\nabc\r\n${END}`,
  'another encoding': `Transfer-Encoding: xchunked\r\n\r\n3\r\nabc\r\n${END}`,
  'an encoding in quotes': `Transfer-Encoding: "chunked"\r\n\r\n3\r\nabc\r\n${END}`,
  'an encoding behind a vertical tab': `Transfer-Encoding: \x0bchunked\r\n\r\n3\r\nabc\r\n${END}`,
  'two encodings': `Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n${END}`,
  'chunks that are not the last encoding': `Transfer-Encoding: chunked, identity\r\n\r\n3\r\nabc\r\n${END}`,
  'identity and a length': `Transfer-Encoding: identity\r\n${LENGTH}\r\nabc`,
  'an empty encoding and a length': `Transfer-Encoding:\r\n${LENGTH}\r\nabc`,
  'a folded line': `X-Folded: a\r\n ${LENGTH}\r\nabc`,
  'a folded encoding': `Transfer-Encoding:\r\n chunked\r\n\r\n3\r\nabc\r\n${END}`,
  'a folded length': 'Content-Length: 3\r\n 0\r\n\r\nabc',
  'a line that ends with LF': `X-Line: a\n${LENGTH}\r\nabc`,
  'a head that ends with LF': `${LENGTH}\nabc`,
  'a NUL': `X-Line: a\0\r\n${LENGTH}\r\nabc`,
  'a line without colon': 'Content-Length 3\r\n\r\nabc',
  'a name with a parenthesis': `X(Line: a\r\n${LENGTH}\r\nabc`,
  'two hosts': `Host: other\r\n${LENGTH}\r\nabc`,
  'a negative size of a chunk': `${CHUNKED}-3\r\nabc\r\n${END}`,
  'a size of a chunk with 0x': `${CHUNKED}0x3\r\nabc\r\n${END}`,
  'a size of a chunk that is no number': `${CHUNKED}zz\r\nabc\r\n${END}`,
  'a size of a chunk of more than 64 bits': `${CHUNKED}fffffffffffffffff3\r\nabc\r\n${END}`,
};

/** uWebSockets.js takes these bodies: it may answer the request, but then it closes the connection. */
const CLOSED: Readonly<Record<string, string>> = {
  'a size of a chunk before a space': `${CHUNKED}3 \r\nabc\r\n${END}`,
  'a size of a chunk behind a space': `${CHUNKED} 3\r\nabc\r\n${END}`,
  'a chunk without size': `${CHUNKED}\r\nabc\r\n${END}`,
  'chunks with LF': `${CHUNKED}3\nabc\n0\n\n`,
  'a chunk that does not end': `${CHUNKED}3\r\nabcXX${END}`,
  'a trailer with a length': `${CHUNKED}3\r\nabc\r\n0\r\nContent-Length: 5\r\n\r\n`,
  'a header without name': `: x\r\n${LENGTH}\r\nabc`,
};

/** uWebSockets.js waits for the rest of these requests until it gives up. */
const WAITING: Readonly<Record<string, string>> = {
  'a line that ends with CR': `X-Line: a\r${LENGTH}\r\nabc`,
  'a chunk longer than its size': `${CHUNKED}3\r\nabcdef\r\n${END}`,
  'a semicolon behind the last size': `${CHUNKED}3\r\nabc\r\n0;\r\n\r\n`,
  'an extension of a chunk with LF': `${CHUNKED}3;a\nb\r\nabc\r\n${END}`,
};

/** What takes no less than before, also behind each other. */
const TAKEN: Readonly<Record<string, string>> = {
  'a length': `${LENGTH}\r\nabc`,
  'a length with zeros': 'Content-Length: 0003\r\n\r\nabc',
  'a length behind a tab': 'Content-Length:\t3\r\n\r\nabc',
  chunks: `${CHUNKED}3\r\nabc\r\n${END}`,
  'chunks in capitals': `Transfer-Encoding: CHUNKED\r\n\r\n3\r\nabc\r\n${END}`,
};

/** uWebSockets.js takes each byte above 127 around a value for a space, and hands on the value without it. */
const TRIMMED: Readonly<Record<string, string>> = {
  'a length behind a no-break space': 'Content-Length: \xa03\r\n\r\nabc',
  'a length before a no-break space': 'Content-Length: 3\xa0\r\n\r\nabc',
};

/**
 * Bodies of `abc` that RFC 9112 allows beside plain chunks: `node:http` serves them. uWebSockets.js reads `;` as a
 * digit, and what is behind the last chunk as a request.
 */
const FURTHER_CHUNKS: Readonly<Record<string, string>> = {
  'an extension': `${CHUNKED}3;name=value\r\nabc\r\n${END}`,
  'an extension of the last chunk': `${CHUNKED}3\r\nabc\r\n0;a=b\r\n\r\n`,
  'a trailer': `${CHUNKED}3\r\nabc\r\n0\r\nX-Checksum: 17\r\n\r\n`,
  'a trailer that is announced': `Trailer: X-Checksum\r\n${CHUNKED}3\r\nabc\r\n0\r\nX-Checksum: 17\r\n\r\n`,
  'a trailer like a request': `${CHUNKED}3\r\nabc\r\n0\r\nX-GET: /hidden HTTP/1.1\r\nHost: h\r\n\r\n`,
};

interface Sent {
  readonly text: string;
  readonly isClosed: boolean;
}

/** Whether the last request has got an answer other than an error. */
const isAnswered =
  (behind: string) =>
  (text: string): boolean =>
    (behind === '' ? /HTTP\/1.1 204 |stored$|hidden$/ : /hidden$/).test(text);

/**
 * @param behind sent with the answer of the first, if there is one. @param isOver whether to wait no longer than for an
 * answer.
 */
function send(
  port: number,
  first: string,
  behind = '',
  isOver: (text: string) => boolean = () => false,
): Promise<Sent> {
  return new Promise((resolve) => {
    let text = '';
    let isBehindSent = behind === '';
    const socket = createConnection(port, '127.0.0.1', () => socket.write(first, 'latin1'));
    const timer = setTimeout(() => finish(false), 5_000);
    const finish = (isClosed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, isClosed });
    };
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (isOver(text)) finish(false);
      if (isBehindSent) return;
      isBehindSent = true;
      socket.write(behind);
    });
    // Who writes to a connection that has ended is reset.
    socket.on('error', () => undefined);
    socket.on('close', () => finish(true));
  });
}

for (const [engine, library] of ENGINES) {
  const start = async (
    t: Parameters<typeof startApi>[0],
    config: Partial<ApiConfig> = {},
  ): Promise<{ api: Api; hidden: () => number; stored: string[]; request: (rest: string) => string }> => {
    let count = 0;
    const stored: string[] = [];
    const base = { area: 'test', access: 'public', summary: '', answers: [] } as const;
    const further: Route[] = [
      {
        ...base,
        method: 'POST',
        path: '/echo',
        body: { form: 'bytes', mediaTypes: [] },
        handle: ({ body }) => ({ status: 200, contentType: 'text/plain', text: `[${body.length}]` }),
      },
      {
        ...base,
        method: 'POST',
        path: '/store/{n}',
        body: { form: 'bytes', mediaTypes: [] },
        handle: async ({ params, body }) => {
          stored.push(`${params['n']} ${body.toString('latin1')}`);
          await new Promise(setImmediate);
          return { status: 201, contentType: 'text/plain', text: 'stored' };
        },
      },
      {
        ...base,
        method: 'POST',
        path: '/upload/{n}',
        body: { form: 'stream', mediaTypes: [] },
        handle: async ({ params, bodyStream }) => {
          const pieces: Uint8Array[] = [];
          for await (const piece of bodyStream!) pieces.push(piece);
          stored.push(`${params['n']} ${Buffer.concat(pieces).toString('latin1')}`);
          return { status: 201, contentType: 'text/plain', text: 'stored' };
        },
      },
      {
        ...base,
        method: 'DELETE',
        path: '/store/{n}',
        handle: ({ params }) => {
          stored.push(`${params['n']} deleted`);
          return { status: 204, text: '' };
        },
      },
      {
        ...base,
        method: 'POST',
        path: '/later',
        body: { form: 'bytes', mediaTypes: [] },
        handle: ({ exchange }) => {
          setImmediate(() => (exchange as HttpExchange).respond(200, [], '[later]'));
          return ANSWERED;
        },
      },
      {
        ...base,
        method: 'GET',
        path: '/hidden',
        handle: () => {
          count += 1;
          return { status: 200, contentType: 'text/plain', text: 'hidden' };
        },
      },
    ];
    const api = await startApi(t, { library, further, config: { trustsProxy: false, ...config } });
    return {
      api,
      hidden: () => count,
      stored,
      request: (rest) => `POST /echo HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n${rest}`,
    };
  };

  t.test(`${engine}: what may be read in two ways is refused, and the connection ends`, async (t) => {
    const { api, hidden, request } = await start(t);
    for (const [name, rest] of Object.entries({
      ...REFUSED,
      ...(engine === 'node' ? { ...CLOSED, ...WAITING, ...TRIMMED } : {}),
    })) {
      const atOnce = await send(api.port, request(rest) + HIDDEN);
      // uWebSockets.js ends the connection before the answer when another request is there.
      t.match(atOnce.text, engine === 'uws' ? /^(HTTP\/1.1 400 [^]*)?$/ : /^HTTP\/1.1 400 /, `${name}: 400`);
      t.equal(atOnce.isClosed, true, `${name}: closed`);
      const later = await send(api.port, request(rest), HIDDEN);
      t.match(later.text, /^HTTP\/1.1 400 [^]*\r\nConnection: close\r\n/i, `${name}: 400, with time between`);
      t.equal(later.text.split('HTTP/1.1 ').length, 2, `${name}: one answer`);
      t.equal(later.isClosed, true, `${name}: closed, with time between`);
    }
    t.equal(hidden(), 0, 'nothing behind them is answered');
    t.ok(api.fake.counted.includes('http/request-head'));
    t.equal((await api.call('GET', '/health')).status, 200);
  });

  t.test(
    `${engine}: nothing is answered behind chunks`,
    { skip: engine === 'node' ? 'its parser refuses what is wrong' : false },
    async (t) => {
      const { api, hidden, request } = await start(t);
      for (const [name, rest] of Object.entries({ ...CLOSED, 'chunks as they should be': TAKEN['chunks'] })) {
        for (const path of ['/echo', '/later', '/nowhere']) {
          const first = request(rest).replace('/echo', path);
          t.equal((await send(api.port, first + HIDDEN)).isClosed, true, `${name}, ${path}: closed`);
          const later = await send(api.port, first, HIDDEN);
          t.match(
            later.text,
            /^HTTP\/1.1 \d+ [^]*\r\nConnection: close\r\n/i,
            `${name}, ${path}: answered, with time between`,
          );
          t.equal(later.isClosed, true, `${name}, ${path}: closed, with time between`);
        }
      }
      // Beside each other: the library waits for the rest of each for some seconds.
      const ended = Object.values(WAITING).map((rest) => {
        const socket = createConnection(api.port, '127.0.0.1', () => socket.end(request(rest) + HIDDEN));
        return new Promise((resolve) => {
          socket
            .on('close', resolve)
            .on('error', () => undefined)
            .resume();
        });
      });
      await Promise.all(ended);
      t.equal(hidden(), 0);
    },
  );

  t.test(`${engine}: what is answered with an error, or not at all, is not stored`, async (t) => {
    const { api, hidden, stored, request } = await start(t);
    const semicolon = 'a semicolon behind the last size';
    const cases = Object.entries({
      chunks: TAKEN['chunks'],
      ...FURTHER_CHUNKS,
      ...CLOSED,
      [semicolon]: WAITING[semicolon],
    }).flatMap(([name, rest]) =>
      ['POST /store', 'POST /upload', 'DELETE /store'].flatMap((target) =>
        (name === 'a header without name' ? [''] : name === semicolon ? [HIDDEN] : ['', HIDDEN]).map((behind) => ({
          name,
          rest,
          target,
          behind,
        })),
      ),
    );
    // Beside each other: uWebSockets.js waits for the rest of some.
    const check = async ({ name, rest, target, behind }: (typeof cases)[number], index: number): Promise<void> => {
      const first = request(rest).replace('POST /echo', `${target}/${index}`);
      const { text } = await send(api.port, first + behind, '', isAnswered(behind));
      const isTaken = /^HTTP\/1.1 20/.test(text);
      const mine = stored.filter((entry) => entry.startsWith(`${index} `));
      const label = `${target}, ${name}${behind === '' ? '' : ', another request behind it'}: ${text.slice(0, 12)}`;
      t.equal(mine.length, isTaken ? 1 : 0, label);
      if (engine === 'node' && name in FURTHER_CHUNKS)
        t.same([isTaken, mine[0]], [true, `${index} ${target.startsWith('POST') ? 'abc' : 'deleted'}`], label);
    };
    await Promise.all(cases.map(check));
    t.equal(hidden(), engine === 'uws' ? 0 : 18);
  });

  t.test(`${engine}: bodies in chunks behind a proxy`, async (t) => {
    const { api, stored, request } = await start(t, { trustsProxy: true });
    for (const [name, rest] of Object.entries({ chunks: TAKEN['chunks'], ...FURTHER_CHUNKS })) {
      for (const target of ['POST /store/0', 'POST /upload/0', 'DELETE /store/0', 'GET /hidden']) {
        stored.length = 0;
        const { text } = await send(api.port, request(rest).replace('POST /echo', target), '', isAnswered(''));
        if (engine === 'node') t.match(text, /^HTTP\/1.1 20/, `${target}, ${name}`);
        else {
          // The library may see the trailer as a bad request before the answer.
          t.match(
            text,
            /^($|HTTP\/1.1 (411 [^]*\r\nConnection: close\r\n[^]*http\/chunks|400|505))/i,
            `${target}, ${name}`,
          );
          t.equal(stored.length, 0);
        }
      }
    }
    if (engine === 'uws') t.ok(api.fake.counted.includes('http/chunks'));
  });

  t.test(`${engine}: requests that do not wait for answers`, async (t) => {
    const { api, hidden, request } = await start(t);
    const count = (text: string, part: string): number => text.split(part).length - 1;
    const gets = await send(api.port, HIDDEN.repeat(3), '', (text) => count(text, '\r\n\r\nhidden') === 3);
    t.equal(count(gets.text, 'HTTP/1.1 200 OK'), 3, 'answered while each answer is given at once');
    const body = request(TAKEN['a length']);
    const posts = await send(api.port, body.repeat(3) + HIDDEN, '', (text) => text.endsWith('hidden'));
    t.match(posts.text, /^(HTTP\/1.1 200 OK[^]*?\[3\]){3}HTTP\/1.1 200 OK[^]*hidden$/, 'with bodies, in their order');
    const before = hidden();
    const late = await send(
      api.port,
      body.replace('/echo', '/later') + HIDDEN.repeat(2),
      '',
      (text) => count(text, 'hidden') === 2,
    );
    if (engine === 'node')
      t.match(late.text, /^HTTP\/1.1 200 OK[^]*\[later\][^]*hidden[^]*hidden$/, 'one after the other');
    else
      t.same(
        [late, hidden()],
        [{ text: '', isClosed: true }, before],
        'a request before an answer ends the connection and is not carried out',
      );
    t.equal((await api.call('GET', '/health')).status, 200);
  });

  t.test(`${engine}: what is in order is taken, one behind the other`, async (t) => {
    const { api, hidden, request } = await start(t);
    for (const [name, rest] of Object.entries({ ...TAKEN, ...(engine === 'uws' ? TRIMMED : {}) })) {
      const isChunked = /chunk/i.test(name);
      const { text, isClosed } = await send(
        api.port,
        request(rest),
        isChunked && engine === 'uws' ? '' : HIDDEN,
        (received) => received.includes(isChunked && engine === 'uws' ? '\0' : 'hidden'),
      );
      t.match(text, /^HTTP\/1.1 200 OK\r\n[^]*\[3\]/, name);
      t.equal(isClosed, isChunked && engine === 'uws', `${name}: ${isClosed ? 'closed' : 'open'}`);
    }
    t.equal(hidden(), 5);
  });
}

t.test('node: what uWebSockets.js does not serve', async (t) => {
  const [, library] = ENGINES.find(([name]) => name === 'node')!;
  const route: Route = {
    area: 'test',
    access: 'public',
    summary: '',
    answers: [],
    method: 'GET',
    path: '/slow/{n}',
    handle: async ({ params, exchange }) => {
      const host = (exchange as HttpExchange).header('host');
      await new Promise((resolve) => {
        setTimeout(resolve, 30 - 10 * Number(params['n']));
      });
      return { status: 200, contentType: 'text/plain', text: `<${params['n']} ${host}>` };
    },
  };
  const api = await startApi(t, { library, further: [route] });
  const get = (path: string, version = '1.1', more = ''): string =>
    `GET ${path} HTTP/${version}\r\nHost: h\r\n${more}\r\n`;
  const many = await send(api.port, get('/slow/0') + get('/slow/1') + get('/slow/2'), '', (text) =>
    text.includes('<2 h>'),
  );
  t.match(many.text, /<0 h>[^]*<1 h>[^]*<2 h>/, 'requests that do not wait for answers are answered in their order');
  const withBad = await send(api.port, `${get('/slow/0')}${get('/slow/1')}no request\r\n\r\n`);
  t.match(withBad.text, /<0 h>[^]*<1 h>[^]*HTTP\/1.1 400 /, 'before what is no request');
  t.equal(withBad.isClosed, true);
  const old = await send(api.port, get('/slow/1', '1.0'));
  t.match(old.text, /^HTTP\/1.1 200 OK\r\n[^]*<1 h>$/, 'HTTP/1.0');
  t.equal(old.isClosed, true);
  t.match(
    (await send(api.port, get('/slow/1', '1.0', 'Transfer-Encoding: chunked\r\n'))).text,
    /^HTTP\/1.1 400 /,
    'which knows no chunks',
  );
  t.match(
    (await send(api.port, get('http://other/slow/1'), '', (text) => text.includes('>'))).text,
    /<1 other>/,
    'a target in absolute form names the host',
  );
  for (const version of ['1.2', '2.0', '0.9'])
    t.match((await send(api.port, get('/slow/1', version))).text, /^HTTP\/1.1 (400|505) /, version);
  t.match((await send(api.port, get('slow/1'))).text, /^HTTP\/1.1 400 /, 'a target that is no path');
  t.match(
    (await send(api.port, get('/slow/1', '1.1', 'X-A: b\r\n'.repeat(150)))).text,
    /^HTTP\/1.1 431 /,
    'too many headers',
  );
});
