/**
 * Files with the usage of all tenants: one for each month that is over, made once, and how many are kept
 * (docs/spec/statistics.md#files).
 */
import t from 'tap';
import { checkStatement } from '../helpers/history-statement.ts';
import type { HistoryStatement } from '../../src/ports/history-reader.ts';
import {
  REAL_FILES_MAX,
  StatisticsFiles,
  TEST_FILES_MAX,
  WAITING_LIMIT,
  WAITING_MAX,
  monthBefore,
  statisticsFileBlobs,
} from '../../src/accounts/tenants/statistics-files.ts';
import type { StoredStatisticsFile } from '../../src/accounts/tenants/statistics-files.ts';
import type { Tenant } from '../../src/accounts/tenants/tenants.ts';
import type { Command } from '../../src/model/commands/command.ts';
import type { RecordsChange } from '../../src/model/commands/records.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { MemoryBlobs } from '../api/helpers/memory-blobs.ts';
import { quiet } from '../helpers/stores/redis-server.ts';
import { until } from '../helpers/until.ts';

/** alarms_created, alarms_updated, events_created, … as the table has them. */
const COUNTS = Array.from({ length: 13 }, (_, index) => index + 1).join('\t');
const HEAD =
  'tenantId,parentTenantId,tenantDomain,tenantCompany,day,alarmsCreatedCount,alarmsUpdatedCount,eventsCreatedCount,eventsUpdatedCount,' +
  'measurementsCreatedCount,inventoriesCreatedCount,inventoriesUpdatedCount,totalResourceCreateAndUpdateCount,deviceCount,deviceEndpointCount,' +
  'deviceWithChildrenCount,deviceRequestCount,requestCount,storageSize\r\n';

const AUDIT = { type: 'Tenant', activity: 'Statistics file generated', text: 't', user: 'ada' };

class Rig {
  nowMs = Date.UTC(2026, 2, 1, 0, 5);
  isMine = true;
  rows: string[] = [`2\t2026-02-03\t${COUNTS}`, `3\t2026-02-03\t${COUNTS}`];
  asked: unknown[] = [];
  flushed = 0;
  failure: Error | undefined;
  private nextId = 100;
  readonly records = new Map<string, string>();
  readonly audits: unknown[] = [];
  readonly refused: string[] = [];
  readonly blobs = new MemoryBlobs();
  readonly files = new StatisticsFiles({
    documents: {
      get: (_collection, _tenant, id) => this.records.get(id),
      getMany: () => [],
      list: () => [...this.records].map(([id, value]) => ({ id, value })),
    },
    commands: {
      request: async <Answer>(command: Command): Promise<Answer> => {
        if (this.failure !== undefined) throw this.failure;
        const { changes, audits = [] } = command.body as RecordsChange;
        for (const { id, expected } of changes)
          if (this.records.get(id) !== expected) throw new PlatformError('general/changed-meanwhile');
        for (const { id, value } of changes)
          value === undefined ? this.records.delete(id) : this.records.set(id, value);
        this.audits.push(...audits);
        return undefined as Answer;
      },
    },
    history: {
      query: async <Row>(statement: HistoryStatement) => {
        checkStatement(statement);
        const { params } = statement;
        this.asked.push(params);
        return this.rows.slice(0, 1).map((row) => ({ row })) as Row[];
      },
      stream: async () =>
        (async function* (rows: string[]) {
          for (const row of rows) yield Buffer.from(`${row}\n`);
        })(this.rows),
    },
    blobs: this.blobs,
    ids: { nextInOrder: async () => (this.nextId += 1) },
    isMine: () => this.isMine,
    tenants: {
      byNumber: (number) =>
        number === 2 ? ({ id: 'acme', number: 2, parent: 'management', company: 'Pumps, "big"' } as Tenant) : undefined,
    },
    flush: async () => {
      this.flushed += 1;
    },
    refusals: { count: (limit) => void this.refused.push(limit) },
    log: quiet,
    now: () => this.nowMs,
  });

  async content(file: StoredStatisticsFile): Promise<string> {
    const parts: Uint8Array[] = [];
    for await (const part of await this.files.read(file)) parts.push(part);
    return Buffer.concat(parts).toString();
  }
}

t.test('the month before', async (t) => {
  t.strictSame(monthBefore(Date.UTC(2026, 2, 1)), { from: '2026-02-01', to: '2026-02-28' });
  t.strictSame(monthBefore(Date.UTC(2024, 2, 31)), { from: '2024-02-01', to: '2024-02-29' });
  t.strictSame(monthBefore(Date.UTC(2026, 0, 15)), { from: '2025-12-01', to: '2025-12-31' });
});

t.test('a month that is over gets its file, once', async (t) => {
  const rig = new Rig();
  rig.isMine = false;
  await rig.files.step();
  t.strictSame([rig.asked, [...rig.records]], [[], []], 'not here');
  rig.isMine = true;
  await rig.files.step();
  t.strictSame(
    rig.asked.at(-1),
    { from: '2026-01-01', to: '2026-01-31' },
    'minutes after the end of a month it is not over',
  );
  const [first] = await rig.files.list();
  t.match(first, {
    id: 'real-2026-01',
    type: 'REAL',
    dateFrom: '2026-01-01T00:00:00.000Z',
    dateTo: '2026-01-31T23:59:59.999Z',
  });
  t.equal(rig.flushed, 1, 'what was counted is written down first');
  rig.nowMs += 600_000;
  await rig.files.step();
  await rig.files.step();
  t.strictSame(
    (await rig.files.list()).map(({ id }) => id),
    ['real-2026-02', 'real-2026-01'],
    'the newest first',
  );
  t.equal(rig.flushed, 2);
  const file = (await rig.files.ofMonth('2026-02')) as StoredStatisticsFile;
  const text = await rig.content(file);
  t.equal(
    text,
    `${HEAD}acme,management,,"Pumps, ""big""",2026-02-03,1,2,3,4,5,6,7,28,10,11,12,9,8,13\r\n`,
    'without those of tenants that are gone',
  );
  t.equal(file.bytes, Buffer.byteLength(text));
  t.strictSame(statisticsFileBlobs(JSON.stringify(file)), [file.blob]);
  t.equal(await rig.files.ofMonth('2026-03'), undefined);
});

t.test('a month without any use has none', async (t) => {
  const rig = new Rig();
  rig.rows = [];
  await rig.files.step();
  t.strictSame(await rig.files.list(), []);
});

t.test('another node was faster: nothing is left behind; without an answer the content stays', async (t) => {
  const rig = new Rig();
  rig.failure = new PlatformError('general/changed-meanwhile');
  await rig.files.step();
  t.strictSame([[...rig.records], rig.blobs.contents.size], [[], 0]);
  rig.failure = new PlatformError('commands/answer-timeout');
  await t.rejects(rig.files.step(), { code: 'commands/answer-timeout' });
  await t.rejects(rig.files.createTest({ from: '2026-02-01', to: '2026-02-02' }, AUDIT), {
    code: 'commands/answer-timeout',
  });
  t.equal(rig.blobs.contents.size, 2, 'the records may be written all the same: the sweep decides');
});

t.test('the newest are kept, of each type', async (t) => {
  const rig = new Rig();
  await rig.files.step();
  for (let index = 0; index < TEST_FILES_MAX + 3; index += 1) {
    rig.nowMs += 1_000;
    await rig.files.createTest({ from: '2026-02-01', to: '2026-02-03' }, AUDIT);
  }
  const files = await rig.files.list();
  t.equal(files.filter(({ type }) => type === 'TEST').length, TEST_FILES_MAX);
  t.equal(files.at(-2)?.id, '104', 'the oldest have gone');
  t.equal(files.at(-1)?.type, 'REAL');
  t.equal(rig.blobs.contents.size, TEST_FILES_MAX + 1, 'with their content');
  t.equal(rig.audits.length, TEST_FILES_MAX + 3);
  const gone: StoredStatisticsFile = { ...files[0], id: '101', blob: 'gone' };
  await t.rejects(rig.files.read(gone), { code: 'statistics/file-not-found' });
  t.ok(REAL_FILES_MAX >= 120, 'ten years');
});

t.test('files that are made at the same time', async (t) => {
  const rig = new Rig();
  const range = { from: '2026-02-01', to: '2026-02-03' };
  for (let index = 0; index < TEST_FILES_MAX; index += 1) await rig.files.createTest(range, AUDIT);
  rig.nowMs += 1_000;
  const made = await Promise.all(Array.from({ length: 10 }, () => rig.files.createTest(range, AUDIT)));
  const ids = (await rig.files.list()).map(({ id }) => id);
  t.equal(ids.length, TEST_FILES_MAX);
  for (const { id } of made) t.ok(ids.includes(id), `${id} is kept`);
  t.equal(rig.blobs.contents.size, TEST_FILES_MAX);
});

t.test('a report that breaks off is none', async (t) => {
  for (const wrong of [
    'Code: 159. DB::Exception: Timeout',
    '2\t2026-02-03\t1\t2',
    `2\t2026-02-03\t${COUNTS.replace('5', 'x')}`,
  ]) {
    const rig = new Rig();
    rig.rows.push(wrong);
    await t.rejects(rig.files.createTest({ from: '2026-02-01', to: '2026-02-03' }, AUDIT), /a report broke off/, wrong);
    t.strictSame([[...rig.records], rig.blobs.contents.size], [[], 0]);
  }
});

t.test('only so many wait', async (t) => {
  const rig = new Rig();
  const results = await Promise.allSettled(
    Array.from({ length: WAITING_MAX + 2 }, () =>
      rig.files.createTest({ from: '2026-02-01', to: '2026-02-03' }, AUDIT),
    ),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, WAITING_MAX);
  t.match(results.at(-1), { reason: { code: 'statistics/busy', status: 503, message: /statistics\/files-waiting/ } });
  t.strictSame(rig.refused, [WAITING_LIMIT, WAITING_LIMIT]);
  t.ok(await rig.files.createTest({ from: '2026-02-01', to: '2026-02-03' }, AUDIT), 'there is room again');
});

t.test('the loop looks by itself and ends', async () => {
  const rig = new Rig();
  rig.files.start();
  await until('the file of the month', () => rig.records.size === 1);
  await rig.files.stop();
});
