/** Live sessions of users whose records change: those of microservices, beside the commands for people. */
import t from 'tap';
import type { CachingAuthenticator } from '../../src/accounts/login/authenticator.ts';
import { RightsWatch } from '../../src/accounts/login/rights-watch.ts';
import type { DocumentReader } from '../../src/ports/document-reader.ts';
import type { Log } from '../../src/ports/log.ts';
import type { Principal } from '../../src/model/access/principal.ts';

t.test('a user whose record was changed or removed is ended, one that was made or left as it was is not', async (t) => {
  const ended: string[] = [];
  const watch = new RightsWatch({
    authenticator: { recordsChanged: () => undefined } as unknown as CachingAuthenticator,
    documents: {} as DocumentReader,
    refusals: { count: () => undefined },
    log: {} as Log,
    endUsers: (tenant, names) => {
      for (const name of names) ended.push(`${tenant}/${name}`);
    },
    endTokenSessions: () => undefined,
    endDeviceSessions: () => undefined,
  });
  watch.recordsChanged(7, [
    { collection: 'user', id: 'changed', expected: '{}', value: '{"roles":[]}' },
    { collection: 'user', id: 'removed', expected: '{}', value: undefined },
    { collection: 'user', id: 'made', expected: undefined, value: '{}' },
    { collection: 'user', id: 'same', expected: '{}', value: '{}' },
    { collection: 'application', id: 'service\n1', expected: '{}', value: undefined },
  ]);
  t.same(ended, ['7/changed', '7/removed']);
});

t.test('a group that loses roles or grants ends its members, an inventory role those who have it', async (t) => {
  const ended: string[] = [];
  const members = Array.from({ length: 2_500 }, (_, index) => ({
    id: `5\nmember-${String(index).padStart(4, '0')}`,
    value: '1',
  }));
  const assignments = [
    ['ada\n1', [4, 8]],
    ['bob\n2', [9]],
    ['eve\n3', [8]],
  ].map(([id, assigned]) => ({ id: id as string, value: JSON.stringify({ roles: assigned }) }));
  const pages: number[] = [];
  const watch = new RightsWatch({
    authenticator: { recordsChanged: () => undefined } as unknown as CachingAuthenticator,
    refusals: { count: () => undefined },
    log: {} as Log,
    documents: {
      get: () => undefined,
      getMany: () => [],
      list: (collection, _tenant, prefix, { after = '', limit }) => {
        const page = (collection === 'groupMember' ? members : assignments)
          .filter(({ id }) => id.startsWith(prefix) && id > after)
          .slice(0, limit);
        pages.push(page.length);
        return page;
      },
    },
    endUsers: (tenant, names) => {
      for (const name of names) ended.push(`${tenant}/${name}`);
    },
    endTokenSessions: () => undefined,
    endDeviceSessions: () => undefined,
  });
  const group = (more: object, devicePermissions?: object): string =>
    JSON.stringify({ id: 5, roles: ['A'], doc: JSON.stringify({ devicePermissions, x: 1 }), ...more });
  const role = (...permissions: string[]): string =>
    JSON.stringify({
      id: 8,
      permissions: permissions.map((scope, index) => ({ id: index + 1, scope, type: '*', permission: 'READ' })),
    });
  const both = { 251: ['ALARM:*:READ', 'EVENT:*:READ'] };
  const isEnded = async (
    collection: 'group' | 'inventoryRole',
    expected: string,
    value: string | undefined,
  ): Promise<number> => {
    ended.length = 0;
    watch.recordsChanged(7, [{ collection, id: collection === 'group' ? '5' : '8', expected, value }]);
    for (let turn = 0; turn < 10; turn += 1)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    return ended.length;
  };
  t.equal(
    await isEnded('group', group({}, both), group({}, { 251: ['ALARM:*:READ'] })),
    2_500,
    'a permission of an object',
  );
  t.same([pages, ended[0], ended[2_499]], [[1_000, 1_000, 500], '7/member-0000', '7/member-2499']);
  t.equal(await isEnded('group', group({}, both), group({}, {})), 2_500);
  t.equal(await isEnded('group', group({ roles: ['A', 'B'] }), group({})), 2_500);
  t.equal(await isEnded('group', group({}), undefined), 2_500);
  t.equal(
    await isEnded('group', JSON.stringify({ roles: ['A'], losesGrants: true }), group({})),
    2_500,
    'as another node is told',
  );
  t.equal(
    await isEnded('group', group({}, both), group({ name: 'other', roles: ['A', 'B'] }, { ...both, 252: ['*:*:*'] })),
    0,
    'nothing is lost',
  );
  for (const [expected, value] of [
    [role('ALARM', 'EVENT'), role('EVENT')],
    [role('ALARM'), role()],
    [role('ALARM'), undefined],
    ['{"losesGrants":true}', role()],
  ] as const) {
    await isEnded('inventoryRole', expected, value);
    t.same(ended, ['7/ada', '7/eve'], `${expected} -> ${value}`);
  }
  t.equal(await isEnded('inventoryRole', role('ALARM'), role('EVENT', 'ALARM')), 0);
});

t.test(
  'members of a deleted group are ended when they go, also where the group is read after they have gone',
  async (t) => {
    const ended: string[] = [];
    let left = Array.from({ length: 3_500 }, (_, index) => ({
      id: `5\nmember-${String(index).padStart(4, '0')}`,
      value: '1',
    }));
    const watch = new RightsWatch({
      authenticator: { recordsChanged: () => undefined } as unknown as CachingAuthenticator,
      refusals: { count: () => undefined },
      log: {} as Log,
      documents: {
        get: () => undefined,
        getMany: () => [],
        list: async (_collection, _tenant, prefix, { after = '', limit }) =>
          left.filter(({ id }) => id.startsWith(prefix) && id > after).slice(0, limit),
      },
      endUsers: (tenant, names) => {
        for (const name of names) ended.push(`${tenant}/${name}`);
      },
      endTokenSessions: () => undefined,
      endDeviceSessions: () => undefined,
    });
    const removeMembers = async (): Promise<void> => {
      while (left.length > 0) {
        const some = left.slice(0, 1_000);
        left = left.slice(1_000);
        watch.recordsChanged(
          7,
          some.map(({ id, value }) => ({ collection: 'groupMember', id, expected: value, value: undefined })),
        );
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
    };
    watch.recordsChanged(7, [
      { collection: 'group', id: '5', expected: '{"id":5,"roles":["A"],"doc":"{}"}', value: undefined },
    ]);
    await removeMembers();
    t.equal(new Set(ended).size, 3_500);
    ended.length = 0;
    watch.recordsChanged(7, [{ collection: 'groupMember', id: '6\nada', expected: undefined, value: '1' }]);
    watch.recordsChanged(7, [
      { collection: 'group', id: '6', expected: '{"id":6,"roles":[],"doc":"{}"}', value: undefined },
    ]);
    watch.recordsChanged(7, [{ collection: 'groupMember', id: '6\nada', expected: '1', value: undefined }]);
    t.same(ended, [], 'who joins, and the members of a group without rights');
  },
);

const roles = (...names: string[]): Principal => ({
  tenant: 't',
  tenantNumber: 7,
  userName: 'x',
  roles: new Set(names),
});
const user = (more: object = {}): string =>
  JSON.stringify({ userName: 'x', enabled: true, roles: [], doc: '{}', ...more });

t.test('after changes were missed: whoever is gone, disabled or has lost a right is ended', async (t) => {
  const ended: string[] = [];
  const grant = { root: 251, scope: 'ALARM', type: '*', permission: 'READ' } as const;
  const texts: Record<string, string> = {
    'user/here': user(),
    'user/disabled': user({ enabled: false }),
    'user/kept': user({ roles: ['A'], groups: [1] }),
    'user/fewer': user({ roles: ['A'] }),
    'user/left': user({ groups: [1] }),
    'user/ungrouped': user({ groups: [2, 3] }),
    'user/two': user({ roles: ['A'] }),
    'user/granted': user({ userName: 'granted' }),
    'user/ungranted': user(),
    'group/1': '{"roles":["B","C"],"doc":"{}"}',
    'group/2': '{"roles":["C"],"doc":"{}"}',
    'inventoryRole/5': JSON.stringify({ id: 5, permissions: [{ scope: 'ALARM', type: '*', permission: 'READ' }] }),
  };
  const reads: [string, number][] = [];
  const watch = new RightsWatch({
    authenticator: {} as CachingAuthenticator,
    log: {} as Log,
    endTokenSessions: () => undefined,
    endDeviceSessions: () => undefined,
    refusals: { count: () => undefined },
    documents: {
      get: () => undefined,
      getMany: (collection, _tenant, ids) => {
        reads.push([collection, ids.length]);
        return ids.map((id) => texts[`${collection}/${id}`] ?? (id.startsWith('many') ? user() : undefined));
      },
      list: (_collection, _tenant, prefix) =>
        prefix === 'granted\n'
          ? [{ id: 'granted\n1', value: JSON.stringify({ managedObject: '251', roles: [5] }) }]
          : [],
    },
    endUsers: (tenant, names) => {
      for (const name of names) ended.push(`${tenant}/${name}`);
    },
  });
  const connected = (entries: Record<string, Principal[]>): Map<string, Set<Principal>> =>
    new Map(Object.entries(entries).map(([name, principals]) => [name, new Set(principals)]));
  const many = Object.fromEntries(Array.from({ length: 2_500 }, (_, index) => [`many-${index}`, [roles()]]));
  await watch.recheck(
    new Map([
      [
        7,
        connected({
          here: [roles()],
          disabled: [roles()],
          gone: [roles()],
          kept: [roles('A', 'B')],
          fewer: [roles('A', 'B')],
          left: [roles('B')],
          ungrouped: [roles('B')],
          two: [roles('A'), roles('A', 'D')],
          granted: [{ ...roles(), grants: [grant] }],
          ungranted: [{ ...roles(), grants: [grant] }],
        }),
      ],
      [8, connected({ here: [roles()], disabled: [roles()], ...many })],
    ]),
  );
  t.same(ended, ['7/disabled', '7/gone', '7/fewer', '7/ungrouped', '7/two', '7/ungranted', '8/disabled']);
  t.same(
    reads,
    [
      ['user', 10],
      ['group', 3],
      ['inventoryRole', 1],
      ['user', 1_000],
      ['user', 1_000],
      ['user', 502],
    ],
    'a thousand at a time, groups once',
  );
});
