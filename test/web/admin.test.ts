/** What the screens of administration make of answers, without a browser. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { boundsOf, isBadLimit, withLimits } from '../../web/screens/admin/tenants/tenant-data.ts';
import { pageOf } from '../../web/screens/admin/tenants/application-data.ts';
import { areaText, roleMatrix } from '../../web/screens/admin/users/access.ts';
import { faultsOf, recordOf } from '../../web/screens/scoring/model-data.ts';
import { limitIn, limitOf, limitsOf } from '../../web/core/server/limits.ts';
import { lagOf, mqttMessages, parseMetrics, ratesOf, sumOf } from '../../web/screens/operate/metrics.ts';
import { bytesText, durationText } from '../../web/core/text/units.ts';
import { pathOf } from '../../web/core/api/json.ts';
import { sparkPoints } from '../../web/parts/sparkline.tsx';
import { ROOT } from '../helpers/root.ts';

t.test('roles as a matrix of areas and levels', async (t) => {
  const { rows, others } = roleMatrix(['ROLE_DEVICE', 'ROLE_ALARM_READ', 'ROLE_ALARM_ADMIN', 'ROLE_BINARY_CREATE']);
  t.same(rows, [
    { area: 'ALARM', roles: ['ROLE_ALARM_READ', undefined, undefined, 'ROLE_ALARM_ADMIN'] },
    { area: 'BINARY', roles: [undefined, 'ROLE_BINARY_CREATE', undefined, undefined] },
  ]);
  t.same(others, ['ROLE_DEVICE']);
  t.equal(areaText('MANAGED_OBJECT'), 'Managed object');
});

t.test('metrics', async (t) => {
  const metrics = parseMetrics(
    '# HELP millrace_messages_total Messages\nmillrace_messages_total{protocol="mqtt-qos0",result="received"} 3\n' +
      'millrace_messages_total{protocol="mqtt-qos1",result="received"} 2\nmillrace_messages_total{protocol="mqtt-qos1",result="sent"} 9\nx 1e3\n',
  );
  t.equal(mqttMessages(metrics), 5);
  t.equal(sumOf(metrics, 'x'), 1_000);
  t.equal(lagOf({ journal: { ready: true }, documents: { ready: true, lagRecords: 7 } }), 7);
  const sample = { node: 'a', lagRecords: 0, connections: 0, memoryBytes: 0 };
  const rates = ratesOf([
    { ...sample, atMs: 0, messages: 0 },
    { ...sample, atMs: 2_000, messages: 10 },
    // Started anew.
    { ...sample, atMs: 4_000, messages: 1 },
    { ...sample, atMs: 6_000, messages: 2, node: 'b' },
  ]);
  t.same(rates, [5]);
  t.equal(sparkPoints([0, 2, 1], 10, 10), '0.0,9.0 5.0,1.0 10.0,5.0');
});

t.test('limits in the words of their page', async (t) => {
  const limits = limitsOf(readFileSync(join(ROOT, 'docs', 'reference', 'limits.md'), 'utf8'));
  t.same(limitOf(limits, 'retention/none'), undefined);
  t.match(limitOf(limits, 'exports/of-user'), { bounds: 'exports at a time of a user', bound: '5', beyond: '503' });
  const named = [
    'A tenant has at most 5 rules (retention/rules)',
    'The server is busy: journal/bytes (more)',
    'no (one)',
  ];
  t.same(named.map(limitIn), ['retention/rules', 'journal/bytes', undefined]);
  t.match(limitOf(limits, 'http/bodies-of-tenant'), { beyond: '503 (shared)' }, 'a share is told with its limit');
});

t.test('amounts, paths, limits of a tenant, pages of applications', async (t) => {
  t.equal(bytesText(0), '0 B');
  t.equal(bytesText(3_355_443), '3.2 MiB');
  t.equal(durationText(93_784), '1 day 2 hr');
  t.equal(durationText(0.5), '0 sec');
  t.equal(pathOf`/user/${'a/b'}/users/${'é'}`, '/user/a%2Fb/users/%C3%A9');
  const fields = {
    'limit.http.requests': '50',
    'limit.http.queue': '',
    'limit.stream.requests': '',
    'limit.stream.queue': '',
  };
  const tenant = { id: 'x', status: 'ACTIVE' as const, customProperties: { other: 1, 'limit.http.queue': 9 } };
  t.same(withLimits(tenant, fields), { other: 1, 'limit.http.requests': 50 });
  t.same(['', '5', '0', '-1', '1.5'].map(isBadLimit), [false, false, true, true, true]);
  const bounded = { ...tenant, customProperties: { 'limit.devices.number': '5' }, storageLimitPerDevice: 100 };
  t.same(boundsOf(bounded, { deviceCount: 2, storageSize: 50, requestCount: 30, deviceRequestCount: 10 }, 10), [
    { name: 'devices', value: 2, max: 5 },
    { name: 'storage', value: 50, max: 200 },
    { name: 'requests', value: 2, max: undefined },
  ]);
  const application = { id: '1', name: 'a', key: 'a', availability: 'PRIVATE' as const };
  t.equal(pageOf({ ...application, type: 'HOSTED', contextPath: 'a', activeVersionId: '2' }), '/apps/a/');
  t.equal(pageOf({ ...application, type: 'EXTERNAL', externalUrl: 'javascript:alert(1)' }), undefined);
});

t.test('a record of the filled fields, and the errors of a document', async (t) => {
  const fields = [
    { usage: 'ACTIVE', name: 'temperature', type: 'DOUBLE' },
    { usage: 'ACTIVE', name: 'state', type: 'STRING' },
    { usage: 'ACTIVE', name: 'rise', type: 'DOUBLE' },
  ];
  t.same(recordOf(fields, { temperature: '21.5', state: '7', rise: ' ' }), { temperature: 21.5, state: '7' });
  const document = '<!-- PMML -->\n<PMML>\n  <!-- ERROR: DataField (line 5): wrong --><DataField/>\n<!-- ERROR: x -->';
  t.same(faultsOf(document), [
    { line: 5, text: 'DataField: wrong' },
    { line: 4, text: 'x' },
  ]);
});
