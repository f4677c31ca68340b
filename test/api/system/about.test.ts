/** What the server tells a user of itself. */
import t from 'tap';
import { PlatformError } from '../../../src/model/errors.ts';
import { ADMIN, DEVICE, startApi } from '../helpers/api.ts';
import { rawRequest } from '../helpers/raw-http.ts';

t.test('where the server listens, what it has, who the user is', async (t) => {
  const api = await startApi(t);
  api.fake.rows = [[{ id: 7 }]];
  const { status, json, headers } = await api.call('GET', '/millrace/about');
  t.equal(status, 200);
  t.equal(headers.get('cache-control'), 'no-store');
  t.match(json, {
    node: 'mill-1',
    shape: 'single-node',
    baseUrl: api.url,
    host: '127.0.0.1',
    ports: { http: 8080, mqtt: 1883 },
    tenant: { id: 't1', isManagement: false },
    user: { userName: 'admin' },
    hasDevices: true,
    has: { scoring: false, onnx: false, python: 'off', mail: false },
  });
  t.match(api.fake.asked[0], { tenant: 2, tables: ['managed_objects'] });
});

t.test('a tenant without devices; a device sees its own roles; a stranger sees nothing', async (t) => {
  const api = await startApi(t);
  t.equal((await api.call('GET', '/millrace/about')).json.hasDevices, false);
  const { json } = await api.call('GET', '/millrace/about', { headers: { authorization: DEVICE } });
  t.match(json.user, { userName: 'device_1' });
  t.equal((await api.call('GET', '/millrace/about', { headers: { authorization: undefined } })).status, 401);
});

t.test('whatever name a client calls the server by', async (t) => {
  const api = await startApi(t);
  for (const [host, wanted] of [
    ['iot.example.org', 'iot.example.org'],
    ['iot.example.org:8443', 'iot.example.org'],
    ['256.0.0.1', '256.0.0.1'],
    ['[::1]:8080', '::1'],
    ['xn--a', 'xn--a'],
    ['not/a-host', 'localhost'],
  ]) {
    const { text } = await rawRequest(api.port, 'GET', '/millrace/about', { host, authorization: ADMIN });
    t.equal(JSON.parse(text).host, wanted, host);
  }
});

t.test('without the history all else is told; another fault is not hidden', async (t) => {
  const failing = (error: Error): object => ({
    history: { query: () => Promise.reject(error), stream: () => Promise.reject(error) },
  });
  const away = await startApi(t, {
    platform: failing(new PlatformError('general/history-unavailable', { reason: 'it restarts' })),
  });
  const answer = await away.call('GET', '/millrace/about');
  t.equal(answer.status, 200);
  t.notOk('hasDevices' in answer.json);
  const broken = await startApi(t, { platform: failing(new Error('no such column')) });
  t.equal((await broken.call('GET', '/millrace/about')).status, 500);
});
