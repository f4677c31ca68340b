/** What every adapter of the ConnectionRegistry port promises; run by the tests of the adapters. */
import type { Test } from 'tap';
import type { ConnectionRegistry } from '../../../src/ports/cluster/connection-registry.ts';
import { until } from '../../helpers/until.ts';

/** Two nodes with the same registry. */
export interface ConnectionRegistries {
  readonly a: ConnectionRegistry;
  readonly b: ConnectionRegistry;
  /** The registry may have lost what it had. */
  forget(): Promise<void>;
}

const KEY = 'client\n/ä😀 x';

export function connectionRegistryContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<ConnectionRegistries>,
): void {
  t.test(`${name}: who claims learns who had it; a release takes only its own`, async (t) => {
    const { a, b } = await open(t);
    t.equal(await a.holder(1, KEY), undefined);
    t.equal(await a.claim(1, KEY, 'a', '1'), undefined);
    t.same(await b.holder(1, KEY), { nodeId: 'a', connectionId: '1' });
    t.same(await b.claim(1, KEY, 'b', '2'), { nodeId: 'a', connectionId: '1' });
    await a.release(1, KEY, 'a', '1');
    t.same(await a.holder(1, KEY), { nodeId: 'b', connectionId: '2' }, 'claimed by another meanwhile');
    t.same(await b.claim(1, KEY, 'b', '3'), { nodeId: 'b', connectionId: '2' });
    await b.release(1, KEY, 'b', '2');
    t.same(await a.holder(1, KEY), { nodeId: 'b', connectionId: '3' }, 'by another connection of the node');
    await b.release(1, KEY, 'b', '3');
    await b.release(1, KEY, 'b', '3');
    t.equal(await a.holder(1, KEY), undefined);
    t.equal(await a.claim(1, KEY, 'a', '4'), undefined);
  });

  t.test(`${name}: tenants and clients are apart`, async (t) => {
    const { a, b } = await open(t);
    const places = [
      [1, 'x'],
      [11, 'x'],
      [1, '1/x'],
      [1, 'x\n'],
      [1, 'X'],
    ] as const;
    for (const [index, [tenant, key]] of places.entries())
      t.equal(await a.claim(tenant, key, 'a', String(index)), undefined);
    for (const [index, [tenant, key]] of places.entries())
      t.same(await b.holder(tenant, key), { nodeId: 'a', connectionId: String(index) });
  });

  t.test(`${name}: of claims at once each sees the one before it`, async (t) => {
    const { a, b } = await open(t);
    const former = await Promise.all(
      Array.from({ length: 200 }, (_, index) => {
        const isOfA = index % 2 === 0;
        return (isOfA ? a : b).claim(1, 'busy', isOfA ? 'a' : 'b', String(index));
      }),
    );
    t.equal(new Set(former.map((holder) => holder?.connectionId)).size, 200, 'each was the former of one');
    const last = (await a.holder(1, 'busy'))?.connectionId;
    t.notOk(
      former.some((holder) => holder?.connectionId === last),
      'and the last of none',
    );
  });

  t.test(`${name}: whoever listens is told when claims may be forgotten, until it ends that`, async (t) => {
    const { a, b, forget } = await open(t);
    const told = { a: 0, b: 0 };
    a.onForgotten(() => {
      told.a += 1;
    });
    const end = b.onForgotten(() => {
      told.b += 1;
    });
    end();
    await a.claim(1, 'x', 'a', '1');
    await forget();
    await until('a is told', () => told.a > 0);
    t.equal(told.b, 0);
    await b.claim(1, 'x', 'b', '2');
    t.same(await a.holder(1, 'x'), { nodeId: 'b', connectionId: '2' });
  });
}
