/**
 * A record of the journal that cannot be decoded is set aside; the shard goes on behind it. And what a full journal
 * says.
 */
import t from 'tap';
import { encodeCommand, shardOf } from '../../src/ingest/journal/command-record.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { JournalUnavailable } from '../../src/ports/cluster/journal.ts';
import { NOW, TENANT, until } from '../actors/platform.ts';
import { TestCluster } from './memory/nodes.ts';

const SOURCE = 77;

t.test('a record whose body is no JSON', async (t) => {
  const cluster = await TestCluster.of(t, 2, { intervalMs: 5 });
  const [node] = cluster.nodes;
  const owner = cluster.ownerOf(SOURCE);
  const append = (kind: number): Promise<void> => {
    const record = encodeCommand({
      kind: kind as typeof COMMAND.EVENT_CREATE,
      tenant: TENANT,
      key: SOURCE,
      mode: 0,
      receivedAt: NOW,
      body: {} as never,
    });
    record[record.length - 1] = 0x21;
    return new Promise((resolve, reject) => {
      node.node.intake.appendAll(
        record,
        record.length,
        1,
        { durable: () => resolve(), flushDurable: () => undefined, failed: (_token, error) => reject(error) },
        0,
      );
    });
  };
  await node.measure(SOURCE, 1);
  await append(COMMAND.MANAGED_OBJECT_CREATE);
  await append(COMMAND.DATA_DELETE);
  await node.measure(SOURCE, 2);
  await node.request({
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    key: SOURCE,
    body: { id: String(SOURCE), owner: 'ada', doc: '{}' },
  });
  await node.node.visible(5_000);
  t.same(
    cluster.history.values.map(({ value }) => value),
    [1, 2],
  );
  t.same(cluster.history.ids('managed_objects'), [SOURCE]);
  t.match(owner.quarantine.entries, [
    { kind: 'command', shard: shardOf(TENANT, SOURCE), row: { body: { record: /^[A-Za-z0-9+/]+=*$/ } } },
    { kind: 'command' },
  ]);
  t.equal(owner.node.commandsSetAsideCount, 2);
  owner.kill();
  await cluster.settled();
  t.equal(
    cluster.all.flatMap(({ quarantine }) => quarantine.entries).length,
    2,
    'the next owner does not come by it again',
  );
});

t.test('a journal that is full: the answer and the counter name the limit and its setting', async (t) => {
  const cluster = await TestCluster.of(t, 1);
  const [node] = cluster.nodes;
  node.ports.journal.append = () => Promise.reject(new JournalUnavailable('journal/bytes'));
  await t.rejects(
    node.request({ kind: COMMAND.MANAGED_OBJECT_CREATE, key: SOURCE, body: { id: '1', owner: 'ada', doc: '{}' } }),
    { code: 'general/busy', message: /journal\/bytes \(the journal has reached --journal-max-bytes\)/ },
  );
  await until(() => node.refused.includes('journal/bytes'), 'counted');
});
