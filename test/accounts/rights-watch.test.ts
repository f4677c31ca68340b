/** Live sessions of users whose records change: those of microservices, beside the commands for people. */
import t from 'tap';
import type { CachingAuthenticator } from '../../src/accounts/authenticator.ts';
import { RightsWatch } from '../../src/accounts/rights-watch.ts';
import type { DocumentReader } from '../../src/model/command.ts';
import type { Log } from '../../src/model/log.ts';
import type { Principal } from '../../src/model/principal.ts';

t.test('a user whose record was changed or removed is ended, one that was made or left as it was is not', async (t) => {
  const ended: string[] = [];
  const watch = new RightsWatch({
    authenticator: { recordsChanged: () => undefined } as unknown as CachingAuthenticator, documents: {} as DocumentReader, refusals: { count: () => undefined }, log: {} as Log,
    endUser: (tenant, userName) => ended.push(`${tenant}/${userName}`), endTokenSessions: () => undefined,
  });
  watch.recordsChanged(7, [
    { collection: 'user', id: 'changed', expected: '{}', value: '{"roles":[]}' }, { collection: 'user', id: 'removed', expected: '{}', value: undefined },
    { collection: 'user', id: 'made', expected: undefined, value: '{}' }, { collection: 'user', id: 'same', expected: '{}', value: '{}' },
    { collection: 'application', id: 'service\n1', expected: '{}', value: undefined },
  ]);
  t.same(ended, ['7/changed', '7/removed']);
});

const roles = (...names: string[]): Principal => ({ tenant: 't', tenantNumber: 7, userName: 'x', roles: new Set(names) });
const user = (more: object = {}): string => JSON.stringify({ userName: 'x', enabled: true, roles: [], doc: '{}', ...more });

t.test('after changes were missed: whoever is gone, disabled or has lost a right is ended', async (t) => {
  const ended: string[] = [];
  const grant = { root: 251, scope: 'ALARM', type: '*', permission: 'READ' } as const;
  const texts: Record<string, string> = {
    'user/here': user(), 'user/disabled': user({ enabled: false }), 'user/kept': user({ roles: ['A'], groups: [1] }), 'user/fewer': user({ roles: ['A'] }),
    'user/left': user({ groups: [1] }), 'user/ungrouped': user({ groups: [2, 3] }), 'user/two': user({ roles: ['A'] }), 'user/granted': user({ userName: 'granted' }), 'user/ungranted': user(),
    'group/1': '{"roles":["B","C"],"doc":"{}"}', 'group/2': '{"roles":["C"],"doc":"{}"}',
    'inventoryRole/5': JSON.stringify({ id: 5, permissions: [{ scope: 'ALARM', type: '*', permission: 'READ' }] }),
  };
  const reads: [string, number][] = [];
  const watch = new RightsWatch({
    authenticator: {} as CachingAuthenticator, log: {} as Log, endTokenSessions: () => undefined, refusals: { count: () => undefined },
    documents: {
      get: () => undefined,
      getMany: (collection, _tenant, ids) => {
        reads.push([collection, ids.length]);
        return ids.map((id) => texts[`${collection}/${id}`] ?? (id.startsWith('many') ? user() : undefined));
      },
      list: (_collection, _tenant, prefix) => (prefix === 'granted\n' ? [{ id: 'granted\n1', value: JSON.stringify({ managedObject: '251', roles: [5] }) }] : []),
    },
    endUser: (tenant, userName) => ended.push(`${tenant}/${userName}`),
  });
  const connected = (entries: Record<string, Principal[]>): Map<string, Set<Principal>> =>
    new Map(Object.entries(entries).map(([name, principals]) => [name, new Set(principals)]));
  const many = Object.fromEntries(Array.from({ length: 2_500 }, (_, index) => [`many-${index}`, [roles()]]));
  await watch.recheck(new Map([
    [7, connected({ here: [roles()], disabled: [roles()], gone: [roles()], kept: [roles('A', 'B')], fewer: [roles('A', 'B')], left: [roles('B')], ungrouped: [roles('B')],
      two: [roles('A'), roles('A', 'D')], granted: [{ ...roles(), grants: [grant] }], ungranted: [{ ...roles(), grants: [grant] }] })],
    [8, connected({ here: [roles()], disabled: [roles()], ...many })],
  ]));
  t.same(ended, ['7/disabled', '7/gone', '7/fewer', '7/ungrouped', '7/two', '7/ungranted', '8/disabled']);
  t.same(reads, [['user', 10], ['group', 3], ['inventoryRole', 1], ['user', 1_000], ['user', 1_000], ['user', 502]], 'a thousand at a time, groups once');
});
