import t from 'tap';
import { DeliveryQueue, QueueBudget } from '../../../src/realtime/bayeux/queue.ts';

function createQueue(options: { messages?: number; bytes?: number; budget?: QueueBudget } = {}) {
  const lost: string[] = [];
  const budget = options.budget ?? new QueueBudget(1_000_000);
  const queue = new DeliveryQueue({
    messages: options.messages ?? 1_000,
    bytes: options.bytes ?? 1_000_000,
    budget,
    onLost: (limit) => lost.push(limit),
  });
  const push = (text: string): void => queue.push({ text, sizeBytes: text.length });
  return { queue, budget, lost, push };
}

t.test('first in, first out, as many as fit and at least one', async (t) => {
  const { queue, push, budget } = createQueue();
  for (const text of ['aaaa', 'bb', 'cc', 'd']) push(text);
  t.equal(budget.usedBytes, 9);
  t.same(queue.take(1), ['aaaa']);
  t.same(queue.take(4), ['bb', 'cc']);
  t.same(queue.take(4), ['d']);
  t.same(queue.take(4), []);
  t.equal(budget.usedBytes, 0);
  t.equal(budget.messageCount, 0);
});

t.test('the oldest go when there are too many', async (t) => {
  const { queue, push, lost } = createQueue({ messages: 2 });
  for (const text of ['1', '2', '3', '4']) push(text);
  t.same(queue.take(100), ['3', '4']);
  t.same(lost, ['realtime/queue-messages', 'realtime/queue-messages']);
  t.same(queue.takeLost(), [['realtime/queue-messages', 2]]);
  t.same(queue.takeLost(), []);
});

t.test('the oldest go when they are too large together; what is too large alone is not kept', async (t) => {
  const { queue, push } = createQueue({ bytes: 10 });
  push('11111');
  push('22222');
  push('333');
  t.same(queue.take(100), ['22222', '333']);
  push('4');
  push('x'.repeat(11));
  t.equal(queue.messageCount, 0);
  t.same(queue.takeLost(), [['realtime/queue-bytes', 3]]);
  t.equal(queue.isEmpty, true);
});

t.test('full queues together give way to the one that is kept short', async (t) => {
  const budget = new QueueBudget(1_000);
  const slow = Array.from({ length: 5 }, () => createQueue({ budget, bytes: 1_000 }));
  const fast = createQueue({ budget, bytes: 1_000 });
  for (let index = 0; index < 500; index += 1) {
    for (const one of slow) one.push('0123456789');
    fast.push('0123456789');
    if (fast.queue.take(100).length !== 1) t.fail('the short queue lost a message');
    if (budget.usedBytes > 1_000) t.fail('over budget');
  }
  t.same(fast.lost, []);
  t.ok(slow.every((one) => one.queue.messageCount > 0));
  t.ok(slow.some((one) => one.lost.includes('realtime/queue-bytes-all')));
  for (const one of slow) one.queue.clear();
  t.equal(budget.usedBytes, 0);
});

t.test('it stays right over many rounds of filling and taking', async (t) => {
  const { queue, push, budget } = createQueue({ messages: 10_000 });
  let written = 0;
  let read = 0;
  for (let round = 0; round < 200; round += 1) {
    for (let index = 0; index < 37; index += 1) push(String(written++));
    for (const text of queue.take(60)) {
      if (text !== String(read++)) t.fail(`out of order at ${read}`);
    }
  }
  for (const text of queue.take(1_000_000)) {
    if (text !== String(read++)) t.fail(`out of order at ${read}`);
  }
  t.equal(read, written);
  t.equal(budget.usedBytes, 0);
});
