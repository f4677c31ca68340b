import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { TENANT, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;

t.test('a connected device whose object is deleted is created again by its next message', async (t) => {
  const device = await connectDevice(t, server, 'deleted-1');
  await device.publish('s/us', '211,1');
  for (let round = 0; round < 10; round += 1) {
    const before = await rest.idOf('deleted-1');
    t.equal((await rest.delete(`/inventory/managedObjects/${before}`)).status, 204);
    await device.publish('s/us', '211,2');
    const after = await rest.idOf('deleted-1');
    t.ok(after);
    t.not(after, before);
    t.equal((await rest.read(`/measurement/measurements?source=${after}`)).measurements.length, 1);
  }
});

t.test('a deleted user is disconnected', async (t) => {
  await rest.create(`/user/${TENANT}/users`, {
    userName: 'leaving',
    password: 'Analytical-1',
    roles: { references: [{ role: { id: 'ROLE_DEVICE' } }] },
  });
  const options = { username: `${TENANT}/leaving`, password: 'Analytical-1', protocolVersion: 5 } as const;
  const device = await connectDevice(t, server, 'leaving-1', options);
  const reason = new Promise<number | undefined>((resolve) =>
    device.client.once('disconnect', (packet) => resolve(packet.reasonCode)),
  );
  t.equal((await rest.delete(`/user/${TENANT}/users/leaving`)).status, 204);
  t.equal(await reason, 0x87);
  await t.rejects(connectDevice(t, server, 'leaving-1', options), { code: 0x86 });
});
