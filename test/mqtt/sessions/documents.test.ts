/** What a session is comes back from the journal and the documents, whole, after a crash. */
import t from 'tap';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import { SessionDocuments } from '../../../src/mqtt/devices/session-documents.ts';
import { NOW, openPlatform } from '../../actors/platform.ts';
import type { Platform } from '../../actors/platform.ts';
import { sessionStoreContract } from './store-contract.ts';
import type { SessionStorePlace } from './store-contract.ts';
import { MemorySessionStore } from '../helpers/memory-session-store.ts';
import { Harness, settle, subscribe, until } from '../helpers/harness.ts';

const TENANT = 1;

const storeOf = ({ commands, documents }: Platform): SessionDocuments =>
  new SessionDocuments({ commands, documents, now: () => NOW });

sessionStoreContract(t, 'journal and documents', async (t) => {
  const placeOf = (platform: Platform): SessionStorePlace => ({
    store: storeOf(platform),
    receive: (tenant, key, id) =>
      platform.request({ kind: COMMAND.SESSION_RECEIVE, key: `s:${key}`, body: { session: key, id }, tenant }),
    again: async () => placeOf(await (await platform.crash()).recover()),
  });
  return placeOf(openPlatform(t));
});

sessionStoreContract(t, 'in memory', async () => {
  const store = new MemorySessionStore();
  const place: SessionStorePlace = {
    store,
    receive: (...packet) => store.addReceived(...packet),
    again: async () => place,
  };
  return place;
});

t.test('what the device has acknowledged comes back with the session', async (t) => {
  let platform = openPlatform(t);
  let store = storeOf(platform);
  await store.save(TENANT, 'a', { subscriptions: new Map(), expirySeconds: 60, disconnectedAt: NOW });
  await store.addMessage(TENANT, 'a', { id: 11, topic: 's/ds', payload: Buffer.from('gone'), qos: 1 });
  await store.removeMessage(TENANT, 'a', 11, { acknowledged: '700 1' });
  await store.addMessage(TENANT, 'a', { id: 12, topic: 's/ds', payload: Buffer.from('marked'), qos: 1, mark: '701 1' });
  for (const [id, acknowledged] of [
    [13, '702 1'],
    [14, '703 1 55'],
  ] as const)
    await store.removeMessage(TENANT, 'a', id, { acknowledged });
  await store.removeMessage(TENANT, 'a', 15, { over: ['702 1'] });
  await store.removeMessage(TENANT, 'gone', 1, { acknowledged: '704 1' });
  await store.save(TENANT, 'a', { subscriptions: new Map(), expirySeconds: 60, disconnectedAt: NOW });
  platform = await (await platform.crash()).recover();
  store = storeOf(platform);
  t.same(await store.load(TENANT, 'a'), {
    subscriptions: new Map(),
    received: [],
    acknowledged: ['700 1', '703 1 55'],
    expirySeconds: 60,
    disconnectedAt: NOW,
    messages: [{ id: 12, topic: 's/ds', payload: Buffer.from('marked'), qos: 1, isReleased: false, mark: '701 1' }],
  });
  t.equal(await store.load(TENANT, 'gone'), undefined, 'a session that has ended');
});

t.test('with the MQTT server: what waits for a device reaches it after a crash', async (t) => {
  let platform = openPlatform(t);
  const harness = new Harness({ inFlightMessages: 1 });
  harness.nowMs = NOW;
  const start = (): void => {
    harness.store = storeOf(platform) as never;
    harness.restart();
  };
  start();
  const client = await harness.connected('c1', 4, { clean: false });
  client.send(subscribe(1, ['s/ds', 1]));
  await until(() => client.packets.length > 0);
  for (const payload of ['sent', 'queued'])
    harness.link('c1').connection.deliver({ topic: 's/ds', payload: Buffer.from(payload), qos: 1 });
  await until(() => platform.ids('sessionMessage').length === 2);
  platform = await (await platform.crash()).recover();
  start();
  const again = await harness.connect('c1', 4, { clean: false });
  await until(() => again.packets.length === 2);
  const [connack, sent] = again.take();
  t.equal(connack.sessionPresent, true);
  again.send({ cmd: 'puback', messageId: sent.messageId });
  await until(() => again.packets.length === 1);
  t.same(
    [sent, ...again.take()].map(({ payload }) => payload.toString()),
    ['sent', 'queued'],
  );
  await settle();
});
