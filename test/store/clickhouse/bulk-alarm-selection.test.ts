/**
 * Which alarms a change of many is of: those that were acknowledged before it, whatever the clocks of the nodes say.
 */
import t from 'tap';
import { BULK_CHANGE_PREFIX } from '../../../src/history/alarm-selection.ts';
import { BulkAlarmChanges } from '../../../src/jobs/alarms/bulk-changes.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import type { Command } from '../../../src/model/commands/command.ts';
import { ClickHouseHistoryReader } from '../../../src/store/clickhouse/reader.ts';
import { silentLog } from '../../actors/platform.ts';
import { openClickHouse } from '../../helpers/stores/clickhouse.ts';

const { client, writer } = await openClickHouse(t);
const REQUESTED_AT = Date.UTC(2026, 0, 1, 12);
const SELECTION = {
  sources: null,
  statuses: ['ACTIVE'],
  severities: [],
  types: [],
  time: [null, null],
  created: [null, null],
  lastUpdated: [null, null],
};

t.test('by sequence, or by the clock where it was changed since', async (t) => {
  const row = (id: number, version: number, createdAt: number): string =>
    JSON.stringify({
      tenant: 2,
      id,
      source: 5,
      type: 'a',
      status: 'ACTIVE',
      severity: 'MAJOR',
      time: new Date(createdAt).toISOString(),
      creation_time: new Date(createdAt).toISOString(),
      last_updated: new Date(createdAt).toISOString(),
      fragments: [],
      doc: '{}',
      deleted: 0,
      version,
      shard: 0,
      seq: version,
    });
  await writer.insertRows('alarms', [
    row(1, 10, REQUESTED_AT - 5),
    row(2, 11, REQUESTED_AT + 60_000),
    row(3, 99, REQUESTED_AT - 5),
    row(4, 99, REQUESTED_AT + 5),
  ]);
  const job = JSON.stringify({
    status: 'CLEARED',
    selection: SELECTION,
    user: 'ada',
    requestedAt: REQUESTED_AT,
    after: 0,
    seq: 12,
  });
  const updated: string[] = [];
  const worker = new BulkAlarmChanges({
    log: silentLog,
    refusals: { count: () => undefined },
    now: () => REQUESTED_AT,
    tenants: () => [2],
    isMine: () => true,
    documents: { get: () => undefined, getMany: () => [], list: () => [{ id: `${BULK_CHANGE_PREFIX}1`, value: job }] },
    history: new ClickHouseHistoryReader(client, writer, async () => undefined, silentLog),
    commands: {
      request: async <Answer>({ kind, body }: Command) => {
        if (kind === COMMAND.ALARM_UPDATE) updated.push((body as { id: string }).id);
        return undefined as Answer;
      },
    },
  });
  await worker.jobs.step();
  t.same(updated.sort(), ['1', '2', '3'], 'of a clock ahead; changed since; not what came later');
});
