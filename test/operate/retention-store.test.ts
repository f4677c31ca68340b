/** The removal of one part: how it ends early, and what it then says is left. */
import t from 'tap';
import { COMMAND } from '../../src/model/command.ts';
import type { Command } from '../../src/model/command.ts';
import type { RetentionTarget } from '../../src/model/retention.ts';
import { RetentionRemoval } from '../../src/operate/retention-store.ts';
import type { ClickHouseRetention } from '../../src/store/clickhouse-retention.ts';

const TARGET: RetentionTarget = { dataType: 'EVENT', fragmentType: '*', type: '*', source: '*', before: 1 };

t.test('events go in lots, and no further one when it is not wanted any more', async (t) => {
  let events = Array.from({ length: 200 }, (_, index) => ({ id: index + 1, source: 5 }));
  const history = { entities: async () => [...events] } as unknown as ClickHouseRetention;
  const request = async (command: Command): Promise<never> => {
    t.equal(command.kind, COMMAND.EVENT_DELETE);
    events = events.filter(({ id }) => String(id) !== (command.body as { id: string }).id);
    return undefined as never;
  };
  const removal = new RetentionRemoval({ history, visible: async () => undefined, commands: { request }, documents: {} as never, now: () => 1 });
  let asked = 0;
  const left = await removal.remove(2, TARGET, '', '200', async () => { asked += 1; return asked <= 2; });
  t.same([left, events.length], [72, 72], 'after two lots');
  t.same([await removal.remove(2, TARGET, '', '200', () => false), events.length], [72, 72], 'only what is left');
  t.same([await removal.remove(2, TARGET, '', '200', () => true), events.length], [0, 0]);
});

t.test('a month of rows goes at once, or is counted', async (t) => {
  const removed: string[] = [];
  const history = {
    removeMonth: async (_kind: string, _tenant: number, _target: object, month: string) => { removed.push(month); },
    nextMonth: async (_kind: string, _tenant: number, _target: object, after: string) => (after < '202601' ? { through: '202601', count: 7 } : undefined),
  } as unknown as ClickHouseRetention;
  const removal = new RetentionRemoval({ history, visible: async () => undefined, commands: {} as never, documents: {} as never, now: () => 1 });
  const target = { ...TARGET, dataType: 'MEASUREMENT' } as const;
  t.equal(await removal.remove(2, target, '', '202601', () => false), 7);
  t.equal(await removal.remove(2, target, '', '202512', () => false), 0, 'its month is empty');
  t.same(removed, []);
  t.equal(await removal.remove(2, target, '', '202601', () => true), 0);
  t.same(removed, ['202601']);
});
