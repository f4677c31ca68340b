/**
 * Statements that delete rows which are there. ClickHouse writes such a mutation down, works it off behind everything
 * else and goes on with it when it is started anew, so it is only begun here and looked at in `system.mutations`:
 * no session waits for its end. A mutation is known by its mark, a text that stands in its condition and
 * changes nothing.
 */
import { randomUUID } from 'node:crypto';
import { anyRow } from '../../history/deletion.ts';
import { StatementFailed } from '../../ports/stores/history-writer.ts';
import type { StatementState } from '../../ports/stores/history-writer.ts';
import type { ClickHouse, QueryParams } from './adapter.ts';
import { exceptionCodeOf } from './adapter.ts';
import { refusalBy, refusing } from './history-refusals.ts';

/** What deletes rows, without the mark. */
export interface DeletingStatement {
  readonly table: string;
  /** Up to and with WHERE, for instance `DELETE FROM measurements WHERE`. */
  readonly head: string;
  /** Ours, with values bound. */
  readonly condition: string;
  readonly params: QueryParams;
}

/** The statement returns when it is written down. */
const IN_BACKGROUND = { mutations_sync: '0', lightweight_deletes_sync: '0' } as const;
/** ClickHouse's UNKNOWN_SETTING: servers before 24.4 wait for a lightweight DELETE in any case. */
const UNKNOWN_SETTING = 115;
/** ClickHouse's ABORTED: work was broken off for a moment, for instance by DROP PART, and goes on by itself. */
const BROKEN_OFF = 'Code: 236.';
const MARK = /^[\w/.-]+$/;
/** A statement that is done and has left rows this often does not do what it says. */
const STATEMENTS_MAX = 5;
/** Between two looks: doubles from first to last. */
const LOOK_FIRST_MS = 5;
const LOOK_LAST_MS = 1_000;

interface Mutation {
  readonly id: string;
  readonly isDone: number;
  readonly failure: string;
}

/**
 * Begins the statement, or looks how far it is. What has failed is ended: the engine would try it for ever, and those
 * that come behind it wait.
 * @param mark ours: letters, digits, `/`, `.`, `-`; the same statement has the same, another one never.
 * @param isBegun see HistoryWriter.deleteMeasurements.
 * @returns how far it is. Rejects with HistoryRefusal when the values are at fault, StatementFailed when the engine
 * failed at it otherwise.
 */
export async function advance(
  clickHouse: ClickHouse,
  statement: DeletingStatement,
  mark: string,
  isBegun: boolean,
): Promise<StatementState> {
  if (!MARK.test(mark)) throw new Error(`no mark of a statement: ${mark}`);
  const found = await withText(clickHouse, statement.table, `'${mark}'`);
  const failed = found.find(hasFailed);
  if (failed !== undefined) {
    for (const { id, isDone } of found) if (isDone === 0) await end(clickHouse, statement.table, id);
    throw failureOf(failed);
  }
  if (found.some(({ isDone }) => isDone === 0)) return 'under way';
  if (found.length > 0 && (isBegun || !(await selects(clickHouse, statement)))) return 'done';
  if (found.length >= STATEMENTS_MAX)
    throw new StatementFailed(
      `${statement.table} still has rows that ${found.length} statements have deleted: ${mark}`,
    );
  await begin(clickHouse, statement, mark);
  return 'begun';
}

/**
 * Resolves when the statement is done, however long it takes; it is a new one with each call. Rejects as `advance`, and
 * when the engine is away.
 * @param name of what it does, as a mark: what an earlier call of this name has left failing is ended.
 */
export async function carryOut(clickHouse: ClickHouse, statement: DeletingStatement, name: string): Promise<void> {
  const earlier = await withText(clickHouse, statement.table, `'${name}/`);
  for (const mutation of earlier) if (isFailing(mutation)) await end(clickHouse, statement.table, mutation.id);
  const mark = `${name}/${randomUUID()}`;
  for (
    let waitMs = LOOK_FIRST_MS;
    (await advance(clickHouse, statement, mark, true)) !== 'done';
    waitMs = Math.min(waitMs * 2, LOOK_LAST_MS)
  ) {
    await new Promise((resolve) => {
      setTimeout(resolve, waitMs);
    });
  }
}

/**
 * @returns numbers of the tenants whose rows of the table statements delete, or wait to; undefined when one of them does
 * not name its tenant. Ours begin with it.
 */
export async function deletingTenants(clickHouse: ClickHouse, table: string): Promise<ReadonlySet<number> | undefined> {
  const found = await clickHouse.queryForWrite<{ tenant: string }>(
    `SELECT DISTINCT extract(command, 'tenant = (?:_CAST[(])?([0-9]+)') AS tenant FROM system.mutations
    WHERE database = currentDatabase() AND table = {table:String} AND is_done = 0 AND match(command, '^[(]?(DELETE|UPDATE) ')`,
    { table },
  );
  return found.some(({ tenant }) => tenant === '') ? undefined : new Set(found.map(({ tenant }) => Number(tenant)));
}

async function selects(clickHouse: ClickHouse, { table, condition, params }: DeletingStatement): Promise<boolean> {
  return (await clickHouse.queryForWrite(anyRow(table, condition), params)).length > 0;
}

const hasFailed = ({ failure }: Mutation): boolean => failure !== '' && !failure.startsWith(BROKEN_OFF);
const isFailing = (mutation: Mutation): boolean => mutation.isDone === 0 && hasFailed(mutation);

/** @param text in the statement: of a mark. */
function withText(clickHouse: ClickHouse, table: string, text: string): Promise<Mutation[]> {
  return clickHouse.queryForWrite<Mutation>(
    `SELECT mutation_id AS id, is_done AS isDone, latest_fail_reason AS failure FROM system.mutations
    WHERE database = currentDatabase() AND table = {table:String} AND position(command, {text:String}) > 0`,
    { table, text },
  );
}

async function begin(
  clickHouse: ClickHouse,
  { head, condition, params }: DeletingStatement,
  mark: string,
): Promise<void> {
  const run = (settings: Readonly<Record<string, string>>): Promise<void> =>
    refusing(clickHouse.command(`${head} (${condition}) AND '${mark}' != ''`, params, settings));
  try {
    await run(IN_BACKGROUND);
  } catch (error) {
    if (exceptionCodeOf(error) !== UNKNOWN_SETTING) throw error;
    await run({});
  }
}

/** The engine stops working at it; rows that it has deleted stay so. */
async function end(clickHouse: ClickHouse, table: string, id: string): Promise<void> {
  await clickHouse.command(
    'KILL MUTATION WHERE database = currentDatabase() AND table = {table:String} AND mutation_id = {id:String}',
    { table, id },
  );
}

function failureOf({ failure }: Mutation): Error {
  const code = Number(/^Code: (\d+)\./.exec(failure)?.[1] ?? NaN);
  const refusal = refusalBy(code, failure);
  // A failure that is not certain to come from the data is retried, with the caller's pauses.
  return refusal?.isCertain === true ? refusal : new StatementFailed(failure);
}
