/** MEASUREMENT records for tests of bindings. */
import { nextAt } from '../../../src/ingest/journal/record-layout.ts';
import {
  decodeMeasurement,
  type DecodedMeasurement,
  encodeMeasurement,
} from '../../../src/ingest/measurements/record.ts';

export interface TestMeasurement {
  readonly source?: number;
  readonly time?: number;
  readonly mode?: 0 | 1 | 2 | 3;
  readonly type?: string;
  readonly document?: string;
  /** `fragment.series` and its value. */
  readonly values?: Readonly<Record<string, number>>;
}

export const recordOf = ({
  source = 7,
  time = 1_000,
  mode = 0,
  type = 'oven',
  document = '',
  values = { 'oven.t': 1 },
}: TestMeasurement = {}): Buffer =>
  encodeMeasurement({
    tenant: 1,
    source,
    id: 1,
    time,
    mode,
    receivedAt: 5,
    type,
    document,
    values: Object.entries(values).map(([path, value]) => {
      const [fragment = '', series = ''] = path.split('.');
      return { fragment, series, value, unit: 'C' };
    }),
  });

/** The measurements of MEASUREMENT records that lie one behind the other. */
export function* measurementsOf(records: Uint8Array): Generator<DecodedMeasurement> {
  const bytes = Buffer.from(records.buffer, records.byteOffset, records.length);
  for (let at = 0; at < bytes.length; at = nextAt(bytes, at)) yield decodeMeasurement(bytes, at);
}
