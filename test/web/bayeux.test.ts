/** The live connection against a socket of the test: subscriptions, losses, another login, and tabs that share it. */
import t from 'tap';
import type { Test } from 'tap';
import type { LiveMessage, Socket } from '../../web/core/live/bayeux.ts';
import { LiveHub } from '../../web/core/live/hub.ts';
import type { FromHub, ToHub } from '../../web/core/live/hub.ts';
import { drawAgainMs, paced } from '../../web/core/live/pace.ts';

type Sent = Readonly<Record<string, any>>;

class FakeSocket implements Socket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  readonly sent: Sent[] = [];
  isClosed = false;

  send(text: string): void {
    this.sent.push(...(JSON.parse(text) as Sent[]));
  }

  close(): void {
    this.isClosed = true;
  }

  answer(...messages: Sent[]): void {
    this.onmessage?.({ data: JSON.stringify(messages) });
  }

  /** Opens, and answers the handshake. */
  begin(clientId: string): void {
    this.onopen?.();
    this.answer({ channel: '/meta/handshake', successful: true, clientId });
  }

  subscriptions(): unknown[] {
    return this.sent.filter(({ channel }) => channel === '/meta/subscribe').flatMap(({ subscription }) => subscription);
  }
}

/** A hub with a clock that the test moves. */
function hubOf(): {
  hub: LiveHub;
  sockets: FakeSocket[];
  fire: () => void;
  at: (ms: number) => void;
  waits: number[];
} {
  const sockets: FakeSocket[] = [];
  const timers = new Map<number, () => void>();
  const waits: number[] = [];
  let [lastTimer, nowMs] = [0, 0];
  const hub = new LiveHub({
    open: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    later: (run, ms) => {
      waits.push(ms);
      lastTimer += 1;
      timers.set(lastTimer, run);
      return lastTimer;
    },
    cancel: (timer) => timers.delete(timer),
    now: () => nowMs,
  });
  const fire = (): void => {
    const due = [...timers.values()];
    timers.clear();
    for (const run of due) run();
  };
  return {
    hub,
    sockets,
    fire,
    waits,
    at: (ms) => {
      nowMs = ms;
    },
  };
}

interface Tab {
  readonly heard: FromHub[];
  readonly say: (message: ToHub) => void;
}

function join(hub: LiveHub): Tab {
  const heard: FromHub[] = [];
  const say = hub.join((message) => heard.push(message));
  say({ kind: 'hello', url: 'ws://host', extension: { user: 'ada' } });
  return { heard, say };
}

const messagesOf = ({ heard }: Tab): LiveMessage[] =>
  heard.flatMap((one) => (one.kind === 'messages' ? one.messages : []));
const statesOf = ({ heard }: Tab): string[] => heard.flatMap((one) => (one.kind === 'state' ? one.state : []));

t.test('tabs share one connection, and each hears its channels', async (t: Test) => {
  const { hub, sockets } = hubOf();
  const [one, two] = [join(hub), join(hub)];
  t.equal(sockets.length, 0, 'nothing is opened before a screen wants something');
  one.say({ kind: 'subscribe', channel: '/alarms/*' });
  two.say({ kind: 'subscribe', channel: '/events/7' });
  t.equal(sockets.length, 1);
  const [socket] = sockets;
  socket.begin('c1');
  t.match(socket.sent[0], { channel: '/meta/handshake', ext: { user: 'ada' } });
  t.same(socket.subscriptions(), ['/alarms/*', '/events/7']);
  t.match(socket.sent.at(-1), { channel: '/meta/connect', clientId: 'c1' });
  socket.answer({ channel: '/alarms/9', data: 1 }, { channel: '/events/7', data: 2 });
  t.same(messagesOf(one), [{ channel: '/alarms/9', data: 1 }]);
  t.same(messagesOf(two), [{ channel: '/events/7', data: 2 }]);
  socket.answer({ channel: '/millrace/lost', data: { lost: 15 } });
  t.match(one.heard.at(-1), { kind: 'lost', count: 15 });
  two.say({ kind: 'bye' });
  t.match(socket.sent.at(-1), { channel: '/meta/unsubscribe', subscription: '/events/7' });
});

t.test('a loss is told, tried again, and followed by a gap', async (t: Test) => {
  const { hub, sockets, fire } = hubOf();
  const tab = join(hub);
  tab.say({ kind: 'subscribe', channel: '/alarms/*' });
  sockets[0].begin('c1');
  sockets[0].onclose?.();
  t.equal(statesOf(tab).at(-1), 'waiting');
  fire();
  sockets[1].begin('c2');
  t.same(sockets[1].subscriptions(), ['/alarms/*']);
  t.equal(statesOf(tab).at(-1), 'live');
  const gaps = (): number => tab.heard.filter(({ kind }) => kind === 'gap').length;
  t.equal(gaps(), 0);
  sockets[1].answer({ channel: '/meta/subscribe', successful: true, subscription: ['/alarms/*'] });
  t.equal(gaps(), 1, 'once the subscription is in force');
  sockets[1].answer({ channel: '/meta/connect', successful: false, advice: { reconnect: 'handshake' } });
  t.match(sockets[1].sent.at(-1), { channel: '/meta/handshake' });
  sockets[1].answer({ channel: '/meta/handshake', successful: true, clientId: 'c3' });
  fire();
  t.ok(sockets[1].isClosed, 'a connection without a frame in time counts as lost');
});

t.test('a refusal stays until another login; one refused channel does not end the others', async (t: Test) => {
  const { hub, sockets } = hubOf();
  const tab = join(hub);
  tab.say({ kind: 'subscribe', channel: '/alarms/*' });
  sockets[0].onopen?.();
  const none = { reconnect: 'none' };
  sockets[0].answer({ channel: '/meta/handshake', successful: false, error: '401::Unauthorized', advice: none });
  t.match(tab.heard.at(-1), { state: 'refused', told: '401::Unauthorized' });
  tab.say({ kind: 'hello', url: 'ws://host', extension: { user: 'bob' } });
  tab.say({ kind: 'subscribe', channel: '/operations/*' });
  sockets[1].begin('c1');
  const both = ['/alarms/*', '/operations/*'];
  sockets[1].answer({ channel: '/meta/subscribe', successful: false, subscription: both, error: '403' });
  t.same(sockets[1].subscriptions(), [...both, ...both], 'each is asked for alone');
  sockets[1].answer({ channel: '/meta/subscribe', successful: false, subscription: '/operations/*', error: '403' });
  t.equal(statesOf(tab).at(-1), 'live');
});

t.test('a server that is busy or stops is asked again, not before it says', async (t: Test) => {
  const { hub, sockets, fire, waits } = hubOf();
  const tab = join(hub);
  tab.say({ kind: 'subscribe', channel: '/alarms/*' });
  sockets[0].onopen?.();
  sockets[0].answer({ channel: '/meta/handshake', successful: false, error: '503', advice: { reconnect: 'retry' } });
  t.same([statesOf(tab).at(-1), waits.at(-1)], ['waiting', 1_000]);
  fire();
  sockets[1].begin('c1');
  const stopping = { interval: 5_000, reconnect: 'handshake' };
  sockets[1].answer({ channel: '/meta/connect', successful: false, error: '503', advice: stopping });
  t.same([statesOf(tab).at(-1), waits.at(-1), sockets[1].isClosed], ['waiting', 5_000, true]);
});

t.test('a tab hears when a channel is in force, and whether it was before', async (t: Test) => {
  const { hub, sockets } = hubOf();
  const [one, two] = [join(hub), join(hub)];
  const told = ({ heard }: Tab): FromHub[] => heard.filter(({ kind }) => kind === 'subscribed');
  one.say({ kind: 'subscribe', channel: '/alarms/*' });
  sockets[0].begin('c1');
  t.same(told(one), []);
  sockets[0].answer({ channel: '/meta/subscribe', successful: true, subscription: ['/alarms/*'] });
  t.same(told(one), [{ kind: 'subscribed', channel: '/alarms/*', wasHeld: false }]);
  two.say({ kind: 'subscribe', channel: '/alarms/*' });
  t.same(told(two), [{ kind: 'subscribed', channel: '/alarms/*', wasHeld: true }]);
  one.say({ kind: 'unsubscribe', channel: '/alarms/*' });
  two.say({ kind: 'unsubscribe', channel: '/alarms/*' });
  one.say({ kind: 'subscribe', channel: '/alarms/*' });
  t.equal(told(one).at(-1), told(one)[1], 'not before the server agrees again');
});

t.test('a tab that is silent for long is forgotten', async (t: Test) => {
  const { hub, sockets, at } = hubOf();
  const [silent, other] = [join(hub), join(hub)];
  silent.say({ kind: 'subscribe', channel: '/events/*' });
  sockets[0].begin('c1');
  at(200_000);
  other.say({ kind: 'alive' });
  t.match(sockets[0].sent.at(-1), { channel: '/meta/unsubscribe', subscription: '/events/*' });
  silent.say({ kind: 'alive' });
  t.equal(silent.heard.at(-1)?.kind, 'forgotten', 'it is told when it wakes up');
  silent.say({ kind: 'subscribe', channel: '/events/*' });
  t.match(sockets[0].sent.at(-1), { channel: '/meta/subscribe', subscription: '/events/*' });
  silent.say({ kind: 'alive' });
  t.equal(silent.heard.filter(({ kind }) => kind === 'forgotten').length, 1);
  sockets[0].answer({ channel: '/events/7', data: 1 });
  t.equal(messagesOf(silent).length, 1);
});

t.test('work is done at once, then at most once in its time', async (t: Test) => {
  let [nowMs, runs] = [0, 0];
  const due: { atMs: number; run: () => void }[] = [];
  const pace = paced(
    () => {
      runs += 1;
    },
    1_500,
    {
      now: () => nowMs,
      later: (run, ms) => {
        const one = { atMs: nowMs + ms, run };
        due.push(one);
        return () => due.splice(due.indexOf(one), 1);
      },
    },
  );
  const wait = (ms: number): void => {
    nowMs += ms;
    for (const one of due.filter(({ atMs }) => atMs <= nowMs)) {
      due.splice(due.indexOf(one), 1);
      one.run();
    }
  };
  pace.ask();
  wait(0);
  t.equal(runs, 1, 'the first at once');
  for (let asked = 0; asked < 10; asked += 1) {
    pace.ask();
    wait(100);
  }
  t.equal(runs, 1);
  wait(500);
  t.equal(runs, 2, 'the others together');
  wait(5_000);
  t.equal(runs, 2);
  pace.ask();
  pace.stop();
  wait(5_000);
  t.equal(runs, 2, 'none after its end');
});

t.test('what costs frames is drawn less often, until it costs none', async (t: Test) => {
  const [none, one] = [2 * 16.7, 3 * 16.7];
  t.equal(drawAgainMs(200, none), 200);
  t.equal(drawAgainMs(200, one), 300);
  let ms = 200;
  for (let drawn = 0; drawn < 10; drawn += 1) ms = drawAgainMs(ms, one);
  t.equal(ms, 600);
  for (let drawn = 0; drawn < 30; drawn += 1) ms = drawAgainMs(ms, none);
  t.equal(ms, 200);
});
