import t from 'tap';
import type { TestClient } from './helpers/harness.ts';
import { Harness, connectPacket, principalOf, publish, settle, subscribe, until } from './helpers/harness.ts';

t.test('CONNACK codes of 3.1, 3.1.1 and 5.0', async (t) => {
  const harness = new Harness();
  const check = async (change: Record<string, unknown>, returnCode: number, reasonCode: number, clientId = 'c1') => {
    for (const version of [3, 4, 5] as const) {
      const client = await harness.connect(clientId, version, change);
      const [connack] = client.take();
      t.equal(connack.cmd, 'connack');
      const code = version === 5 ? connack.reasonCode : connack.returnCode;
      t.equal(code, version === 5 ? reasonCode : returnCode, `${clientId} version ${version}`);
      t.equal(client.isEnded, returnCode !== 0);
      if (version === 5 && returnCode !== 0) t.type(connack.properties?.reasonString, 'string');
      client.drop();
    }
  };
  await check({}, 0, 0);
  await check({ password: Buffer.from('wrong') }, 4, 0x86);
  await check({ username: undefined, password: undefined }, 4, 0x86);
  await check({}, 5, 0x87, 'barred');
  await check({}, 2, 0x85, 'no!');
  harness.store.failure = new Error('store is away');
  await check({}, 3, 0x88);
  t.equal(harness.server.connectionsCount, 0);
  t.equal(harness.server.sessions.sessionsCount, 0);
  t.equal(harness.connectionsGauge, 0);
});

t.test('unknown protocol levels and names', async (t) => {
  const harness = new Harness();
  const connect = (name: string, level: number) => {
    const body = Buffer.concat([
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([level, 2, 0, 0, 0, 1, 97]),
    ]);
    const client = harness.client();
    client.raw(Buffer.concat([Buffer.from([0x10, body.length]), body]));
    return client;
  };
  for (const level of [0, 3, 6, 127]) {
    const client = connect('MQTT', level);
    t.same(client.writes, [Buffer.from([0x20, 2, 0, 1])], `level ${level}`);
    t.ok(client.isEnded);
  }
  t.same(connect('MQIsdp', 4).writes, [Buffer.from([0x20, 2, 0, 1])]);
  const other = connect('AMQP', 4);
  t.same(other.writes, []);
  t.ok(other.isEnded);
});

t.test('a client id that is empty', async (t) => {
  const harness = new Harness();
  const kept = harness.client();
  kept.raw([0x10, 12, 0, 4, 77, 81, 84, 84, 4, 0, 0, 0, 0, 0]);
  t.equal(kept.take()[0].returnCode, 2);
  const version5 = await harness.connect('', 5);
  t.match(version5.take()[0], { reasonCode: 0, properties: { assignedClientIdentifier: 'certificate' } });
});

t.test('what CONNACK of 5.0 announces', async (t) => {
  const harness = new Harness({ sessionExpirySeconds: 100 });
  const client = await harness.connect('c1', 5, { properties: { sessionExpiryInterval: 500 } });
  t.match(client.take()[0], {
    sessionPresent: false,
    properties: {
      receiveMaximum: 1024,
      maximumPacketSize: 16384,
      sessionExpiryInterval: 100,
      retainAvailable: false,
      subscriptionIdentifiersAvailable: false,
      sharedSubscriptionAvailable: false,
    },
  });
  const method = await harness.connect('c2', 5, { properties: { authenticationMethod: 'x' } });
  t.equal(method.take()[0].reasonCode, 0x8c);
});

t.test('packets behind CONNECT wait for its answer, in order', async (t) => {
  const harness = new Harness();
  let answer: (value: ReturnType<typeof principalOf>) => void = () => {};
  harness.authenticate = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  const client = harness.client();
  client.send(connectPacket('c1', 4), publish('a', '1', 1, 1));
  client.send(publish('a', '2', 1, 2));
  t.ok(client.isPaused);
  answer(principalOf('u'));
  await until(() => client.packets.length >= 3);
  t.same(client.takeCommands(), ['connack', 'puback 1', 'puback 2']);
  t.same(
    harness.received.map((one) => one.payload),
    ['1', '2'],
  );
  t.notOk(client.isPaused);
});

t.test('the client goes while it is being checked', async (t) => {
  const harness = new Harness();
  let answer: (value: ReturnType<typeof principalOf>) => void = () => {};
  harness.authenticate = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  const one = harness.client();
  one.send(connectPacket('c1', 4));
  one.drop();
  answer(principalOf('u'));
  await settle();
  t.equal(harness.links.length, 0);
  harness.authenticate = (userName) => principalOf(userName);
  const two = harness.client();
  two.send(connectPacket('c1', 4));
  two.drop();
  await settle();
  t.equal(harness.server.sessions.sessionsCount, 0);
  t.equal(harness.links.length, 0);
});

t.test('no CONNECT in time, and no CONNECT at all', async (t) => {
  const harness = new Harness();
  const silent = harness.client();
  harness.advance(9);
  t.notOk(silent.isEnded);
  harness.advance(1);
  t.ok(silent.isEnded);
  t.equal(harness.counts.get('mqtt/connect-timeout'), 1);
  harness.advance(5);
  t.ok(silent.isDestroyed, 'cut off when it does not close');
  const others = [
    publish('a', 'b'),
    subscribe(1, ['a', 0]),
    { cmd: 'pingreq' },
    { cmd: 'pubrel', messageId: 1 },
    { cmd: 'disconnect' },
  ];
  for (const packet of others) {
    const client = harness.client();
    client.send(packet);
    t.ok(client.isEnded);
    t.same(client.writes, []);
  }
  t.same(harness.errors, []);
});

t.test('a second CONNECT is a protocol error', async (t) => {
  const harness = new Harness();
  for (const version of [4, 5] as const) {
    const client = await harness.connected('c1', version);
    client.send(connectPacket('c1', version));
    t.ok(client.isEnded);
    if (version === 5) t.match(client.take(), [{ cmd: 'disconnect', reasonCode: 0x82 }]);
  }
});

t.test('a session without expiry ends with its connection', async (t) => {
  const harness = new Harness();
  for (const version of [3, 4, 5] as const) {
    (await harness.connected('c1', version)).drop();
    await settle();
    t.equal(harness.server.sessions.sessionsCount, 0, `version ${version}`);
    t.equal(harness.store.entries.size, 0);
  }
});

t.test('too many connections are told so', async (t) => {
  const harness = new Harness({ connections: 2 });
  await harness.connected('c1');
  await harness.connected('c2');
  const third = await harness.connect('c3', 5);
  t.match(third.take(), [{ reasonCode: 0x97, properties: { reasonString: /mqtt\/connections/ } }]);
  const fourth = await harness.connect('c4', 4);
  t.equal(fourth.take()[0].returnCode, 3);
  t.equal(harness.counts.get('mqtt/connections'), 2);
});

t.test('strangers that stay silent keep no device out', async (t) => {
  const harness = new Harness({ connections: 120, connectTimeoutSeconds: 1_000 });
  const silent = Array.from({ length: 700 }, () => harness.client());
  t.equal(harness.server.connectionsCount, 620, 'all sockets are in use');
  t.ok(silent[79].isDestroyed && !silent[80].isDestroyed, 'the oldest went');
  t.equal(harness.counts.get('mqtt/connections-before-login'), 80);
  for (let index = 0; index < 90; index += 1) await harness.connected(`c${index}`);
  t.equal(harness.counts.get('mqtt/connections'), undefined);
});

t.test('the pool before login: who has sent CONNECT stays, and who has just come', async (t) => {
  const harness = new Harness({ connections: 300, connectTimeoutSeconds: 1_000 });
  harness.authenticate = () => new Promise(() => undefined);
  const checked = Array.from({ length: 200 }, (_, index) => {
    const client = harness.client();
    client.send(connectPacket(`c${index}`, 4));
    return client;
  });
  const silent = Array.from({ length: 150 }, () => harness.client());
  t.notOk(
    silent.some(({ isDestroyed }) => isDestroyed),
    'their CONNECT may be on its way',
  );
  harness.advance(3);
  harness.client();
  t.same(silent.map(({ isDestroyed }) => isDestroyed).slice(0, 2), [true, false]);
  t.notOk(checked.some(({ isDestroyed, isEnded }) => isDestroyed || isEnded));
});

t.test('connections whose CONNECT is being checked keep no known device out', async (t) => {
  const harness = new Harness({ connections: 120 });
  const waiting = new Set<() => void>();
  harness.authenticate = (userName, _password, caller) =>
    userName.startsWith('t1/guess')
      ? new Promise((resolve) => {
          const leave = (): void => {
            waiting.delete(leave);
            resolve(undefined);
          };
          waiting.add(leave);
          caller?.onLeft(leave);
        })
      : principalOf(userName);
  const guess = (address: string, index: number): TestClient => {
    const client = harness.client(5);
    client.clientAddress = { key: address, isOfClient: true };
    client.send(connectPacket(`${address}-${index}`, 5, { username: `t1/guess${index}` }));
    return client;
  };
  const few = Array.from({ length: 20 }, (_, index) => guess('198.51.100.7', index));
  const many = Array.from({ length: 600 }, (_, index) => guess('203.0.113.9', index));
  await settle();
  t.equal(harness.server.connectionsCount, 620, 'all places are taken');
  for (let index = 0; index < 90; index += 1) await harness.connected(`c${index}`);
  t.equal(harness.counts.get('mqtt/connections'), undefined);
  t.equal(harness.counts.get('mqtt/connections-before-login'), 90);
  t.match(many[599].take(), [
    { cmd: 'connack', reasonCode: 0x89, properties: { reasonString: /mqtt\/connections-before-login/ } },
  ]);
  t.same(
    [many[599].isDestroyed, many[510].isDestroyed, many[509].isDestroyed],
    [true, true, false],
    'the newest of the address with most',
  );
  t.notOk(few.some(({ isDestroyed }) => isDestroyed));
  t.equal(waiting.size, 530, 'they have left the queue');
  for (const leave of waiting) leave();
  await settle();
  for (const client of [...few, ...many]) client.drop();
  await settle();
  t.equal(harness.server.connectionsCount, 90);
  for (let index = 90; index < 96; index += 1) await harness.connected(`c${index}`);
  t.match((await harness.connect('c96', 5)).take(), [{ reasonCode: 0x97 }], 'the share of the user counts as before');
});

t.test('no user and no tenant takes all connections', async (t) => {
  const harness = new Harness({ connections: 20 });
  harness.authenticate = (userName) => ({ ...principalOf(userName), tenantNumber: userName.startsWith('t2/') ? 2 : 1 });
  const clients: Awaited<ReturnType<Harness['connect']>>[] = [];
  const connect = async (clientId: string, username: string): ReturnType<Harness['connect']> => {
    const client = await harness.connect(clientId, 5, { username });
    clients.push(client);
    return client;
  };
  const isOpen = async (clientId: string, username: string): Promise<boolean> =>
    (await connect(clientId, username)).take()[0].reasonCode === 0;
  for (let index = 0; index < 16; index += 1) t.ok(await isOpen(`a${index}`, 't1/ada'));
  const refuse = async (clientId: string, username: string, reasonString: RegExp): Promise<void> => {
    const client = await connect(clientId, username);
    t.match(client.take(), [{ reasonCode: 0x97, properties: { reasonString } }]);
    client.drop();
  };
  await refuse('a16', 't1/ada', /its share of 20 connections \(mqtt\/connections-of-user\)/);
  t.ok(await isOpen('a0', 't1/ada'), 'a device that comes back takes over its connection');
  clients[0].drop();
  t.ok((await isOpen('b1', 't1/bob')) && (await isOpen('b2', 't1/bob')), 'another user of the tenant');
  await refuse('b3', 't1/bob', /mqtt\/connections-of-tenant/);
  t.ok(await isOpen('c1', 't2/cy'), 'another tenant');
  t.match(
    [...harness.counts],
    [
      ['mqtt/connections-of-user', 1],
      ['mqtt/connections-of-tenant', 1],
    ],
  );
  for (const client of clients) client.drop();
  await settle();
  for (let index = 0; index < 16; index += 1) t.ok(await isOpen(`d${index}`, 't1/ada'), 'all is free again');
});

t.test('the server closes', async (t) => {
  const harness = new Harness();
  const version5 = await harness.connected('c5', 5);
  const version4 = await harness.connected('c4', 4);
  const closed = harness.server.close(50);
  t.match(version5.take(), [{ cmd: 'disconnect', reasonCode: 0x8b }]);
  version5.drop();
  await closed;
  t.ok(version4.isDestroyed);
  t.equal(harness.client().connection, undefined);
});

t.test('PUBLISH and DISCONNECT in one read', async (t) => {
  const harness = new Harness();
  const client = await harness.connected('c1');
  client.send(publish('a', 'x', 1, 1), { cmd: 'disconnect' });
  t.equal(harness.link('c1').reads, 1, 'the application is told that the read has ended, before the link closes');
  t.equal(harness.link('c1').closedWith, true);
});

t.test('the connections of a user are ended', async (t) => {
  const harness = new Harness();
  const gone = { username: 'gone' };
  const version5 = await harness.connected('c5', 5, gone);
  const version4 = await harness.connected('c4', 4, gone);
  const other = await harness.connected('c1', 5);
  const silent = harness.client();
  harness.server.disconnectUsers(2, new Set(['gone']));
  t.notOk(version4.isEnded, 'a user of another tenant');
  harness.server.disconnectUsers(1, new Set(['gone']));
  t.match(version5.take(), [{ cmd: 'disconnect', reasonCode: 0x87, properties: { reasonString: /user/ } }]);
  t.ok(version5.isEnded);
  t.ok(version4.isEnded);
  t.notOk(other.isEnded);
  t.notOk(silent.isEnded);
  t.equal(harness.counts.get('mqtt/reason-0x87'), 2);
});

t.test('a user that changes while its password is checked is checked again', async (t) => {
  const harness = new Harness();
  let checks = 0;
  let changes = 1;
  harness.authenticate = async (userName) => {
    checks += 1;
    return principalOf(userName);
  };
  harness.isCurrent = () => (changes -= 1) < 0;
  const stays = await harness.connect('c1', 4);
  t.match(stays.take(), [{ cmd: 'connack', returnCode: 0 }]);
  t.equal(checks, 2);
  harness.authenticate = async () => (changes > 0 ? principalOf('u') : undefined);
  changes = 1;
  const disabled = await harness.connect('c2', 4);
  t.match(disabled.take(), [{ cmd: 'connack', returnCode: 4 }], 'he may not log in any more');
  harness.authenticate = async (userName) => {
    checks += 1;
    return principalOf(userName);
  };
  changes = 9;
  const restless = await harness.connect('c3', 5);
  t.match(restless.take(), [{ cmd: 'connack', reasonCode: 0x88 }]);
  t.equal(checks, 5, 'bounded');
  t.ok(restless.isEnded);
  t.equal(harness.links.length, 1);
});

t.test('a user that goes while its session is opened is not let in', async (t) => {
  const harness = new Harness();
  const client = harness.client();
  client.send(connectPacket('c1', 4, { clean: false }));
  harness.server.disconnectUsers(1, new Set(['t1/user']));
  await settle();
  t.ok(client.isEnded);
  t.same(client.take(), []);
  t.equal(harness.links.length, 0);
});
