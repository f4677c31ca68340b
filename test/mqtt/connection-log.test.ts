/**
 * At debug there is a line for each connection that opens or ends, and for each that is not taken; at other levels none
 * is made.
 */
import t from 'tap';
import { Harness, settle, until } from './helpers/harness.ts';

const taken = (harness: Harness): string[] => harness.debugLines.splice(0).map(({ text }) => text);

t.test('one line for an opened connection, one for its end, whoever ends it', async (t) => {
  const harness = new Harness();
  const left = await harness.connected('left', 5);
  t.match(harness.debugLines, [
    { details: { clientId: 'left', tenant: 't1', user: 't1/user', protocolVersion: 5, sessionPresent: false } },
  ]);
  t.same(taken(harness), ['mqtt connection opened']);
  left.send({ cmd: 'disconnect', reasonCode: 0, properties: {} });
  await settle();
  t.same(taken(harness), ['mqtt client disconnected'], 'by the client');
  const broken = await harness.connected('broken');
  taken(harness);
  broken.drop();
  await settle();
  t.match(harness.debugLines, [{ details: { clientId: 'broken', reason: 'the network connection was closed' } }]);
  t.same(taken(harness), ['mqtt connection ended'], 'by the network');
  const ended = await harness.connected('ended');
  taken(harness);
  ended.raw([0xf0, 0]);
  await until(() => ended.isEnded);
  t.same(taken(harness), ['mqtt connection ended'], 'by the server');
});

t.test('one for a login that is refused', async (t) => {
  const harness = new Harness();
  const refused = await harness.connect('c1', 5, { password: Buffer.from('wrong') });
  t.ok(refused.isEnded);
  t.same(taken(harness), ['mqtt connection ended']);
});

t.test('none at other levels', async (t) => {
  const harness = new Harness();
  harness.isDebug = false;
  const client = await harness.connected('c1');
  client.drop();
  await settle();
  const other = await harness.connected('c2');
  other.send({ cmd: 'disconnect' });
  await settle();
  t.same(taken(harness), []);
});
