/**
 * Predictions on their way in: measurements, events and alarms of the devices whose values were scored, through the
 * intake that takes those of the devices too (docs/spec/scoring.md#bindings).
 */
import { LRUCache } from 'lru-cache';
import { recordList, stampRecords, withoutSources } from '../../ingest/measurements/record-list.ts';
import type { AcknowledgementSink, RecordIntake } from '../../ingest/journal/record-intake.ts';
import type { Sources } from '../../ingest/measurements/sources.ts';
import type { Command } from '../../model/commands/command.ts';
import { COMMAND, type CommandKind } from '../../model/commands/kinds.ts';
import { applicableMode, isAlarmStored, type ProcessingMode } from '../../model/commands/processing-mode.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { splitMembers } from '../../model/documents/json-document.ts';
import { newAlarm } from '../../model/entities/alarm.ts';
import { newEvent } from '../../model/entities/event.ts';
import type { AlarmOutput, BindingOutput } from '../../model/entities/scoring/binding.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { MARK, type Measured, type OutputValue } from '../../scoring-workers/measurements/plan.ts';
import type { Mark } from './mark.ts';

/** Devices whose last value, or whose alarm, is remembered; of others it is looked up, or told once more. */
const REMEMBERED_MAX = 200_000;
/** Characters of a value in a text. */
const VALUE_CHARACTERS_MAX = 200;

export interface DeliveryOptions {
  readonly intake: Pick<RecordIntake, 'refusal' | 'appendAll'>;
  readonly ids: Pick<IdSource, 'next' | 'nextBeside'>;
  readonly sources: Pick<Sources, 'find'>;
  readonly documents: Pick<DocumentReader, 'get'>;
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
  readonly #values = new LRUCache<string, string>({ max: REMEMBERED_MAX });
  readonly #raised = new LRUCache<string, boolean>({ max: REMEMBERED_MAX });

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the records are handed over, and events and alarms are stored; `durable` when the records are.
   * @throws PlatformError 503 while writes are refused; what the store says of an event or alarm
   */
  async deliver(sender: Sender, measured: Measured, mark: Mark): Promise<{ readonly durable: Promise<void> }> {
    const durable = await this.#append(sender.tenant, measured.records);
    await this.#tell(sender, measured, mark);
    return durable;
  }

  /** A device that was deleted meanwhile gets none. */
  async #append(tenant: number, records: Uint8Array): Promise<{ readonly durable: Promise<void> }> {
    const { intake, refusals, ids, sources, now } = this.#options;
    const all = recordList(Buffer.from(records.buffer, records.byteOffset, records.length));
    const gone = new Set<number>();
    for (const source of all.sources) {
      const known = sources.find(tenant, source);
      if ((known instanceof Promise ? await known : known) === undefined) gone.add(source);
    }
    const list = gone.size === 0 ? all : withoutSources(all, gone);
    if (list.count === 0) return { durable: Promise.resolve() };
    const limit = intake.refusal;
    if (limit !== undefined) {
      refusals.count(limit);
      throw refusedBy(limit);
    }
    stampRecords(list, () => ids.next(), now());
    const appended = new Appended();
    intake.appendAll(list.bytes, list.bytes.length, list.count, appended, 0);
    return { durable: appended.done };
  }

  /** In the order of the measurements, so that the last one decides about the alarm of its device. */
  async #tell(sender: Sender, { told }: Measured, mark: Mark): Promise<void> {
    const { event, alarm } = sender.output;
    const under: Promise<unknown>[] = [];
    for (const [index, source] of told.sources.entries()) {
      const about = { source, time: told.times[index] as number, mode: told.modes[index] as ProcessingMode, mark };
      const ofEvent = told.events[index];
      if (event !== undefined && ofEvent !== undefined && ofEvent !== null)
        under.push(...this.#event(sender, { ...about, value: ofEvent }));
      const ofAlarm = told.alarms[index];
      if (alarm !== undefined && ofAlarm !== undefined && ofAlarm !== null)
        under.push(...(await this.#alarm(sender, alarm, { ...about, value: ofAlarm })));
    }
    const failed = (await Promise.allSettled(under)).find(
      (one) => one.status === 'rejected' && !isOfDeletedDevice(one.reason),
    );
    if (failed?.status === 'rejected') throw failed.reason;
  }

  #event(sender: Sender, told: Told): Promise<unknown>[] {
    const { output, generation, tenant } = sender;
    const { event } = output;
    if (event === undefined) return [];
    const { source, value } = told;
    const key = `${generation}/${source}`;
    const text = String(value);
    if (!event.isForEach && this.#values.get(key) === text) return [];
    this.#values.set(key, text);
    const { source: id, ...created } = newEvent(splitMembers(bodyOf(event, told)));
    const body = { id: this.#idBeside(tenant, source), ...created };
    return [this.#request(sender, COMMAND.EVENT_CREATE, { ...told, source: Number(id) }, body)];
  }

  /** Only when it is raised or cleared: a command for each measurement would count the same alarm again and again. */
  async #alarm(sender: Sender, alarm: AlarmOutput, told: Told): Promise<Promise<unknown>[]> {
    const { generation, tenant, user } = sender;
    const { source, mode, value } = told;
    const isRaised = raises(alarm, value);
    if (isRaised === undefined) return [];
    const key = `${generation}/${source}`;
    let was = this.#raised.get(key);
    if (was === undefined) {
      const open = this.#options.documents.get('openAlarm', tenant, `${source}\n${alarm.type}`);
      was = (open instanceof Promise ? await open : open) !== undefined;
    }
    this.#raised.set(key, isRaised);
    if (isRaised === was) return [];
    if (!isRaised) {
      // An alarm that is not stored is not open either.
      if (!isAlarmStored(applicableMode(COMMAND.ALARM_OF_TYPE_UPDATE, mode))) return [];
      const body = { type: alarm.type, doc: '{"status":"CLEARED"}', user };
      return [this.#request(sender, COMMAND.ALARM_OF_TYPE_UPDATE, told, body)];
    }
    const { source: id, ...created } = newAlarm(splitMembers(bodyOf(alarm, told)));
    const body = { id: this.#idBeside(tenant, source), ...created, user };
    return [this.#request(sender, COMMAND.ALARM_CREATE, { ...told, source: Number(id) }, body)];
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

/** The device, or the alarm that is to be cleared, was deleted meanwhile. */
const isOfDeletedDevice = (error: unknown): boolean =>
  error instanceof PlatformError && (error.code === 'source/not-found' || error.code === 'alarm/not-found');

/** @returns undefined: the alarm stays as it is */
export function raises({ above, clearBelow, equals }: AlarmOutput, value: OutputValue): boolean | undefined {
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
  return JSON.stringify({
    type,
    time: formatTime(time),
    source: { id: String(source) },
    text: text.replaceAll('{value}', () => shown),
    ...(severity === undefined ? {} : { severity }),
    [MARK]: { ...mark, value },
  });
}
