/** Whom two-factor authentication asks for a code: people, whatever their names; not devices and microservices. */
import t from 'tap';
import { isPerson } from '../../src/accounts/login/second-factor.ts';
import type { SecondFactor } from '../../src/accounts/login/second-factor.ts';
import type { StoredUser } from '../../src/model/entities/stored-user.ts';
import { ROLES } from '../../src/model/access/roles.ts';
import { startApi } from '../api/helpers/api.ts';
import { FakePlatform } from '../api/helpers/fake-platform.ts';

const REQUIRED = JSON.stringify({ twoFactorAuthenticationEnabled: true });
const user = (userName: string, more: Partial<StoredUser> = {}): StoredUser => ({
  userName,
  password: 'x',
  roles: [],
  enabled: true,
  doc: '{}',
  ...more,
});
const service = { application: '7', owner: 2 };

t.test('names of microservices do not make one', async (t) => {
  const secondFactor = new FakePlatform().platform().accounts.secondFactor as SecondFactor;
  for (const userName of ['ada', 'service_bob', 'servicebootstrap_bob']) {
    t.ok(isPerson(user(userName)), userName);
    t.equal(await secondFactor.need(2, user(userName, { doc: REQUIRED })), 'SETUP', userName);
    t.equal(
      await secondFactor.need(2, user(userName, { doc: REQUIRED, service })),
      undefined,
      `${userName}, made by the server`,
    );
  }
  t.notOk(isPerson(user('bootstrap', { roles: ['ROLE_DEVICE_BOOTSTRAP'] })));
});

t.test(
  'a device is one by its name, unless somebody made it by hand or its own field asks for a second factor',
  async (t) => {
    const fake = new FakePlatform();
    const secondFactor = fake.platform().accounts.secondFactor as SecondFactor;
    fake.put('option', 'two-factor-authentication\nenforced', JSON.stringify({ value: 'true' }));
    t.equal(await secondFactor.need(2, user('ada')), 'SETUP');
    t.equal(await secondFactor.need(2, user('device_1')), undefined);
    t.equal(await secondFactor.need(2, user('device_2', { isPerson: true })), 'SETUP');
    t.equal(await secondFactor.need(2, user('device_bob', { doc: REQUIRED })), 'SETUP');
  },
);

t.test('a group is renamed by who has its roles, admins by nobody', async (t) => {
  const { call, fake } = await startApi(t);
  const group = (id: number, name: string, roles: readonly string[]): void => {
    fake.put('group', String(id), JSON.stringify({ id, name, roles, doc: '{}' }));
    fake.put('group', `n\n${name}`, String(id));
  };
  group(1, 'admins', ROLES);
  group(8, 'operators', ['ROLE_ALARM_ADMIN']);
  fake.addUser('clerk', ['ROLE_USER_MANAGEMENT_READ', 'ROLE_USER_MANAGEMENT_ADMIN']);
  const put = async (id: number, body: object, as = 'admin'): Promise<number> => {
    const authorization = `Basic ${Buffer.from(`t1/${as}:secret`).toString('base64')}`;
    return (await call('PUT', `/user/t1/groups/${id}`, { body, headers: { authorization } })).status;
  };
  t.equal(await put(8, { name: 'others' }, 'clerk'), 403);
  t.equal(await put(8, { name: 'operators', description: 'as before' }, 'clerk'), 200);
  t.equal(await put(1, { name: 'others' }), 403);
  t.equal(await put(1, { name: 'admins', description: 'all' }), 200);
  t.equal(await put(8, { name: 'others' }), 200);
  t.match(JSON.parse(fake.get('group', '8') ?? '{}'), { name: 'others' });
});
