/**
 * The hot path of SmartREST over MQTT: one measurement row of a PUBLISH, from the socket's chunk into the open group.
 */
import type { AcknowledgementSink, RecordIntake } from '../../ingest/journal/record-intake.ts';
import { OFFSET_TEXTS, TYPE_IS_FRAGMENT, VALUE_HEADER_BYTES } from '../../ingest/journal/record-layout.ts';
import { isDistant } from '../../ingest/measurements/distant-months.ts';
import { newMeasurementHead, writeMeasurementHead, writeValueHead } from '../../ingest/measurements/record.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { PublishedMessage } from '../wire/published-message.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import type { CustomRoute } from './custom-route.ts';
import { BUILT_IN, MeasurementRow, SCAN_RESULT, scanMeasurementRow } from '../../smartrest/rows/measurement-rows.ts';

/** What `publishMeasurement` did. */
export const OFFERED = {
  /** In the open group. */
  TAKEN: 0,
  /** The group is full. */
  FULL: 1,
  /** Not a single plain measurement row: for the general path. */
  OTHER: 2,
} as const;
export type Offered = (typeof OFFERED)[keyof typeof OFFERED];

const builtIn = BUILT_IN.map(({ fragment, series, unit }) => {
  const texts = [Buffer.from(fragment), Buffer.from(series), Buffer.from(unit)] as const;
  return {
    fragmentLength: texts[0].length,
    seriesLength: texts[1].length,
    unitLength: texts[2].length,
    bytes: Buffer.concat(texts),
  };
});

/** The connection of a device: what it sends is the device's, and it is acknowledged there. */
export interface MeasuringDevice extends AcknowledgementSink {
  readonly tenantNumber: number;
  readonly source: number;
}

export class MeasurementPublisher {
  readonly #intake: RecordIntake;
  readonly #ids: IdSource;
  readonly #row = new MeasurementRow();
  readonly #head = newMeasurementHead();

  constructor(intake: RecordIntake, ids: IdSource) {
    this.#intake = intake;
    this.#ids = ids;
    this.#head.valueCount = 1;
    this.#head.typeLength = TYPE_IS_FRAGMENT;
  }

  /**
   * Takes the payload of `message` when it is one plain row of 200, 210, 211 or 212 with one value.
   * @param device told with the packet id when the measurement is durable. @param now received at, ms.
   */
  publish(message: PublishedMessage, device: MeasuringDevice, mode: ProcessingMode, now: number): Offered {
    const { chunk, payloadStart, payloadEnd, packetId } = message;
    const row = this.#row;
    if (
      scanMeasurementRow(chunk, payloadStart, payloadEnd, row) !== SCAN_RESULT.MEASUREMENT ||
      row.count !== 1 ||
      row.template === 201
    )
      return OFFERED.OTHER;
    const value = row.values[0];
    // Of a month whose number is bounded (ingest/measurements/distant-months.ts).
    if (isDistant(row.time, now)) return OFFERED.OTHER;
    // More rows, or an integer whose digits a double does not hold.
    if (row.next < payloadEnd || value.value > Number.MAX_SAFE_INTEGER || value.value < Number.MIN_SAFE_INTEGER)
      return OFFERED.OTHER;
    const names = value.builtIn < 0 ? undefined : builtIn[value.builtIn];
    const fragmentLength = names ? names.fragmentLength : value.fragmentEnd - value.fragmentStart;
    const seriesLength = names ? names.seriesLength : value.seriesEnd - value.seriesStart;
    const unitLength = names ? names.unitLength : value.unitEnd - value.unitStart;
    const length = OFFSET_TEXTS + VALUE_HEADER_BYTES + fragmentLength + seriesLength + unitLength;
    const offset = this.#begin(length, device, mode, row.time, now);
    if (offset < 0) return OFFERED.FULL;
    const { view, buffer } = this.#intake;
    let at = writeMeasurementHead(view, offset, length, this.#head);
    at = writeValueHead(view, at, value.value, fragmentLength, seriesLength, unitLength);
    if (names) {
      copy(names.bytes, 0, names.bytes.length, buffer, at);
    } else {
      at = copy(chunk, value.fragmentStart, value.fragmentEnd, buffer, at);
      at = copy(chunk, value.seriesStart, value.seriesEnd, buffer, at);
      copy(chunk, value.unitStart, value.unitEnd, buffer, at);
    }
    this.#intake.append(length, device, packetId);
    return OFFERED.TAKEN;
  }

  /** The same of one plain row of a custom template that measures one series. */
  publishCustom(
    message: PublishedMessage,
    device: MeasuringDevice,
    { rows, mode }: Pick<CustomRoute, 'rows' | 'mode'>,
    now: number,
  ): Offered {
    const { chunk, payloadStart, payloadEnd, packetId } = message;
    if (!rows.read(chunk, payloadStart, payloadEnd) || isDistant(rows.time, now)) return OFFERED.OTHER;
    const { value, time, bytes } = rows;
    if (value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER) return OFFERED.OTHER;
    const { typeLength, fragmentLength, seriesLength, unitLength, type, texts } = bytes;
    const length = OFFSET_TEXTS + typeLength + VALUE_HEADER_BYTES + texts.length;
    const offset = this.#begin(length, device, mode, time, now);
    if (offset < 0) return OFFERED.FULL;
    const head = this.#head;
    head.typeLength = typeLength === 0 ? TYPE_IS_FRAGMENT : typeLength;
    const { view, buffer } = this.#intake;
    let at = writeMeasurementHead(view, offset, length, head);
    head.typeLength = TYPE_IS_FRAGMENT;
    at = copy(type, 0, typeLength, buffer, at);
    at = writeValueHead(view, at, value, fragmentLength, seriesLength, unitLength);
    copy(texts, 0, texts.length, buffer, at);
    this.#intake.append(length, device, packetId);
    return OFFERED.TAKEN;
  }

  /** Has the head of the next record. @param time NaN: now. @returns where it goes; below 0 when the group is full. */
  #begin(length: number, device: MeasuringDevice, mode: ProcessingMode, time: number, now: number): number {
    const offset = this.#intake.reserve(length, device.tenantNumber, device.source);
    if (offset < 0) return offset;
    const head = this.#head;
    head.tenant = device.tenantNumber;
    head.source = device.source;
    head.receivedAt = now;
    head.mode = mode;
    head.id = this.#ids.next();
    // NaN alone differs from itself.
    head.time = time === time ? time : now;
    return offset;
  }
}

/** Names are short: a loop beats the call into native code. @returns the index behind the copy. */
function copy(from: Buffer, start: number, end: number, to: Buffer, at: number): number {
  let next = at;
  for (let index = start; index < end; index += 1, next += 1) to[next] = from[index];
  return next;
}
