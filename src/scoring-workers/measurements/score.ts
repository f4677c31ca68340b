/** Scores measurements as the journal has them. */
import { nextAt } from '../../ingest/journal/record-layout.ts';
import type { OutputRecord, ScoringModel } from '../pmml/engine.ts';
import { Collector } from './collector.ts';
import { InputReader } from './input-reader.ts';
import type { MeasuredInRoom, Plan } from './plan.ts';

/**
 * @param scored is called after each record: the model's last prediction is that of it
 * @param room see PredictionWriter
 */
export function scoreMeasurements(
  model: Pick<ScoringModel, 'begin' | 'apply'>,
  records: Uint8Array,
  plan: Plan,
  scored: (output: OutputRecord) => void,
  room?: Uint8Array,
): MeasuredInRoom {
  const bytes = Buffer.from(records.buffer, records.byteOffset, records.length);
  const reader = new InputReader(plan);
  const collector = new Collector(plan, room);
  for (let at = 0; at < bytes.length; at = nextAt(bytes, at)) {
    const input = reader.read(bytes, at);
    if (input === undefined) {
      collector.addIncomplete();
      continue;
    }
    // Each measurement is a series of its own: the one before it may be of another device.
    model.begin();
    const output = model.apply(input);
    scored(output);
    collector.add(bytes, at, output);
  }
  return collector.measured();
}
