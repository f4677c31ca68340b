/** Counting what tenants use: increments by day, what a failed write keeps, sizes now and then. */
import t from 'tap';
import { Usage } from '../../src/accounts/tenants/usage.ts';
import { USAGE_COUNTERS } from '../../src/history/usage.ts';
import { checkStatement } from '../helpers/history-statement.ts';
import type { HistoryStatement } from '../../src/ports/history-reader.ts';
import { USAGE_TABLES } from '../../src/store/clickhouse/schema.ts';

const log = { debug() {}, info() {}, warn() {}, error() {}, isLevelEnabled: () => false, child: () => log };
const DAY = Date.UTC(2024, 4, 2);

class Rig {
  nowMs = DAY + 3_600_000;
  readonly written: { table: string; row: any }[] = [];
  isFailing = false;
  isPaused = false;
  queriesCount = 0;
  existing = [5, 6];
  readonly usage = new Usage({
    insert: async (table, texts) => {
      if (this.isFailing) throw new Error('away');
      for (const text of texts) this.written.push({ table, row: JSON.parse(text) });
    },
    history: {
      query: async <Row>(statement: HistoryStatement) => {
        checkStatement(statement);
        const { sql } = statement;
        this.queriesCount += 1;
        return (sql.includes('AS bytes FROM') ? [{ bytes: 7 }] : [{ device_count: 3 }]) as Row[];
      },
    },
    isPaused: () => this.isPaused,
    tenants: () => this.existing,
    isMine: (tenant) => tenant === 5,
    log,
    now: () => this.nowMs,
  });

  rows(table = 'tenant_usage'): any[] {
    return this.written
      .splice(0)
      .filter((entry) => entry.table === table)
      .map(({ row }) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== 0)));
  }
}

t.test('the columns are those of the table', async (t) => {
  for (const name of USAGE_COUNTERS) t.match(USAGE_TABLES['tenant_usage'], `${name} UInt64`);
});

t.test('increments of each tenant', async (t) => {
  const rig = new Rig();
  rig.usage.count(5, 'requests');
  rig.usage.count(5, 'requests', 2);
  rig.usage.count(6, 'requests');
  rig.usage.count(5, 'measurements_created');
  rig.usage.count(0, 'requests');
  for (const area of ['alarms', 'events', 'managedobjects', 'operations'] as const) {
    for (const action of ['CREATE', 'UPDATE', 'DELETE'] as const) rig.usage.changed({ tenant: 6, area, action });
  }
  await rig.usage.flush();
  t.same(rig.rows(), [
    { tenant: 5, day: '2024-05-02', requests: 3, measurements_created: 1 },
    {
      tenant: 6,
      day: '2024-05-02',
      requests: 1,
      alarms_created: 1,
      alarms_updated: 1,
      events_created: 1,
      events_updated: 1,
      inventories_created: 1,
      inventories_updated: 1,
    },
  ]);
  await rig.usage.flush();
  t.same(rig.rows(), [], 'nothing twice');
  rig.usage.count(5, 'requests');
  await rig.usage.flush();
  t.same(rig.rows(), [{ tenant: 5, day: '2024-05-02', requests: 1 }]);
});

t.test('what could not be written is kept and added up', async (t) => {
  const rig = new Rig();
  rig.usage.count(5, 'requests', 3);
  rig.isFailing = true;
  await t.rejects(rig.usage.flush());
  rig.usage.count(5, 'requests', 4);
  await t.rejects(rig.usage.flush());
  rig.isFailing = false;
  await rig.usage.flush();
  t.same(rig.rows(), [{ tenant: 5, day: '2024-05-02', requests: 7 }]);
});

t.test('days are apart; a tenant that is gone is left out', async (t) => {
  const rig = new Rig();
  rig.usage.count(5, 'requests');
  rig.nowMs = DAY + 86_400_000;
  await rig.usage.flush();
  rig.usage.count(5, 'requests', 2);
  rig.usage.count(6, 'requests', 2);
  rig.existing = [5];
  await rig.usage.flush();
  t.same(rig.rows(), [
    { tenant: 5, day: '2024-05-02', requests: 1 },
    { tenant: 5, day: '2024-05-03', requests: 2 },
  ]);
});

t.test('sizes: of the own tenants, three times a day, and for who asks', async (t) => {
  const rig = new Rig();
  await rig.usage.step();
  t.equal(rig.queriesCount, 0);
  rig.nowMs += 60_000;
  await rig.usage.step();
  t.same(
    rig.rows('tenant_sizes').map(({ tenant, device_count }) => ({ tenant, device_count })),
    [{ tenant: 5, device_count: 3 }],
  );
  await rig.usage.refreshSizes(5);
  t.same(rig.rows('tenant_sizes'), [], 'not twice in a minute');
  rig.nowMs += 60_000;
  await rig.usage.refreshSizes(5);
  t.equal(rig.rows('tenant_sizes').length, 1);
  rig.nowMs += 7 * 3_600_000;
  await rig.usage.step();
  t.same(rig.rows('tenant_sizes'), []);
  rig.nowMs += 3_600_000;
  await rig.usage.step();
  t.equal(rig.rows('tenant_sizes').length, 1);
});
