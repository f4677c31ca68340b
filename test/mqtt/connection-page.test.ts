/** Open connections of a tenant as rows: none before CONNECT is accepted, none of other tenants. */
import t from 'tap';
import { Harness } from './helpers/harness.ts';

t.test('a page of the open connections', async (t) => {
  const harness = new Harness();
  const tenant = 1;
  for (const clientId of ['a1', 'a2', 'b1']) await harness.connected(clientId, clientId === 'b1' ? 5 : 3);
  await harness.connect('refused', 5, { password: Buffer.from('wrong') });
  const page = (text: string, offset = 0, limit = 10, of = tenant) =>
    harness.server.pageOf(of, { text, offset, limit }, 'mill-1');
  const idsOf = ({ total, rows }: ReturnType<typeof page>): unknown[] => [
    total,
    rows.map(({ clientId }) => clientId).join(),
  ];
  t.same(idsOf(page('')), [3, 'a1,a2,b1']);
  t.same(idsOf(page('', 1, 1)), [3, 'a2']);
  t.same(idsOf(page('a')), [2, 'a1,a2'], 'by a part of the client id');
  t.same(idsOf(page('', 0, 10, tenant + 1)), [0, ''], 'of another tenant');
  t.match(page('b1').rows[0], {
    user: /user/,
    transport: 'tcp',
    protocolVersion: '5.0',
    connectedAt: harness.nowMs,
    subscriptionsCount: 0,
    inFlightCount: 0,
    queuedCount: 0,
    node: 'mill-1',
  });
  t.equal(page('a1').rows[0].protocolVersion, '3.1');
});
