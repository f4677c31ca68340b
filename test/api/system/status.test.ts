/** How the node is, and who is connected: what each caller may see. */
import t from 'tap';
import type { ConnectionQuery, DeviceConnectionRow } from '../../../src/ports/device-connections.ts';
import { DEVICE, startApi } from '../helpers/api.ts';

t.test('status: details and refusals are for operators, consumers for administrators of the tenant', async (t) => {
  const api = await startApi(t, { config: { hasOpenMetrics: true } });
  const { status, json } = await api.call('GET', '/millrace/status');
  t.equal(status, 200);
  t.match(json, {
    node: 'mill-1',
    ready: true,
    parts: { journal: { ready: true, lag: 3 } },
    nodes: [{ node: 'mill-1', state: 'ready', lag: 3, connections: 5 }],
    refusals: [{ limit: 'journal/bytes', count: 2 }],
    consumers: [],
  });
  const closed = await startApi(t, { config: { hasOpenMetrics: false } });
  closed.fake.isReady = false;
  const seen = await closed.call('GET', '/millrace/status', { headers: { authorization: DEVICE } });
  t.equal(seen.status, 200, 'also while the node is not ready');
  t.strictSame(seen.json.parts, { journal: { ready: false } });
  t.notOk('refusals' in seen.json || 'nodes' in seen.json || 'consumers' in seen.json);
  t.equal((await closed.call('GET', '/millrace/status', { headers: { authorization: undefined } })).status, 401);
});

t.test('connections: a page of the tenant for its administrators', async (t) => {
  const row: DeviceConnectionRow = {
    clientId: 'pump-7',
    user: 'device_pump-7',
    source: '1000',
    address: '192.0.2.7',
    transport: 'tcp',
    protocolVersion: '3.1.1',
    connectedAt: Date.UTC(2024, 4, 2, 10),
    keepAliveSeconds: 60,
    subscriptionsCount: 1,
    inFlightCount: 2,
    queuedCount: 3,
    unacknowledgedCount: 4,
    isPersistent: true,
    node: 'mill-1',
  };
  const asked: [number, ConnectionQuery][] = [];
  const api = await startApi(t, {
    platform: {
      connections: {
        page: async (tenant, query) => {
          asked.push([tenant, query]);
          return { total: 7, rows: [row, { ...row, clientId: 'pump-8' }], silentNodes: ['mill-2-x'] };
        },
      },
    },
  });
  const path = '/millrace/connections';
  const { json } = await api.call('GET', `${path}?pageSize=2&currentPage=2&text=pump&withTotalPages=true`);
  t.same(asked, [[2, { text: 'pump', offset: 2, limit: 2 }]]);
  t.match(json, {
    next: /currentPage=3/,
    prev: /currentPage=1/,
    statistics: { currentPage: 2, pageSize: 2, totalPages: 4 },
    silentNodes: ['mill-2-x'],
  });
  t.strictSame(json.connections[0], {
    clientId: 'pump-7',
    user: 'device_pump-7',
    address: '192.0.2.7',
    transport: 'tcp',
    protocolVersion: '3.1.1',
    keepAliveSeconds: 60,
    source: { id: '1000' },
    since: '2024-05-02T10:00:00.000Z',
    subscriptions: 1,
    inFlight: 2,
    queued: 3,
    unacknowledged: 4,
    persistent: true,
    node: 'mill-1',
  });
  t.equal((await api.call('GET', path, { headers: { authorization: DEVICE } })).status, 403);
});
