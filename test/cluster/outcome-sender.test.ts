/**
 * What an owner tells the other nodes of changed records: no message is larger than NATS takes, and no text of a user
 * leaves the node.
 */
import t from 'tap';
import type { CommandAnswer } from '../../src/cluster/gateway/command-gateway.ts';
import { OutcomeSender } from '../../src/cluster/gateway/outcome-sender.ts';
import type { Change, ToldRecord } from '../../src/cluster/gateway/outcome-sender.ts';
import { NodeUnreachable } from '../../src/ports/cluster/node-messages.ts';
import type { NodeMessages } from '../../src/ports/cluster/node-messages.ts';
import type { RecordChange } from '../../src/model/commands/records.ts';
import { silentLog } from '../actors/platform.ts';
import { until } from '../helpers/until.ts';

/** A message of NATS has 1 MiB. */
const MESSAGE_BYTES_MAX = 1_048_576;

t.test('records are told by name, groups with the roles they had, in messages that NATS takes', async (t) => {
  const sent: Buffer[] = [];
  const told: number[] = [];
  const messages = {
    nodeId: 'here',
    listen: () => undefined,
    answer: () => undefined,
    broadcast: (_subject: string, payload: Uint8Array) => {
      sent.push(Buffer.from(payload));
    },
  };
  const sender = new OutcomeSender({
    messages: messages as unknown as NodeMessages,
    take: () => undefined,
    onChanged: () => undefined,
    onRecordsChanged: (_tenant: number, changes: readonly RecordChange[]) => {
      told.push(changes.length);
    },
    refusals: { count: () => undefined },
    log: silentLog,
  });
  const roles = Array.from({ length: 60 }, (_, index) => `ROLE_NUMBER_${index}_ADMIN`);
  const changes: RecordChange[] = [
    ...Array.from(
      { length: 2_000 },
      (_, index): RecordChange => ({
        collection: 'group',
        id: String(index + 1),
        expected: JSON.stringify({ name: `g${index}`, roles, customProperties: 'x'.repeat(500) }),
        value: undefined,
      }),
    ),
    { collection: 'group', id: 'n\ng0', expected: '1', value: undefined },
    {
      collection: 'group',
      id: '9000',
      expected: JSON.stringify({ name: 'large', roles: ['ROLE_A'], customProperties: 'x'.repeat(2_000_000) }),
      value: undefined,
    },
    {
      collection: 'group',
      id: '9001',
      expected: JSON.stringify({ roles: [], doc: '{"devicePermissions":{"1":["ALARM:*:READ"]}}' }),
      value: '{"roles":[],"doc":"{}"}',
    },
    {
      collection: 'inventoryRole',
      id: '5',
      expected: JSON.stringify({ permissions: [{ scope: 'ALARM', type: '*', permission: 'READ' }] }),
      value: '{"permissions":[]}',
    },
    { collection: 'user', id: 'ada', expected: '{"password":"hash"}', value: '{"password":"other"}' },
    { collection: 'user', id: 'eve', expected: undefined, value: '{}' },
    { collection: 'option', id: 'a\nb', expected: '{"value":"secret"}', value: undefined },
    { collection: 'totp', id: 'ada', expected: '{"id":"x","encrypted":"secret","isActive":true}', value: undefined },
  ];
  sender.recordsChanged(7, changes);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  t.same(told, [changes.length], 'this node hears of all at once');
  t.ok(sent.length > 1);
  t.same(
    sent.filter(({ length }) => length > MESSAGE_BYTES_MAX).map(({ length }) => length),
    [],
  );
  const records = sent
    .flatMap((payload) => JSON.parse(payload.toString()) as Change[])
    .flatMap(({ kind, tenant, id }) => (kind === 'records' && tenant === 7 ? (JSON.parse(id) as ToldRecord[]) : []));
  t.same(records.slice(0, 1), [['group', '1', JSON.stringify({ roles })]]);
  t.same(records.slice(2_000), [
    ['group', 'n\ng0'],
    ['group', '9000', '{"roles":["ROLE_A"]}'],
    ['group', '9001', '{"roles":[],"losesGrants":true}'],
    ['inventoryRole', '5', '{"losesGrants":true}'],
    ['user', 'ada', ''],
    ['user', 'eve'],
    ['option', 'a\nb'],
    ['totp', 'ada', '{"id":"x","isActive":true}'],
  ]);
  t.notMatch(Buffer.concat(sent).toString(), /hash|secret|xxx/);
});

/** Of large answers on their way. */
const LARGE_BYTES_MAX = 10_000_000;

/** Nodes that reach each other; requests and messages of all of them go into one list. */
class Nodes {
  readonly sent: { readonly subject: string; readonly bytes: number }[] = [];
  readonly taken = new Map<string, { readonly shard: number; readonly answers: readonly CommandAnswer[] }[]>();
  readonly refused: string[] = [];
  /** Parts that get lost: their number within the run. */
  lost = new Set<number>();
  /** They arrive behind the next request. */
  areLate = false;
  /** Requests wait for it. */
  gate: Promise<void> | undefined;
  #requests = 0;
  #late: (() => void)[] = [];
  readonly #handlers = new Map<string, (payload: Uint8Array, from: string) => unknown>();

  open(nodeId: string): OutcomeSender {
    const listen = (subject: string, handler: (payload: Uint8Array, from: string) => unknown): void => {
      this.#handlers.set(`${nodeId}/${subject}`, handler);
    };
    const put = (to: string, subject: string, payload: Uint8Array): void => {
      this.sent.push({ subject, bytes: payload.length });
      this.#handlers.get(`${to}/${subject}`)!(payload, nodeId);
    };
    const messages = {
      nodeId,
      listen,
      answer: listen,
      send: put,
      broadcast: () => undefined,
      request: async (to: string, subject: string, payload: Uint8Array) => {
        await this.gate;
        if (this.lost.has(this.#requests++)) {
          if (this.areLate) this.#late.push(() => put(to, subject, payload));
          throw new NodeUnreachable('lost');
        }
        put(to, subject, payload);
        for (const arrive of this.#late.splice(0)) arrive();
        return new Uint8Array();
      },
    } as unknown as NodeMessages;
    const taken: { shard: number; answers: readonly CommandAnswer[] }[] = [];
    this.taken.set(nodeId, taken);
    return new OutcomeSender({
      messages,
      take: (shard, answers) => taken.push({ shard, answers }),
      largeAnswersBytesMax: LARGE_BYTES_MAX,
      onChanged: () => undefined,
      onRecordsChanged: () => undefined,
      refusals: {
        count: (limit) => {
          this.refused.push(limit);
        },
      },
      log: silentLog,
    });
  }

  answersOf(nodeId: string): { shard: number; seq: number; answer?: unknown; error?: unknown }[] {
    return this.taken.get(nodeId)!.flatMap(({ shard, answers }) => answers.map((answer) => ({ shard, ...answer })));
  }
}

t.test('an answer that no message of NATS takes goes in parts', async (t) => {
  const nodes = new Nodes();
  const [one, other] = ['one', 'other'].map((name) => nodes.open(name));
  nodes.open('gateway');
  const large = { doc: `${'é€😀"'.repeat(300_000)}end` };
  one.answer('gateway', 3, 10, large, undefined);
  one.answer('gateway', 3, 11, { doc: 'small' }, undefined);
  one.answer('gateway', 4, 10, { doc: 'x'.repeat(920_000) }, undefined);
  one.answer('one', 3, 12, large, undefined);
  other.answer('gateway', 3, 13, { doc: 'y'.repeat(3_000_000) }, undefined);
  await until('all are there', () => nodes.answersOf('gateway').length === 4);
  const bySeq = nodes
    .answersOf('gateway')
    .sort((first, second) => first.shard - second.shard || first.seq - second.seq);
  t.same(
    bySeq.map(({ shard, seq }) => [shard, seq]),
    [
      [3, 10],
      [3, 11],
      [3, 13],
      [4, 10],
    ],
  );
  t.ok((bySeq[0].answer as { doc: string }).doc === large.doc, 'whole');
  t.ok((bySeq[2].answer as { doc: string }).doc === 'y'.repeat(3_000_000), 'of two nodes at once');
  t.same(
    nodes.answersOf('one').map(({ seq }) => seq),
    [12],
    'not to itself',
  );
  t.ok(nodes.sent.length > 15);
  t.same(
    nodes.sent.filter(({ bytes }) => bytes > MESSAGE_BYTES_MAX),
    [],
  );
});

t.test('of a large answer a part gets lost: the next one arrives', async (t) => {
  for (const [lost, areLate] of [
    [0, false],
    [2, false],
    [2, true],
  ] as const) {
    const nodes = new Nodes();
    nodes.areLate = areLate;
    const owner = nodes.open('owner');
    nodes.open('gateway');
    nodes.lost.add(lost);
    for (const seq of [1, 2]) owner.answer('gateway', 3, seq, { doc: String(seq).repeat(1_500_000) }, undefined);
    await until('the second is there', () => nodes.answersOf('gateway').length > 0);
    t.same(
      nodes
        .answersOf('gateway')
        .map(({ seq, answer }) => [seq, (answer as { doc: string }).doc === '2'.repeat(1_500_000)]),
      [[2, true]],
    );
  }
});

t.test('large answers on their way are bounded: the sender of the command is told', async (t) => {
  const nodes = new Nodes();
  const owner = nodes.open('owner');
  nodes.open('gateway');
  let open: () => void = () => undefined;
  nodes.gate = new Promise((resolve) => {
    open = resolve;
  });
  const doc = 'x'.repeat(LARGE_BYTES_MAX / 2.5);
  for (const seq of [1, 2, 3]) owner.answer('gateway', 3, seq, { doc }, undefined);
  await until('one is refused', () => nodes.answersOf('gateway').length > 0);
  t.same(nodes.answersOf('gateway'), [
    { shard: 3, seq: 3, error: { code: 'commands/answer-lost', details: { limit: 'cluster/answer-bytes' } } },
  ]);
  t.same(nodes.refused, ['cluster/answer-bytes']);
  open();
  await until('the others are there', () => nodes.answersOf('gateway').length === 3);
  owner.answer('gateway', 3, 4, { doc }, undefined);
  await until('there is room again', () =>
    nodes.answersOf('gateway').some(({ seq, answer }) => seq === 4 && answer !== undefined),
  );
});
