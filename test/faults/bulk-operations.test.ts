/** kill -9 in the middle of the ramp of a bulk operation: each device gets its operation exactly once. */
import t from 'tap';
import { ServerProcess, delay, seeded } from '../helpers/process/server.ts';
import { until } from '../helpers/setup-command.ts';

const DEVICES = 60;
const KILLS = 4;
const RAMP_SECONDS = 0.05;

interface Bulk {
  readonly status: string;
  readonly progress: { readonly pending: number; readonly all: number };
}

t.test('the ramp goes on where it was', async (t) => {
  const random = seeded(t);
  const server = await new ServerProcess(t).start();
  const post = async <Answer>(path: string, body: object): Promise<Answer> => {
    const answer = await server.http('POST', path, body, { accept: 'application/json' });
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`);
    return answer.json<Answer>();
  };
  const group = (
    await post<{ id: string }>('/inventory/managedObjects', {
      name: 'G',
      type: 'c8y_DeviceGroup',
      c8y_IsDeviceGroup: {},
    })
  ).id;
  const devices: string[] = [];
  for (let index = 0; index < DEVICES; index += 1) {
    const { id } = await post<{ id: string }>('/inventory/managedObjects', {
      name: `D${index}`,
      c8y_IsDevice: {},
      com_platform_model_Agent: {},
    });
    await post(`/inventory/managedObjects/${group}/childAssets`, { managedObject: { id } });
    devices.push(id);
  }
  const { id } = await post<{ id: string }>('/devicecontrol/bulkoperations', {
    groupId: group,
    startDate: '2024-01-01T00:00:00.000Z',
    creationRamp: RAMP_SECONDS,
    operationPrototype: { c8y_Restart: {} },
  });
  const read = async (): Promise<Bulk> =>
    (await server.http('GET', `/devicecontrol/bulkoperations/${id}`)).json<Bulk>();
  let killsInTheMiddle = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    await delay(random() * 500);
    const { status, progress } = await read();
    t.equal(progress.all, DEVICES, 'the parts add up in between');
    if (status === 'ACTIVE') killsInTheMiddle += 1;
    await server.kill();
    await server.start();
  }
  await until('all operations are created', async () => (await read()).status === 'COMPLETED', 60_000);
  const answer = await server.http('GET', `/devicecontrol/operations?bulkOperationId=${id}&pageSize=2000`);
  const { operations } = answer.json<{ operations: { deviceId: string; status: string }[] }>();
  t.same(operations.map(({ deviceId }) => deviceId).sort(), devices.sort());
  t.match((await read()).progress, { pending: DEVICES, all: DEVICES });
  t.ok(killsInTheMiddle > 0, `${killsInTheMiddle} kills in the middle of the ramp`);
});
