/**
 * Tables of the history store (design 4). Mutable kinds are ReplacingMergeTree and read with FINAL; deletes write a
 * tombstone.
 */

/** Bumped when a table changes; the server refuses a store that is newer than itself. */
export const SCHEMA_VERSION = 3;

const mutableTail = `
  doc String CODEC(ZSTD(1)),
  version UInt64,
  deleted UInt8,
  shard UInt8,
  seq UInt64,
  INDEX id_index id TYPE minmax GRANULARITY 1
) ENGINE = ReplacingMergeTree(version, deleted)`;

/** First columns of events and alarms. */
const entityHead = `  tenant UInt32,
  id UInt64,
  source UInt64,
  type String,
  time DateTime64(3, 'UTC'),
  creation_time DateTime64(3, 'UTC'),
  last_updated DateTime64(3, 'UTC'),
`;

/**
 * Small parts of measurements are compact: 0.1 µs more CPU a row at the insert, 0.35 less with the merges (10 million
 * rows, 2026-11-21). measurements: one row for each value of a measurement, `part` counts them from 0 (one row with an
 * empty fragment without a value). `form` says how a measurement of one value was written
 * (ingest/measurements/form.ts), `doc` is its text: in part 0 only, and only where columns and form do not give it
 * back. `tail`, in part 0 too, holds what follows their text: with the text of
 * each prediction of a binding the engine took 8.6 µs for it, with a tail 2.6 (load 12, 2026-11-27). alarms: the key begins with the source: a list of one source's alarms took 188 ms by (tenant, id), 23 ms so,
 * the pages of all the same. audits: the index finds the records of an alarm or operation: 58 ms without, 11 ms with
 * it, for 2 % of the table (both: 1 million rows, 2 cores, 2026-11-21).
 */
export const TABLES: Readonly<Record<string, string>> = {
  measurements: `CREATE TABLE IF NOT EXISTS measurements (
  tenant UInt32,
  source UInt64,
  time DateTime64(3, 'UTC') CODEC(Delta, LZ4),
  id UInt64 CODEC(Delta, LZ4),
  part UInt16,
  type LowCardinality(String),
  fragment LowCardinality(String),
  series LowCardinality(String),
  value Float64,
  unit LowCardinality(String),
  doc String CODEC(ZSTD(1)),
  shard UInt8,
  seq UInt64 CODEC(Delta, LZ4),
  form UInt64,
  tail LowCardinality(String),
  INDEX id_index id TYPE minmax GRANULARITY 1
) ENGINE = MergeTree PARTITION BY toYYYYMM(time) ORDER BY (tenant, source, time, id, part)
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 104857600`,
  managed_objects: `CREATE TABLE IF NOT EXISTS managed_objects (
  tenant UInt32,
  id UInt64,
  type String,
  name String,
  owner String,
  creation_time DateTime64(3, 'UTC'),
  last_updated DateTime64(3, 'UTC'),
  fragments Array(String),
  parents Array(UInt64),${mutableTail} ORDER BY (tenant, id)`,
  events: `CREATE TABLE IF NOT EXISTS events (
${entityHead}  fragments Array(String),${mutableTail} PARTITION BY toYYYYMM(creation_time) ORDER BY (tenant, source, time, id)`,
  alarms: `CREATE TABLE IF NOT EXISTS alarms (
${entityHead}  status LowCardinality(String),
  severity LowCardinality(String),
  count UInt64,
  fragments Array(String),${mutableTail} ORDER BY (tenant, source, id)`,
  audits: `CREATE TABLE IF NOT EXISTS audits (
  tenant UInt32,
  id UInt64,
  source String,
  type LowCardinality(String),
  time DateTime64(3, 'UTC'),
  creation_time DateTime64(3, 'UTC'),
  user String,
  application String,
  INDEX source_index source TYPE bloom_filter(0.01) GRANULARITY 1,${mutableTail} PARTITION BY toYYYYMM(creation_time) ORDER BY (tenant, time, id)`,
  operations: `CREATE TABLE IF NOT EXISTS operations (
  tenant UInt32,
  id UInt64,
  source UInt64,
  bulk UInt64,
  status LowCardinality(String),
  creation_time DateTime64(3, 'UTC'),
  fragments Array(String),${mutableTail} ORDER BY (tenant, id)`,
};

/** What tenants use, as increments that add up (accounts/tenants/usage.ts), and the sizes of a day. */
const COUNTERS = [
  'alarms_created',
  'alarms_updated',
  'events_created',
  'events_updated',
  'measurements_created',
  'inventories_created',
  'inventories_updated',
  'requests',
  'device_requests',
];
export const USAGE_TABLES: Readonly<Record<string, string>> = {
  tenant_usage: `CREATE TABLE IF NOT EXISTS tenant_usage (
  tenant UInt32,
  day Date,
  ${COUNTERS.map((name) => `${name} UInt64`).join(',\n  ')}
) ENGINE = SummingMergeTree ORDER BY (tenant, day)`,
  tenant_sizes: `CREATE TABLE IF NOT EXISTS tenant_sizes (
  tenant UInt32,
  day Date,
  device_count UInt64,
  device_endpoint_count UInt64,
  device_with_children_count UInt64,
  storage_size UInt64,
  version UInt64
) ENGINE = ReplacingMergeTree(version) ORDER BY (tenant, day)`,
};

/**
 * Columns that a table of an older version has not: 2 added the form. An older version that knows no tail shows
 * predictions without their mark, so the tail made no newer version of the schema.
 */
export const ADDED_COLUMNS: readonly string[] = [
  'ALTER TABLE measurements ADD COLUMN IF NOT EXISTS form UInt64 AFTER seq',
  'ALTER TABLE measurements ADD COLUMN IF NOT EXISTS tail LowCardinality(String) AFTER form',
];

/**
 * Settings of tables that only cost or save time: a store that does not know one of them is used without it. Fewer,
 * wider merges: each row of measurements is written again 1.6 times instead of 3.5 (a million rows in inserts of
 * 10,000), which takes 0.9 µs of 2.5 off each row; the parts that a query reads stay as few (2026-11-21). Of mutable
 * tables, in 200 inserts of 500 rows: 4.4 times in place of 12, 65 µs CPU a row in place of 93 (2026-11-27). Not the
 * events: their lists, which are the longest, read each part (docs/internals/performance.md#lists).
 */
export const TUNING: readonly string[] = ['measurements', 'managed_objects', 'alarms', 'operations', 'audits'].map(
  (table) => `ALTER TABLE ${table} MODIFY SETTING merge_selector_base = 10`,
);

/**
 * Settings of tables without which a power cut takes what an insert acknowledged: parts, those that merges and
 * mutations make of them, and their directories are synchronised before the statement is answered and before the parts
 * that they replace are removed (docs/internals/durability.md).
 */
export const DURABILITY: Readonly<Record<string, string>> = {
  fsync_after_insert: '1',
  fsync_part_directory: '1',
  min_rows_to_fsync_after_merge: '1',
  min_compressed_bytes_to_fsync_after_merge: '1',
};

/** A second order of some columns of a table, kept by the engine (store/clickhouse/projections.ts). */
export interface Projection {
  readonly table: string;
  readonly name: string;
  readonly columns: readonly string[];
  readonly order: readonly string[];
}

/**
 * 3 added the order by time of all sources' events and alarms, with what lists select by: the newest of 10 million took
 * 1,600 ms CPU without it, 10 ms with it (2 cores, 2026-11-21), for half of the table's size again.
 */
export const PROJECTIONS: readonly Projection[] = [
  {
    table: 'events',
    name: 'by_time',
    order: ['tenant', 'time', 'id', 'version'],
    columns: [
      'tenant',
      'time',
      'id',
      'version',
      'deleted',
      'source',
      'type',
      'creation_time',
      'last_updated',
      'fragments',
    ],
  },
  {
    table: 'alarms',
    name: 'by_time',
    order: ['tenant', 'time', 'id', 'version'],
    columns: [
      'tenant',
      'time',
      'id',
      'version',
      'deleted',
      'source',
      'type',
      'status',
      'severity',
      'creation_time',
      'last_updated',
      'fragments',
    ],
  },
];
