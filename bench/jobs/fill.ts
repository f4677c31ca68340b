/** Writes a day of measurements of many devices in one group straight into the stores of a server that is stopped. */
import { withStores } from '../lists/fill.ts';

export const DEVICES = 10_000;
/** Of each series of a device: one every five minutes. */
export const VALUES_OF_SERIES = 288;
export const SERIES = ['temperature', 'pressure', 'speed', 'current', 'vibration'] as const;
const FRAGMENT = 'bench_Machine';
export const GROUP = 1_000_000_000;
const FIRST_DEVICE = GROUP + 1;
const FIRST_MEASUREMENT = 2_000_000_000;
/** Devices of one statement: 1.44 million rows. */
const CHUNK = 1_000;

const predictors = SERIES.map((name, i) => `<NumericPredictor name="${name}" coefficient="${0.3 - i * 0.1}"/>`).join(
  '',
);
/** A logistic regression of the five series. */
export const MODEL = {
  name: 'bench',
  document: `<PMML version="4.4"><Header/><DataDictionary>${SERIES.map((name) => `<DataField name="${name}" optype="continuous" dataType="double"/>`).join('')}
<DataField name="state" optype="categorical" dataType="string"><Value value="good"/><Value value="bad"/></DataField></DataDictionary>
<RegressionModel modelName="bench" functionName="classification" normalizationMethod="logit"><MiningSchema><MiningField name="state" usageType="target"/>
${SERIES.map((name) => `<MiningField name="${name}"/>`).join('')}</MiningSchema><Output><OutputField name="p" optype="continuous" dataType="double" feature="probability" value="bad"/></Output>
<RegressionTable targetCategory="bad" intercept="-1">${predictors}</RegressionTable><RegressionTable targetCategory="good"/></RegressionModel></PMML>`,
} as const;

/** @param beginMs time of the first values, ms since 1970. */
export function fillDay(
  data: string,
  beginMs: number,
  periodMs: number,
  progress: (text: string) => void,
): Promise<void> {
  return withStores(data, async ({ clickHouse, lmdb, tenant }) => {
    const object = (id: number, members: object): void =>
      void lmdb.documents.put(
        `M${tenant}/${id}`,
        JSON.stringify({ creationTime: time, lastUpdated: time, ...members }),
      );
    const time = new Date(beginMs).toISOString();
    await lmdb.documents.batch(() => {
      object(GROUP, { type: 'c8y_DeviceGroup', name: 'Bench', c8y_IsDeviceGroup: {} });
      for (let id = FIRST_DEVICE; id < FIRST_DEVICE + DEVICES; id++) {
        object(id, { type: 'c8y_Bench', name: `Machine ${id}`, c8y_IsDevice: {} });
        void lmdb.documents.put(`P${tenant}/${id}\nchildAssets\n${GROUP}`, '');
        void lmdb.documents.put(`C${tenant}/${GROUP}\nchildAssets\n${id}`, '');
      }
    });
    const perDevice = VALUES_OF_SERIES * SERIES.length;
    const names = SERIES.map((name) => `'${name}'`).join();
    for (let from = 0; from < DEVICES; from += CHUNK) {
      progress(`scoring-job: values of ${from + CHUNK} devices`);
      await clickHouse.command(`INSERT INTO measurements (tenant, source, time, id, part, type, fragment, series, value, unit, doc, shard, seq, form)
        SELECT ${tenant}, toUInt64(${FIRST_DEVICE} + intDiv(number, ${perDevice})),
          fromUnixTimestamp64Milli(toInt64(${beginMs} + ${periodMs} * intDiv(number % ${perDevice}, ${SERIES.length})), 'UTC'),
          toUInt64(${FIRST_MEASUREMENT} + intDiv(number, ${SERIES.length})), toUInt16(number % ${SERIES.length}), '${FRAGMENT}', '${FRAGMENT}',
          [${names}][1 + number % ${SERIES.length}], round(cityHash64(number) % 10000 / 1000 - 5, 3), '', '', 0, 1, 0
        FROM numbers(${from * perDevice}, ${CHUNK * perDevice})`);
    }
  });
}
