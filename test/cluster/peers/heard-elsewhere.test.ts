/**
 * When a device was last heard is the same at every node, whoever heard it; nodes that do not answer hold nobody up.
 */
import t from 'tap';
import { HeardElsewhere } from '../../../src/cluster/peers/heard-elsewhere.ts';
import type { HeardElsewhereOptions } from '../../../src/cluster/peers/heard-elsewhere.ts';
import { silentLog } from '../../actors/platform.ts';
import { until } from '../../helpers/until.ts';
import { InMemoryCluster } from '../memory/ports.ts';
import type { InMemoryMessages, InMemoryNode } from '../memory/ports.ts';

const SUBJECT = 'last-heard';

class Listener {
  readonly heard = new Map<number, number>();
  readonly counted: string[] = [];
  /** Devices of each request that has come. */
  readonly asked: number[][] = [];
  readonly elsewhere: HeardElsewhere;
  readonly ports: InMemoryNode;
  /** Requests are answered when it has resolved. */
  answersAfter: Promise<void> | undefined;

  constructor(
    ports: InMemoryNode,
    clock: { now: number },
    more: Partial<Pick<HeardElsewhereOptions, 'waitingMax' | 'timeoutMs'>>,
  ) {
    this.ports = ports;
    this.elsewhere = new HeardElsewhere({
      messages: ports.messages,
      leases: ports.leases,
      lastHeardHere: (device) => this.heard.get(device),
      refusals: {
        count: (limit) => {
          this.counted.push(limit);
        },
      },
      log: silentLog,
      now: () => clock.now,
      ...more,
    });
    const { answers } = ports.messages as InMemoryMessages;
    const answer = answers.get(SUBJECT) as NonNullable<ReturnType<typeof answers.get>>;
    answers.set(SUBJECT, async (payload, from) => {
      this.asked.push(JSON.parse(Buffer.from(payload).toString()) as number[]);
      await this.answersAfter;
      return answer(payload, from);
    });
  }

  lastHeard(device: number): Promise<number | undefined> {
    return this.elsewhere.lastHeard(device);
  }
}

async function listeners(count: number, more: Partial<Pick<HeardElsewhereOptions, 'waitingMax' | 'timeoutMs'>> = {}) {
  const shared = new InMemoryCluster();
  const clock = { now: 0 };
  const all: Listener[] = [];
  for (let index = 0; index < count; index += 1) {
    const ports = shared.node();
    await ports.leases.join({
      onAcquired: async () => undefined,
      onRelease: async () => undefined,
      onLost: () => undefined,
      onChanged: () => undefined,
    });
    all.push(new Listener(ports, clock, more));
  }
  await shared.settled();
  return { shared, clock, all };
}

/** @returns what ends it. */
function hang(listener: Listener): () => void {
  let end: () => void = () => undefined;
  listener.answersAfter = new Promise((resolve) => {
    end = resolve;
  });
  return () => {
    listener.answersAfter = undefined;
    end();
  };
}

t.test('the newest time of all nodes, at each of them', async (t) => {
  const { all } = await listeners(3);
  const [a, b, c] = all;
  a.heard.set(7, 100);
  b.heard.set(7, 300);
  c.heard.set(7, 200).set(8, 50);
  for (const listener of all)
    t.same(
      [await listener.lastHeard(7), await listener.lastHeard(8), await listener.lastHeard(9)],
      [300, 50, undefined],
    );
});

t.test('heard here while others are asked counts', async (t) => {
  const {
    all: [a, b],
  } = await listeners(2);
  const end = hang(b);
  const time = a.lastHeard(7);
  await until('b is asked', () => b.asked.length === 1);
  a.heard.set(7, 500);
  end();
  t.equal(await time, 500);
});

t.test('a node that is alone asks nobody', async (t) => {
  const {
    all: [a],
  } = await listeners(1);
  a.heard.set(7, 100);
  t.same([await a.lastHeard(7), await a.lastHeard(8), a.asked], [100, undefined, []]);
});

t.test('what is asked for during a request is one more, each device once', async (t) => {
  const {
    all: [a, b],
  } = await listeners(2);
  const end = hang(b);
  for (let device = 1; device <= 100; device += 1) b.heard.set(device, 1_000 + device);
  const devices = [1, 2, 3, 2, 1, ...Array.from({ length: 97 }, (_, index) => index + 4)];
  const times = devices.map((device) => a.lastHeard(device));
  await until('b is asked', () => b.asked.length === 1);
  end();
  t.same(
    await Promise.all(times),
    devices.map((device) => 1_000 + device),
  );
  t.same(b.asked, [[1], [2, 3, 1, ...devices.slice(5)]]);
});

t.test('a node that does not answer is left out for a second; what the others know counts', async (t) => {
  const {
    clock,
    all: [a, b, c],
  } = await listeners(3, { timeoutMs: 20 });
  const end = hang(b);
  a.heard.set(7, 100);
  b.heard.set(7, 300);
  c.heard.set(7, 200);
  const first = a.lastHeard(7);
  await until('b is asked', () => b.asked.length === 1);
  // Waits for the request under way, and not for one of its own.
  t.same(await Promise.all([first, a.lastHeard(7), a.lastHeard(8)]), [200, 200, undefined]);
  end();
  clock.now = 999;
  t.same([await a.lastHeard(7), b.asked.length], [200, 1], 'not asked');
  clock.now = 1_000;
  t.same([await a.lastHeard(7), b.asked.length], [300, 2], 'asked again');
});

t.test('nodes that are gone, or that this one does not reach', async (t) => {
  const {
    shared,
    all: [a, b, c],
  } = await listeners(3);
  for (const [listener, time] of [
    [a, 100],
    [b, 300],
    [c, 200],
  ] as const)
    listener.heard.set(7, time);
  t.equal(await a.lastHeard(7), 300);
  shared.kill(b.ports.nodeId);
  t.equal(await a.lastHeard(7), 200);
  shared.cut(a.ports.nodeId);
  t.equal(await a.lastHeard(7), 100);
  shared.mend(a.ports.nodeId);
  t.equal(await c.lastHeard(7), 200);
});

t.test('so many devices wait for a node; of more this node says what it knows', async (t) => {
  const {
    all: [a, b],
  } = await listeners(2, { waitingMax: 2 });
  const end = hang(b);
  for (const device of [1, 2, 3, 4]) b.heard.set(device, 100 + device);
  a.heard.set(4, 50);
  const times = [1, 2, 3, 4, 5, 3].map((device) => a.lastHeard(device));
  t.same(a.counted, ['availability/last-heard', 'availability/last-heard']);
  await until('b is asked', () => b.asked.length === 1);
  end();
  t.same(await Promise.all(times), [101, 102, 103, 50, undefined, 103]);
});
