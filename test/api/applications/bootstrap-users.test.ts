/** Credentials of bootstrap users: whoever has them has those of the service users too. */
import t from 'tap';
import { basic, startApi } from '../helpers/api.ts';

t.test('they are given to who has the required roles', async (t) => {
  const { call, fake } = await startApi(t);
  fake.addUser('manager', ['ROLE_APPLICATION_MANAGEMENT_READ', 'ROLE_APPLICATION_MANAGEMENT_ADMIN']);
  const put = (id: string, requiredRoles: string[]): void =>
    fake.put(
      'application',
      id,
      JSON.stringify({
        id,
        owner: 't1',
        ownerNumber: 2,
        key: `k${id}`,
        name: `n${id}`,
        type: 'MICROSERVICE',
        availability: 'PRIVATE',
        requiredRoles,
        doc: '{}',
      }),
      0,
    );
  put('41', ['ROLE_USER_MANAGEMENT_ADMIN']);
  put('42', ['ROLE_APPLICATION_MANAGEMENT_READ']);
  const status = async (id: string, user: string): Promise<number> =>
    (
      await call('GET', `/application/applications/${id}/bootstrapUser`, {
        headers: { authorization: basic(`t1/${user}`) },
      })
    ).status;
  t.equal(await status('41', 'manager'), 403);
  t.equal(await status('42', 'manager'), 200);
  t.equal(await status('41', 'admin'), 200);
});
