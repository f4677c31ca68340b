import t from 'tap';
import { COMMAND } from '../../src/model/commands/kinds.ts';
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
