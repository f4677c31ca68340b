/** The devices of groups that bindings name: bounds, and how often they are read (docs/internals/scoring.md#bindings). */
import t from 'tap';
import { BoundDevices } from '../../../src/scoring/bindings/bound-devices.ts';

/** A store whose groups have as many devices as their id says. */
function devicesOf(devicesMax: number) {
  const counted: string[] = [];
  let now = 0;
  const documents: any = {
    get: async (_collection: string, _tenant: number, id: string) =>
      id === '0' ? undefined : JSON.stringify({ type: 'c8y_DeviceGroup' }),
    getMany: async (_collection: string, _tenant: number, ids: readonly string[]) =>
      ids.map(() => JSON.stringify({ c8y_IsDevice: {} })),
    list: async (_collection: string, _tenant: number, prefix: string) => {
      const [group = '', kind] = prefix.split('\n');
      const count = kind === 'childAssets' ? Number(group) : 0;
      return Array.from({ length: count }, (_, index) => ({ id: `${prefix}${Number(group) * 1_000 + index}` }));
    },
  };
  const devices = new BoundDevices({
    documents,
    history: {} as any,
    refusals: { count: (limit) => counted.push(limit) },
    clock: () => now,
    devicesMax,
  });
  return { devices, counted, pass: (ms: number) => (now += ms) };
}

t.test('groups of a tenant are read again after twenty times what it took', async (t) => {
  const { devices, pass } = devicesOf(100);
  const [first, second] = [devices.acquire(1, '1'), devices.acquire(2, '2')];
  t.same(
    [...devices.due()],
    [
      [1, [first]],
      [2, [second]],
    ],
  );
  devices.pause(1, 1_000);
  devices.pause(2, 10);
  pass(5_000);
  t.same([...devices.due().keys()], [2], 'the other tenant does not wait');
  pass(15_000);
  t.same([...devices.due().keys()].length, 2);
});

t.test('the devices that a node remembers are shared by tenants', async (t) => {
  const { devices, counted } = devicesOf(100);
  const read = async (tenant: number, id: string) => {
    const group = devices.acquire(tenant, id);
    await devices.refresh(group);
    return group;
  };
  const large = await read(1, '85');
  t.same([large.ids.size, large.problem], [85, undefined]);
  const refused = await read(1, '10');
  t.match(refused.problem, /too many devices. \(scoring\/binding-devices-of-node-of-(?:user|tenant)\)/);
  t.equal(counted.length, 1);
  t.equal((await read(2, '10')).ids.size, 10, 'another tenant has room');
  t.match((await read(2, '20')).problem, /\(scoring\/binding-devices-of-node\)/);
  t.match((await read(2, '0')).problem, /does not exist/);
  t.equal(devices.count, 95);
  devices.release(large);
  t.equal(devices.count, 10);
  await devices.refresh(refused);
  t.same([refused.ids.size, refused.problem], [10, undefined], 'room again');
});
