/** What an operator sees and relies on: latencies, connections, readiness, sessions that end without their client. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { CLUSTER_NODES, eventually, startServer } from '../../helpers/running/server.ts';
import type { RunningServer } from '../../helpers/running/server.ts';
import { ROOT } from '../../helpers/root.ts';

async function metric(server: RunningServer, name: string): Promise<number> {
  const text = await server.metricsText();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  if (line === undefined) throw new Error(`no ${name}`);
  return Number(line.slice(name.length + 1));
}

const latency = (server: RunningServer, protocol: string, what = 'count'): Promise<number> =>
  metric(server, `millrace_acknowledgement_latency_seconds_${what}{protocol="${protocol}"}`);

t.test('acknowledgement latencies, connections, readiness', async (t) => {
  const server = await startServer(t);
  const { rest } = server;
  t.equal(await latency(server, 'mqtt'), 0);
  const httpBefore = await latency(server, 'http');
  const device = await connectDevice(t, server, 'counted', { protocolVersion: 5 });
  // An object is made, measurements and an alarm are stored, the last one is ignored; QoS 0 has no acknowledgement.
  for (const payload of ['211,1', '211,2', '302,c8y_Hot,hot']) await device.publish('s/us', payload);
  await device.publish('s/us', '211,3', 2);
  await device.publish('s/us', '211,4', 0);
  await t.rejects(device.publish('nowhere', 'x'), { code: 0x90 });
  t.equal(await latency(server, 'mqtt'), 5);
  const messages = (protocol: string, result: string): Promise<number> =>
    metric(server, `millrace_messages_total{protocol="${protocol}",result="${result}"}`);
  t.same(await Promise.all([0, 1, 2].map((qos) => messages(`mqtt-qos${qos}`, 'received'))), [1, 4, 1]);
  const sum = await latency(server, 'mqtt', 'sum');
  t.ok(sum > 0 && sum < 5, `${sum} s`);
  t.ok((await metric(server, 'millrace_group_commit_latency_seconds_count')) > 0);
  const id = (await rest.idOf('counted')) as string;
  await rest.create('/event/events', { type: 'x', text: 'x', time: '2026-11-21T08:00:00.000Z', source: { id } });
  await rest.put(`/inventory/managedObjects/${id}`, { name: 'Counted' });
  await rest.post('/event/events', { type: 'x' });
  const handshake = [{ channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: ['long-polling'] }];
  t.equal((await rest.post('/cep/realtime', JSON.stringify(handshake))).json[0].successful, true);
  t.equal(await latency(server, 'http'), httpBefore + 2, 'what was written, not what was read, refused or held back');
  t.ok((await messages('http', '2xx')) >= 4 && (await messages('http', '4xx')) >= 1, 'messages by protocol and result');
  t.ok((await metric(server, 'millrace_connections{protocol="http"}')) >= 1);
  t.equal(await metric(server, 'millrace_connections{protocol="mqtt"}'), 1);
  t.match(await rest.read('/health/ready'), {
    ready: true,
    parts: { documents: { ready: true, ...(CLUSTER_NODES > 0 ? {} : { lagRecords: 0 }) } },
  });
  await eventually('rows are in the history', async () =>
    (await server.metricsText()).includes('millrace_rows_inserted_total'),
  );
  const page = readFileSync(join(ROOT, 'docs/reference/metrics.md'), 'utf8');
  const documented = [...page.matchAll(/^\| `(millrace_\w+)` \| (\w+) \| .*? \| (all|one node|cluster|TLS) \|/gm)];
  t.same(
    [...(await server.metricsText()).matchAll(/^# TYPE (millrace_\w+) (\w+)/gm)].map(([, ...row]) => row).sort(),
    documented
      .filter(([, , , where]) => where === 'all' || where === (CLUSTER_NODES > 0 ? 'cluster' : 'one node'))
      .map(([, name, type]) => [name, type])
      .sort(),
    'docs/reference/metrics.md has each metric',
  );
  await device.subscribe('s/e');
  await device.publish('s/us', `301,${'x'.repeat(1_001)}`);
  await device.row(
    's/e',
    /^45,301,The parameter type has the value x+…; it takes a text of 1 to 1000 bytes without control characters$/,
  );
  t.equal(await messages('mqtt', 'error'), 2, 'the unknown topic and the row');
  await device.end();
});

t.test('a session that expires while the server is down, and one whose client never comes back', async (t) => {
  const options = { protocolVersion: 5, clean: false, reconnectPeriod: 0 } as const;
  const server = await startServer(t);
  const brief = await connectDevice(t, server, 'brief', { ...options, properties: { sessionExpiryInterval: 1 } });
  await brief.subscribe('s/ds');
  await brief.end();
  const long = await connectDevice(t, server, 'long', { ...options, properties: { sessionExpiryInterval: 1_000 } });
  await long.subscribe('s/ds');
  await long.end();
  await server.stop();
  await new Promise((done) => {
    setTimeout(done, 1_200);
  });
  const again = await startServer(t, { data: server.data });
  await eventually(
    'the session is removed',
    async () => (await metric(again, 'millrace_mqtt_sessions_expired_total')) === 1,
  );
  t.equal((await connectDevice(t, again, 'long', options)).sessionPresent, true);
  t.equal((await connectDevice(t, again, 'brief', options)).sessionPresent, false);
});
