/**
 * A tenant's inventory, alarms, events, operations and audit records, as statements that make them inside of the
 * engine. Ids are far above those that the server gives; kinds of things are spread by their number, so that each
 * filter has a known share.
 */

export interface Sizes {
  readonly objects: number;
  readonly alarms: number;
  readonly events: number;
  readonly others: number;
  /** Every object is a device, and none is in a group. */
  readonly areAllDevices?: boolean;
}

export const FIRST_OBJECT = 1_000_000_000;
export const FIRST_ALARM = 2_000_000_000;
export const FIRST_EVENT = 3_000_000_000;
export const FIRST_OPERATION = 4_000_000_000;
export const FIRST_AUDIT = 5_000_000_000;
/** Of the objects, every tenth is a device that has data. */
export const OBJECTS_PER_DEVICE = 10;
/** Every tenth alarm, event and operation is of the first device: its lists have a page 1,000 too. */
export const HOT_SHARE = 10;
/**
 * The first object is a group: this share of all objects are its child assets. Each further thousandth object is a
 * group of 100.
 */
export const GROUP_SHARE = 5;
/** Rows of one statement. */
export const CHUNK = 500_000;
/** All data is of the 20 days before this. */
const SPAN_MS = 20 * 86_400_000;

const time = (column: string): string => `formatDateTime(${column}, '%Y-%m-%dT%H:%i:%s.%fZ', 'UTC')`;
/** A moment that grows with the number, jittered so that ids and times are not in one order. */
const moment = (count: number, endMs: number): string =>
  `fromUnixTimestamp64Milli(toInt64(${endMs - SPAN_MS} + intDiv(number * ${SPAN_MS}, ${count}) + cityHash64(number) % 60000), 'UTC')`;
const deviceOf = (objects: number, salt: string): string =>
  `toUInt64(${FIRST_OBJECT} + if(number % ${HOT_SHARE} = 0, 0, cityHash64(number, '${salt}') % ${Math.ceil(objects / OBJECTS_PER_DEVICE)}) ` +
  `* ${OBJECTS_PER_DEVICE})`;
const tail = `1 AS version, 0 AS deleted, 0 AS shard, 1 AS seq`;

/** The first object, and those of each thousand. */
const PARENTS = `arrayConcat(if(number % ${GROUP_SHARE} = 1, [toUInt64(${FIRST_OBJECT})], []), if(number > 1000 AND number % 1000 > 0 AND number % 1000 <= 100,
      [toUInt64(${FIRST_OBJECT} + intDiv(number, 1000) * 1000)], []))`;

type Statement = (
  sizes: Sizes,
  endMs: number,
  tenant: number,
) => {
  readonly table: string;
  readonly firstId: number;
  readonly count: number;
  readonly columns: string;
  readonly sql: string;
};

const objects: Statement = (sizes, endMs, tenant) => ({
  table: 'managed_objects',
  firstId: FIRST_OBJECT,
  count: sizes.objects,
  columns:
    'tenant, id, type, name, owner, creation_time, last_updated, fragments, parents, doc, version, deleted, shard, seq',
  sql: `SELECT ${tenant} AS tenant, toUInt64(${FIRST_OBJECT} + number) AS id, concat('c8y_Type', toString(number % 97)) AS type,
    concat('Object ', toString(cityHash64(number) % 1000000)) AS name, concat('owner', toString(number % 31)) AS owner,
    ${moment(sizes.objects, endMs)} AS creation_time, creation_time AS last_updated,
    arrayConcat(['c8y_Hardware', 'c8y_Position', 'c8y_SupportedOperations'],
      if(number % ${sizes.areAllDevices === true ? 1 : OBJECTS_PER_DEVICE} = 0, ['c8y_IsDevice', 'com_platform_model_Agent'], []),
      if(number % 1000 = 0, ['bench_Rare'], [])) AS fragments,
    ${sizes.areAllDevices === true ? "CAST([], 'Array(UInt64)')" : PARENTS} AS parents,
    concat('{"name":"', name, '","type":"', type, '","owner":"', owner, '","creationTime":"', ${time('creation_time')}, '","lastUpdated":"',
      ${time('creation_time')}, '","c8y_Hardware":{"model":"M', toString(number % 7), '","revision":"1.', toString(number % 13),
      '","serialNumber":"SN', toString(number), '"},"c8y_Position":{"lat":', toString(number % 90), '.5,"lng":', toString(number % 180),
      '.25},"c8y_SupportedOperations":["c8y_Restart","c8y_Firmware","c8y_Configuration"]',
      if(number % ${sizes.areAllDevices === true ? 1 : OBJECTS_PER_DEVICE} = 0, ',"c8y_IsDevice":{},"com_platform_model_Agent":{}', ''),
      if(number % 1000 = 0, ',"bench_Rare":{}', ''), '}') AS doc, ${tail}`,
});

const alarms: Statement = (sizes, endMs, tenant) => ({
  table: 'alarms',
  firstId: FIRST_ALARM,
  count: sizes.alarms,
  columns:
    'tenant, id, source, type, time, creation_time, last_updated, status, severity, count, fragments, doc, version, deleted, shard, seq',
  sql: `SELECT ${tenant} AS tenant, toUInt64(${FIRST_ALARM} + number) AS id, ${deviceOf(sizes.objects, 'alarm')} AS source,
    concat('c8y_Alarm', toString(number % 53)) AS type, ${moment(sizes.alarms, endMs)} AS time, time AS creation_time, time AS last_updated,
    multiIf(number % 20 = 1, 'ACTIVE', number % 20 = 2, 'ACKNOWLEDGED', 'CLEARED') AS status,
    ['CRITICAL', 'MAJOR', 'MINOR', 'WARNING'][1 + number % 4] AS severity, 1 + number % 3 AS count, ['bench_Detail'] AS fragments,
    concat('{"source":{"id":"', toString(source), '"},"type":"', type, '","time":"', ${time('time')}, '","creationTime":"', ${time('time')},
      '","text":"The temperature of pump ', toString(number % 1000), ' is too high","severity":"', severity, '","status":"', status, '","count":',
      toString(count), ',"bench_Detail":{"value":', toString(number % 500), ',"limit":80}}') AS doc, ${tail}`,
});

const events: Statement = (sizes, endMs, tenant) => ({
  table: 'events',
  firstId: FIRST_EVENT,
  count: sizes.events,
  columns: 'tenant, id, source, type, time, creation_time, last_updated, fragments, doc, version, deleted, shard, seq',
  sql: `SELECT ${tenant} AS tenant, toUInt64(${FIRST_EVENT} + number) AS id, ${deviceOf(sizes.objects, 'event')} AS source,
    concat('c8y_Event', toString(number % 101)) AS type, ${moment(sizes.events, endMs)} AS time, time AS creation_time, time AS last_updated,
    if(number % 50 = 0, ['bench_Detail', 'c8y_Position'], ['bench_Detail']) AS fragments,
    concat('{"source":{"id":"', toString(source), '"},"type":"', type, '","time":"', ${time('time')}, '","creationTime":"', ${time('time')},
      '","text":"Door ', toString(number % 1000), ' was opened","bench_Detail":{"value":', toString(number % 500), ',"by":"badge ',
      toString(cityHash64(number) % 100000), '"}', if(number % 50 = 0, ',"c8y_Position":{"lat":1.5,"lng":2.5}', ''), '}') AS doc, ${tail}`,
});

const operations: Statement = (sizes, endMs, tenant) => ({
  table: 'operations',
  firstId: FIRST_OPERATION,
  count: sizes.others,
  columns: 'tenant, id, source, bulk, status, creation_time, fragments, doc, version, deleted, shard, seq',
  sql: `SELECT ${tenant} AS tenant, toUInt64(${FIRST_OPERATION} + number) AS id, ${deviceOf(sizes.objects, 'operation')} AS source,
    0 AS bulk, multiIf(number % 50 = 1, 'PENDING', number % 50 = 2, 'EXECUTING', number % 50 = 3, 'FAILED', 'SUCCESSFUL') AS status,
    ${moment(sizes.others, endMs)} AS creation_time, if(number % 3 = 0, ['c8y_Restart'], ['c8y_Firmware']) AS fragments,
    concat('{"deviceId":"', toString(source), '","status":"', status, '","creationTime":"', ${time('creation_time')},
      '","description":"Rollout ', toString(number % 100), '","', fragments[1], '":{"name":"fw","version":"1.', toString(number % 10), '"}}') AS doc, ${tail}`,
});

const audits: Statement = (sizes, endMs, tenant) => ({
  table: 'audits',
  firstId: FIRST_AUDIT,
  count: sizes.others,
  columns: 'tenant, id, source, type, time, creation_time, user, application, doc, version, deleted, shard, seq',
  sql: `SELECT ${tenant} AS tenant, toUInt64(${FIRST_AUDIT} + number) AS id, toString(${FIRST_ALARM} + cityHash64(number) % ${sizes.alarms}) AS source,
    ['Alarm', 'Operation', 'User', 'Inventory'][1 + number % 4] AS type, ${moment(sizes.others, endMs)} AS time, time AS creation_time,
    concat('user', toString(number % 17)) AS user, 'cockpit' AS application,
    concat('{"source":{"id":"', source, '"},"type":"', type, '","activity":"Changed","text":"Status: CLEARED","time":"', ${time('time')},
      '","creationTime":"', ${time('time')}, '","user":"', user, '","application":"cockpit","severity":"INFORMATION"}') AS doc, ${tail}`,
});

export interface Fill {
  readonly table: string;
  readonly firstId: number;
  readonly from: number;
  readonly rows: number;
  readonly sql: string;
}

/** INSERT statements, table by table. @param endMs the latest time of the data. */
export function* fillStatements(sizes: Sizes, endMs: number, tenant: number): Generator<Fill> {
  for (const make of [objects, alarms, events, operations, audits]) {
    const { table, firstId, count, columns, sql } = make(sizes, endMs, tenant);
    for (let from = 0; from < count; from += CHUNK) {
      const rows = Math.min(CHUNK, count - from);
      yield {
        table,
        firstId,
        from,
        rows,
        sql: `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM (${sql} FROM numbers(${from}, ${rows}))`,
      };
    }
  }
}
