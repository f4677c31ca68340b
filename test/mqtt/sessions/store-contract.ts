/** What every adapter of the SessionStore port promises; run for each of them. */
import type { Test } from 'tap';
import type { SessionStore, StoredSession } from '../../../src/mqtt/sessions/application.ts';

export interface SessionStorePlace {
  readonly store: SessionStore;
  /** The application has stored a QoS 2 message that was received. */
  receive(tenant: number, key: string, packetId: number): Promise<unknown> | void;
  /** As a new process finds it after kill -9. */
  again(): Promise<SessionStorePlace>;
}

const TENANT = 1;
const subscriptions = new Map<string, 0 | 1 | 2>([
  ['s/ds', 2],
  ['s/dc/#', 0],
]);
const plain = (session: StoredSession | undefined): unknown =>
  session && {
    ...session,
    subscriptions: [...session.subscriptions],
    acknowledged: session.acknowledged ?? [],
    messages: session.messages.map(({ payload, isReleased = false, ...message }) => ({
      ...message,
      isReleased,
      payload: Buffer.from(payload).toString('latin1'),
    })),
  };

export function sessionStoreContract(t: Test, name: string, newPlace: (t: Test) => Promise<SessionStorePlace>): void {
  t.test(`${name}: subscriptions, messages, released ones, packet ids and expiry, also after a kill`, async (t) => {
    const first = await newPlace(t);
    const { store } = first;
    t.equal(await store.load(TENANT, 'a'), undefined);
    await store.save(TENANT, 'a', { subscriptions, expirySeconds: 60, disconnectedAt: 0 });
    const payload = Buffer.from([0, 255]);
    await store.addMessage(TENANT, 'a', { id: 9, topic: 's/ds', payload: Buffer.from('510,ä'), qos: 1 });
    const added = store.addMessage(TENANT, 'a', { id: 10, topic: 's/ds', payload, qos: 2 });
    await added;
    payload.fill(1);
    await store.addMessage(TENANT, 'a', {
      id: 10,
      topic: 's/ds',
      payload: Buffer.from([0, 255]),
      qos: 2,
      isReleased: true,
    });
    await store.addMessage(TENANT, 'a', { id: 11, topic: 's/ds', payload: Buffer.from('gone'), qos: 1 });
    await store.removeMessage(TENANT, 'a', 11);
    await store.removeMessage(TENANT, 'a', 12);
    for (const id of [7, 8]) await first.receive(TENANT, 'a', id);
    await store.release(TENANT, 'a', 8);
    await store.release(TENANT, 'a', 5);
    const want = {
      subscriptions: [...subscriptions],
      expirySeconds: 60,
      disconnectedAt: 0,
      received: [7],
      acknowledged: [],
      messages: [
        { id: 9, topic: 's/ds', payload: Buffer.from('510,ä').toString('latin1'), qos: 1, isReleased: false },
        { id: 10, topic: 's/ds', payload: '\u0000\u00ff', qos: 2, isReleased: true },
      ],
    };
    t.same(plain(await store.load(TENANT, 'a')), want);
    const second = await first.again();
    t.same(plain(await second.store.load(TENANT, 'a')), want);
    // Messages and what was received stay.
    await second.store.save(TENANT, 'a', { subscriptions: new Map(), expirySeconds: 5, disconnectedAt: 77 });
    t.same(plain(await second.store.load(TENANT, 'a')), {
      ...want,
      subscriptions: [],
      expirySeconds: 5,
      disconnectedAt: 77,
    });
    await second.store.remove(TENANT, 'a');
    t.equal(await second.store.load(TENANT, 'a'), undefined);
    await second.store.save(TENANT, 'a', { subscriptions, expirySeconds: 60, disconnectedAt: 0 });
    t.match(
      plain(await second.store.load(TENANT, 'a')),
      { messages: [], received: [] },
      'nothing of the one that was removed',
    );
    await second.store.remove(TENANT, 'none');
  });

  t.test(`${name}: who has the session changes it, and nobody else`, async (t) => {
    const place = await newPlace(t);
    const { store } = place;
    const change = { subscriptions, expirySeconds: 60, disconnectedAt: 0 };
    const elsewhere = { code: 'mqtt/session-elsewhere', status: 409, details: { session: 'a' } };
    const message = { id: 1, topic: 's/ds', payload: Buffer.from('1'), qos: 1 } as const;
    await t.rejects(
      store.save(TENANT, 'a', { ...change, holder: 'one', after: 'gone' }),
      elsewhere,
      'the session that it goes on from has ended',
    );
    t.equal(await store.load(TENANT, 'a'), undefined);
    await store.save(TENANT, 'a', { ...change, holder: 'one', after: '' });
    await store.save(TENANT, 'a', { ...change, expirySeconds: 61, holder: 'one', after: 'one' });
    await store.addMessage(TENANT, 'a', message, 'one');
    await place.receive(TENANT, 'a', 7);
    t.match(await store.load(TENANT, 'a'), { holder: 'one', expirySeconds: 61 });
    await t.rejects(
      store.save(TENANT, 'a', { ...change, holder: 'three', after: '' }),
      elsewhere,
      'opened without knowing of it',
    );
    await store.save(TENANT, 'a', { ...change, holder: 'two', after: 'one' });
    const want = plain(await store.load(TENANT, 'a'));
    t.match(want, { holder: 'two', expirySeconds: 60 });
    await t.rejects(store.save(TENANT, 'a', { ...change, expirySeconds: 1, holder: 'one', after: 'one' }), elsewhere);
    await t.rejects(store.addMessage(TENANT, 'a', { ...message, id: 2 }, 'one'), elsewhere);
    await t.rejects(store.removeMessage(TENANT, 'a', 1, { acknowledged: '700 1' }, 'one'), elsewhere);
    await t.rejects(store.release(TENANT, 'a', 7, undefined, 'one'), elsewhere);
    await t.rejects(store.remove(TENANT, 'a', { holder: 'one', after: 'one' }), elsewhere);
    t.same(plain(await store.load(TENANT, 'a')), want, 'nothing has changed');
    const again = (await place.again()).store;
    t.same(plain(await again.load(TENANT, 'a')), want);
    await again.removeMessage(TENANT, 'a', 1, undefined, 'two');
    await again.release(TENANT, 'a', 7, undefined, 'two');
    t.match(await again.load(TENANT, 'a'), { holder: 'two', messages: [], received: [] });
    await again.remove(TENANT, 'a', { holder: 'three', after: 'two' });
    t.equal(await again.load(TENANT, 'a'), undefined, 'the next holder ends it before it has saved it');
    await again.remove(TENANT, 'a', { holder: 'two', after: 'one' });
    await t.rejects(again.addMessage(TENANT, 'a', message, 'two'), elsewhere, 'a session that has ended');
  });

  t.test(`${name}: sessions and tenants are apart`, async (t) => {
    const { store } = await newPlace(t);
    const places = [1, 11].flatMap((tenant) => ['a', 'ab', 'b/a', 'ä温😀'].map((key) => ({ tenant, key })));
    for (const { tenant, key } of places) {
      await store.save(tenant, key, {
        subscriptions: new Map([[`${tenant} ${key}`, 1]]),
        expirySeconds: 1,
        disconnectedAt: 0,
      });
      await store.addMessage(tenant, key, { id: 1, topic: `${tenant} ${key}`, payload: Buffer.alloc(0), qos: 1 });
    }
    for (const { tenant, key } of places) {
      const session = await store.load(tenant, key);
      t.same(
        [[...session!.subscriptions.keys()], session!.messages.map(({ topic }) => topic)],
        [[`${tenant} ${key}`], [`${tenant} ${key}`]],
      );
    }
    await store.remove(1, 'a');
    t.same(await Promise.all(places.map(async ({ tenant, key }) => (await store.load(tenant, key))?.messages.length)), [
      undefined,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
    ]);
  });

  t.test(`${name}: calls of one session that are not waited for take effect in their order`, async (t) => {
    const { store } = await newPlace(t);
    const calls: Promise<void>[] = [];
    for (let id = 1; id <= 50; id += 1) {
      calls.push(store.addMessage(TENANT, 'a', { id, topic: 's/ds', payload: Buffer.from(String(id)), qos: 1 }));
      calls.push(
        store.save(TENANT, 'a', { subscriptions: new Map([['s/ds', 1]]), expirySeconds: id, disconnectedAt: id }),
      );
      if (id % 2 === 0) calls.push(store.removeMessage(TENANT, 'a', id));
    }
    await Promise.all(calls);
    const session = await store.load(TENANT, 'a');
    t.same(
      [session?.expirySeconds, session?.disconnectedAt, session?.messages.map(({ id }) => id)],
      [50, 50, Array.from({ length: 25 }, (_, index) => index * 2 + 1)],
    );
  });
}
