/**
 * What the messages between nodes promise (src/ports/cluster/node-messages.ts), over NATS and in the memory of tests.
 */
import type { Test } from 'tap';
import { NodeUnreachable } from '../../../src/ports/cluster/node-messages.ts';
import type { NodeMessages } from '../../../src/ports/cluster/node-messages.ts';
import { until } from '../../helpers/until.ts';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const LONG_MS = 600_000;

/** Runs the suite. @param open two nodes, `a-1` and `b-2`, that know each other. */
export function nodeMessagesContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<{ a: NodeMessages; b: NodeMessages }>,
  skip: string | false = false,
): void {
  t.test(`${name}: a request is answered by the node that it names, this one too`, { skip }, async (t) => {
    const { a, b } = await open(t);
    t.same([a.nodeId, b.nodeId, a.isConnected], ['a-1', 'b-2', true]);
    for (const messages of [a, b]) {
      messages.answer('ask.more', (payload, from) => Buffer.from(`${messages.nodeId} to ${from}: ${text(payload)}`));
      messages.answer('later', async (payload) => {
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        return payload;
      });
      messages.answer('fail', async () => {
        throw new Error('not today');
      });
      messages.answer('never', () => new Promise(() => {}));
    }
    for (const messages of [a, b]) {
      for (const to of ['a-1', 'b-2']) {
        t.equal(
          text(await messages.request(to, 'ask.more', Buffer.from('é'), LONG_MS)),
          `${to} to ${messages.nodeId}: é`,
        );
        t.equal(text(await messages.request(to, 'later', Buffer.from('x'), LONG_MS)), 'x');
        await t.rejects(messages.request(to, 'fail', Buffer.alloc(0), LONG_MS), new NodeUnreachable('not today'));
        for (const [subject, timeoutMs] of [
          ['unknown', LONG_MS],
          ['never', 50],
        ] as const) {
          t.ok(
            (await messages
              .request(to, subject, Buffer.alloc(0), timeoutMs)
              .catch((error: unknown) => error)) instanceof NodeUnreachable,
            `${subject} of ${to}`,
          );
        }
      }
    }
    t.ok(
      (await a.request('nobody', 'ask.more', Buffer.alloc(0), LONG_MS).catch((error: unknown) => error)) instanceof
        NodeUnreachable,
      'at once',
    );
  });

  t.test(
    `${name}: one-way messages come in order, to one node or to all; a payload may change after the call`,
    { skip },
    async (t) => {
      const { a, b } = await open(t);
      const heard: string[] = [];
      for (const messages of [a, b]) {
        messages.listen('news', (payload, from) => {
          heard.push(`${messages.nodeId} ${from} ${text(payload)}`);
        });
        messages.listen('other', () => {
          heard.push('other');
        });
      }
      const payload = Buffer.alloc(3);
      for (let n = 0; n < 100; n += 1) {
        payload.write(String(n).padStart(3, '0'));
        a.send('b-2', 'news', payload);
      }
      a.send('a-1', 'news', Buffer.from('self'));
      a.send('nobody', 'news', Buffer.from('lost'));
      b.broadcast('news', Buffer.from('all'));
      await until('all came', () => heard.length === 103);
      t.same(
        heard.filter((entry) => /\d{3}$/.test(entry)),
        Array.from({ length: 100 }, (_, n) => `b-2 a-1 ${String(n).padStart(3, '0')}`),
      );
      t.same(
        heard.filter((entry) => !/\d{3}$/.test(entry)).sort(),
        ['a-1 a-1 self', 'a-1 b-2 all', 'b-2 b-2 all'],
        'once each',
      );
    },
  );
}
