/** Pages and totals in memory: told while nothing has changed of what they are about, and not longer. */
import t from 'tap';
import { entityRow, deletedRow, managedObjectRow } from '../../src/actors/runtime/rows.ts';
import { encodeCommand } from '../../src/ingest/journal/command-record.ts';
import type { JournalCommand } from '../../src/ingest/journal/command-record.ts';
import type { HistoryRow } from '../../src/ports/stores/history-writer.ts';
import { RecentAnswers } from '../../src/ingest/recent/answers.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { CommandKind } from '../../src/model/commands/kinds.ts';
import { PROCESSING_MODE } from '../../src/model/commands/processing-mode.ts';
import type { HistoryStatement, HistoryTable } from '../../src/ports/history-reader.ts';

const NONE = Buffer.alloc(0);
const about = (source?: number, tables: readonly HistoryTable[] = ['events'], tenant = 7): HistoryStatement => ({
  sql: `a page of ${source}`,
  params: {},
  tables,
  tenant,
  source,
});
const command = (tenant = 7): JournalCommand => ({ tenant, seq: 1, shard: 0, receivedAt: 0 }) as JournalCommand;
const event = (source: number, tenant = 7): HistoryRow =>
  entityRow(command(tenant), 'events', { id: '1', source, members: new Map() });
const object = (): HistoryRow => managedObjectRow(command(), '1', new Map(), []);
const deletion = (kind: CommandKind, body: object = {}, tenant = 7): Buffer =>
  encodeCommand({ kind, tenant, key: 'tenant', mode: PROCESSING_MODE.PERSISTENT, receivedAt: 0, body });

/** @returns whether it was asked for. */
async function isAsked(known: RecentAnswers, statement: HistoryStatement, bytes = 0): Promise<boolean> {
  let asked = false;
  await known.answer(
    statement,
    () => {
      asked = true;
      return Promise.resolve('told');
    },
    () => bytes,
  );
  return asked;
}

t.test('an answer is known until a row is decided of what it is about', async (t) => {
  const check = async (statement: HistoryStatement, change: HistoryRow, isOver: boolean): Promise<void> => {
    const known = new RecentAnswers();
    t.equal(await isAsked(known, statement), true);
    t.equal(await isAsked(known, statement), false);
    t.equal(await isAsked(known, { ...statement, params: { p0: 1 } }), true, 'other values');
    known.take(NONE, [change]);
    t.equal(await isAsked(known, statement), isOver, `${JSON.stringify(statement)} ${change.text}`);
  };
  await check(about(), event(5), true);
  await check(about(5), event(5), true);
  await check(about(6), event(5), false);
  await check(about(), event(5, 8), false);
  await check(about(5), event(5, 8), false);
  await check(about(5, ['alarms']), event(5), false);
  await check(about(5), object(), false);
  await check(about(6, ['events', 'managed_objects']), object(), true);
  await check(about(undefined, ['managed_objects']), object(), true);
  await check(about(5), deletedRow(command(), 'events', '1', 5, new Map()), true);
  await check(about(5), deletedRow(command(), 'events', '1', undefined, new Map()), true);
  await check(
    about(undefined, ['managed_objects']),
    deletedRow(command(), 'managed_objects', '1', undefined, new Map()),
    true,
  );
});

t.test('deletions that come end the answers of their tenant: who asks behind them waits', async (t) => {
  for (const [kind, body] of [
    [COMMAND.DATA_DELETE, { table: 'events', filter: {} }],
    [COMMAND.SOURCE_DELETE, { source: '5' }],
  ] as const) {
    const known = new RecentAnswers();
    for (const statement of [about(), about(5), about(5, ['events'], 8)]) await isAsked(known, statement);
    known.take(deletion(COMMAND.DATA_DELETE, { table: 'measurements', filter: { id: '1' } }), []);
    t.equal(await isAsked(known, about()), false, 'measurements are not kept here');
    known.take(deletion(kind, body), []);
    t.equal(await isAsked(known, about()), true);
    t.equal(await isAsked(known, about(5)), true);
    t.equal(await isAsked(known, about(5, ['events'], 8)), false);
  }
});

t.test('what changes while the history is asked is not kept, nor is a failure', async (t) => {
  const known = new RecentAnswers();
  const answer = await known.answer(
    about(),
    () => {
      known.take(NONE, [event(5)]);
      return Promise.resolve('told');
    },
    () => 0,
  );
  t.equal(answer, 'told');
  t.equal(await isAsked(known, about()), true);
  known.take(NONE, [event(5)]);
  await t.rejects(
    known.answer(
      about(),
      () => Promise.reject(new Error('away')),
      () => 0,
    ),
    { message: 'away' },
  );
  t.equal(await isAsked(known, about()), true);
  t.same([known.answeredCount, known.askedCount], [0, 4]);
});

t.test('what others write is not kept', async (t) => {
  const known = new RecentAnswers();
  for (const statement of [
    about(5, ['measurements']),
    about(undefined, ['audits']),
    about(undefined, []),
    { ...about(), tenant: undefined },
  ]) {
    await isAsked(known, statement);
    t.equal(await isAsked(known, statement), true);
  }
  t.equal(known.bytes, 0);
});

t.test('memory is bounded: what was asked for longest ago goes', async (t) => {
  const known = new RecentAnswers(10_000);
  for (let source = 1; source <= 100; source += 1) {
    await isAsked(known, about(source));
    t.equal(await isAsked(known, about(1)), false);
    t.ok(known.bytes <= 10_000);
  }
  t.equal(await isAsked(known, about(2)), true);
  await isAsked(known, about(200), 300_000);
  t.equal(await isAsked(known, about(200), 300_000), true, 'one that is large');
  known.take(
    NONE,
    Array.from({ length: 101 }, (_, source) => event(source)),
  );
  t.equal(known.bytes, 0);
});

t.test('a tenant that asks for ever other lists pushes out its own', async (t) => {
  const known = new RecentAnswers(10_000);
  await isAsked(known, about(1, ['events'], 8));
  for (let source = 1; source <= 100; source += 1) await isAsked(known, about(source));
  t.ok(known.bytes <= 10_000);
  t.equal(await isAsked(known, about(1, ['events'], 8)), false);
});
