/** What a user may do and what gives it to him. */
import t from 'tap';
import { explainedRights } from '../../src/accounts/users/explained-rights.ts';
import { GRANTS_MAX } from '../../src/model/access/inventory-grant.ts';
import type { StoredUser } from '../../src/model/entities/stored-user.ts';
import { FakePlatform } from '../api/helpers/fake-platform.ts';

const TENANT = 2;

function world(): FakePlatform {
  const fake = new FakePlatform();
  const group = (id: number, name: string, roles: string[], doc = '{}'): void =>
    fake.put('group', String(id), JSON.stringify({ id, name, roles, doc }));
  group(2, 'devices', ['ROLE_INVENTORY_READ', 'ROLE_ALARM_ADMIN']);
  group(3, 'readers', ['ROLE_ALARM_READ'], '{"devicePermissions":{"7":["EVENT:*:READ"]}}');
  fake.put(
    'inventoryRole',
    '4',
    JSON.stringify({
      id: 4,
      name: 'Restart',
      description: '',
      permissions: [{ id: 1, scope: 'OPERATION', type: 'c8y_Restart', permission: 'ADMIN' }],
    }),
  );
  return fake;
}

const user = (more: object): StoredUser =>
  ({ userName: 'ada', enabled: true, roles: [], groups: [], doc: '{}', ...more }) as unknown as StoredUser;

t.test('roles of the user and the groups, grants of all three kinds', async (t) => {
  const fake = world();
  fake.put('inventoryAssignment', 'ada\n1', JSON.stringify({ managedObject: '9', roles: [4, 404] }));
  const rights = await explainedRights(
    fake.platform().documents,
    TENANT,
    user({
      roles: ['ROLE_ALARM_READ', 'ROLE_AUDIT_READ'],
      groups: [3, 404],
      doc: '{"devicePermissions":{"8":["*:*:ADMIN"]}}',
    }),
  );
  t.strictSame(rights, {
    roles: [
      {
        name: 'ROLE_ALARM_READ',
        holds: 'EVERYWHERE',
        from: [{ kind: 'user' }, { kind: 'group', id: 3, name: 'readers' }],
      },
      { name: 'ROLE_AUDIT_READ', holds: 'EVERYWHERE', from: [{ kind: 'user' }] },
    ],
    grants: [
      { root: 8, scope: '*', type: '*', permission: 'ADMIN', from: { kind: 'user' } },
      { root: 7, scope: 'EVENT', type: '*', permission: 'READ', from: { kind: 'group', id: 3, name: 'readers' } },
      {
        root: 9,
        type: 'c8y_Restart',
        scope: 'OPERATION',
        permission: 'ADMIN',
        from: { kind: 'inventoryRole', id: 4, name: 'Restart' },
      },
    ],
    uncountedGrants: 0,
  });
});

t.test('roles of a registered device hold for what it owns, unless another group gives them', async (t) => {
  const { roles } = await explainedRights(
    world().platform().documents,
    TENANT,
    user({ userName: 'device_1', groups: [2, 3] }),
  );
  t.same(
    roles.map(({ name, holds }) => [name, holds]),
    [
      ['ROLE_ALARM_ADMIN', 'OWN'],
      ['ROLE_ALARM_READ', 'EVERYWHERE'],
      ['ROLE_INVENTORY_READ', 'OWN'],
    ],
  );
});

t.test('grants beyond the bound do not count', async (t) => {
  const permissions = Object.fromEntries(
    Array.from({ length: GRANTS_MAX + 3 }, (_, index) => [index + 1, ['ALARM:*:READ']]),
  );
  const rights = await explainedRights(
    world().platform().documents,
    TENANT,
    user({ doc: JSON.stringify({ devicePermissions: permissions }) }),
  );
  t.same([rights.grants.length, rights.uncountedGrants], [GRANTS_MAX, 3]);
});
