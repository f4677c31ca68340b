/** Bounds of all request bodies together, and of those whose sender is not known yet. */
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { PlatformError, refusedBy } from '../../../src/model/errors.ts';
import type { Api } from '../helpers/api.ts';
import { ADMIN, DEVICE, startApi } from '../helpers/api.ts';
import { ENGINES } from '../helpers/engines.ts';

const PATH = '/measurement/measurements';
const KIB = 1024;
const MIB = 1024 * KIB;

/** Sends the head of a POST and a part of its body. @param authorization '' for none. */
async function begin(
  t: Test,
  api: Api,
  head: string,
  part: string,
  { path = PATH, authorization = ADMIN } = {},
): Promise<{ socket: Socket; answer(): string }> {
  let text = '';
  const socket = createConnection(api.port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.on('data', (data) => {
    text += data.toString('latin1');
  });
  t.teardown(() => socket.destroy());
  const credentials = authorization === '' ? '' : `Authorization: ${authorization}\r\n`;
  socket.write(`POST ${path} HTTP/1.1\r\nHost: h\r\n${credentials}${head}\r\n\r\n${part}`);
  return { socket, answer: () => text };
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !condition(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
}

t.test('all bodies together have a bound, and are counted until their answers', async (t) => {
  const api = await startApi(t, { config: { bodiesBytesMax: 100_000 } });
  await api.call('GET', '/user/currentUser');
  const first = await begin(t, api, 'Content-Length: 90000', 'x'.repeat(1000));
  await until(() => api.server.bodies.bytes > 0);
  t.equal(api.server.bodies.bytes, 4_096, 'what has arrived, not what was announced');
  first.socket.write('x'.repeat(84_000));
  await until(() => api.server.bodies.bytes >= 85_000);
  t.ok(api.server.bodies.bytes <= 90_000, `${api.server.bodies.bytes}, never more than was announced`);
  t.equal(api.server.bodies.bodies, 1);
  const refused = await api.call('POST', PATH, { body: 'y'.repeat(20_000) });
  t.equal(refused.status, 503);
  t.match(refused.json.message, 'http/bodies-bytes');
  t.equal(refused.headers.get('retry-after'), '1');
  t.same(api.fake.counted, ['http/bodies-bytes']);
  const inParts = await begin(t, api, 'Content-Length: 50000', 'x'.repeat(20_000));
  await until(() => inParts.answer().includes('}'));
  t.match(inParts.answer(), /^HTTP\/1.1 503 /);
  t.equal((await api.call('POST', PATH, { body: 'y'.repeat(1000) })).status, 201, 'small ones have room');
  first.socket.write('x'.repeat(5_000));
  await until(() => first.answer() !== '');
  t.match(first.answer(), /^HTTP\/1.1 201 /);
  t.same([api.server.bodies.bytes, api.server.bodies.bodies], [0, 0]);
  const gone = await begin(t, api, 'Content-Length: 90000', 'x'.repeat(1000));
  await until(() => api.server.bodies.bytes > 0);
  gone.socket.destroy();
  await until(() => api.server.bodies.bytes === 0);
  t.same([api.server.bodies.bytes, api.server.bodies.bodies], [0, 0], 'also when the client goes');
  t.equal((await api.call('POST', PATH, { body: 'y'.repeat(90_000) })).status, 201);
});

t.test('so has their number', async (t) => {
  const api = await startApi(t, { config: { bodiesMax: 2 } });
  await api.call('GET', '/user/currentUser');
  const slow = [await begin(t, api, 'Content-Length: 10', 'x'), await begin(t, api, 'Content-Length: 10', 'x')];
  await until(() => api.server.bodies.bodies === 2);
  const third = await begin(t, api, 'Content-Length: 10', 'x');
  await until(() => third.answer().includes('}'));
  t.match(third.answer(), /^HTTP\/1.1 503 [^]*http\/bodies"/);
  t.same(api.fake.counted, ['http/bodies']);
  t.equal((await api.call('POST', PATH, { body: 'one piece' })).status, 201);
  for (const { socket } of slow) socket.write('x'.repeat(9));
  await until(() => slow.every(({ answer }) => answer() !== ''));
  t.ok(slow.every(({ answer }) => answer().startsWith('HTTP/1.1 201')));
  t.equal(api.server.bodies.bodies, 0);
});

/** A login that ends when `release` is called. */
function slowLogin(api: Api): { release: () => void } {
  let release: () => void = () => undefined;
  api.fake.login = new Promise((resolve) => {
    release = resolve;
  });
  return { release: () => release() };
}

const CHUNK = `10000\r\n${'x'.repeat(65_536)}\r\n`;

t.test('before the password is checked 64 KiB are read, and the rest afterwards', async (t) => {
  const api = await startApi(t, { config: { bodyMaxBytes: 16 * MIB, trustsProxy: false } });
  const { release } = slowLogin(api);
  const { bodies } = api.server;
  const announced = await begin(t, api, `Content-Length: ${12 * MIB}`, 'x'.repeat(12 * MIB));
  await until(() => bodies.paused === 1);
  const chunked = await begin(t, api, 'Transfer-Encoding: chunked', `${CHUNK.repeat(12 * 16)}0\r\n\r\n`);
  await until(() => bodies.paused === 2);
  const held = bodies.bytes;
  t.ok(held < 3 * MIB, `${held} bytes are held of two bodies, each one read of the library at most`);
  t.same([bodies.known.bytes, bodies.known.bodies], [0, 0], 'they take no room of known senders');
  const small = api.call('POST', PATH, { body: 'x'.repeat(KIB) });
  await until(() => bodies.bytes >= held + KIB);
  t.equal(bodies.bytes, held + KIB, 'nothing more of them is read');
  t.same([announced.answer(), chunked.answer()], ['', '']);
  const gone = await begin(t, api, 'Content-Length: 3', 'abc');
  await until(() => bodies.bytes === held + KIB + 3);
  gone.socket.destroy();
  await until(() => bodies.bytes === held + KIB);
  t.equal(bodies.bytes, held + KIB);
  release();
  t.equal((await small).status, 201);
  await until(() => announced.answer() !== '' && chunked.answer() !== '');
  for (const { answer } of [announced, chunked]) t.match(answer(), /^HTTP\/1.1 201 /);
  t.same([bodies.paused, bodies.bytes, bodies.bodies], [0, 0, 0]);
  t.same(api.fake.counted, []);
  t.equal((await api.call('POST', PATH, { body: 'x'.repeat(2 * MIB) })).status, 201, 'who is known may send more');
});

const LOGIN = { path: '/tenant/oauth/token', authorization: '' };
const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded';
const FORM = 'grant_type=PASSWORD&username=t1/admin&password=secret';

t.test('strangers take no room from users, whatever they announce and send', async (t) => {
  const api = await startApi(t, {
    config: { jsonBodyMaxBytes: MIB, bodyMaxBytes: 16 * MIB, bodiesBytesMax: 16 * MIB, bodiesEarlyBytesMax: 256 * KIB },
  });
  await api.call('GET', '/user/currentUser');
  const { bodies } = api.server;
  const logIn = (): ReturnType<Api['call']> =>
    api.call('POST', LOGIN.path, {
      body: FORM,
      headers: { authorization: undefined, 'content-type': 'application/x-www-form-urlencoded' },
    });
  const wanted = (await logIn()).status;
  const announcing = await Promise.all(
    Array.from({ length: 128 }, () => begin(t, api, `Content-Length: ${MIB}`, 'x', LOGIN)),
  );
  await until(() => announcing.every(({ answer }) => answer().includes('}')));
  for (const { answer } of announcing) t.match(answer(), /^HTTP\/1.1 413 [^]*65536/);
  t.same([bodies.bytes, bodies.bodies], [0, 0]);
  const slow = await Promise.all(
    Array.from({ length: 40 }, () => begin(t, api, `Content-Length: ${64 * KIB}`, 'x', LOGIN)),
  );
  await until(() => bodies.early.bodies === 40);
  t.same([bodies.early.bytes, bodies.known.bytes], [40 * 4_096, 0]);
  for (const { socket } of slow) socket.write('x'.repeat(8 * KIB));
  await until(() => slow.some(({ answer }) => answer().includes('}')));
  t.match(
    slow.map(({ answer }) => answer()).find((answer) => answer !== ''),
    /^HTTP\/1.1 503 [^]*http\/bodies-before-login-bytes/,
  );
  t.ok(bodies.early.bytes <= 192 * KIB, 'the last quarter is kept for small ones');
  t.equal((await logIn()).status, wanted, 'a login has room');
  t.equal((await api.call('POST', PATH, { body: 'x'.repeat(8 * MIB) })).status, 201, 'so have users');
  for (const { socket } of slow) socket.destroy();
  await until(() => bodies.bytes === 0);
  t.same([bodies.bytes, bodies.bodies], [0, 0]);
});

t.test('an upload whose sender is not known yet waits in a pool of its own', async (t) => {
  const api = await startApi(t);
  const { release } = slowLogin(api);
  const { bodies } = api.server;
  const upload = await begin(
    t,
    api,
    `Content-Type: application/octet-stream\r\nContent-Length: ${12 * MIB}`,
    'x'.repeat(12 * MIB),
    { path: '/inventory/binaries' },
  );
  await until(() => bodies.checked.bytes > 64 * KIB);
  const held = bodies.checked.bytes;
  t.ok(held > 64 * KIB && held < 2 * MIB, `${held} bytes`);
  t.equal(bodies.known.bytes, 0);
  release();
  await until(() => upload.answer() !== '');
  t.equal(bodies.checked.bytes, 0);
  upload.socket.destroy();
  await until(() => bodies.bytes === 0);
  t.equal(bodies.bytes, 0);
});

for (const [engine, library] of ENGINES) {
  t.test(`${engine}: bodies of strangers that are not complete turn nobody away`, async (t) => {
    const api = await startApi(t, { library, config: { bodiesEarlyMax: 20 } });
    const { bodies } = api.server;
    const from = (address: string, part: string, length = FORM.length): ReturnType<typeof begin> =>
      begin(t, api, `X-Forwarded-For: ${address}\r\n${FORM_TYPE}\r\nContent-Length: ${length}`, part, LOGIN);
    const whole = await from('192.0.2.1', FORM);
    await until(() => whole.answer() !== '');
    const wanted = whole.answer().slice(0, 12);

    const oldest = await from('192.0.2.1', FORM.slice(0, 1));
    await until(() => bodies.early.bodies === 1);
    const silent = await Promise.all(Array.from({ length: 19 }, () => from('198.51.100.1', 'x', 60)));
    await until(() => bodies.early.bodies === 20);
    t.same(api.fake.counted, []);
    const login = await from('192.0.2.2', FORM.slice(0, 10));
    await until(() => silent.some(({ answer }) => answer().includes('}')));
    const refused = silent.filter(({ answer }) => answer() !== '');
    t.equal(refused.length, 1, 'one of the address with most has given way');
    t.match(refused[0]?.answer(), /^HTTP\/1.1 503 [^]*http\/bodies-before-login"/);
    t.same(api.fake.counted, ['http/bodies-before-login']);
    const further = await Promise.all(Array.from({ length: 30 }, () => from('198.51.100.1', 'x', 60)));
    await until(() => api.fake.counted.length === 31);
    t.same([api.fake.counted.length, bodies.early.bodies], [31, 20]);
    for (const { socket, answer } of [oldest, login]) {
      t.equal(answer(), '');
      socket.write(FORM.slice(answer === oldest.answer ? 1 : 10));
    }
    await until(() => oldest.answer() !== '' && login.answer() !== '');
    t.same([oldest.answer().slice(0, 12), login.answer().slice(0, 12)], [wanted, wanted]);

    await from('198.51.100.1', 'x', 60);
    await from('198.51.100.1', 'x', 60);
    await until(() => bodies.early.bodies === 20);
    const { release } = slowLogin(api);
    const post = await begin(t, api, `Content-Length: ${20 * KIB}`, 'x'.repeat(10 * KIB));
    await until(() => bodies.checked.bodies === 1);
    release();
    await until(() => bodies.known.bodies === 1);
    post.socket.write('x'.repeat(10 * KIB));
    await until(() => post.answer() !== '');
    t.match(post.answer(), /^HTTP\/1.1 201 /, 'credentials that are checked have places of their own');
    for (const { socket } of [...silent, ...further]) socket.destroy();
  });
}

t.test('nor do their bytes', async (t) => {
  const api = await startApi(t, { config: { bodiesEarlyBytesMax: 64 * KIB, jsonBodyMaxBytes: MIB } });
  const { bodies } = api.server;
  const large: Awaited<ReturnType<typeof begin>>[] = [];
  for (let index = 1; index <= 4; index += 1) {
    large.push(await begin(t, api, `${FORM_TYPE}\r\nContent-Length: ${32 * KIB}`, 'x'.repeat(10 * KIB), LOGIN));
    // 20 KiB each; the last 16 KiB are for small ones.
    const refused = Math.max(0, index - 2);
    await until(() => bodies.early.bodies === index - refused && api.fake.counted.length === refused);
  }
  t.same(
    large.map(({ answer }) => answer().slice(9, 12)),
    ['503', '503', '', ''],
    'the oldest have given way',
  );
  t.same(api.fake.counted, ['http/bodies-before-login-bytes', 'http/bodies-before-login-bytes']);
  t.same([bodies.early.bytes, bodies.early.bodies], [40 * KIB, 2]);
  for (const { socket } of large) socket.destroy();
  await until(() => bodies.bytes === 0);
  t.same([bodies.bytes, bodies.bodies], [0, 0]);
});

t.test('a body that waits too long is refused, and so is one more than may wait', async (t) => {
  const api = await startApi(t, { config: { bodyMaxBytes: 4 * MIB, bodiesPausedMsMax: 300 } });
  const { release } = slowLogin(api);
  const { bodies } = api.server;
  const long = await begin(t, api, `Content-Length: ${2 * MIB}`, 'x');
  await until(() => long.answer().includes('}'));
  t.match(long.answer(), /^HTTP\/1.1 503 [^]*http\/bodies-before-login-bytes/);
  t.same([bodies.paused, bodies.bytes], [0, 0]);
  long.socket.destroy();
  release();

  const many = await startApi(t, { config: { bodyMaxBytes: 4 * MIB, bodiesEarlyMax: 100, trustsProxy: false } });
  const other = slowLogin(many);
  const waiting = await Promise.all(
    Array.from({ length: 100 }, () => begin(t, many, `Content-Length: ${2 * MIB}`, 'x')),
  );
  await until(() => many.server.bodies.paused === 100);
  t.equal(many.server.bodies.paused, 100);
  const further = [
    await begin(t, many, `Content-Length: ${2 * MIB}`, 'x'),
    await begin(t, many, 'Transfer-Encoding: chunked', CHUNK.repeat(17)),
  ];
  await until(() => further.every(({ answer }) => answer().includes('}')));
  for (const { answer } of further) t.match(answer(), /^HTTP\/1.1 503 [^]*http\/bodies-before-login"/);
  t.same(many.fake.counted, ['http/bodies-before-login', 'http/bodies-before-login']);
  other.release();
  await until(() => many.server.bodies.paused === 0);
  t.same(
    waiting.map(({ answer }) => answer()),
    waiting.map(() => ''),
    'the others are read on',
  );
  for (const { socket } of waiting) socket.destroy();
  await until(() => many.server.bodies.bytes === 0);
  t.same([many.server.bodies.paused, many.server.bodies.bytes, many.server.bodies.bodies], [0, 0, 0]);
});

t.test('with wrong credentials the rest of a large body is thrown away and the answer is read', async (t) => {
  const api = await startApi(t, { config: { bodyMaxBytes: 16 * MIB } });
  let refuse: () => void = () => undefined;
  api.fake.login = new Promise((_resolve, reject) => {
    refuse = () => reject(refusedBy('authentication/checks-waiting'));
  });
  const call = api.call('POST', PATH, { body: 'x'.repeat(12 * MIB) });
  await until(() => api.server.bodies.paused === 1);
  refuse();
  const large = await call;
  t.equal(large.status, 503);
  t.same([api.server.bodies.paused, api.server.bodies.bytes], [0, 0]);
});

t.test('a password that nobody has time to check is no wrong one', async (t) => {
  const api = await startApi(t);
  api.fake.login = Promise.reject(refusedBy('authentication/checks-waiting'));
  api.fake.login.catch(() => undefined);
  const busy = await api.call('POST', PATH, { body: 'x' });
  t.match(busy, {
    status: 503,
    json: { error: 'general/Service Unavailable', message: /authentication\/checks-waiting/ },
  });
  t.equal(busy.headers.get('www-authenticate'), null);
  t.equal(api.server.bodies.bytes, 0);
  api.fake.login = Promise.resolve();
  t.equal((await api.call('POST', PATH, { body: 'x' })).status, 201);
});

t.test('answers 401 and 403 are counted', async (t) => {
  const api = await startApi(t);
  await api.call('GET', '/user/currentUser', { headers: { authorization: undefined } });
  await api.call('GET', '/user/currentUser', { headers: { authorization: 'Basic eDp5' } });
  await api.call('GET', '/user/t1/users', { headers: { authorization: DEVICE } });
  t.same(api.fake.counted, ['http/401', 'http/401', 'http/403']);
  t.ok(refusedBy('http/bodies') instanceof PlatformError);
});

for (const [engine, library] of ENGINES) {
  t.test(
    `${engine}: uploads that the store takes slowly stay within the bound of all bodies, however much the library reads on`,
    async (t) => {
      const api = await startApi(t, { library, config: { fileMaxBytes: 64 * MIB, bodiesBytesMax: 3 * MIB } });
      await api.call('GET', '/user/currentUser');
      const { bodies } = api.server;
      const { blobs } = api.fake;
      const put = blobs.put.bind(blobs);
      let release: () => void = () => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      blobs.put = (pieces, limit) =>
        put(
          (async function* slowly() {
            await released;
            yield* pieces;
          })(),
          limit,
        );
      let [most, refused] = [0, 0];
      const take = bodies.shares.takeBody.bind(bodies.shares);
      bodies.shares.takeBody = (request, bytes, bodyBytes) => {
        const limit = take(request, bytes, bodyBytes);
        if (limit === undefined) most = Math.max(most, bodies.bytes + bytes);
        else refused += 1;
        return limit;
      };
      const form = `--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${'x'.repeat(2 * MIB)}\r\n--b--\r\n`;
      const head = `Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ${form.length}`;
      const uploads = await Promise.all(
        Array.from({ length: 16 }, () => begin(t, api, head, form, { path: '/inventory/binaries' })),
      );
      await until(() => refused > 0);
      release();
      await until(() => uploads.every(({ answer }) => /\r\n\r\n(?:$|.*\})/.test(answer())));
      for (const { answer } of uploads) t.match(answer(), /^HTTP\/1.1 (201 |503 [^]*http\/bodies-bytes)/);
      t.ok(
        uploads.some(({ answer }) => answer().startsWith('HTTP/1.1 503')),
        'the library brings more than there is room for',
      );
      t.ok(
        uploads.some(({ answer }) => answer().startsWith('HTTP/1.1 201')),
        'those that had room are stored',
      );
      t.ok(most <= 3 * MIB, `${most} bytes`);
      t.same([bodies.bytes, bodies.bodies], [0, 0]);
    },
  );
}
