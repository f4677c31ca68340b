/** What an owner tells the other nodes of changed records: no message is larger than NATS takes, and no text of a user leaves the node. */
import t from 'tap';
import { OutcomeSender } from '../../src/cluster/outcome-sender.ts';
import type { Change, ToldRecord } from '../../src/cluster/outcome-sender.ts';
import type { NodeMessages } from '../../src/cluster/node-messages.ts';
import type { RecordChange } from '../../src/model/command.ts';

/** A message of NATS has 1 MiB. */
const MESSAGE_BYTES_MAX = 1_048_576;

t.test('records are told by name, groups with the roles they had, in messages that NATS takes', async (t) => {
  const sent: Buffer[] = [];
  const told: number[] = [];
  const messages = { nodeId: 'here', listen: () => undefined, broadcast: (_subject: string, payload: Uint8Array) => { sent.push(Buffer.from(payload)); } };
  const sender = new OutcomeSender({
    messages: messages as unknown as NodeMessages, take: () => undefined, onChanged: () => undefined,
    onRecordsChanged: (_tenant: number, changes: readonly RecordChange[]) => { told.push(changes.length); },
  });
  const roles = Array.from({ length: 60 }, (_, index) => `ROLE_NUMBER_${index}_ADMIN`);
  const changes: RecordChange[] = [
    ...Array.from({ length: 2_000 }, (_, index): RecordChange => (
      { collection: 'group', id: String(index + 1), expected: JSON.stringify({ name: `g${index}`, roles, customProperties: 'x'.repeat(5_000) }), value: undefined })),
    { collection: 'group', id: 'n\ng0', expected: '1', value: undefined },
    { collection: 'group', id: '9000', expected: JSON.stringify({ name: 'large', roles: ['ROLE_A'], customProperties: 'x'.repeat(2_000_000) }), value: undefined },
    { collection: 'user', id: 'ada', expected: '{"password":"hash"}', value: '{"password":"other"}' }, { collection: 'user', id: 'eve', expected: undefined, value: '{}' },
    { collection: 'option', id: 'a\nb', expected: '{"value":"secret"}', value: undefined },
    { collection: 'totp', id: 'ada', expected: '{"id":"x","encrypted":"secret","isActive":true}', value: undefined },
  ];
  sender.recordsChanged(7, changes);
  await new Promise((resolve) => { setImmediate(resolve); });
  t.same(told, [changes.length], 'this node hears of all at once');
  t.ok(sent.length > 1);
  t.same(sent.filter(({ length }) => length > MESSAGE_BYTES_MAX).map(({ length }) => length), []);
  const records = sent.flatMap((payload) => JSON.parse(payload.toString()) as Change[])
    .flatMap(({ kind, tenant, id }) => (kind === 'records' && tenant === 7 ? JSON.parse(id) as ToldRecord[] : []));
  t.same(records.slice(0, 1), [['group', '1', JSON.stringify({ roles })]]);
  t.same(records.slice(2_000), [['group', 'n\ng0'], ['group', '9000', '{"roles":["ROLE_A"]}'], ['user', 'ada', ''], ['user', 'eve'], ['option', 'a\nb'],
    ['totp', 'ada', '{"id":"x","isActive":true}']]);
  t.notMatch(Buffer.concat(sent).toString(), /hash|secret|xxx/);
});
