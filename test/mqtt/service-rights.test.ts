import t from 'tap';
import { INVENTORY_ADMIN, INVENTORY_READ } from '../../src/model/access/roles.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { DeviceObjects } from '../../src/mqtt/devices/objects.ts';
import { MessageRights } from '../../src/mqtt/devices/rights.ts';
import { openPlatform } from '../actors/platform.ts';

t.test('a service that was bound after the gateway had looked is changed for its owner only', async (t) => {
  const platform = openPlatform(t);
  const ensure = (owner: string, name: string, more: object = {}) =>
    platform.request({
      kind: COMMAND.DEVICE_ENSURE,
      key: 'x:c8y_Serial\nsv',
      body: {
        type: 'c8y_Serial',
        externalId: 'sv',
        id: '12',
        owner,
        doc: JSON.stringify({ name }),
        updateExisting: true,
        ...more,
      },
    });
  await ensure('ada', 'first');
  await t.rejects(ensure('bob', 'taken'), { code: 'security/forbidden' });
  await t.rejects(
    ensure('bob', 'taken', { mayUpdate: '13' }),
    { code: 'security/forbidden' },
    'another object was bound then',
  );
  t.match(platform.get('managedObject', '12'), { name: 'first' });
  await ensure('ada', 'second');
  t.match(platform.get('managedObject', '12'), { name: 'second' });
  await ensure('bob', 'third', { mayUpdate: '12' });
  t.match(platform.get('managedObject', '12'), { name: 'third', owner: 'ada' });
});

t.test('rows reach objects of others by each global role that REST takes', async (t) => {
  const documents = { get: async () => '{"owner":"bob"}', list: async () => [] };
  const objects = new DeviceObjects({ documents } as never);
  const reach = async (role: string, roles: readonly string[]): Promise<void> => {
    const principal = { tenantNumber: 2, userName: 'ada', roles: new Set([role]) };
    const device = { source: 5, tenantNumber: 2, connection: { principal } };
    await objects.known.decide(() => objects.requireGlobalRight(device as never, 9, roles, new MessageRights()));
  };
  await reach('ROLE_MANAGED_OBJECT_READ', INVENTORY_READ);
  await reach('ROLE_MANAGED_OBJECT_ADMIN', INVENTORY_ADMIN);
  const forbidden = { code: 'security/forbidden' };
  await t.rejects(reach('ROLE_MANAGED_OBJECT_READ', INVENTORY_ADMIN), forbidden);
  await t.rejects(reach('ROLE_INVENTORY_ADMIN', INVENTORY_READ), forbidden, 'as over REST');
});
