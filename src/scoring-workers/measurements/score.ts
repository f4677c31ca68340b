/** Scores measurements as the journal has them. */
import { decodeMeasurement, type DecodedMeasurement } from '../../ingest/measurements/record.ts';
import { nextAt } from '../../ingest/journal/record-layout.ts';
import type { OutputRecord, ScoringModel } from '../pmml/engine.ts';
import { Collector } from './collector.ts';
import { InputReader } from './input-reader.ts';
import type { Measured, Plan } from './plan.ts';

/** The measurements of MEASUREMENT records that lie one behind the other; all of them are whole. */
export function* measurementsOf(records: Uint8Array): Generator<DecodedMeasurement> {
  const bytes = Buffer.from(records.buffer, records.byteOffset, records.length);
  for (let at = 0; at < bytes.length; at = nextAt(bytes, at)) yield decodeMeasurement(bytes, at);
}

/** @param scored is called after each record: the model's last prediction is that of it */
export function scoreMeasurements(
  model: Pick<ScoringModel, 'begin' | 'apply'>,
  records: Uint8Array,
  plan: Plan,
  scored: (output: OutputRecord) => void,
): Measured {
  const reader = new InputReader(plan);
  const collector = new Collector(plan);
  for (const measurement of measurementsOf(records)) {
    const input = reader.read(measurement);
    if (input === undefined) {
      collector.addIncomplete();
      continue;
    }
    // Each measurement is a series of its own: the one before it may be of another device.
    model.begin();
    const output = model.apply(input);
    scored(output);
    collector.add(measurement, output);
  }
  return collector.measured;
}
