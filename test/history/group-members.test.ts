/** The devices of a group, of a store that answers at once. */
import t from 'tap';
import { devicesOfGroup } from '../../src/history/group-members.ts';
import type { GroupReaders } from '../../src/history/group-members.ts';

const PAGE = 1_000;

/** Most reads of the store in one turn of the event loop. */
async function readsInOneTurn(groups: number, devicesOfEach: number): Promise<{ devices: string[]; reads: number }> {
  let inTurn = 0;
  let most = 0;
  let isOver = false;
  const read = (): void => {
    most = Math.max(most, ++inTurn);
  };
  const childrenOf = (prefix: string): string[] => {
    const [node, kind] = prefix.split('\n');
    if (node === '1')
      return kind === 'childAssets' ? Array.from({ length: groups }, (_, group) => String(10 + group)) : [];
    return kind === 'childDevices'
      ? Array.from({ length: devicesOfEach }, (_, index) => `${node}${String(index).padStart(6, '0')}`)
      : [];
  };
  const documents = {
    get: () => '{"type":"c8y_DeviceGroup"}',
    getMany: (_collection: string, _tenant: number, ids: string[]) => {
      read();
      return ids.map((id) => (id.length > 6 ? '{"c8y_IsDevice":{}}' : '{}'));
    },
    list: (
      _collection: string,
      _tenant: number,
      prefix: string,
      { after, limit }: { after?: string; limit: number },
    ) => {
      read();
      const ids = childrenOf(prefix).map((child) => `${prefix}${child}`);
      const from = after === undefined ? 0 : ids.indexOf(after) + 1;
      return ids.slice(from, from + limit).map((id) => ({ id, value: '' }));
    },
  } as unknown as GroupReaders['documents'];
  const turn = (): void => {
    inTurn = 0;
    if (!isOver) setImmediate(turn);
  };
  turn();
  const devices = await devicesOfGroup({ tenant: 1, documents, history: undefined as never }, '1', 100_000);
  isOver = true;
  return { devices, reads: most };
}

t.test('the event loop has its turns while the devices of a large group are listed', async (t) => {
  const large = await readsInOneTurn(1, 20 * PAGE);
  t.equal(large.devices.length, 20 * PAGE);
  t.ok(large.reads < 10, `${large.reads} reads`);
  const many = await readsInOneTurn(1_000, 2);
  t.equal(many.devices.length, 2_000);
  t.ok(many.reads <= 200, `${many.reads} reads`);
});
