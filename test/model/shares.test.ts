/** Shares of a pool: no user and no tenant takes all of it; who is alone gets most. */
import t from 'tap';
import { Shares } from '../../src/pacing/shares.ts';

/** Takes until it is refused. @returns how much, and the limit. */
function fill(shares: Shares, tenant: number, user: string | (() => string)): [number, string] {
  for (let count = 0; ; count += 1) {
    const limit = shares.take(tenant, typeof user === 'string' ? user : user());
    if (limit !== undefined) return [count, limit];
  }
}

t.test('one user leaves a fifth to the others, one tenant a tenth', (t) => {
  const shares = new Shares('x', 1_000);
  t.same(fill(shares, 1, 'a'), [800, 'x-of-user']);
  t.same(fill(shares, 1, 'b'), [100, 'x-of-tenant'], 'another user of the tenant');
  t.same(fill(shares, 2, 'a'), [80, 'x-of-user'], 'another tenant');
  t.equal(shares.take(3, 'a'), undefined, 'and a third');
  t.equal(shares.used, 981);
  t.end();
});

t.test('the only tenant of a server gets nearly all, until there is another one', (t) => {
  let isOnlyTenant = true;
  const shares = new Shares('x', 1_000, () => isOnlyTenant);
  t.same(fill(shares, 1, 'a'), [950, 'x-of-user']);
  t.same(fill(shares, 1, 'b'), [40, 'x-of-tenant'], 'another user of the tenant');
  t.equal(shares.take(2, 'operator'), undefined, 'the operator');
  isOnlyTenant = false;
  t.equal(shares.take(1, 'b'), 'x-of-user');
  t.equal(shares.take(3, 'a'), undefined, 'another tenant');
  shares.give(1, 'a', 150);
  t.equal(shares.take(1, 'a'), 'x-of-user', 'from here on it is as with several');
  shares.give(1, 'a', 50);
  t.equal(shares.take(1, 'a'), undefined);
  let count = 0;
  t.same(
    fill(new Shares('x', 1_000, () => true), 1, () => `u${count++}`),
    [990, 'x-of-tenant'],
    'many users with little',
  );
  t.end();
});

t.test('many users of one tenant, each with little', (t) => {
  const shares = new Shares('x', 1_000);
  let count = 0;
  t.same(
    fill(shares, 1, () => `u${count++}`),
    [900, 'x-of-tenant'],
  );
  t.same(fill(shares, 2, 'a'), [80, 'x-of-user']);
  t.end();
});

t.test('with much to give back all is free again, and a small pool can be filled', (t) => {
  const shares = new Shares('x', 3);
  t.same(fill(shares, 1, 'a'), [3, 'x']);
  for (let count = 0; count < 3; count += 1) shares.give(1, 'a');
  t.same([shares.used, shares.heldBy(1, 'a')], [0, 0]);
  t.same(fill(shares, 2, 'b'), [3, 'x']);
  t.end();
});

t.test('amounts: the last one may pass the share, never the pool', (t) => {
  const shares = new Shares('x', 100);
  t.equal(shares.take(1, 'a', 90), undefined);
  t.equal(shares.take(1, 'a', 5), 'x-of-user');
  t.equal(shares.take(2, 'a', 11), 'x');
  t.equal(shares.take(2, 'a', 10), undefined);
  shares.give(1, 'a', 90);
  t.equal(shares.used, 10);
  shares.add(1, 'a', 200);
  t.equal(shares.used, 210, 'what cannot be refused is counted');
  t.end();
});
