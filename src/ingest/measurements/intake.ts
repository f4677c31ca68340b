/**
 * POST of measurements (docs/spec/measurements.md#endpoints): checks the whole body, then journals all of it in one
 * group or nothing.
 */
import { isUtf8 } from 'node:buffer';
import type { AvailabilityPort } from '../../ports/availability.ts';
import type { IdSource } from '../../ports/id-source.ts';
import { isDeviceUser } from '../../model/entities/device-request.ts';
import { PlatformError, limitText, refusedBy } from '../../model/errors.ts';
import { ANY } from '../../model/access/inventory-grant.ts';
import type { MeasurementBody } from '../../model/entities/measurement.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { GROUP_BYTES_MAX } from '../journal/group-commit.ts';
import type { AcknowledgementSink, RecordIntake } from '../journal/record-intake.ts';
import { MONTHS_LIMIT, monthsRefusal, type DistantMonths } from './distant-months.ts';
import { copyCompact, skipSpace } from './json-bytes.ts';
import { ScannedMeasurement, scanMeasurement } from './json.ts';
import { parseMeasurement, splitBody } from './parse.ts';
import { OFFSET_TEXTS, VALUE_HEADER_BYTES, nextAt } from '../journal/record-layout.ts';
import {
  decodeMeasurement,
  documentText,
  encodeMeasurement,
  formBytes,
  newMeasurementHead,
  writeMeasurementHead,
  writeValueHead,
} from './record.ts';
import type { Sources } from './sources.ts';

export interface PostedMeasurements {
  readonly collection: boolean;
  /**
   * Empty without `wantsBody`. `text` is the measurement without `id` and `self`; an empty `text` still gives the
   * Location.
   */
  readonly documents: readonly { readonly id: string; readonly text: string }[];
}
/** One body, and who is told. */
export interface MeasurementPost {
  /** JSON of one measurement or of `{"measurements": [...]}`; it may be changed after `done`. */
  readonly body: Buffer;
  readonly principal: Principal;
  readonly mode: ProcessingMode;
  readonly wantsBody: boolean;
  readonly form: MeasurementBody;
  /** Called exactly once, synchronously or later. */
  readonly done: (error: PlatformError | undefined, answer?: PostedMeasurements) => void;
  /** Told of the sources: a device has sent the body. */
  readonly heard: AvailabilityPort['heard'] | undefined;
}

const COLLECTION = Buffer.from('"measurements"');
const ADMIN_ROLE = 'ROLE_MEASUREMENT_ADMIN';
/** Records of one body before they go into the group; grows to the largest body and shrinks again. */
const SCRATCH_BYTES = 1_048_576;

/** What the documents have told about the sources of a body, when they do not answer at once. */
interface LookedUp {
  readonly missing: Set<number>;
  readonly rights: Map<number, readonly string[]>;
}

/** Waits for the group of one POST. */
class Post implements AcknowledgementSink {
  readonly #done: MeasurementPost['done'];
  readonly #answer: PostedMeasurements;
  #error: Error | undefined;

  constructor(done: MeasurementPost['done'], answer: PostedMeasurements) {
    this.#done = done;
    this.#answer = answer;
  }

  durable(): void {
    /* The whole body is acknowledged at once, below. */
  }
  failed(_token: number, error: Error): void {
    this.#error = error;
  }
  flushDurable(): void {
    if (this.#error instanceof PlatformError) this.#done(this.#error);
    else if (this.#error)
      this.#done(
        new PlatformError('general/busy', {
          limit: `the journal could not be written: ${limitText(this.#error.message)}`,
        }),
      );
    else this.#done(undefined, this.#answer);
  }
}

export class JsonMeasurementIntake {
  readonly #intake: RecordIntake;
  readonly #sources: Sources;
  readonly #distantMonths: DistantMonths;
  readonly #ids: IdSource;
  readonly #refusals: Refusals;
  readonly #now: () => number;
  readonly #scanned = new ScannedMeasurement();
  readonly #head = newMeasurementHead();
  #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  #view = new DataView(this.#scratch.buffer, this.#scratch.byteOffset, this.#scratch.length);
  #used = 0;
  #count = 0;
  /** What has to be fetched before the body can be encoded, by source, once each. */
  #fetching:
    | { readonly sources: Map<number, Promise<unknown>>; readonly rights: Map<number, Promise<readonly string[]>> }
    | undefined;
  #lookedUp: LookedUp | undefined;
  /** Whether the source that was checked last is the user's own. */
  #isOwn = false;
  /** Of the body that is being encoded; the source that was told last. */
  #heard: AvailabilityPort['heard'] | undefined;
  #heardSource = 0;

  constructor(options: {
    intake: RecordIntake;
    sources: Sources;
    distantMonths: DistantMonths;
    ids: IdSource;
    refusals: Refusals;
    now: () => number;
  }) {
    this.#intake = options.intake;
    this.#sources = options.sources;
    this.#distantMonths = options.distantMonths;
    this.#ids = options.ids;
    this.#refusals = options.refusals;
    this.#now = options.now;
  }

  /** Validates and journals a body, and answers once it is durable. */
  post(asked: MeasurementPost): void {
    this.#post(asked, undefined);
  }

  /** @param lookedUp what is known already, when this is not the first attempt. */
  #post(asked: MeasurementPost, lookedUp: LookedUp | undefined): void {
    const { mode, wantsBody, done } = asked;
    try {
      this.#lookedUp = lookedUp;
      this.#heard = asked.heard;
      this.#heardSource = 0;
      const limit = this.#intake.refusal;
      if (limit !== undefined) {
        this.#refusals.count(limit, { tenant: asked.principal.tenant, user: asked.principal.userName });
        throw refusedBy(limit);
      }
      const firstId = this.#ids.peek();
      const collection = this.#encode(asked);
      if (this.#fetching) {
        const looked: LookedUp = this.#lookedUp ?? { missing: new Set(), rights: new Map() };
        const { sources, rights } = this.#fetching;
        void Promise.all([
          ...Array.from(sources, async ([source, isOwn]) => {
            if ((await isOwn) === undefined) looked.missing.add(source);
          }),
          ...Array.from(rights, async ([source, may]) => {
            looked.rights.set(source, await may);
          }),
        ]).then(
          () => {
            this.#post(asked, looked);
          },
          (error: Error) => {
            done(new PlatformError('general/busy', { limit: `the documents do not answer: ${error.message}` }));
          },
        );
        return;
      }
      this.#requireMonths(asked.principal);
      const stored = isStored(mode);
      const documents = wantsBody
        ? this.#documents(stored)
        : collection
          ? []
          : [{ id: stored ? String(firstId) : '', text: '' }];
      this.#append(new Post(done, { collection, documents }));
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      done(error);
    }
  }

  /** @throws PlatformError `measurement/months`, `measurement/too-many-months`. */
  #requireMonths(principal: Principal): void {
    const waitMs = this.#distantMonths.waitMs(principal, [this.#scratch.subarray(0, this.#used)], this.#now());
    if (waitMs === 0) return;
    const error = monthsRefusal(waitMs);
    const { tenant, userName: user } = principal;
    this.#refusals.count(MONTHS_LIMIT, { tenant, user, reason: error.message });
    throw error;
  }

  /** Fills the scratch with the records of the body. @returns whether it is a collection. */
  #encode({ body, principal, mode, form }: MeasurementPost): boolean {
    this.#used = 0;
    this.#count = 0;
    this.#fetching = undefined;
    const head = this.#head;
    head.tenant = principal.tenantNumber;
    head.receivedAt = this.#now();
    head.mode = mode;
    const start = skipSpace(body, 0);
    if (!isUtf8(body)) throw new PlatformError('general/bad-json', { reason: 'it is not UTF-8' });
    if (form !== 'collection' && this.#scanOne(body, start, principal) === body.length) return false;
    if (form !== 'one' && this.#scanCollection(body, start, principal)) return true;
    this.#used = 0;
    this.#count = 0;
    return this.#parse(body, principal, mode, form);
  }

  /** @returns the index behind the measurement and the white space after it, or -1. */
  #scanOne(body: Buffer, start: number, principal: Principal): number {
    const end = scanMeasurement(body, start, this.#scanned);
    if (end < 0) return -1;
    this.#write(body, principal);
    return skipSpace(body, end);
  }

  #scanCollection(body: Buffer, start: number, principal: Principal): boolean {
    this.#used = 0;
    this.#count = 0;
    if (body[start] !== 0x7b) return false;
    let at = skipSpace(body, start + 1);
    if (body.compare(COLLECTION, 0, COLLECTION.length, at, Math.min(at + COLLECTION.length, body.length)) !== 0)
      return false;
    at = skipSpace(body, at + COLLECTION.length);
    if (body[at] !== 0x3a) return false;
    at = skipSpace(body, at + 1);
    if (body[at] !== 0x5b) return false;
    at = skipSpace(body, at + 1);
    for (;;) {
      at = this.#scanOne(body, at, principal);
      if (at < 0) return false;
      if (body[at] === 0x5d) break;
      if (body[at] !== 0x2c) return false;
      at = skipSpace(body, at + 1);
    }
    at = skipSpace(body, at + 1);
    return body[at] === 0x7d && skipSpace(body, at + 1) === body.length;
  }

  /** Encodes the scanned measurement: its record holds the document too where values and form do not give it back. */
  #write(body: Buffer, principal: Principal): void {
    const scanned = this.#scanned;
    const types = this.#checkSource(principal, scanned.source);
    if (types !== undefined) requireTypes(types, scannedNames(body, scanned));
    this.#hear(principal, scanned.source);
    const head = this.#head;
    const { texts, valueCount } = scanned;
    head.source = scanned.source;
    head.time = scanned.time;
    head.id = this.#ids.next();
    head.valueCount = valueCount;
    head.typeLength = scanned.typeEnd - scanned.typeStart;
    head.form = scanned.needsDocument ? 0 : scanned.layoutForm + scanned.timeForm + scanned.numberForm;
    head.documentLength = scanned.needsDocument
      ? this.#writeDocument(body, this.#used + OFFSET_TEXTS + head.typeLength)
      : 0;
    let length =
      OFFSET_TEXTS + head.typeLength + head.documentLength + valueCount * VALUE_HEADER_BYTES + formBytes(head.form);
    for (let index = 0; index < valueCount * 6; index += 2) length += texts[index + 1] - texts[index];
    this.#room(length);
    let at = writeMeasurementHead(this.#view, this.#used, length, head);
    at = copy(body, scanned.typeStart, scanned.typeEnd, this.#scratch, at) + head.documentLength;
    for (let value = 0; value < valueCount; value += 1) {
      const six = value * 6;
      at = writeValueHead(
        this.#view,
        at,
        scanned.values[value],
        texts[six + 1] - texts[six],
        texts[six + 3] - texts[six + 2],
        texts[six + 5] - texts[six + 4],
      );
      at = copy(body, texts[six], texts[six + 1], this.#scratch, at);
      at = copy(body, texts[six + 2], texts[six + 3], this.#scratch, at);
      at = copy(body, texts[six + 4], texts[six + 5], this.#scratch, at);
    }
    this.#used += length;
    this.#count += 1;
  }

  /** Copies the scanned document to `at`, compact: so it is kept and read. @returns its length. */
  #writeDocument(body: Buffer, at: number): number {
    const { start, end, hasSpace } = this.#scanned;
    this.#room(at - this.#used + end - start);
    return (
      (hasSpace ? copyCompact(body, start, end, this.#scratch, at) : copy(body, start, end, this.#scratch, at)) - at
    );
  }

  #parse(body: Buffer, principal: Principal, mode: ProcessingMode, form: MeasurementBody): boolean {
    const { collection, documents } = splitBody(body.toString('utf8'), form);
    const parsed = documents.map((document) => parseMeasurement(document));
    for (const measurement of parsed) {
      const types = this.#checkSource(principal, measurement.source);
      if (types !== undefined)
        requireTypes(types, { type: measurement.type, fragments: measurement.values.map(({ fragment }) => fragment) });
      this.#hear(principal, measurement.source);
      const record = encodeMeasurement({
        ...measurement,
        tenant: principal.tenantNumber,
        id: this.#ids.next(),
        receivedAt: this.#head.receivedAt,
        mode,
      });
      this.#room(record.length);
      record.copy(this.#scratch, this.#used);
      this.#used += record.length;
      this.#count += 1;
    }
    return collection;
  }

  /**
   * @returns types of permissions, one of which the measurement has to fit; undefined when it may be of any type, or
   * that is being looked up.
   * @throws PlatformError when the source is unknown or not the user's.
   */
  #checkSource(principal: Principal, source: number): readonly string[] | undefined {
    if (this.#fetching?.sources.has(source)) return undefined;
    const isOwn = this.#lookedUp?.missing.has(source)
      ? undefined
      : this.#sources.find(principal.tenantNumber, source, principal.userName);
    if (isOwn instanceof Promise) {
      (this.#fetching ??= newFetching()).sources.set(source, handled(isOwn));
      return undefined;
    }
    if (isOwn === undefined) throw new PlatformError('source/not-found', { area: 'measurement', id: source });
    this.#isOwn = isOwn;
    return principal.roles.has(ADMIN_ROLE) || isOwn ? undefined : this.#grantedTypes(principal, source);
  }

  /**
   * The measurement is taken, unless something has to be looked up first. A user that is neither a device user nor the
   * owner speaks for no device (docs/spec/availability.md#messages). Of a body of one device this tells once.
   */
  #hear(principal: Principal, source: number): void {
    if (this.#heard === undefined || source === this.#heardSource || this.#fetching !== undefined) return;
    this.#heardSource = source;
    if (!this.#isOwn && !isDeviceUser(principal.userName)) return;
    this.#heard(principal.tenantNumber, source, this.#head.receivedAt);
  }

  /** As `#checkSource`. @throws PlatformError when no inventory role lets the user write measurements of the source. */
  #grantedTypes(principal: Principal, source: number): readonly string[] | undefined {
    if (this.#fetching?.rights.has(source)) return undefined;
    const types = this.#lookedUp?.rights.get(source) ?? this.#sources.measurableTypes(principal, source);
    if (types instanceof Promise) {
      (this.#fetching ??= newFetching()).rights.set(source, handled(types));
      return undefined;
    }
    if (types.length === 0) throw new PlatformError('security/forbidden');
    return types.includes(ANY) ? undefined : types;
  }

  #room(bytes: number): void {
    if (this.#used + bytes <= this.#scratch.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#scratch.length * 2, this.#used + bytes));
    this.#scratch.copy(grown, 0, 0, this.#used);
    this.#scratch = grown;
    this.#view = new DataView(grown.buffer, grown.byteOffset, grown.length);
  }

  /** Answer's documents, read back from the records. */
  #documents(stored: boolean): PostedMeasurements['documents'] {
    const documents: { id: string; text: string }[] = [];
    for (let at = 0; at < this.#used; at = nextAt(this.#scratch, at)) {
      const measurement = decodeMeasurement(this.#scratch, at);
      documents.push({ id: stored ? String(measurement.id) : '', text: documentText(measurement) });
    }
    return documents;
  }

  #append(post: Post): void {
    const bytes = this.#used;
    if (this.#count === 0) {
      post.flushDurable();
      return;
    }
    this.#intake.appendAll(this.#scratch, bytes, this.#count, post, 0);
    if (this.#scratch.length > GROUP_BYTES_MAX) {
      this.#scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
      this.#view = new DataView(this.#scratch.buffer, this.#scratch.byteOffset, this.#scratch.length);
    }
  }
}

interface Names {
  readonly type: string;
  readonly fragments: readonly string[];
}

function scannedNames(body: Buffer, { typeStart, typeEnd, texts, valueCount }: ScannedMeasurement): Names {
  const fragments = Array.from({ length: valueCount }, (_, value) =>
    body.toString('utf8', texts[value * 6], texts[value * 6 + 1]),
  );
  return { type: body.toString('utf8', typeStart, typeEnd), fragments };
}

/**
 * A permission for a type is one for measurements of that type, or with values in fragments of that name alone: others
 * could be put beside it.
 */
function requireTypes(types: readonly string[], { type, fragments }: Names): void {
  const isAllowed =
    types.includes(type) || (fragments.length > 0 && fragments.every((fragment) => types.includes(fragment)));
  if (!isAllowed) throw new PlatformError('security/forbidden');
}

/** When the rest of the body is refused, the promise has no reader: its rejection must not end the process. */
function handled<Value>(promise: Promise<Value>): Promise<Value> {
  // A reader of the promise is told all the same.
  promise.catch(() => undefined);
  return promise;
}

const newFetching = () => ({
  sources: new Map<number, Promise<unknown>>(),
  rights: new Map<number, Promise<readonly string[]>>(),
});

/** Names are short: a loop beats the call into native code. @returns the index behind the copy. */
function copy(from: Buffer, start: number, end: number, to: Buffer, at: number): number {
  if (end - start > 64) return at + from.copy(to, at, start, end);
  let next = at;
  for (let index = start; index < end; index += 1, next += 1) to[next] = from[index];
  return next;
}
