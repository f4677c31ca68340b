/** Administrators of tenants: a new password by the management tenant lets one in again who was locked out. */
import t from 'tap';
import { ROLES } from '../../../src/model/access/roles.ts';
import { basic, startApi } from '../helpers/api.ts';

t.test('adminPass enables the administrator and puts him back into admins', async (t) => {
  const { call, fake } = await startApi(t);
  fake.users.set('management/root', {
    password: 'secret',
    principal: { tenant: 'management', tenantNumber: 1, userName: 'root', roles: new Set(ROLES) },
  });
  fake.put('job', 'tenants', JSON.stringify({ nextNumber: 3, version: 1 }), 0);
  fake.put('tenant', 't1', JSON.stringify({ id: 't1', number: 2, adminName: 'admin' }), 0);
  fake.put('group', '1', JSON.stringify({ id: 1, name: 'admins', roles: ROLES, doc: '{}' }));
  const lockedOut = { userName: 'admin', password: 'x', roles: [], enabled: false, doc: '{}', groups: [] };
  fake.put('user', 'admin', JSON.stringify(lockedOut));
  const put = async (body: object): Promise<number> =>
    (await call('PUT', '/tenant/tenants/t1', { body, headers: { authorization: basic('management/root') } })).status;
  const stored = (): any => JSON.parse(fake.get('user', 'admin') ?? '{}');
  t.equal(await put({ adminEmail: 'ada@example.com' }), 200);
  t.match(stored(), { enabled: false, groups: [] }, 'an address alone changes neither');
  t.equal(await put({ adminPass: 'Analytical-1' }), 200);
  t.match(stored(), { enabled: true, groups: [1] });
  t.equal(fake.get('groupMember', '1\nadmin'), '1');
});
