/**
 * Deleting many objects at once: their data goes with them, and nobody else's lists wait for it
 * (docs/spec/inventory.md#deleting).
 */
import t from 'tap';
import { startServer, eventually } from '../../helpers/running/server.ts';

const DEVICES = 300;
const MO = '/inventory/managedObjects';
const TIME = '2026-01-01T00:00:00.000Z';
const server = await startServer(t);
const { rest } = server;

t.test('a group of many devices', async (t) => {
  const { id: group } = await rest.create(MO, { name: 'all of them', c8y_IsDeviceGroup: {} });
  const { id: kept } = await rest.create(MO, { name: 'kept', c8y_IsDevice: {}, com_cumulocity_model_Agent: {} });
  const ids: string[] = [];
  for (let start = 0; start < DEVICES; start += 50) {
    ids.push(
      ...(await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const reply = await rest.post(`${MO}/${group}/childAssets`, {
            name: `device ${start + index}`,
            c8y_IsDevice: {},
            com_cumulocity_model_Agent: {},
          });
          t.equal(reply.status, 201, reply.text);
          return String(reply.headers.get('location')).split('/').at(-1) ?? '';
        }),
      )),
    );
  }
  const withData = [kept, ids[0], ids[150], ids[299]];
  for (const id of withData) {
    const source = { id };
    await rest.create('/measurement/measurements', { source, time: TIME, type: 'x', f: { s: { value: 1 } } });
    await rest.create('/event/events', { source, time: TIME, type: 'x', text: 'x' });
    await rest.create('/alarm/alarms', { source, time: TIME, type: 'x', text: 'x', severity: 'MAJOR' });
    await rest.create('/devicecontrol/operations', { deviceId: id, x: {} });
  }
  const lists = (id: string): [path: string, name: string][] => [
    [`/measurement/measurements?source=${id}`, 'measurements'],
    [`/event/events?source=${id}`, 'events'],
    [`/alarm/alarms?source=${id}`, 'alarms'],
    [`/devicecontrol/operations?deviceId=${id}`, 'operations'],
  ];
  for (const id of withData)
    for (const [path, name] of lists(id)) t.equal((await rest.read(path))[name].length, 1, path);

  t.equal((await rest.delete(`${MO}/${group}?cascade=true`)).status, 204);
  const { management } = server;
  for (const [path, name] of lists(kept)) {
    t.equal((await management.get(path)).status, 200, `${name} of another tenant`);
    const { status, json } = await rest.get(path);
    t.equal(status, 200, path);
    t.equal(json[name].length, 1, `${name} of who is not deleted`);
  }
  await eventually(
    'all of them are gone',
    async () =>
      (await rest.read(`${MO}?query=${encodeURIComponent('$filter=has(c8y_IsDevice)')}&pageSize=500`)).managedObjects
        .length === 1,
  );
  for (const id of withData.slice(1)) {
    t.equal((await rest.get(`${MO}/${id}`)).status, 404);
    for (const [path, name] of lists(id))
      await eventually(`${path} is empty`, async () => (await rest.read(path))[name].length === 0);
  }
  for (const [, name] of lists(kept)) {
    const all = await rest.read(
      `/${{ measurements: 'measurement', events: 'event', alarms: 'alarm', operations: 'devicecontrol' }[name]}/${name}`,
    );
    t.strictSame(
      all[name].map((one: { source?: { id: string }; deviceId?: string }) => one.source?.id ?? one.deviceId),
      [kept],
      `${name} of all`,
    );
  }
});
