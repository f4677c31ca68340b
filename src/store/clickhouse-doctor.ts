/** What `millrace doctor` finds out about a ClickHouse server: whether it can hold the history, and how to mend what is missing. */
import { randomBytes } from 'node:crypto';
import type { Log } from '../model/log.ts';
import { ClickHouse, exceptionCodeOf } from './clickhouse.ts';
import { TLS_REMEDY } from './tls-files.ts';
import type { TlsFiles } from './tls-files.ts';

/** As in cli/doctor.ts. `remedy` belongs to warn and fail. */
export interface ClickHouseFinding { readonly state: 'ok' | 'warn' | 'fail'; readonly name: string; readonly fact: string; readonly remedy?: string }

/** 23.2 knows tables whose newest version is a deletion, 23.3 DELETE FROM; 23.8 is the first with long support that has both. */
const VERSION_MIN = [23, 8] as const;
const REQUEST_TIMEOUT_MS = 8_000;
const CLOCK_DIFFERENCE_MAX_MS = 5_000;
/** As in schema.ts. */
const DEDUPLICATION_WINDOW = 10_000;
const DISK_FREE_MIN_BYTES = 1024 ** 3;
const DISK_FREE_COMFORTABLE_BYTES = 20 * 1024 ** 3;
const NAME = 'ClickHouse';
/** What is found is said, not logged. */
const NO_LOG: Log = { debug() {}, info() {}, warn() {}, error() {}, isLevelEnabled: () => false, child: () => NO_LOG };

/** ClickHouse's exceptions, by number. */
const AUTHENTICATION = new Set([192, 193, 194, 516]);
const NOT_PERMITTED = new Set([291, 344, 497, 164]);

interface Target { readonly url: string; readonly database: string; readonly tls?: TlsFiles }

/** Connects, looks, makes a table `doctor_<random>` in the database (made when missing, as the server does) and removes it. */
export async function checkClickHouse({ url, database, tls }: Target): Promise<ClickHouseFinding[]> {
  const options = { url, log: NO_LOG, requestTimeoutMs: REQUEST_TIMEOUT_MS, ...(tls === undefined ? {} : { tls }) };
  const client = new ClickHouse(options);
  try {
    const sentAt = Date.now();
    const [server] = await client.query<{ version: string; timeMs: number }>('SELECT version() AS version, toUnixTimestamp64Milli(now64(3)) AS timeMs');
    const findings: ClickHouseFinding[] = [
      { state: 'ok', name: NAME, fact: `${hostOf(url)} answers` },
      { state: isAtLeast(server.version) ? 'ok' : 'fail', name: `${NAME} version`, fact: server.version,
        remedy: `install ClickHouse ${VERSION_MIN.join('.')} or newer: older ones lack DELETE FROM, or tables that forget deleted rows` },
      clockFinding(server.timeMs, sentAt, Date.now()),
      await checkRecursive(client), await checkDisk(client), await checkDatabase(client, database),
    ];
    if (findings.every(({ name, state }) => name !== `${NAME} rights` || state !== 'fail')) {
      const inDatabase = new ClickHouse({ ...options, database });
      try {
        findings.push(...await checkTables(inDatabase, database));
      } finally {
        await inDatabase.close();
      }
    }
    return findings;
  } catch (error) {
    return [{ state: 'fail', name: NAME, fact: `${hostOf(url)}: ${textOf(error)}`, remedy: connectRemedy(error) }];
  } finally {
    await client.close();
  }
}

function connectRemedy(error: unknown): string {
  const code = exceptionCodeOf(error);
  if (code !== undefined && AUTHENTICATION.has(code)) return 'check user and password in the URL of --clickhouse';
  if (code !== undefined) return 'see the log of ClickHouse';
  if (/certificate|tls|ssl|self.signed|altname/i.test(textOf(error))) return `check https:// and ${TLS_REMEDY}`;
  if (/timeout/i.test(textOf(error))) return 'it takes connections and does not answer: see its log and its load';
  return 'start clickhouse-server, and check host, firewall and that the port is that of HTTP (8123, 8443 with TLS)';
}

function clockFinding(serverMs: number, sentAt: number, answeredAt: number): ClickHouseFinding {
  const differenceMs = serverMs < sentAt ? sentAt - serverMs : Math.max(0, serverMs - answeredAt);
  return { state: differenceMs > CLOCK_DIFFERENCE_MAX_MS ? 'warn' : 'ok', name: `${NAME} clock`, fact: `differs by ${(differenceMs / 1_000).toFixed(1)} s`,
    remedy: 'synchronise the clocks (NTP): times in logs do not fit together' };
}

/** Lists of users with inventory roles follow the links of objects so (api/owner.ts). */
async function checkRecursive(client: ClickHouse): Promise<ClickHouseFinding> {
  const name = `${NAME} queries`;
  try {
    const [{ total }] = await client.query<{ total: number }>(
      'WITH RECURSIVE reached AS (SELECT 1 AS id UNION ALL SELECT reached.id + 1 FROM reached WHERE reached.id < 3) '
      + 'SELECT toUInt32(sum(id)) AS total FROM reached');
    if (total !== 6) throw new Error(`WITH RECURSIVE gave ${total} instead of 6`);
    return { state: 'ok', name, fact: 'WITH RECURSIVE works' };
  } catch (error) {
    return { state: 'fail', name, fact: `WITH RECURSIVE does not work: ${textOf(error)}`,
      remedy: 'install ClickHouse 24.4 or newer and leave its analyzer on (allow_experimental_analyzer = 1): '
        + 'lists of users with inventory roles need it' };
  }
}

async function checkDisk(client: ClickHouse): Promise<ClickHouseFinding> {
  const name = `${NAME} disk`;
  try {
    const disks = await client.query<{ name: string; free: number }>('SELECT name, toFloat64(free_space) AS free FROM system.disks ORDER BY free');
    const [least] = disks;
    if (least === undefined) throw new Error('no disk is listed');
    const state = least.free < DISK_FREE_MIN_BYTES ? 'fail' : least.free < DISK_FREE_COMFORTABLE_BYTES ? 'warn' : 'ok';
    return { state, name, fact: `${(least.free / 1024 ** 3).toFixed(1)} GiB free on ${least.name}`,
      remedy: 'add storage or shorten the retention: when it is full, inserts fail and the journal fills until writes are refused' };
  } catch (error) {
    return { state: 'warn', name, fact: `free space is not known: ${textOf(error)}`, remedy: 'GRANT SELECT ON system.disks, or watch it otherwise' };
  }
}

async function checkDatabase(client: ClickHouse, database: string): Promise<ClickHouseFinding> {
  const name = `${NAME} rights`;
  try {
    await client.command(`CREATE DATABASE IF NOT EXISTS ${database}`);
    return { state: 'ok', name, fact: `database ${database} is there` };
  } catch (error) {
    return { state: 'fail', name, fact: `the database ${database} cannot be made: ${textOf(error)}`, remedy: rightsRemedy(error, database) };
  }
}

/** Does with a table of its own what the server does with its tables. */
async function checkTables(client: ClickHouse, database: string): Promise<ClickHouseFinding[]> {
  const table = `doctor_${randomBytes(6).toString('hex')}`;
  const insert = (token: string): Promise<void> =>
    client.insertText(table, 'JSONEachRow', '{"time":"2026-01-01 00:00:00","id":1}', { insert_deduplication_token: token });
  let step = 'make a table';
  try {
    await client.command(`CREATE TABLE ${table} (time DateTime64(3, 'UTC'), id UInt64) ENGINE = MergeTree PARTITION BY toYYYYMM(time) ORDER BY id
      SETTINGS non_replicated_deduplication_window = ${DEDUPLICATION_WINDOW}`);
    step = 'insert';
    await insert('a');
    await insert('a');
    const repeated = await countOf(client, table);
    await insert('b');
    const deduplication = deduplicationFinding(repeated, await countOf(client, table));
    step = 'add a column';
    await client.command(`ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS form UInt64`);
    step = 'delete rows (DELETE … IN PARTITION)';
    await client.command(`DELETE FROM ${table} IN PARTITION ID '202601' WHERE id = 1`);
    if (await countOf(client, table) !== 0) throw new Error('deleted rows are still there');
    return [{ state: 'ok', name: `${NAME} tables`, fact: `can be made in ${database}, inserted into, altered, deleted from` }, deduplication,
      ...await checkStored(client, database)];
  } catch (error) {
    return [{ state: 'fail', name: `${NAME} tables`, fact: `cannot ${step}: ${textOf(error)}`, remedy: rightsRemedy(error, database) }];
  } finally {
    // The table may not exist; one that stays is small and says by its name whose it is.
    await client.command(`DROP TABLE IF EXISTS ${table}`).catch(() => undefined);
  }
}

const countOf = async (client: ClickHouse, table: string): Promise<number> =>
  (await client.query<{ count: number }>(`SELECT toUInt32(count()) AS count FROM ${table}`))[0].count;

function deduplicationFinding(afterRepetition: number, afterAnother: number): ClickHouseFinding {
  const name = `${NAME} tokens`;
  if (afterRepetition === 1 && afterAnother === 2) return { state: 'ok', name, fact: 'an insert that is repeated with its token is dropped' };
  return afterRepetition > 1
    ? { state: 'fail', name, fact: 'an insert that is repeated with its token is stored twice',
      remedy: 'set insert_deduplicate = 1 (and with replicated tables replicated_deduplication_window) in the profile of the user: '
        + 'blocks are repeated when a node or a connection fails' }
    : { state: 'fail', name, fact: 'an insert with another token is dropped', remedy: 'install another version of ClickHouse: tokens are not looked at' };
}

/** The table that is there already, made by another version or by hand. */
async function checkStored(client: ClickHouse, database: string): Promise<ClickHouseFinding[]> {
  const [stored] = await client.query<{ engine: string }>(
    "SELECT engine_full AS engine FROM system.tables WHERE database = {database:String} AND name = 'measurements'", { database });
  if (stored === undefined) return [];
  const text = /(?<!\w)(?:non_)?replicated_deduplication_window = (\d+)/.exec(stored.engine)?.[1];
  const window = text === undefined ? undefined : Number(text);
  return [{ state: window !== undefined && window >= DEDUPLICATION_WINDOW ? 'ok' : 'fail', name: `${NAME} window`,
    fact: window === undefined ? 'the table measurements names no deduplication window' : `the table measurements knows the last ${window} tokens`,
    remedy: `ALTER TABLE ${database}.measurements MODIFY SETTING non_replicated_deduplication_window = ${DEDUPLICATION_WINDOW}: `
      + 'a block that is repeated later than that is stored twice' }];
}

function rightsRemedy(error: unknown, database: string): string {
  const code = exceptionCodeOf(error);
  if (code !== undefined && NOT_PERMITTED.has(code)) {
    return `GRANT CREATE DATABASE, CREATE TABLE, DROP TABLE, SELECT, INSERT, ALTER ON ${database}.* TO <user>, and readonly = 0 in its profile`;
  }
  return code === 62 ? 'install ClickHouse 24.8 or newer: retention deletes by partition' : 'see the log and the disk of ClickHouse';
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return 'ClickHouse';
  }
}

function isAtLeast(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  return major > VERSION_MIN[0] || (major === VERSION_MIN[0] && minor >= VERSION_MIN[1]);
}

/** The first line: ClickHouse adds what the statement was. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0].message : error.message;
  return inner === '' ? error.name : inner.split('\n')[0].slice(0, 300);
}
