/**
 * Statements that delete rows in the background, on the embedded engine: begun once, looked at, ended when they fail.
 */
import t from 'tap';
import { HistoryRefusal, StatementFailed } from '../../../src/ports/stores/history-writer.ts';
import { advance, carryOut, deletingTenants } from '../../../src/store/clickhouse/mutations.ts';
import type { DeletingStatement } from '../../../src/store/clickhouse/mutations.ts';
import { columnsOf } from '../../ingest/history-writer-contract.ts';
import { openClickHouse } from '../../helpers/stores/clickhouse.ts';

const { client, writer, embedded } = await openClickHouse(t);
const deleting = (condition: string): DeletingStatement => ({
  table: 'measurements',
  head: 'DELETE FROM measurements WHERE',
  condition,
  params: {},
});
/** The engine takes 2.5 s for ten rows, and may take no more than three for a block. */
const SLOW = 'sleepEachRow(0.25) = 0 AND value > 0';
let next = 0;
const insert = async (count: number): Promise<void> => {
  const first = next + 1;
  next += count;
  await writer.insertMeasurements(
    columnsOf(
      Array.from({ length: count }, (_, index) => ({ id: first + index, seq: first + index, values: [first + index] })),
    ),
    String(next),
  );
};
const values = async (): Promise<number[]> =>
  (await client.query<{ value: number }>('SELECT value FROM measurements ORDER BY value')).map(({ value }) => value);
const mutations = async (): Promise<{ done: number; command: string }[]> =>
  client.query("SELECT is_done AS done, command FROM system.mutations WHERE table = 'measurements'");
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
async function until(what: () => Promise<boolean>): Promise<void> {
  while (!(await what())) await pause(20);
}
t.beforeEach(async () => {
  await client.command("KILL MUTATION WHERE table = 'measurements'");
  await client.command('TRUNCATE TABLE measurements');
});

const done = (condition: string, mark: string, isBegun = true): Promise<void> =>
  until(async () => (await advance(client, deleting(condition), mark, isBegun)) === 'done');

t.test('a statement is begun once, whoever asks, and is done for all', async (t) => {
  await insert(3);
  const before = (await mutations()).length;
  t.equal(await advance(client, deleting('value < 3'), 'once/11', false), 'begun');
  await done('value < 3', 'once/11');
  t.same(await values(), [next]);
  t.equal((await mutations()).length, before + 1);
  await done(`value = ${next}`, 'once/1');
  t.same(await values(), [], 'another mark that begins alike');
});

t.test('who has not begun it looks whether there is something again', async (t) => {
  await insert(2);
  await done('value > 0', 'again/1');
  await insert(1);
  t.equal(await advance(client, deleting('value > 0'), 'again/1', true), 'done');
  t.same(await values(), [next]);
  t.equal(await advance(client, deleting('value > 0'), 'again/1', false), 'begun');
  await done('value > 0', 'again/1', false);
  t.same(await values(), []);
  for (let statements = 3; statements <= 5; statements += 1) {
    await insert(1);
    await done('value > 0', 'again/1', false);
  }
  await insert(1);
  await t.rejects(advance(client, deleting('value > 0'), 'again/1', false), {
    message: 'measurements still has rows that 5 statements have deleted: again/1',
  });
});

t.test('the engine goes on when it was killed, and it is the same statement then', async (t) => {
  await insert(10);
  const condition = 'sleepEachRow(0.3) = 0 AND value > 0';
  t.equal(await advance(client, deleting(condition), 'killed/1', false), 'begun');
  const restarts = embedded.restartsCount;
  process.kill(embedded.pid ?? 0, 'SIGKILL');
  await until(async () => embedded.restartsCount > restarts && embedded.state === 'ready');
  t.equal(await advance(client, deleting(condition), 'killed/1', false), 'under way');
  await done(condition, 'killed/1');
  t.same(await values(), []);
  t.equal((await mutations()).filter(({ command }) => command.includes('killed/1')).length, 1);
});

t.test(
  'inserts and other statements do not wait for one that is under way, and what comes behind it stays',
  async (t) => {
    await insert(10);
    const before = (await mutations()).length;
    t.equal(await advance(client, deleting(SLOW), 'slow/1', false), 'begun');
    await insert(1);
    t.equal((await values()).length, 11, 'inserted and read while the engine is at it');
    t.equal(await advance(client, deleting(SLOW), 'slow/1', false), 'under way');
    t.match((await mutations()).slice(before), [{ done: 0 }], 'begun once');
  },
);

t.test('what the engine fails at is ended, told, and begun anew by the next call', async (t) => {
  await insert(3);
  const last = next;
  const failing = deleting(`throwIf(value = ${last}, 'no') = 0`);
  const failure = async (): Promise<unknown> => {
    for (;;) {
      try {
        await advance(client, failing, 'failing/1', true);
      } catch (error) {
        return error;
      }
      await pause(20);
    }
  };
  const error = await failure();
  t.ok(error instanceof StatementFailed && !(error instanceof HistoryRefusal));
  t.match(error, { message: /^Code: 395\..* no/ });
  t.same(
    (await mutations()).filter(({ command }) => command.includes('failing/1')),
    [],
    'the engine does not try it any more',
  );
  t.equal((await values()).length, 3);
  t.equal(await advance(client, failing, 'failing/1', true), 'begun');
  t.equal((await mutations()).filter(({ command }) => command.includes('failing/1')).length, 1);
  await failure();
  await t.rejects(carryOut(client, failing, 'failing'), { message: /^Code: 395\./ });
  t.same(
    (await mutations()).filter(({ command }) => command.includes('throwIf')),
    [],
  );
});

t.test('what the values are at fault for is a refusal', async (t) => {
  await insert(1);
  const failing = deleting("toInt64(concat('x', toString(id))) = 1");
  const error: unknown = await carryOut(client, failing, 'refused').catch((refusal: unknown) => refusal);
  t.ok(error instanceof HistoryRefusal && error.isCertain && error.code === 6, String(error));
  t.same(
    (await mutations()).filter(({ command }) => command.includes('concat')),
    [],
  );
  await t.rejects(carryOut(client, deleting('unknown = 1'), 'refused'), { code: '47' }, 'not begun at all');
  await t.rejects(advance(client, failing, "it's", true), { message: "no mark of a statement: it's" });
});

t.test('carried out to its end, and what an earlier call has left failing is ended', async (t) => {
  await insert(3);
  const failing = deleting(`throwIf(value = ${next}, 'no') = 0`);
  await advance(client, failing, 'ours/1/7', true);
  await until(
    async () =>
      (
        await client.query(
          "SELECT 1 FROM system.mutations WHERE position(command, 'ours/1/7') > 0 AND latest_fail_reason LIKE 'Code: 395.%'",
        )
      ).length > 0,
  );
  await carryOut(client, deleting('value > 0'), 'ours/1');
  t.same(await values(), []);
  // Where the engine was trying it anew at that moment, it has carried out both together.
  t.notOk((await mutations()).some(({ command, done }) => command.includes('ours/1/7') && done === 0));
});

t.test('of which tenants rows are being deleted', async (t) => {
  await insert(10);
  t.same(await deletingTenants(client, 'measurements'), new Set());
  const ofTenant = (tenant: number): DeletingStatement => ({
    ...deleting(`tenant = {tenant:UInt32} AND ${SLOW}`),
    params: { tenant },
  });
  await advance(client, ofTenant(1), 'tenants/1', false);
  await advance(client, ofTenant(23), 'tenants/23', false);
  t.same(await deletingTenants(client, 'measurements'), new Set([1, 23]));
  t.same(await deletingTenants(client, 'alarms'), new Set());
  await advance(client, deleting(SLOW), 'tenants/all', false);
  t.equal(await deletingTenants(client, 'measurements'), undefined);
});
