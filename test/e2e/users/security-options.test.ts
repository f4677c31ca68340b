/** Rules for passwords, which `@c8y/client` reads: strength, length, and how long one is good. */
import { Client } from '@c8y/client';
import t from 'tap';
import { PASSWORD, Rest, TENANT, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest, management } = server;
const OPTIONS = '/tenant/security-options/password';
const USERS = `/user/${TENANT}/users`;
const YELLOW = 'analytical1';

t.test('strength and length', async (t) => {
  t.match(await rest.read(`${OPTIONS}/strength.validity`), {
    category: 'password',
    key: 'strength.validity',
    value: 'false',
    self: `${server.url}${OPTIONS}/strength.validity`,
  });
  await rest.create(USERS, { userName: 'before', password: YELLOW });
  const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
  const { security } = client.options;
  t.match((await rest.put(`${OPTIONS}/strength.validity`, { value: 'true' })).json, { value: 'true' });
  t.match((await security.detail({ key: 'strength.validity' })).data, { value: 'true' });
  t.match(await rest.read('/tenant/loginOptions/OAUTH2_INTERNAL'), { strengthValidity: true, enforceStrength: false });
  t.equal((await rest.post(USERS, { userName: 'after', password: YELLOW })).status, 422, 'green ones only');
  t.equal((await rest.put(`${OPTIONS}/green.min-length`, { value: '12' })).status, 200);
  t.equal((await rest.post(USERS, { userName: 'after', password: 'Green-8ch' })).status, 422);
  t.equal((await rest.post(USERS, { userName: 'after', password: 'Green-12-char' })).status, 201);
  t.equal((await management.read(`${OPTIONS}/strength.validity`)).value, 'false', 'of this tenant only');
});

t.test('what is wrong is refused, and changes nothing', async (t) => {
  for (const [key, value] of [
    ['strength.validity', 'yes'],
    ['limit.validity', '-1'],
    ['limit.validity', '1.5'],
    ['limit.validity', '36501'],
    ['green.min-length', '7'],
    ['green.min-length', '33'],
  ]) {
    t.match(
      await rest.put(`${OPTIONS}/${key}`, { value }),
      { status: 422, json: { message: new RegExp(key) } },
      `${key} ${value}`,
    );
  }
  t.equal((await rest.put(`${OPTIONS}/limit.validity`, {})).status, 422);
  t.equal((await rest.read(`${OPTIONS}/limit.validity`)).value, '0');
  for (const path of [`${OPTIONS}/none`, '/tenant/security-options/other/limit.validity']) {
    t.equal((await rest.get(path)).status, 404);
    t.equal((await rest.put(path, { value: '1' })).status, 404);
  }
  t.equal((await management.put(`/tenant/options/password/limit.validity/editable`, { editable: false })).status, 200);
  t.equal((await rest.put(`${OPTIONS}/limit.validity`, { value: '30' })).status, 403, 'not editable');
  t.equal((await management.put(`/tenant/options/password/limit.validity/editable`, { editable: true })).status, 200);
  t.equal((await rest.put(`${OPTIONS}/limit.validity`, { value: 30 })).status, 200, 'a number is taken too');
  const nobody = new Rest(server.url, `${TENANT}/before`, YELLOW);
  t.equal((await nobody.get(`${OPTIONS}/limit.validity`)).status, 403);
  t.equal((await nobody.put(`${OPTIONS}/limit.validity`, { value: '1' })).status, 403);
});
