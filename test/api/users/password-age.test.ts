/** A password that is older than the tenant's option allows: front ends are told to ask for a new one. */
import t from 'tap';
import { startApi } from '../helpers/api.ts';

const DAY_MS = 86_400_000;

t.test('limit.validity', async (t) => {
  const { call, fake } = await startApi(t);
  const now = fake.platform().now();
  const user = (userName: string, days: number): void =>
    fake.put(
      'user',
      userName,
      JSON.stringify({
        userName,
        password: 'x',
        roles: [],
        enabled: true,
        doc: '{}',
        lastPasswordChange: now - days * DAY_MS,
      }),
    );
  for (const [name, days] of [
    ['old', 31],
    ['new', 30],
    ['device_old', 31],
  ] as const)
    user(name, days);
  const should = async (name: string): Promise<boolean> =>
    (await call('GET', `/user/t1/users/${name}`)).json.shouldResetPassword;
  t.equal(await should('old'), false, 'no limit by default');
  fake.put('option', 'password\nlimit.validity', JSON.stringify({ value: '30' }));
  t.equal(await should('old'), true);
  t.equal(await should('new'), false);
  t.equal(await should('device_old'), false, 'a device has nobody who could');
});
