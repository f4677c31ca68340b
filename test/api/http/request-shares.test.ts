/** No user and no tenant takes all that requests share: places under way, bytes of bodies, bytes of answers. */
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { until } from '../../helpers/until.ts';
import { ADMIN, DEVICE, startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';

/** A request whose answer is not read. */
function send(t: Test, api: Api, text: string): { readonly socket: Socket; status(): string } {
  let received = '';
  const socket = createConnection(api.port, '127.0.0.1', () => socket.write(text));
  socket.on('error', () => undefined);
  socket.once('data', (data: Buffer) => {
    received = data.toString('latin1');
    socket.pause();
  });
  t.teardown(() => socket.destroy());
  return { socket, status: () => received.slice(9, 12) };
}
const get = (path: string, authorization = ADMIN): string =>
  `GET ${path} HTTP/1.1\r\nHost: h\r\nAuthorization: ${authorization}\r\n\r\n`;

t.test('requests under way', async (t) => {
  const api = await startApi(t, { config: { requestsMax: 10 } });
  api.fake.queried = new Promise(() => undefined);
  await api.call('GET', '/user/currentUser');
  const waiting = Array.from({ length: 8 }, () => send(t, api, get('/event/events')));
  await until('they wait', () => api.fake.askers.length === 8);
  const refused = await api.call('GET', '/user/currentUser');
  t.match([refused.status, refused.json.message], [503, /http\/requests-of-user/]);
  t.equal(
    (await api.call('GET', '/user/currentUser', { headers: { authorization: DEVICE } })).status,
    200,
    'another user',
  );
  t.same(api.fake.counted, ['http/requests-of-user']);
  waiting[0].socket.destroy();
  await until('its place is free', () => api.server.bodies.shares.requests.used === 7);
  t.equal((await api.call('GET', '/user/currentUser')).status, 200);
  for (const { socket } of waiting) socket.destroy();
  await until('all is given back', () => api.server.bodies.shares.requests.used === 0);
});

t.test('bytes of answers that their clients do not take', async (t) => {
  const text = 'x'.repeat(20 * 1024 * 1024);
  const api = await startApi(t, {
    config: { answersBytesMax: 5 * text.length },
    further: [
      {
        method: 'GET',
        path: '/large',
        area: 'test',
        access: 'user',
        summary: '',
        answers: [],
        handle: () => ({ status: 200, text, contentType: 'text/plain' }),
      },
    ],
  });
  await api.call('GET', '/user/currentUser');
  const slow = Array.from({ length: 4 }, () => send(t, api, get('/large')));
  await until('their answers begin', () => slow.every((one) => one.status() === '200'));
  const refused = await api.call('GET', '/large');
  t.match([refused.status, refused.json.message], [503, /http\/answers-bytes-of-user/]);
  const other = send(t, api, get('/large', DEVICE));
  await until('another user is answered', () => other.status() === '200');
  for (const { socket } of slow) socket.destroy();
  await until(
    'room again',
    async () =>
      (await api.call('GET', '/user/currentUser')).status === 200 && api.server.bodies.shares.requests.used <= 1,
  );
  const again = send(t, api, get('/large'));
  await until('the user is answered again', () => again.status() === '200');
});

t.test('bytes of bodies', async (t) => {
  const api = await startApi(t, { config: { bodiesBytesMax: 100_000 } });
  for (const authorization of [ADMIN, DEVICE])
    await api.call('GET', '/user/currentUser', { headers: { authorization } });
  const post = (authorization: string, part: number): ReturnType<typeof send> =>
    send(
      t,
      api,
      `POST /measurement/measurements HTTP/1.1\r\nHost: h\r\nAuthorization: ${authorization}\r\nContent-Length: ${part + 1}\r\n\r\n${'x'.repeat(part)}`,
    );
  const slow = post(ADMIN, 85_000);
  await until('it holds its bytes', () => api.server.bodies.bytes >= 85_000);
  const refused = post(ADMIN, 6_000);
  await until('refused', () => refused.status() === '503');
  t.same(api.fake.counted, ['http/bodies-bytes-of-user']);
  const other = post(DEVICE, 6_000);
  await until('another user has room', () => api.server.bodies.bytes >= 91_000);
  slow.socket.destroy();
  other.socket.destroy();
  await until('all is given back', () => api.server.bodies.bytes === 0 && api.server.bodies.shares.requests.used === 0);
});

t.test('bytes of uploads that the store takes slowly', async (t) => {
  const api = await startApi(t, { config: { bodiesBytesMax: 100_000 } });
  await api.call('GET', '/user/currentUser', { headers: { authorization: DEVICE } });
  const form = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--b--\r\n';
  const {
    json: { id },
  } = await api.call('POST', '/inventory/binaries', {
    body: form,
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  });
  const { bodies } = api.server;
  const { blobs } = api.fake;
  const put = blobs.put.bind(blobs);
  const upload = (part: number): ReturnType<typeof send> =>
    send(
      t,
      api,
      `PUT /inventory/binaries/${id} HTTP/1.1\r\nHost: h\r\nAuthorization: ${ADMIN}\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(part)}`,
    );

  blobs.put = () => new Promise(() => undefined);
  const slow = [upload(42_500), upload(42_500)];
  await until('they hold their bytes', () => bodies.bytes === 85_000);
  let readBytes = 0;
  blobs.put = (pieces, limit) =>
    put(
      (async function* counted() {
        for await (const piece of pieces) {
          readBytes += piece.length;
          yield piece;
        }
      })(),
      limit,
    );
  const refused = upload(6_000);
  await until('refused', () => refused.status() === '503');
  t.same(api.fake.counted, ['http/bodies-bytes-of-user']);
  const other = send(
    t,
    api,
    `POST /measurement/measurements HTTP/1.1\r\nHost: h\r\nAuthorization: ${DEVICE}\r\nContent-Length: 7000\r\n\r\n${'x'.repeat(6_000)}`,
  );
  await until('another user has room', () => bodies.bytes >= 91_000);
  for (const { socket } of [...slow, refused, other]) socket.destroy();
  await until('all is given back', () => bodies.bytes === 0 && bodies.shares.requests.used === 0);

  const quick = upload(45_000);
  for (let sent = 45_000; sent <= 225_000; sent += 45_000) {
    if (sent > 45_000) quick.socket.write('x'.repeat(45_000));
    await until('what was read counts no more', () => readBytes === sent || quick.status() !== '');
  }
  t.same([quick.status(), readBytes, bodies.bytes], ['', 225_000, 0]);
  t.same(api.fake.counted, ['http/bodies-bytes-of-user']);
  quick.socket.destroy();
  await until('it is over', () => bodies.shares.requests.used === 0);
});

t.test('bodies that come in pieces', async (t) => {
  const api = await startApi(t, { config: { bodiesMax: 10 } });
  for (const authorization of [ADMIN, DEVICE])
    await api.call('GET', '/user/currentUser', { headers: { authorization } });
  const post = (authorization: string): ReturnType<typeof send> =>
    send(
      t,
      api,
      `POST /measurement/measurements HTTP/1.1\r\nHost: h\r\nAuthorization: ${authorization}\r\nContent-Length: 100\r\n\r\nx`,
    );
  const slow = Array.from({ length: 8 }, () => post(ADMIN));
  await until('they wait', () => api.server.bodies.known.bodies === 8);
  const ninth = post(ADMIN);
  await until('refused, or taken', () => ninth.status() !== '' || api.server.bodies.known.bodies === 9);
  t.equal(ninth.status(), '503');
  t.same(api.fake.counted, ['http/bodies-of-user']);
  const other = post(DEVICE);
  await until('another user has room', () => api.server.bodies.known.bodies === 9);
  for (const { socket } of [...slow, other]) socket.destroy();
  await until(
    'all is given back',
    () => api.server.bodies.bodies === 0 && api.server.bodies.shares.requests.used === 0,
  );
  const again = Array.from({ length: 8 }, () => post(ADMIN));
  await until('their places are free', () => api.server.bodies.known.bodies === 8);
  for (const { socket } of again) socket.destroy();
});
