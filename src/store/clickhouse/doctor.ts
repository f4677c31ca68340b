/**
 * What `millrace doctor` finds out about a ClickHouse server: whether it can hold the history, and how to mend what is
 * missing.
 */
import { randomBytes } from 'node:crypto';
import type { Finding } from '../../ports/finding.ts';
import type { Log } from '../../ports/log.ts';
import { ClickHouse, exceptionCodeOf } from './adapter.ts';
import { TLS_REMEDY } from '../../config/tls-files.ts';
import type { TlsFiles } from '../../config/tls-files.ts';

/** 24.4 knows WITH RECURSIVE, 24.8 DELETE FROM … IN PARTITION and projections of tables whose rows are replaced. */
const VERSION_MIN = [24, 8] as const;
const REQUEST_TIMEOUT_MS = 8_000;
const CLOCK_DIFFERENCE_MAX_MS = 5_000;
/** As in schema.ts. */
const DEDUPLICATION_WINDOW = 10_000;
const DISK_FREE_MIN_BYTES = 1024 ** 3;
const DISK_FREE_COMFORTABLE_BYTES = 20 * 1024 ** 3;
const NAME = 'ClickHouse';
const RIGHTS = `${NAME} rights`;
/** What is read of the server's own tables (projections.ts), and columns of them. */
const SYSTEM_TABLES: Readonly<Record<string, string>> = {
  parts: 'active, rows, projections',
  projections: 'name',
  mutations: 'is_done, command, mutation_id, latest_fail_reason',
  merge_tree_settings: 'name',
};
/** What is found is said, not logged. */
const NO_LOG: Log = { debug() {}, info() {}, warn() {}, error() {}, isLevelEnabled: () => false, child: () => NO_LOG };

/** ClickHouse's exceptions, by number. */
const AUTHENTICATION = new Set([192, 193, 194, 516]);
const READONLY = 164;
const NOT_PERMITTED = new Set([291, 344, 497, READONLY]);
const SYNTAX_ERROR = 62;
const NO_DATABASE = 81;
const NO_SUCH_PART = 232;

interface Target {
  readonly url: string;
  readonly database: string;
  readonly tls?: TlsFiles;
}

/**
 * Connects, looks, makes a table `doctor_<random>` in the database (made when missing, as the server does) and removes
 * it.
 */
export async function checkClickHouse({ url, database, tls }: Target): Promise<Finding[]> {
  const options = { url, log: NO_LOG, requestTimeoutMs: REQUEST_TIMEOUT_MS, ...(tls === undefined ? {} : { tls }) };
  const client = new ClickHouse(options);
  try {
    const sentAt = Date.now();
    const [server] = await client.query<{ version: string; timeMs: number }>(
      'SELECT version() AS version, toUnixTimestamp64Milli(now64(3)) AS timeMs',
    );
    const findings: Finding[] = [
      { state: 'ok', name: NAME, fact: `${hostOf(url)} answers` },
      {
        state: isAtLeast(server.version) ? 'ok' : 'fail',
        name: `${NAME} version`,
        fact: server.version,
        remedy: `install ClickHouse ${VERSION_MIN.join('.')} or newer: older ones lack WITH RECURSIVE, or DELETE by partition`,
      },
      clockFinding(server.timeMs, sentAt, Date.now()),
      await checkRecursive(client),
      await checkDisk(client),
      await checkDatabase(client, { database, user: userOf(url) }),
    ];
    const inDatabase = new ClickHouse({ ...options, database });
    try {
      findings.push(
        ...(await checkTables(inDatabase, { database, user: userOf(url) })),
        ...(await checkStored(inDatabase, database)),
      );
    } finally {
      await inDatabase.close();
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

function clockFinding(serverMs: number, sentAt: number, answeredAt: number): Finding {
  const differenceMs = serverMs < sentAt ? sentAt - serverMs : Math.max(0, serverMs - answeredAt);
  return {
    state: differenceMs > CLOCK_DIFFERENCE_MAX_MS ? 'warn' : 'ok',
    name: `${NAME} clock`,
    fact: `differs by ${(differenceMs / 1_000).toFixed(1)} s`,
    remedy: 'synchronise the clocks (NTP): times in logs do not fit together',
  };
}

/** Lists of users with inventory roles follow the links of objects so (api/lists/owner.ts). */
async function checkRecursive(client: ClickHouse): Promise<Finding> {
  const name = `${NAME} queries`;
  try {
    const [{ total }] = await client.query<{ total: number }>(
      'WITH RECURSIVE reached AS (SELECT 1 AS id UNION ALL SELECT reached.id + 1 FROM reached WHERE reached.id < 3) ' +
        'SELECT toUInt32(sum(id)) AS total FROM reached',
    );
    if (total !== 6) throw new Error(`WITH RECURSIVE gave ${total} instead of 6`);
    return { state: 'ok', name, fact: 'WITH RECURSIVE works' };
  } catch (error) {
    return {
      state: 'fail',
      name,
      fact: `WITH RECURSIVE does not work: ${textOf(error)}`,
      remedy:
        'install ClickHouse 24.4 or newer and leave its analyzer on (allow_experimental_analyzer = 1): ' +
        'lists of users with inventory roles need it',
    };
  }
}

async function checkDisk(client: ClickHouse): Promise<Finding> {
  const name = `${NAME} disk`;
  try {
    const disks = await client.query<{ name: string; free: number }>(
      'SELECT name, toFloat64(free_space) AS free FROM system.disks ORDER BY free',
    );
    // Nodes add up the disks of the tables' policy.
    await client.query('SELECT policy_name, disks FROM system.storage_policies LIMIT 1');
    const [least] = disks;
    if (least === undefined) throw new Error('no disk is listed');
    const state = least.free < DISK_FREE_MIN_BYTES ? 'fail' : least.free < DISK_FREE_COMFORTABLE_BYTES ? 'warn' : 'ok';
    return {
      state,
      name,
      fact: `${(least.free / 1024 ** 3).toFixed(1)} GiB free on ${least.name}`,
      remedy: 'add storage or shorten the retention: below --disk-free-min-bytes writes are refused',
    };
  } catch (error) {
    return {
      state: 'warn',
      name,
      fact: `free space is not known: ${textOf(error)}`,
      remedy:
        'GRANT SELECT ON system.disks and system.storage_policies: nodes refuse writes in time only where they can read them',
    };
  }
}

/** Of whom, and where, something is not permitted. */
interface Place {
  readonly database: string;
  readonly user: string;
}

async function checkDatabase(client: ClickHouse, place: Place): Promise<Finding> {
  try {
    await client.command(`CREATE DATABASE IF NOT EXISTS ${place.database}`);
    return { state: 'ok', name: RIGHTS, fact: `database ${place.database} is there` };
  } catch (error) {
    return refusedFinding(error, `make the database ${place.database}`, 'CREATE DATABASE', place);
  }
}

/**
 * Does with a table of its own what the server does with its tables: what is not permitted, or fails, is a finding
 * each.
 */
async function checkTables(client: ClickHouse, place: Place): Promise<Finding[]> {
  const table = `doctor_${randomBytes(6).toString('hex')}`;
  const findings: Finding[] = [];
  const attempt = async (what: string, grant: string, run: () => Promise<unknown>): Promise<boolean> => {
    try {
      await run();
      return true;
    } catch (error) {
      // Said already.
      if (exceptionCodeOf(error) !== NO_DATABASE) findings.push(refusedFinding(error, what, grant, place));
      return false;
    }
  };
  const alter = (change: string): Promise<void> => client.command(`ALTER TABLE ${table} ${change}`);
  const insert = (token: string): Promise<void> =>
    client.insertText(table, 'JSONEachRow', '{"time":"2026-01-01 00:00:00","id":1}', {
      insert_deduplication_token: token,
    });
  const isMade = await attempt('make a table', 'CREATE TABLE', () =>
    client.command(`CREATE TABLE ${table} (time DateTime64(3, 'UTC'), id UInt64) ENGINE = MergeTree PARTITION BY toYYYYMM(time) ORDER BY id
      SETTINGS non_replicated_deduplication_window = ${DEDUPLICATION_WINDOW}`),
  );
  for (const [name, columns] of Object.entries(SYSTEM_TABLES)) {
    await attempt(`read system.${name}`, `SELECT ON system.${name}`, () =>
      client.query(`SELECT ${columns} FROM system.${name} LIMIT 1`),
    );
  }
  if (!isMade) return findings;
  try {
    const isInserted = await attempt('insert', 'INSERT', () => insert('a'));
    const isRead = await attempt('read a table', 'SELECT', () => countOf(client, table));
    if (isInserted && isRead)
      await attempt('insert', 'INSERT', async () => {
        findings.push(await checkTokens(client, table, insert));
      });
    await attempt('add a column', 'ALTER ADD COLUMN', () => alter('ADD COLUMN IF NOT EXISTS form UInt64'));
    await attempt('delete rows (DELETE … IN PARTITION)', 'ALTER DELETE', async () => {
      await client.command(`DELETE FROM ${table} IN PARTITION ID '202601' WHERE id = 1`);
      if (isRead && (await countOf(client, table)) !== 0) throw new Error('deleted rows are still there');
    });
    if (isInserted && isRead) {
      await attempt('drop a part (ALTER TABLE … DROP PART)', 'ALTER DELETE', async () => {
        await insert('c');
        const [{ part }] = await client.query<{ part: string }>(`SELECT _part AS part FROM ${table} LIMIT 1`);
        // Merged with others meanwhile: then the right was looked at before.
        await alter(`DROP PART '${part}'`).catch((error: unknown) => {
          if (exceptionCodeOf(error) !== NO_SUCH_PART) throw error;
        });
      });
    }
    const isSet = await attempt('change settings of a table (ALTER TABLE … MODIFY SETTING)', 'ALTER SETTINGS', () =>
      alter(
        "MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild', lightweight_mutation_projection_mode = 'drop'",
      ),
    );
    const isAdded = await attempt('add a projection', 'ALTER ADD PROJECTION', () =>
      alter('ADD PROJECTION IF NOT EXISTS by_time (SELECT time, id ORDER BY time)'),
    );
    // Nodes leave this to the server: its refusal comes at once.
    if (isAdded) {
      await attempt(
        'make a projection of old rows (ALTER TABLE … MATERIALIZE PROJECTION)',
        'ALTER MATERIALIZE PROJECTION',
        () => client.command(`ALTER TABLE ${table} MATERIALIZE PROJECTION by_time`, {}, { mutations_sync: '0' }),
      );
    }
    if (isSet)
      await attempt('delete rows for good (ALTER TABLE … DELETE)', 'ALTER DELETE', () =>
        alter('DELETE WHERE id = 1 SETTINGS mutations_sync = 1'),
      );
  } finally {
    await client.command(`DROP TABLE IF EXISTS ${table}`).catch((error: unknown) => {
      // Nodes drop none.
      findings.push({
        state: 'warn',
        name: `${NAME} tables`,
        fact: `the table ${table} of this check could not be removed: ${textOf(error)}`,
        remedy: `DROP TABLE ${place.database}.${table}`,
      });
    });
  }
  if (findings.some(({ state }) => state === 'fail')) return findings;
  return [
    {
      state: 'ok',
      name: `${NAME} tables`,
      fact: `can be made in ${place.database}, inserted into, altered, deleted from`,
    },
    ...findings,
  ];
}

const countOf = async (client: ClickHouse, table: string): Promise<number> =>
  (await client.query<{ count: number }>(`SELECT toUInt32(count()) AS count FROM ${table}`))[0].count;

async function checkTokens(
  client: ClickHouse,
  table: string,
  insert: (token: string) => Promise<void>,
): Promise<Finding> {
  await insert('a');
  const repeated = await countOf(client, table);
  await insert('b');
  return deduplicationFinding(repeated, await countOf(client, table));
}

function deduplicationFinding(afterRepetition: number, afterAnother: number): Finding {
  const name = `${NAME} tokens`;
  if (afterRepetition === 1 && afterAnother === 2)
    return { state: 'ok', name, fact: 'an insert that is repeated with its token is dropped' };
  return afterRepetition > 1
    ? {
        state: 'fail',
        name,
        fact: 'an insert that is repeated with its token is stored twice',
        remedy:
          'set insert_deduplicate = 1 (and with replicated tables replicated_deduplication_window) in the profile of the user: ' +
          'blocks are repeated when a node or a connection fails',
      }
    : {
        state: 'fail',
        name,
        fact: 'an insert with another token is dropped',
        remedy: 'install another version of ClickHouse: tokens are not looked at',
      };
}

/** The table that is there already, made by another version or by hand. */
async function checkStored(client: ClickHouse, database: string): Promise<Finding[]> {
  const [stored] = await client.query<{ engine: string }>(
    "SELECT engine_full AS engine FROM system.tables WHERE database = {database:String} AND name = 'measurements'",
    { database },
  );
  if (stored === undefined) return [];
  const text = /(?<!\w)(?:non_)?replicated_deduplication_window = (\d+)/.exec(stored.engine)?.[1];
  const window = text === undefined ? undefined : Number(text);
  return [
    {
      state: window !== undefined && window >= DEDUPLICATION_WINDOW ? 'ok' : 'fail',
      name: `${NAME} window`,
      fact:
        window === undefined
          ? 'the table measurements names no deduplication window'
          : `the table measurements knows the last ${window} tokens`,
      remedy:
        `ALTER TABLE ${database}.measurements MODIFY SETTING non_replicated_deduplication_window = ${DEDUPLICATION_WINDOW}: ` +
        'a block that is repeated later than that is stored twice',
    },
  ];
}

/** @param grant a right on the tables of the database, unless it names what it is on. */
function refusedFinding(error: unknown, what: string, grant: string, { database, user }: Place): Finding {
  const code = exceptionCodeOf(error);
  const isRight = code !== undefined && NOT_PERMITTED.has(code);
  const where = grant.includes(' ON ') ? '' : ` ON ${database}.*`;
  return {
    state: 'fail',
    name: isRight ? RIGHTS : `${NAME} tables`,
    fact: `cannot ${what}: ${textOf(error)}`,
    remedy:
      code === READONLY
        ? `set readonly = 0 in the profile of ${user}`
        : isRight
          ? `GRANT ${grant}${where} TO ${user}`
          : code === SYNTAX_ERROR
            ? `install ClickHouse ${VERSION_MIN.join('.')} or newer`
            : 'see the log and the disk of ClickHouse',
  };
}

/** Shown in remedies; the password is not. */
function userOf(url: string): string {
  const user = URL.canParse(url) ? decodeURIComponent(new URL(url).username) : '';
  return user === '' ? 'default' : user;
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
  const inner =
    error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0].message : error.message;
  return inner === '' ? error.name : inner.split('\n')[0].slice(0, 300);
}
