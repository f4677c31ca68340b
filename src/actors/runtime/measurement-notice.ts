/** Measurements on the live bus and on their way to topics: they have no actor that would tell of them. */
import { keyAt, modeAt, tenantAt } from '../../ingest/journal/record-layout.ts';
import { decodeMeasurement, entityText, isWholeMeasurement } from '../../ingest/measurements/record.ts';
import { isNotified, isStored } from '../../model/commands/processing-mode.ts';
import type { LiveBus, Notification } from '../../ports/live-bus.ts';
import type { Forwarder } from './forwarder.ts';

/** What a row may name a fragment, too. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'self', 'source', 'time', 'type']);

/** Tells the subscribers of the measurement at `at` of the records, if there are any. */
export function notifyMeasurement(bus: LiveBus, records: Buffer, at: number): void {
  if (!bus.hasSubscribers(tenantAt(records, at), 'measurements')) return;
  const notification = measurementNotice(records, at);
  if (notification !== undefined) bus.publish(notification);
}

/** @returns what goes to topics of the measurement at `at`, undefined when none wants it. */
export function forwardedMeasurement(forwarder: Forwarder, records: Buffer, at: number): Notification | undefined {
  if (!forwarder.wantsMeasurements(tenantAt(records, at), keyAt(records, at))) return undefined;
  return measurementNotice(records, at);
}

/** @returns undefined for one of which subscribers are not told. It does not need the records any more. */
function measurementNotice(records: Buffer, at: number): Notification | undefined {
  const mode = modeAt(records, at);
  if (!isNotified(mode)) return undefined;
  // Subscribers are not told of a damaged one; the projector sets it aside.
  if (!isWholeMeasurement(new DataView(records.buffer, records.byteOffset, records.length), at)) return undefined;
  const measurement = decodeMeasurement(records, at);
  let text: string | undefined;
  return {
    tenant: measurement.tenant,
    area: 'measurements',
    source: String(measurement.source),
    action: 'CREATE',
    isUnstored: !isStored(mode),
    type: measurement.type,
    isCanonical: measurement.document === '' && !measurement.values.some(({ fragment }) => OWN_MEMBERS.has(fragment)),
    text: () => (text ??= entityText(measurement)),
  };
}
