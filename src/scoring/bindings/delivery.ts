/**
 * Predictions on their way in: measurements, events and alarms of the devices whose values were scored, through the
 * intake that takes those of the devices too (docs/spec/scoring.md#bindings).
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { upTo } from '../../pacing/lru-bound.ts';
import {
  piecesOf,
  recordList,
  stampRecords,
  withoutSources,
  type RecordList,
} from '../../ingest/measurements/record-list.ts';
import type { AcknowledgementSink, RecordIntake } from '../../ingest/journal/record-intake.ts';
import type { Sources } from '../../ingest/measurements/sources.ts';
import type { Command } from '../../model/commands/command.ts';
import { COMMAND, type CommandKind } from '../../model/commands/kinds.ts';
import {
  applicableMode,
  isAlarmStored,
  isStoredAs,
  type ProcessingMode,
} from '../../model/commands/processing-mode.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { splitMembers } from '../../model/documents/json-document.ts';
import { newAlarm } from '../../model/entities/alarm.ts';
import { newEvent } from '../../model/entities/event.ts';
import type { AlarmOutput, BindingOutput, EventOutput } from '../../model/entities/scoring/binding.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { MARK, type Measured, type OutputValue, TEXT_CHARACTERS_MAX } from '../../scoring-workers/measurements/plan.ts';
import { SCORING_LIMIT } from '../limits.ts';
import type { Mark } from './mark.ts';

/** Devices whose last value, or whose alarm, is remembered; of others it is looked up, or told once more. */
const REMEMBERED_MAX = 200_000;
/** Characters of a value in a text. */
const VALUE_CHARACTERS_MAX = 200;
/** Records that are appended at once: an open group of the journal has room for them. */
const PIECE_BYTES_MAX = 1_048_576;

export interface DeliveryOptions {
  readonly intake: Pick<RecordIntake, 'refusal' | 'appendAll'>;
  readonly ids: Pick<IdSource, 'next' | 'nextBeside'>;
  readonly sources: Pick<Sources, 'find'>;
  readonly documents: Pick<DocumentReader, 'get'>;
  /** Another number once the device was on another node, which may have raised or cleared its alarm. */
  readonly termOf: (tenant: number, source: number) => number;
  readonly commands: { request(command: Command): Promise<unknown> };
  readonly refusals: Refusals;
  readonly now: () => number;
}

/** Whose predictions they are. */
export interface Sender {
  readonly tenant: number;
  /** Another one for each version of a binding: what is remembered belongs to it. */
  readonly generation: number;
  readonly user: string;
  readonly output: BindingOutput;
}

export interface Delivered {
  readonly durable: Promise<void>;
  /** Of an event or alarm. */
  readonly failure: Error | undefined;
}

/** What one value is about. */
interface Told {
  readonly source: number;
  readonly time: number;
  readonly mode: ProcessingMode;
  readonly value: OutputValue;
  readonly mark: Mark;
}

/** Waits for the group of the predictions of one task. */
class Appended implements AcknowledgementSink {
  readonly done: Promise<void>;
  #settle: (error: Error | undefined) => void = () => undefined;
  #error: Error | undefined;

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === undefined ? resolve() : reject(error));
    });
    // A rejection has a reader later: it must not end the process meanwhile.
    this.done.catch(() => undefined);
  }

  durable(): void {
    /* All of them at once, below. */
  }
  failed(_token: number, error: Error): void {
    this.#error = error;
  }
  flushDurable(): void {
    this.#settle(this.#error);
  }
}

export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #values = new LRUCache<string, string>(upTo(REMEMBERED_MAX));
  readonly #raised = new LRUCache<string, boolean>(upTo(REMEMBERED_MAX));

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the records are handed over, and events and alarms are stored or refused; `durable` when the records
   * are stored. @returns with `failure`, what the store says of an event or alarm where there are records beside it
   * @throws PlatformError 503 while writes are refused; what the store says of an event or alarm without records
   */
  async deliver(sender: Sender, measured: Measured, mark: Mark): Promise<Delivered> {
    for (let left = measured.tooLarge; left > 0; left -= 1)
      this.#options.refusals.count(SCORING_LIMIT.BINDING_PREDICTIONS, { tenant: sender.tenant });
    const { durable } = await this.#append(sender.tenant, measured.records);
    try {
      await this.#tell(sender, measured, mark);
    } catch (error) {
      if (measured.records.length === 0) throw error;
      return { durable, failure: error as Error };
    }
    return { durable, failure: undefined };
  }

  /** A device that was deleted meanwhile gets none. Each piece follows when the one before it is durable. */
  async #append(tenant: number, records: Uint8Array): Promise<{ readonly durable: Promise<void> }> {
    const { sources } = this.#options;
    const all = recordList(Buffer.from(records.buffer, records.byteOffset, records.length));
    const gone = new Set<number>();
    for (const source of all.sources) {
      const found = sources.find(tenant, source, '');
      if ((found instanceof Promise ? await found : found) === undefined) gone.add(source);
    }
    const list = gone.size === 0 ? all : withoutSources(all, gone);
    let durable = Promise.resolve();
    for (const piece of piecesOf(list, PIECE_BYTES_MAX)) {
      await durable;
      durable = this.#appendPiece(tenant, piece);
    }
    return { durable };
  }

  #appendPiece(tenant: number, list: RecordList): Promise<void> {
    const { intake, refusals, ids, now } = this.#options;
    const limit = intake.refusal;
    if (limit !== undefined) {
      refusals.count(limit, { tenant });
      throw refusedBy(limit);
    }
    stampRecords(list, () => ids.next(), now());
    const appended = new Appended();
    intake.appendAll(list.bytes, list.bytes.length, list.count, appended, 0);
    return appended.done;
  }

  /** In the order of the measurements, so that the last one decides about the alarm of its device. */
  async #tell(sender: Sender, { told }: Measured, mark: Mark): Promise<void> {
    const { event, alarm } = sender.output;
    const under: Promise<unknown>[] = [];
    for (const [index, source] of told.sources.entries()) {
      const about = { source, time: told.times[index] as number, mode: told.modes[index] as ProcessingMode, mark };
      const ofEvent = told.events[index];
      if (event !== undefined && ofEvent !== undefined && ofEvent !== null)
        under.push(this.#event(sender, event, { ...about, value: ofEvent }));
      const ofAlarm = told.alarms[index];
      if (alarm !== undefined && ofAlarm !== undefined && ofAlarm !== null)
        under.push((await this.#alarm(sender, alarm, { ...about, value: ofAlarm })).done);
    }
    const failed = (await Promise.all(under)).find((error) => error !== undefined && !isOfDeletedDevice(error));
    if (failed !== undefined) throw failed;
  }

  /** Resolves with the error, if any. */
  #event(sender: Sender, event: EventOutput, told: Told): Promise<unknown> {
    const { tenant } = sender;
    const { source, mode, value } = told;
    const key = this.#keyOf(sender, source, isStoredAs(COMMAND.EVENT_CREATE, mode));
    const text = shortText(String(value));
    if (!event.isForEach && this.#values.get(key) === text) return NOTHING;
    const { source: id, ...created } = newEvent(splitMembers(bodyOf(event, told)));
    const body = { id: this.#idBeside(tenant, source), ...created };
    const stored = this.#request(sender, COMMAND.EVENT_CREATE, { ...told, source: Number(id) }, body);
    return remembered(this.#values, key, text, stored);
  }

  /**
   * Only when it is raised or cleared: a command for each measurement would count the same alarm again and again. What is
   * not stored is remembered apart: it neither raises nor clears the alarm that is.
   * @returns what resolves with the error, if any, in an object since it is not awaited here
   */
  async #alarm(sender: Sender, alarm: AlarmOutput, told: Told): Promise<{ readonly done: Promise<unknown> }> {
    const { tenant, user } = sender;
    const { source, mode, value } = told;
    const isRaised = raises(alarm, value);
    if (isRaised === undefined) return { done: NOTHING };
    const kind = isRaised ? COMMAND.ALARM_CREATE : COMMAND.ALARM_OF_TYPE_UPDATE;
    const isKept = isAlarmStored(applicableMode(kind, mode));
    const key = this.#keyOf(sender, source, isKept);
    let was = this.#raised.get(key);
    if (was === undefined) {
      const open = isKept && this.#options.documents.get('openAlarm', tenant, `${source}\n${alarm.type}`);
      was = isKept && (open instanceof Promise ? await open : open) !== undefined;
    }
    if (isRaised === was || (!isRaised && !isKept)) {
      this.#raised.set(key, isRaised);
      return { done: NOTHING };
    }
    if (!isRaised) {
      const body = { type: alarm.type, doc: '{"status":"CLEARED"}', user };
      return { done: remembered(this.#raised, key, isRaised, this.#request(sender, kind, told, body)) };
    }
    const { source: id, ...created } = newAlarm(splitMembers(bodyOf(alarm, told)));
    const body = { id: this.#idBeside(tenant, source), ...created, user };
    const stored = this.#request(sender, kind, { ...told, source: Number(id) }, body);
    return { done: remembered(this.#raised, key, isRaised, stored) };
  }

  #keyOf({ tenant, generation }: Sender, source: number, isKept: boolean): string {
    return `${generation}/${this.#options.termOf(tenant, source)}/${source}${isKept ? '' : '/live'}`;
  }

  #idBeside(tenant: number, source: number): string {
    return String(this.#options.ids.nextBeside(tenant, source));
  }

  #request({ tenant }: Sender, kind: CommandKind, { source, mode }: Told, body: object): Promise<unknown> {
    const { commands, now } = this.#options;
    const command = { kind, tenant, key: source, mode: applicableMode(kind, mode), receivedAt: now(), body };
    return commands.request(command as Command);
  }
}

const NOTHING = Promise.resolve();

/** Of a long text a hash: many devices are remembered. */
const shortText = (text: string): string =>
  text.length <= VALUE_CHARACTERS_MAX ? text : createHash('sha256').update(text).digest('base64');

/**
 * Remembers a value at once, for the measurements behind it, and forgets it when it is not stored: the next measurement
 * tells it again. @returns the error, if any; never rejects
 */
function remembered<Value extends string | boolean>(
  values: LRUCache<string, Value>,
  key: string,
  value: Value,
  stored: Promise<unknown>,
): Promise<unknown> {
  values.set(key, value);
  return stored.then(
    () => undefined,
    (error: unknown) => {
      if (values.get(key) === value) values.delete(key);
      return error;
    },
  );
}

/** The device, or the alarm that is to be cleared, was deleted meanwhile. */
const isOfDeletedDevice = (error: unknown): boolean =>
  error instanceof PlatformError && (error.code === 'source/not-found' || error.code === 'alarm/not-found');

/** @returns undefined: the alarm stays as it is */
function raises({ above, clearBelow, equals }: AlarmOutput, value: OutputValue): boolean | undefined {
  if (equals !== undefined) return String(value) === equals;
  if (typeof value !== 'number' || above === undefined) return undefined;
  if (value > above) return true;
  return value < (clearBelow ?? above) ? false : undefined;
}

/** Of an event or alarm: what the binding says, and which model found which value. */
function bodyOf(
  { type, text, severity }: { readonly type: string; readonly text: string; readonly severity?: string },
  { source, time, value, mark }: Told,
): string {
  const shown = String(value).slice(0, VALUE_CHARACTERS_MAX);
  const marked = typeof value === 'string' ? value.slice(0, TEXT_CHARACTERS_MAX) : value;
  return JSON.stringify({
    type,
    time: formatTime(time),
    source: { id: String(source) },
    text: text.replaceAll('{value}', () => shown),
    ...(severity === undefined ? {} : { severity }),
    [MARK]: { ...mark, value: marked },
  });
}
