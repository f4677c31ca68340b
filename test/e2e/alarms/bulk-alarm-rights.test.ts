/**
 * PUT /alarm/alarms of users without a global role: alarms of what they own or may administrate, and no others
 * (docs/spec/alarms.md#changes-of-many).
 */
import t from 'tap';
import { Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const { rest, url } = await startServer(t);
const PASSWORD = 'Analytical-1';
const TIME = '2024-05-02T10:00:00.000Z';

async function newUser(userName: string, permission: string, managedObject: string): Promise<Rest> {
  await rest.create(`/user/${TENANT}/users`, { userName, password: PASSWORD });
  const { id } = await rest.create('/user/inventoryroles', {
    name: userName,
    permissions: [{ type: '*', scope: 'ALARM', permission }],
  });
  await rest.post(`/user/${TENANT}/users/${userName}/roles/inventory`, { managedObject, roles: [{ id }] });
  return new Rest(url, `${TENANT}/${userName}`, PASSWORD);
}

t.test('a change of many alarms ends at what the user may administrate', async (t) => {
  const [inside, outside] = [await rest.createDevice('Inside'), await rest.createDevice('Outside')];
  const group = (await rest.create('/inventory/managedObjects', { name: 'Floor', c8y_IsDeviceGroup: {} })).id as string;
  await rest.create(`/inventory/managedObjects/${group}/childAssets`, { managedObject: { id: inside } });
  const alarms: string[] = [];
  for (const id of [inside, outside])
    alarms.push(
      (await rest.create('/alarm/alarms', { source: { id }, type: 'a', text: 't', severity: 'MINOR', time: TIME })).id,
    );
  const statuses = async (): Promise<string[]> => {
    const found: string[] = [];
    for (const id of alarms) found.push((await rest.read(`/alarm/alarms/${id}`)).status);
    return found;
  };
  const reader = await newUser('alarm-reader', 'READ', group);
  t.equal((await reader.put('/alarm/alarms?status=ACTIVE', { status: 'CLEARED' })).status, 403, 'READ is not enough');
  const admin = await newUser('alarm-admin', 'ADMIN', group);
  t.ok([200, 202].includes((await admin.put('/alarm/alarms?status=ACTIVE', { status: 'ACKNOWLEDGED' })).status));
  t.same(
    await eventually('the change', async () => {
      const found = await statuses();
      return found[0] === 'ACKNOWLEDGED' && found;
    }),
    ['ACKNOWLEDGED', 'ACTIVE'],
  );
  t.ok([200, 202].includes((await admin.put(`/alarm/alarms?source=${outside}`, { status: 'CLEARED' })).status));
  t.ok(
    [200, 202].includes((await rest.put('/alarm/alarms?severity=MAJOR', { status: 'CLEARED' })).status),
    'the changes before are done',
  );
  t.same(await statuses(), ['ACKNOWLEDGED', 'ACTIVE']);
});
