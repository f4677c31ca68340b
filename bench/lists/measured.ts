/** Measurements of a few devices over a month, as the statements of the scenario `recent` find them. */
import { withStores } from './fill.ts';

export const MEASURED_DEVICES = 28;
export const MEASURED_FIRST = 1_000_000_001;
/** Time between two measurements of a device. */
export const MEASURED_STEP_MS = 10_000;
const FIRST_MEASUREMENT = 2_000_000_000;
/** Rows of one insert, as the projector makes them. */
const CHUNK = 50_000;

/** The rows of a tenant: devices in turn, the last of them at `endMs`. */
export function measuredRows(tenant: number, count: number, endMs: number, from: number, rows: number): string {
  const beginMs = endMs - Math.ceil(count / MEASURED_DEVICES) * MEASURED_STEP_MS;
  return `SELECT ${tenant} AS tenant, toUInt64(${MEASURED_FIRST} + number % ${MEASURED_DEVICES}) AS source,
    fromUnixTimestamp64Milli(toInt64(${beginMs} + ${MEASURED_STEP_MS} * (1 + intDiv(number, ${MEASURED_DEVICES}))), 'UTC') AS time,
    toUInt64(${FIRST_MEASUREMENT} + number) AS id, toUInt16(0) AS part, 'c8y_Temperature' AS type, 'c8y_Temperature' AS fragment, 'T' AS series,
    round(20 + cityHash64(number) % 1000 / 100, 2) AS value, 'C' AS unit, '' AS doc, 0 AS shard, 1 AS seq, 0 AS form
    FROM numbers(${from}, ${Math.min(rows, count - from)})`;
}

/** Straight into the stores of a server that is stopped. @param count of all devices together. */
export function fillMeasured(
  data: string,
  count: number,
  endMs: number,
  progress: (text: string) => void,
): Promise<void> {
  return withStores(data, async ({ clickHouse, lmdb, tenant }) => {
    const time = new Date(endMs).toISOString();
    await lmdb.documents.batch(() => {
      for (let index = 0; index < MEASURED_DEVICES; index++) {
        const members = {
          creationTime: time,
          lastUpdated: time,
          type: 'c8y_Bench',
          name: `Measured ${index}`,
          c8y_IsDevice: {},
        };
        void lmdb.documents.put(`M${tenant}/${MEASURED_FIRST + index}`, JSON.stringify(members));
      }
    });
    for (let from = 0; from < count; from += CHUNK) {
      if (from % 1_000_000 === 0) progress(`recent: ${from} measurements stored`);
      await clickHouse.command(`INSERT INTO measurements (tenant, source, time, id, part, type, fragment, series, value, unit, doc, shard, seq, form)
        ${measuredRows(tenant, count, endMs, from, CHUNK)}`);
    }
  });
}
