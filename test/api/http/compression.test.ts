/** Content codings of answers: which one, of what, and how many at once. */
import { request as httpRequest } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import t from 'tap';
import { Compression, codingFor } from '../../../src/api/http/compression.ts';
import { attachmentHeader } from '../../../src/api/http/byte-range.ts';
import { ANSWERED } from '../../../src/api/request/answer.ts';
import type { Route } from '../../../src/api/request/route.ts';
import { startApi } from '../helpers/api.ts';

const TEXT = JSON.stringify({ text: 'a long text '.repeat(1_000) });
const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = { br: brotliDecompressSync, gzip: gunzipSync };

t.test('the coding that a client takes', async (t) => {
  const long = 100_000;
  for (const [header, want, length] of [
    ['', undefined, long],
    ['gzip, deflate, br, zstd', 'br', long],
    ['gzip', 'gzip', long],
    ['GZIP;Q=0.5 , br; q = 0.4', 'gzip', long],
    ['x-gzip', 'gzip', long],
    ['deflate', undefined, long],
    ['*', 'br', long],
    ['*, br;q=0', 'gzip', long],
    ['br;q=0, gzip;q=0', undefined, long],
    ['gzip;q=0.5, identity', undefined, long],
    ['gzip;q=1, identity;q=0.5', 'gzip', long],
    ['gzip', undefined, 100],
    ['gzip, identity;q=0', 'gzip', 100],
    ['gzip, *;q=0', 'gzip', 100],
    ['gzip;q=nothing', undefined, long],
    ['gzip', 'gzip', undefined],
  ] as const)
    t.equal(codingFor(header, length), want, `${header} ${length}`);
});

t.test('as many as may be are compressed at once, and the others go plain', async (t) => {
  const compression = new Compression();
  const made = await Promise.all([1, 2, 3].map(() => compression.whole('br', TEXT)));
  t.same(
    made.map((bytes) => bytes !== undefined),
    [true, true, false],
  );
  t.equal(compression.plainCount, 1);
  t.ok(await compression.whole('gzip', TEXT), 'there is room again');
  const streams = [1, 2, 3, 4].map(() => compression.stream('gzip'));
  t.equal(compression.stream('gzip'), undefined);
  const [first] = streams;
  const pending = first?.encode(Buffer.from(TEXT));
  first?.close();
  first?.close();
  await pending;
  t.equal((await first?.encode(Buffer.from('x')))?.length, 0, 'what is closed encodes nothing');
  t.ok(compression.stream('gzip'));
  t.equal(compression.stream('gzip'), undefined);
});

for (const coding of ['br', 'gzip'] as const) {
  t.test(`each piece of a stream can be read when it arrives: ${coding}`, async (t) => {
    const encoder = new Compression().stream(coding);
    if (encoder === undefined) throw new Error('there is room');
    t.teardown(() => encoder.close());
    const [first, second, end] = [
      await encoder.encode(Buffer.from('first\n')),
      await encoder.encode(Buffer.alloc(1_000_000, 'second\n')),
      await encoder.end(),
    ];
    t.ok(first.length > 0 && second.length > 0);
    t.ok(second.length < 10_000);
    t.ok(
      DECODERS[coding](Buffer.concat([first, second, end])).equals(
        Buffer.from(`first\n${'second\n'.repeat(142_857)}s`),
      ),
    );
  });
}

const route = (path: string, headers: readonly string[] = []): Route => ({
  method: 'GET',
  path,
  area: 'test',
  access: 'public',
  summary: '',
  answers: [],
  handle: () => ({ status: 200, text: TEXT, headers }),
});
const FURTHER: Route[] = [
  route('/inventory/test-large'),
  route('/inventory/test-tag', ['ETag', '"1"']),
  route('/user/test-large'),
  {
    ...route('/measurement/test-stream'),
    handle(request) {
      request.stream(200, 'text/csv', ['Content-Disposition', attachmentHeader('a.csv')]);
      void request.exchange.pipe(
        (async function* pieces() {
          yield 'a,b\r\n';
          yield '1,2\r\n'.repeat(10_000);
        })(),
      );
      return ANSWERED;
    },
  },
];

t.test('answers with data are compressed, and those that may have secrets are not', async (t) => {
  const api = await startApi(t, { further: FURTHER });
  const send = (
    path: string,
    acceptEncoding?: string,
    method = 'GET',
  ): Promise<{ readonly headers: Record<string, unknown>; readonly body: Buffer }> =>
    new Promise((resolve, reject) => {
      const headers = acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding };
      httpRequest(`${api.url}${path}`, { method, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }));
      })
        .on('error', reject)
        .end();
    });
  for (const coding of ['br', 'gzip']) {
    const whole = await send('/inventory/test-large', coding);
    t.match(whole.headers, {
      'content-encoding': coding,
      vary: 'Accept-Encoding',
      'content-length': String(whole.body.length),
    });
    t.equal(DECODERS[coding](whole.body).toString(), TEXT);
    const stream = await send('/measurement/test-stream', coding);
    t.match(stream.headers, { 'content-encoding': coding, vary: 'Accept-Encoding', 'transfer-encoding': 'chunked' });
    t.equal(DECODERS[coding](stream.body).toString(), `a,b\r\n${'1,2\r\n'.repeat(10_000)}`);
  }
  const head = await send('/inventory/test-large', 'gzip', 'HEAD');
  t.match(head.headers, {
    'content-encoding': 'gzip',
    'content-length': String((await send('/inventory/test-large', 'gzip')).body.length),
  });
  for (const [path, accept, vary] of [
    ['/inventory/test-large', undefined, 'Accept-Encoding'],
    ['/inventory/test-large', 'gzip;q=0', 'Accept-Encoding'],
    ['/inventory/test-tag', 'gzip', undefined],
    ['/user/test-large', 'gzip, br', undefined],
  ] as const) {
    const plain = await send(path, accept);
    t.equal(plain.body.toString(), TEXT, path);
    t.equal(plain.headers['content-encoding'], undefined);
    t.equal(plain.headers['vary'], vary);
  }
  t.match((await send('/inventory/nothing', 'gzip')).body.toString(), /^\{"error"/, 'an error');
});
