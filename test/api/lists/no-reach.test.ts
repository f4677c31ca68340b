/** Lists of a user who may see nothing of them (docs/spec/login.md#rights). */
import t from 'tap';
import { basic, startApi } from '../helpers/api.ts';

const LISTS = [
  { path: '/alarm/alarms', role: 'ROLE_ALARM_READ', scope: 'ALARM', source: 'source' },
  { path: '/event/events', role: 'ROLE_EVENT_READ', scope: 'EVENT', source: 'source' },
  { path: '/devicecontrol/operations', role: 'ROLE_DEVICE_CONTROL_READ', scope: 'OPERATION', source: 'deviceId' },
  { path: '/devicecontrol/operations', role: 'ROLE_DEVICE_CONTROL_ADMIN', scope: 'OPERATION', source: 'agentId' },
] as const;

t.test('403 without a role, a permission of that kind, or an object of the user that is asked for', async (t) => {
  const api = await startApi(t);
  const { fake } = api;
  fake.addManagedObject('10', {}, 'ada');
  fake.addManagedObject('11', {}, 'bert');
  // Who has logged in is remembered: each is a user of its own.
  let count = 0;
  const newUser = (more: object): string => {
    const userName = `user-${(count += 1)}`;
    fake.users.set(`t1/${userName}`, {
      password: 'secret',
      principal: { tenant: 't1', tenantNumber: 2, userName, roles: new Set<string>(), ...more },
    });
    return userName;
  };
  const status = async (user: string, path: string, headers: Record<string, string> = {}): Promise<number> =>
    (await api.call('GET', path, { headers: { authorization: basic(`t1/${user}`), ...headers } })).status;
  fake.addUser('ada', []);
  for (const { path, role, scope, source } of LISTS) {
    t.equal(await status('ada', path), 403, path);
    t.equal(await status('ada', `${path}?${source}=11`), 403, `${path}, another's ${source}`);
    t.equal(await status('ada', `${path}?${source}=99`), 403, `${path}, of nothing`);
    t.equal(await status('ada', `${path}?${source}=x`), 403, `${path}, of no id`);
    t.equal(await status('ada', path, { accept: 'text/csv' }), 403, `${path} as an export`);
    t.equal(await status('ada', `${path}?${source}=10`), 200, `${path} of the user's own`);
    t.equal(await status('device_1', path), 200, `${path} of a device`);
    const grant = (permission: string, of: string) => ({ grants: [{ root: 11, scope: of, type: '*', permission }] });
    t.equal(await status(newUser(grant('READ', scope)), path), 200, `${path} with a permission`);
    t.equal(await status(newUser(grant('ADMIN', scope)), path), 403, `${path} with one to write`);
    t.equal(await status(newUser(grant('*', 'MANAGED_OBJECT')), path), 403, `${path} with one of another kind`);
    const reader = newUser({ roles: new Set([role]) });
    t.equal(await status(reader, path), role.endsWith('_READ') ? 200 : 403, `${path} with ${role}`);
  }
  t.equal(await status('ada', '/event/events/count'), 200, 'a count needs no role');
});
