/** Measurements on the live bus: they have no actor that would tell of them. */
import { modeAt, tenantAt } from '../../ingest/journal/record-layout.ts';
import { decodeMeasurement, entityText, isWholeMeasurement } from '../../ingest/measurements/record.ts';
import { isNotified, isStored } from '../../model/commands/processing-mode.ts';
import type { LiveBus } from '../../ports/live-bus.ts';

/** Tells the subscribers of the measurement at `at` of the records, if there are any. */
export function notifyMeasurement(bus: LiveBus, records: Buffer, at: number): void {
  const tenant = tenantAt(records, at);
  const mode = modeAt(records, at);
  if (!bus.hasSubscribers(tenant, 'measurements') || !isNotified(mode)) return;
  // Subscribers are not told of a damaged one; the projector sets it aside.
  if (!isWholeMeasurement(new DataView(records.buffer, records.byteOffset, records.length), at)) return;
  const measurement = decodeMeasurement(records, at);
  let text: string | undefined;
  bus.publish({
    tenant,
    area: 'measurements',
    source: String(measurement.source),
    action: 'CREATE',
    isUnstored: !isStored(mode),
    text: () => (text ??= entityText(measurement)),
  });
}
