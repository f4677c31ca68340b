/** What a node reads again of what it remembers, when changes may not have been told. */
import t from 'tap';
import { shardOf } from '../../src/ingest/journal/command-record.ts';
import type { RecordChange } from '../../src/model/commands/records.ts';
import { ClusterCaches } from '../../src/server/cores/cluster-caches.ts';
import { silentLog, until } from '../actors/platform.ts';

function cachesOf(stored: Map<string, string>) {
  const seen = {
    lists: 0,
    forgotten: 0,
    rechecks: [] as boolean[],
    /** Tenants whose subscriptions of notifications were read again. */
    forwarded: [] as number[],
    isAway: false,
    forgottenUsers: [] as string[],
    endedUsers: [] as string[],
    tenants: new Map([['t1', { id: 't1', number: 1 }]]),
  };
  const caches = new ClusterCaches({
    tenants: {
      get all() {
        return seen.tenants.values();
      },
      recordsChanged: (_tenant: number, changes: readonly RecordChange[]) => {
        for (const { collection, id, value } of changes) {
          if (collection !== 'tenant') continue;
          if (value === undefined) seen.tenants.delete(id);
          else seen.tenants.set(id, JSON.parse(value) as { id: string; number: number });
        }
        return [];
      },
    },
    authenticator: {
      forgetAll: () => {
        seen.forgotten += 1;
      },
      recordsChanged: () => undefined,
      forget: (tenant: number, name: string) => {
        seen.forgottenUsers.push(`${tenant}/${name}`);
      },
    },
    sources: { forgetAll: () => undefined },
    forwarding: {
      recordsChanged: () => undefined,
      load: async (numbers: readonly number[]) => {
        seen.forwarded.push(...numbers);
      },
    },
    log: silentLog,
    events: {
      onUsersEnded: (tenant: number, names: ReadonlySet<string>) => {
        for (const name of names) seen.endedUsers.push(`${tenant}/${name}`);
      },
      recordListeners: [],
      watched: [],
      onMissed: async (isOf: (tenant: number, key: number) => boolean) => {
        seen.rechecks.push(isOf(1, 5));
      },
    },
    documents: {
      list: async () => {
        seen.lists += 1;
        if (seen.isAway) throw new Error('away');
        return [...stored].map(([id, value]) => ({ id, value }));
      },
    },
  } as never);
  return { caches, seen };
}
const shard = (tenant: number, key: string | number) => ({
  kind: 'shard' as const,
  tenant: 0,
  id: String(shardOf(tenant, key)),
});

t.test('each change of a user ends what is remembered, and live sessions unless they are told to stay', async (t) => {
  const { caches, seen } = cachesOf(new Map());
  caches.onChanged([
    { kind: 'user', tenant: 1, id: 'ada', keepsConnections: true },
    { kind: 'user', tenant: 1, id: 'bob', keepsConnections: false },
    { kind: 'user', tenant: 1, id: 'eve' },
  ]);
  t.same(
    [seen.forgottenUsers, seen.endedUsers],
    [
      ['1/ada', '1/bob', '1/eve'],
      ['1/bob', '1/eve'],
    ],
  );
});

t.test(
  'before the accounts of a first start are stored nothing is read: they would be taken for deleted',
  async (t) => {
    const stored = new Map<string, string>();
    const { caches, seen } = cachesOf(stored);
    caches.onChanged([shard(0, 't'), shard(1, 't')]);
    caches.forgetAll();
    await new Promise((resolve) => {
      setTimeout(resolve, 120);
    });
    t.same([seen.lists, [...seen.tenants.keys()]], [0, ['t1']]);
    stored.set('t1', '{"id":"t1","number":1}').set('t2', '{"id":"t2","number":2}');
    caches.start();
    await until(() => seen.rechecks.length === 1);
    t.same([seen.lists, [...seen.tenants.keys()]], [1, ['t1', 't2']], 'once, and what was missed is there');
    t.same(seen.forwarded, [1, 2]);
  },
);

t.test('shards are gathered, others are left alone, and what could not be read is read again', async (t) => {
  const { caches, seen } = cachesOf(new Map([['t1', '{"id":"t1","number":1}']]));
  caches.start();
  const other = Array.from({ length: 64 }, (_, index) => index).find(
    (one) => ![shardOf(0, 't'), shardOf(1, 't'), shardOf(1, 5)].includes(one),
  ) as number;
  caches.onChanged([{ kind: 'shard', tenant: 0, id: String(other) }]);
  await until(() => seen.rechecks.length === 1);
  t.same([seen.lists, seen.forgotten, seen.rechecks], [0, 0, [false]], 'a shard of which nothing is remembered');
  seen.isAway = true;
  caches.onChanged([shard(0, 't')]);
  caches.onChanged([shard(1, 5)]);
  await until(() => seen.lists === 1);
  seen.isAway = false;
  await until(() => seen.rechecks.length === 2);
  t.same(seen.rechecks, [false, true], 'with all that was told');
  t.equal(seen.lists, 2);
});
