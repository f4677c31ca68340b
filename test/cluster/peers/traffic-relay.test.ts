/** A watcher on one node gets what passes on the others, until it ends or its node does. */
import t from 'tap';
import { TrafficRelay } from '../../../src/cluster/peers/traffic-relay.ts';
import type { TrafficBatch } from '../../../src/ports/traffic.ts';
import { Traffic } from '../../../src/realtime/traffic/traffic.ts';
import { untilTurn } from '../../helpers/until.ts';
import { InMemoryCluster } from '../memory/ports.ts';

t.test('two nodes', async (t) => {
  const cluster = new InMemoryCluster();
  const nodes = ['a', 'b'].map((node) => {
    const { messages } = cluster.node(node, ['gateway'], node);
    let flush: (() => void) | undefined;
    const traffic = new Traffic({ node, now: () => 0, later: (run) => void (flush = run) });
    const relay = new TrafficRelay(traffic, messages);
    t.teardown(() => relay.stop());
    return { traffic, relay, flush: () => flush?.() };
  });
  const [a, b] = nodes;
  const batches: TrafficBatch[] = [];
  const end = a.traffic.watch(1, { kind: 'in' }, (batch) => batches.push(batch));
  await untilTurn('the other node samples', () => b.traffic.isWatched);
  const principal = { tenantNumber: 1, userName: 'u' };
  const message = { topic: 's/us', payload: Buffer.from('1'), qos: 0 };
  for (let index = 0; index < 12; index += 1) b.traffic.message('in', { clientId: 'c', principal }, message);
  b.traffic.message('in', { clientId: 'c', principal: { ...principal, tenantNumber: 2 } }, message);
  b.flush();
  await untilTurn('a batch', () => {
    a.flush();
    return batches.length > 0;
  });
  t.match(batches, [{ matched: 12, dropped: 2, messages: Array(10).fill({ node: 'b', clientId: 'c' }) }]);
  t.equal(b.traffic.own.size, 0, 'what it samples for others is not told on');
  batches.length = 0;
  const long = '\u0001'.repeat(65_535);
  for (let index = 0; index < 10; index += 1)
    b.traffic.message(
      'in',
      { clientId: long, principal: { ...principal, userName: long } },
      { topic: long, payload: Buffer.from(long), qos: 0 },
    );
  b.flush();
  await untilTurn('names that devices choose are cut', () => {
    a.flush();
    return batches.length > 0;
  });
  t.equal(batches[0].messages.length, 10);
  t.ok(
    batches[0].messages.every(({ topic, clientId, user }) =>
      [topic, clientId, user].every((text) => text?.length === 1_024),
    ),
  );
  end();
  await untilTurn('the other node stops', () => !b.traffic.isWatched);
  t.equal(a.traffic.isWatched, false);
});
