/** Which requests of devices, refused by REST, become their last error. */
import t from 'tap';
import { noteRefusal } from '../../../src/api/request/answers.ts';
import { ANONYMOUS, type Principal } from '../../../src/model/access/principal.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import { LastErrors } from '../../../src/mqtt/devices/last-errors.ts';
import { silentLog } from '../../actors/platform.ts';

const KILN: Principal = { tenant: 't1', tenantNumber: 3, userName: 'device_kiln-7', roles: new Set() };
const forbidden = new PlatformError('security/forbidden');

const parts = (get: () => string | undefined): Parameters<typeof noteRefusal>[0] & { deviceErrors: LastErrors } =>
  ({ deviceErrors: new LastErrors(() => 5), documents: { get }, log: silentLog }) as never;

t.test('a request of a device that writes', async (t) => {
  const found = parts(() => '{"managedObject":"251"}');
  await noteRefusal(found, { method: 'POST', principal: KILN }, forbidden);
  t.same(found.deviceErrors.last(3, 251), {
    time: 5,
    protocol: 'rest',
    code: 'security/forbidden',
    message: forbidden.message,
    count: 1,
  });
});

t.test('not a read, what passes by itself, other users, or a device without an object', async (t) => {
  const found = parts(() => '{"managedObject":"251"}');
  await noteRefusal(found, { method: 'GET', principal: KILN }, forbidden);
  await noteRefusal(found, { method: 'POST', principal: KILN }, new PlatformError('general/busy', { limit: 'x' }));
  await noteRefusal(found, { method: 'POST', principal: { ...KILN, userName: 'ada' } }, forbidden);
  await noteRefusal(found, { method: 'POST', principal: ANONYMOUS }, forbidden);
  t.equal(found.deviceErrors.count, 0);
  const without = parts(() => undefined);
  await noteRefusal(without, { method: 'POST', principal: KILN }, forbidden);
  t.equal(without.deviceErrors.count, 0);
});

t.test('a store that does not answer changes nothing of the answer', async (t) => {
  const away = parts(() => {
    throw new Error('away');
  });
  await t.resolves(noteRefusal(away, { method: 'PUT', principal: KILN }, forbidden));
});
