/** Sessions whose time is over leave the store without their client, through their actors, over crashes. */
import t from 'tap';
import type { Test } from 'tap';
import type { SessionState } from '../../../src/actors/handlers/sessions/session.ts';
import { messageKey } from '../../../src/actors/handlers/sessions/session.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import { SESSION_EXPIRY_NEVER } from '../../../src/model/sessions/expiry.ts';
import { SessionDocuments } from '../../../src/mqtt/devices/session-documents.ts';
import { SessionSweeper } from '../../../src/mqtt/sessions/sweeper.ts';
import { NOW, openEnvironment, Platform, silentLog, TENANT, until } from '../../actors/platform.ts';
import { Harness, settle, subscribe } from '../helpers/harness.ts';

class Sessions {
  platform: Platform;
  nowMs = NOW;
  isBelieved = true;
  readonly inMemory = new Set<string>();
  readonly ofOthers = new Set<string>();
  readonly warnings: object[] = [];

  constructor(t: Test, isAsync = false) {
    this.platform = new Platform(openEnvironment(t), { isAsync });
  }

  sweeper(stepSessions = 2): SessionSweeper {
    return new SessionSweeper({
      commands: this.platform.commands,
      documents: this.platform.documents,
      tenants: () => [TENANT, 2],
      stepSessions,
      clock: { read: async () => (this.isBelieved ? this.nowMs : undefined) },
      isMine: (_tenant, key) => !this.ofOthers.has(key),
      isInMemory: (tenant, key) => tenant === TENANT && this.inMemory.has(key),
      log: {
        ...silentLog,
        warn: (details) => {
          this.warnings.push(details);
        },
      },
    });
  }

  async add(key: string, state: { expirySeconds: number; disconnectedAt: number }, tenant = TENANT): Promise<void> {
    await this.platform.request({
      kind: COMMAND.SESSION_SAVE,
      tenant,
      key: `s:${key}`,
      body: { session: key, subscriptions: [['s/ds', 1]], ...state },
    });
    await this.platform.request({
      kind: COMMAND.SESSION_MESSAGE_ADD,
      tenant,
      key: `s:${key}`,
      body: { session: key, id: 1, topic: 's/ds', payload: '', qos: 1 },
    });
  }

  get keys(): string[] {
    return this.platform.ids('session');
  }
  state(key: string): SessionState {
    return this.platform.get('session', key) as unknown as SessionState;
  }
}

const ago = (seconds: number): number => NOW - seconds * 1_000;

t.test('what is over is removed with its messages, the rest stays', async (t) => {
  for (const isAsync of [false, true]) {
    const sessions = new Sessions(t, isAsync);
    await sessions.add('ended', { expirySeconds: 60, disconnectedAt: ago(60) });
    await sessions.add('fresh', { expirySeconds: 60, disconnectedAt: ago(59) });
    await sessions.add('never', { expirySeconds: SESSION_EXPIRY_NEVER, disconnectedAt: ago(1e6) });
    await sessions.add('open', { expirySeconds: 60, disconnectedAt: ago(1e6) });
    await sessions.add('short', { expirySeconds: 0, disconnectedAt: 0 });
    await sessions.add('other', { expirySeconds: 1, disconnectedAt: ago(2) });
    sessions.ofOthers.add('other');
    await sessions.add('zz', { expirySeconds: 1, disconnectedAt: ago(2) });
    await sessions.add('ended', { expirySeconds: 60, disconnectedAt: ago(61) }, 2);
    sessions.inMemory.add('open');
    const before = sessions.platform.journal.lastSeq;
    const sweeper = sessions.sweeper();
    await sweeper.sweep();
    t.same(sessions.keys, ['fresh', 'never', 'open', 'other']);
    t.same(
      sessions.platform.ids('sessionMessage'),
      ['fresh', 'never', 'open', 'other'].map((key) => messageKey(key, 1)),
    );
    t.same(sessions.platform.ids('session', '', 2), []);
    t.equal(sweeper.expiredCount, 4);
    t.equal(sessions.platform.journal.lastSeq, before + 4, 'one command for each');
    sessions.nowMs += 1_000;
    await sweeper.sweep();
    t.same(sessions.keys, ['never', 'open', 'other']);
    await sweeper.sweep();
    t.equal(sessions.platform.journal.lastSeq, before + 5, 'nothing to do writes nothing');
  }
});

t.test('while the clock is not believed nothing is removed, also when it is set during a pass', async (t) => {
  const sessions = new Sessions(t);
  for (const key of ['a', 'b', 'c', 'd', 'e']) await sessions.add(key, { expirySeconds: 60, disconnectedAt: ago(60) });
  await sessions.add('open', { expirySeconds: 60, disconnectedAt: 0 });
  const sweeper = sessions.sweeper();
  sessions.isBelieved = false;
  await sweeper.sweep();
  t.same(sessions.keys, ['a', 'b', 'c', 'd', 'e', 'open']);
  t.equal(sessions.state('open').disconnectedAt, 0);
  sessions.isBelieved = true;
  sessions.platform.onGroup = () => {
    sessions.isBelieved = false;
  };
  await sweeper.sweep();
  t.same(sessions.keys, ['c', 'd', 'e', 'open'], 'the page that was begun');
  sessions.platform.onGroup = () => undefined;
  sessions.isBelieved = true;
  await sweeper.sweep();
  t.same(sessions.keys, ['open']);
  t.equal(sessions.state('open').disconnectedAt, NOW);
});

t.test(
  'while the clock is not believed no session ends, in memory or in the store; the time of those that lose their connection runs afterwards',
  async (t) => {
    const change = { clean: false, properties: { sessionExpiryInterval: 700 } };
    const harness = new Harness();
    for (const id of ['c1', 'c2']) (await harness.connected(id, 5, change)).drop();
    const connected = await harness.connected('c3', 5, change);
    await settle();
    harness.nowMs += 61 * 86_400_000;
    harness.clock.isBelieved = false;
    connected.drop();
    harness.advance(750);
    await settle();
    t.equal(harness.store.entries.size, 3);
    t.equal((await harness.connect('c1', 5, change)).take()[0].sessionPresent, true, 'in memory');
    t.equal(harness.store.entries.get('1/c3')!.disconnectedAt, 0, 'that is not written down by a wrong clock');
    harness.restart();
    t.equal((await harness.connect('c2', 5, change)).take()[0].sessionPresent, true, 'in the store');
    // The jump was right: the time of c3 begins where the clock is believed.
    const other = new Harness();
    other.clock.isBelieved = false;
    (await other.connected('c3', 5, change)).drop();
    await settle();
    other.advance(900);
    other.clock.isBelieved = true;
    other.advance(600);
    await settle();
    t.equal(other.store.entries.size, 1);
    other.advance(200);
    await settle();
    t.equal(other.store.entries.size, 0);
  },
);

t.test('sessions connected at a crash: their time runs from the recovery, over further crashes', async (t) => {
  const sessions = new Sessions(t);
  for (const key of ['a', 'b', 'c']) await sessions.add(key, { expirySeconds: 100, disconnectedAt: 0 });
  await sessions.add('never', { expirySeconds: SESSION_EXPIRY_NEVER, disconnectedAt: 0 });
  sessions.platform = await (await sessions.platform.crash()).recover();
  sessions.nowMs += 500_000;
  const recoveredAt = sessions.nowMs;
  sessions.inMemory.add('b');
  await sessions.sweeper().sweep();
  t.same(
    ['a', 'b', 'c'].map((key) => sessions.state(key).disconnectedAt),
    [recoveredAt, 0, recoveredAt],
    'b is back already',
  );
  t.same(sessions.state('a').subscriptions, [['s/ds', 1]]);
  t.equal(sessions.state('never').disconnectedAt, 0);
  sessions.inMemory.clear();
  sessions.platform = await (await sessions.platform.crash()).recover();
  sessions.nowMs = recoveredAt + 99_000;
  await sessions.sweeper().sweep();
  t.same(sessions.keys, ['a', 'b', 'c', 'never']);
  t.equal(sessions.state('b').disconnectedAt, recoveredAt + 99_000, 'b was connected until the second crash');
  sessions.nowMs = recoveredAt + 100_000;
  await sessions.sweeper().sweep();
  t.same(sessions.keys, ['b', 'never']);
});

t.test('the actor decides: a session that is connected again when the command arrives stays', async (t) => {
  const sessions = new Sessions(t);
  const expire = (lostAt: number) =>
    sessions.platform.request<{ isRemoved: boolean }>({
      kind: COMMAND.SESSION_EXPIRE,
      key: 's:a',
      body: { session: 'a', lostAt },
      receivedAt: NOW,
    });
  t.same(await expire(NOW), { isRemoved: false }, 'there is none');
  await sessions.add('a', { expirySeconds: 60, disconnectedAt: ago(10) });
  t.same(await expire(ago(100)), { isRemoved: false }, 'its own time counts');
  t.equal(sessions.state('a').disconnectedAt, ago(10));
  await sessions.add('a', { expirySeconds: 60, disconnectedAt: 0 });
  t.same(await expire(NOW), { isRemoved: false });
  t.same(await expire(NOW), { isRemoved: false });
  t.equal(sessions.state('a').disconnectedAt, NOW);
});

t.test('it runs at the start and ends when told', async (t) => {
  const sessions = new Sessions(t);
  for (let number = 0; number < 5; number += 1)
    await sessions.add(`s${number}`, { expirySeconds: 1, disconnectedAt: ago(2) });
  const sweeper = sessions.sweeper();
  sweeper.start();
  await until(() => sessions.keys.length === 0);
  await sweeper.stop();
  const refusing = new Sessions(t);
  await refusing.add('s', { expirySeconds: 1, disconnectedAt: ago(2) });
  refusing.platform.commands.request = () => Promise.reject(new Error('journal/bytes'));
  const second = refusing.sweeper();
  second.start();
  await until(() => refusing.warnings.length > 0);
  t.match(refusing.warnings, [{ error: 'journal/bytes' }]);
  await second.stop();
  t.same(refusing.keys, ['s']);
});

t.test('with the MQTT server: connected, offline in memory, and out of memory', async (t) => {
  const sessions = new Sessions(t);
  const harness = new Harness({ offlineSessions: 1 });
  harness.nowMs = NOW;
  harness.store = new SessionDocuments({
    commands: sessions.platform.commands,
    documents: sessions.platform.documents,
    now: () => harness.nowMs,
  }) as never;
  harness.restart();
  const options = { clean: false, properties: { sessionExpiryInterval: 100 } };
  const connect = async (clientId: string) => {
    const client = await harness.connect(clientId, 5, options);
    client.send(subscribe(1, ['s/ds', 1]));
    await until(() => client.packets.length > 1);
    return client;
  };
  const clients = [await connect('gone'), await connect('offline'), await connect('here')];
  for (const client of clients.slice(0, 2)) {
    client.drop();
    await settle();
    await sessions.platform.settled();
  }
  await until(() => !harness.server.sessions.isInMemory(1, 'gone'));
  t.same(
    ['offline', 'here'].map((key) => harness.server.sessions.isInMemory(1, key)),
    [true, true],
  );
  const sweeper = new SessionSweeper({
    commands: sessions.platform.commands,
    documents: sessions.platform.documents,
    tenants: () => [1],
    clock: { read: async () => harness.nowMs },
    log: silentLog,
    isInMemory: (tenant, key) => harness.server.sessions.isInMemory(tenant, key),
  });
  harness.nowMs += 100_000;
  await sweeper.sweep();
  t.same(sessions.keys, ['here', 'offline'], 'what is in memory expires there');
  t.same(
    (await harness.connect('gone', 5, options)).take().map(({ sessionPresent }) => sessionPresent),
    [false],
  );
  // The process is gone; the next one has nothing in memory.
  harness.restart();
  await sweeper.sweep();
  t.same(sessions.keys, ['gone', 'here'], 'offline is over; what was connected has lost its connection now');
  t.same(
    (await harness.connect('here', 5, options)).take().map(({ sessionPresent }) => sessionPresent),
    [true],
  );
});
