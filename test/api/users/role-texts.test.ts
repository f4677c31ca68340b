/** Roles of users and groups: by either name that the public documentation has, and how they are shown. */
import t from 'tap';
import { startApi } from '../helpers/api.ts';

t.test('ROLE_ALARMS_READ is taken for ROLE_ALARM_READ', async (t) => {
  const { call, fake, url } = await startApi(t);
  fake.put('user', 'ada', JSON.stringify({ userName: 'ada', password: 'x', roles: [], enabled: true, doc: '{}' }));
  const role = { self: `${url}/user/roles/ROLE_ALARMS_READ` };
  t.match(await call('POST', '/user/t1/users/ada/roles', { body: { role } }), {
    status: 201,
    json: { role: { id: 'ROLE_ALARM_READ' } },
  });
  const { json } = await call('POST', '/user/t1/groups', { body: { name: 'readers', roles: ['ROLE_ALARMS_READ'] } });
  t.match(json.roles.references, [{ role: { id: 'ROLE_ALARM_READ' } }]);
});

t.test('roles and groups of a user are one page each', async (t) => {
  const { call, fake, url } = await startApi(t);
  const roles = ['ROLE_ALARM_READ', 'ROLE_EVENT_READ'];
  fake.put('user', 'ada', JSON.stringify({ userName: 'ada', password: 'x', roles, enabled: true, doc: '{}' }));
  const self = `${url}/user/t1/users/ada`;
  t.match((await call('GET', '/user/t1/users/ada')).json, {
    roles: { self: `${self}/roles`, statistics: { currentPage: 1, pageSize: 2 } },
    groups: { self: `${self}/groups`, references: [], statistics: { currentPage: 1, pageSize: 0 } },
  });
});
