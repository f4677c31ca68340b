/**
 * Batches: text that comes in pieces is cut into slices of whole records, which workers score at the same time; their
 * results come out in the order of the records. What waits is bounded: while results are not taken, nothing is read.
 */
import { refusalsOf, UNATTRIBUTED } from '../ports/refusals.ts';
import type { StoredModel } from '../model/entities/scoring/model.ts';
import { PlatformError } from '../model/errors.ts';
import { ContentError, ContentTooLong } from '../scoring-workers/content/byte-reader.ts';
import { unpacked, type Packing } from '../scoring-workers/content/unpacked.ts';
import type { BadRecordAnswer, DetailRules, RecordFormat } from '../scoring-workers/protocol.ts';
import { readHeader } from '../scoring-workers/records/input.ts';
import { DETAIL_COLUMNS, headerLine } from '../scoring-workers/records/output.ts';
import { BadRecord, headerEnd, RefusedRecord, slicerOf } from '../scoring-workers/records/slices.ts';
import type { Refusals } from '../ports/refusals.ts';
import type { Asker } from './asker.ts';
import { RECORD_BYTES_MAX, SCORING_LIMIT, UNPACKED_BYTES_MAX } from './limits.ts';
import type { ModelRuns } from './model-runs.ts';
import { type LedSlice, RecordsBefore } from './records-before.ts';

/** Of a slice: with more, one tenant's slice would hold up another one for long. */
const SLICE_BYTES_MAX = 1_048_576;
export const RECORDS_PER_THREAD_DEFAULT = 5_000;
/** Bytes that are looked at to see what the text is. */
const HEADER_BYTES_MAX = 4_194_304;

export interface BatchInput {
  readonly content: AsyncIterable<Uint8Array>;
  /** As the client calls it; '' for none. */
  readonly fileName: string;
}

export interface BatchOptions {
  /** Tasks at the same time. */
  readonly threadsMax: number;
  readonly recordsMax: number;
  /** Undefined: that of the input. */
  readonly output: RecordFormat | undefined;
  readonly detail?: { readonly matchScore: number };
  /** Faults of CSV are those of the file (docs/spec/scoring.md#groups), not of a record. */
  readonly isFileFault?: boolean;
  /** Names of the outputs in order: the columns of CSV. */
  readonly outputs: readonly string[];
  readonly version: string;
  /** Records that were scored, as they come. */
  readonly onScored?: (count: number) => void;
}

export interface Batch {
  readonly input: RecordFormat;
  readonly output: RecordFormat;
  readonly packing: Packing;
  /** To be iterated once. @throws PlatformError while it is read. */
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** @throws PlatformError 400 for what cannot be read as records. */
export async function openBatch(
  runs: ModelRuns,
  refusals: Refusals,
  asker: Asker,
  model: StoredModel,
  { content, fileName }: BatchInput,
  options: BatchOptions,
): Promise<Batch> {
  const counted = refusalsOf(refusals, asker);
  return named(counted, async () => {
    const rules = { bytesMax: UNPACKED_BYTES_MAX, version: options.version };
    const { packing, pieces, fileName: inner } = await unpacked(content, rules);
    const source = pieces[Symbol.asyncIterator]();
    const head = await readHead(source);
    if (head.bytes.length === 0) throw new PlatformError('scoring/empty-input');
    const input = formatOf(inner ?? fileName, head.bytes);
    if (options.detail !== undefined && input !== 'csv')
      throw new PlatformError('scoring/invalid-csv', { reason: 'the input is JSON' });
    const output = options.output ?? input;
    const { columns, lines } = input === 'csv' ? await headerOf(source, head) : { columns: [], lines: 0 };
    const work = { runs, asker, model, columns, headerLines: lines, input, output, options };
    const isFileFault = input === 'csv' && options.isFileFault === true;
    return { input, output, packing, pieces: watched(counted, results(work, rest(source, head)), isFileFault) };
  });
}

const BYTE_ORDER = '\ufeff';
const BYTE_ORDER_BYTES = Buffer.byteLength(BYTE_ORDER);

interface Head {
  bytes: Buffer;
  isWhole: boolean;
}

/** Bytes up to the first that is not blank, without a mark of the byte order. */
async function readHead(source: AsyncIterator<Uint8Array>): Promise<Head> {
  const head: Head = { bytes: Buffer.alloc(0), isWhole: false };
  while (!/[^\s\ufeff]/.test(head.bytes.toString('utf8')) && !head.isWhole) await readOn(source, head);
  if (head.bytes.toString('utf8', 0, BYTE_ORDER_BYTES) === BYTE_ORDER)
    head.bytes = head.bytes.subarray(BYTE_ORDER_BYTES);
  if (head.isWhole && head.bytes.toString('utf8').trim() === '') head.bytes = Buffer.alloc(0);
  return head;
}

async function readOn(source: AsyncIterator<Uint8Array>, head: Head): Promise<void> {
  const next = await source.next();
  if (next.done === true) head.isWhole = true;
  else head.bytes = Buffer.concat([head.bytes, next.value]);
  if (head.bytes.length > HEADER_BYTES_MAX)
    throw new PlatformError('scoring/invalid-content', {
      reason: `its first line has more than ${HEADER_BYTES_MAX} bytes`,
    });
}

function formatOf(fileName: string, head: Buffer): RecordFormat {
  const ending = /\.(csv|json)$/i.exec(fileName.replace(/\.(zip|gz)$/i, ''))?.[1]?.toLowerCase();
  if (ending !== undefined) return ending as RecordFormat;
  return /^[\s\ufeff]*[[{]/.test(head.toString('utf8', 0, 256)) ? 'json' : 'csv';
}

/** Names of the columns, and the lines that they take; the head is what stands behind them then. */
async function headerOf(
  source: AsyncIterator<Uint8Array>,
  head: Head,
): Promise<{ readonly columns: string[]; readonly lines: number }> {
  let end = headerEnd(head.bytes);
  while (end === -1 && !head.isWhole) {
    await readOn(source, head);
    end = headerEnd(head.bytes);
  }
  if (end === -1) end = head.bytes.length;
  const line = head.bytes.subarray(0, end);
  head.bytes = head.bytes.subarray(end);
  try {
    return { columns: readHeader(line), lines: lineEndsOf(line) };
  } catch (error) {
    if (error instanceof BadRecord) throw fileFault(error);
    throw error;
  }
}

const LINE_END = 0x0a;

function lineEndsOf(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_END); at !== -1; at = bytes.indexOf(LINE_END, at + 1)) count += 1;
  return count;
}

async function* rest(source: AsyncIterator<Uint8Array>, head: Head): AsyncGenerator<Uint8Array> {
  try {
    yield head.bytes;
    for (;;) {
      const next = await source.next();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await source.return?.();
  }
}

interface Work {
  readonly runs: ModelRuns;
  readonly asker: Asker;
  readonly model: StoredModel;
  readonly columns: readonly string[];
  readonly headerLines: number;
  readonly input: RecordFormat;
  readonly output: RecordFormat;
  readonly options: BatchOptions;
}

async function* results(work: Work, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { model, output, columns, options } = work;
  const { outputs } = options;
  if (output === 'json') yield Buffer.from(`{"model":${JSON.stringify(model.name)},"outputs":[`);
  else yield Buffer.from(headerLine(options.detail === undefined ? outputs : [...columns, ...DETAIL_COLUMNS]));
  let isFirst = true;
  for await (const piece of scored(work, slicesOf(work, content))) {
    if (output === 'json' && !isFirst) yield Buffer.from(',');
    isFirst = false;
    yield piece;
  }
  if (output === 'json') yield Buffer.from(']}');
}

/** Lines are those of the whole text: the slicer sees what stands behind the header. */
async function* slicesOf(
  { input, model: { name, lookBack = 0 }, headerLines, options }: Work,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<LedSlice> {
  const slicer = slicerOf(input, {
    // A slice has no more records in front than of its own.
    recordsMax: Math.max(options.recordsMax, lookBack),
    bytesMax: SLICE_BYTES_MAX,
    recordBytesMax: RECORD_BYTES_MAX,
    hasEnds: lookBack > 0,
  });
  const before = new RecordsBefore(input, { name, lookBack });
  for await (const piece of content) {
    for (const slice of slicer.write(piece)) yield before.lead(slice);
    if (slicer.bad !== undefined) throw moved(slicer.bad, 0, headerLines);
  }
  for (const slice of slicer.end()) yield before.lead(slice);
  if (slicer.bad !== undefined) throw moved(slicer.bad, 0, headerLines);
}

/** The same fault, told for the whole text: with the records and lines in front. */
function moved(bad: BadRecord, records: number, lines: number): BadRecord {
  const { record, message, place } = bad;
  const Fault = bad instanceof RefusedRecord ? RefusedRecord : BadRecord;
  return new Fault(record + records, message, place && { ...place, line: place.line + lines });
}

const badRecordOf = ({ record, reason, isRefused, place }: BadRecordAnswer): BadRecord =>
  isRefused ? new RefusedRecord(record, reason, place) : new BadRecord(record, reason, place);

/** The first one, which stays until it is there: one that fails is the first that fails. */
async function nextOf(running: Promise<Uint8Array>[]): Promise<Uint8Array> {
  const [first] = running;
  const result = await first;
  running.shift();
  return result;
}

/** Results of slices in their order, some scored at the same time. */
async function* scored(work: Work, slices: AsyncIterable<LedSlice>): AsyncGenerator<Uint8Array> {
  const { asker, options } = work;
  const running: Promise<Uint8Array>[] = [];
  const rooms = new SliceRooms();
  let first = 1;
  try {
    for await (const slice of slices) {
      asker.signal?.throwIfAborted();
      const result = scoreSlice(work, rooms, slice, first);
      // Awaited below, in its turn.
      result.catch(() => undefined);
      running.push(result);
      first += slice.count;
      if (running.length >= options.threadsMax) yield await nextOf(running);
    }
    while (running.length > 0) yield await nextOf(running);
  } catch (error) {
    // The first record that is wrong is told, whichever slice was read first.
    for (const result of running) await result;
    throw error;
  }
}

/** Memory that threads share, for the slices of one batch in turn: one that is sent is copied again, into new memory. */
class SliceRooms {
  readonly #spare: Uint8Array[] = [];

  copyOf(bytes: Uint8Array): Uint8Array {
    let room = this.#spare.pop();
    if (room === undefined || room.length < bytes.length)
      room = new Uint8Array(new SharedArrayBuffer(2 ** Math.ceil(Math.log2(bytes.length))));
    room.set(bytes);
    return room.subarray(0, bytes.length);
  }

  /** @param copy is not read any more. */
  giveBack(copy: Uint8Array): void {
    this.#spare.push(new Uint8Array(copy.buffer));
  }
}

/** @param first number of its first record. */
async function scoreSlice(
  work: Work,
  rooms: SliceRooms,
  { bytes, count, line, before }: LedSlice,
  first: number,
): Promise<Uint8Array> {
  const { runs, asker, model, columns, headerLines, input: format, output, options } = work;
  const input = rooms.copyOf(bytes);
  const detail: DetailRules | undefined =
    options.detail === undefined
      ? undefined
      : { expected: options.outputs[0] ?? '', matchScore: options.detail.matchScore };
  const answer = await runs.run(asker, model, {
    kind: 'batch',
    input,
    format,
    columns,
    output,
    outputs: options.outputs,
    before,
    ...(detail === undefined ? {} : { detail }),
  });
  rooms.giveBack(input);
  if (answer.kind === 'bad-record') throw moved(badRecordOf(answer), first - 1 - before, headerLines + line - 1);
  if (answer.kind !== 'batch') throw new Error(`a scoring worker answered with ${answer.kind}`);
  options.onScored?.(count);
  return answer.output;
}

/** Errors of contents and records as the client is told them. */
function told(refusals: Refusals, error: unknown, isFileFault = false): unknown {
  if (error instanceof BadRecord) {
    if (isFileFault && !(error instanceof RefusedRecord)) return fileFault(error);
    return new PlatformError('scoring/bad-record', { record: error.record, reason: reasonOf(error) });
  }
  if (error instanceof ContentTooLong) {
    refusals.count(SCORING_LIMIT.UNPACKED, UNATTRIBUTED);
    return new PlatformError('scoring/too-many-bytes', { limit: SCORING_LIMIT.UNPACKED, maximum: error.limitBytes });
  }
  if (error instanceof ContentError) return new PlatformError('scoring/invalid-content', { reason: error.message });
  return error;
}

/** With the line of the whole text, and the position in it, as public clients know them. */
const reasonOf = ({ message, place }: BadRecord): string =>
  place === undefined
    ? message
    : `${message} (line ${place.line}${place.position === undefined ? '' : `, position ${place.position}`})`;

function fileFault(error: BadRecord): PlatformError {
  // A record that is wrong as a whole is told by its number, too.
  const isOfRecord = error.record > 0 && error.place?.position === undefined;
  const reason = `${isOfRecord ? `record ${error.record}: ` : ''}${reasonOf(error)}`;
  return new PlatformError('scoring/invalid-csv', { reason });
}

async function named<Result>(refusals: Refusals, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw told(refusals, error);
  }
}

async function* watched(
  refusals: Refusals,
  pieces: AsyncIterable<Uint8Array>,
  isFileFault: boolean,
): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
  } catch (error) {
    throw told(refusals, error, isFileFault);
  }
}
