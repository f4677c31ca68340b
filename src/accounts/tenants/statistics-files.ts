/**
 * Files with the usage of all tenants (docs/spec/statistics.md#files): REAL ones, made once a month of the month
 * before, and TEST ones of any days, on request. A file is a record of the whole server and content in the
 * blobs; the newest are kept.
 */
import { UNATTRIBUTED } from '../../ports/refusals.ts';
import type { Blobs } from '../../ports/blobs.ts';
import { BlobTooLarge } from '../../ports/blobs.ts';
import { BackgroundLoop } from '../../pacing/background-loop.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { Tenants } from './tenants.ts';
import { isAnyUsage } from '../../history/usage.ts';
import type { DayRange } from '../../history/usage.ts';
import { usageReport } from './usage-report.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';
import { changeRecords, isChangedMeanwhile, tryChange } from '../../records/records.ts';

export const STATISTICS_FILES = 'statisticsFile';
/** Files of each type that are kept; the oldest goes. */
export const TEST_FILES_MAX = 50;
export const REAL_FILES_MAX = 120;
/** More than there can be, but for what is made at the same time. */
const LIST_MAX = 2 * (TEST_FILES_MAX + REAL_FILES_MAX);
/** Of one file: about 200 bytes for each tenant and day. */
const FILE_BYTES_MAX = 256 * 1_048_576;
const FILE_BYTES_LIMIT = 'statistics/file-bytes';
/** Files that are made or wait to be. */
export const WAITING_MAX = 10;
export const WAITING_LIMIT = 'statistics/files-waiting';
/** Between two looks whether a month is over. */
const LOOK_MS = 3_600_000;
/** What was counted on other nodes at the end of a month is written down by then. */
const MONTH_OVER_MS = 600_000;

export interface StoredStatisticsFile {
  readonly id: string;
  readonly type: 'REAL' | 'TEST';
  /** ISO 8601, the first moment of the first day. */
  readonly dateFrom: string;
  /** Of the last day. */
  readonly dateTo: string;
  readonly generationDate: string;
  /** Key in the blobs. */
  readonly blob: string;
  readonly bytes: number;
}

export interface StatisticsFilesOptions {
  readonly documents: DocumentReader;
  readonly commands: CommandPort;
  readonly history: HistoryReader;
  readonly blobs: Blobs;
  readonly ids: Pick<IdSource, 'nextInOrder'>;
  readonly tenants: Pick<Tenants, 'byNumber'>;
  /** Writes down what was counted until now, on all nodes. */
  readonly flush: () => Promise<void>;
  /** Whether this process makes the files of months. */
  readonly isMine: () => boolean;
  readonly refusals: Refusals;
  readonly log: Log;
  /** ms since 1970. */
  readonly now: () => number;
}

/** Of the month before `now`: its first and last day. */
export function monthBefore(now: number): DayRange {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  return { from: day(Date.UTC(year, month - 1, 1)), to: day(Date.UTC(year, month, 0)) };
}

const realId = ({ from }: DayRange): string => `real-${from.slice(0, 7)}`;

/** Keys of content that a record names: for the sweep. */
export const statisticsFileBlobs = (value: string): string[] => [(JSON.parse(value) as StoredStatisticsFile).blob];

export class StatisticsFiles {
  readonly #options: StatisticsFilesOptions;
  readonly #loop = new BackgroundLoop();
  #making: Promise<void> = Promise.resolve();
  #waitingCount = 0;

  constructor(options: StatisticsFilesOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop.repeat(
      LOOK_MS,
      () => this.step(),
      (error) => {
        this.#options.log.warn({ err: error, retryMs: LOOK_MS }, 'the statistics file of a month could not be made');
      },
    );
  }

  /** Resolves when nothing is under way any more. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** All, the newest first. */
  async list(): Promise<StoredStatisticsFile[]> {
    const rows = await this.#options.documents.list(STATISTICS_FILES, SERVER_WIDE, '', { limit: LIST_MAX });
    const files = rows.map(({ value }) => JSON.parse(value) as StoredStatisticsFile);
    return files.sort((a, b) =>
      a.generationDate === b.generationDate ? 0 : a.generationDate < b.generationDate ? 1 : -1,
    );
  }

  async get(id: string): Promise<StoredStatisticsFile | undefined> {
    const value = await this.#options.documents.get(STATISTICS_FILES, SERVER_WIDE, id);
    return value === undefined ? undefined : (JSON.parse(value) as StoredStatisticsFile);
  }

  /** The REAL file of a month, `YYYY-MM`. */
  ofMonth(month: string): Promise<StoredStatisticsFile | undefined> {
    return this.get(`real-${month}`);
  }

  /** The content. @throws PlatformError `statistics/file-not-found` when the file has gone meanwhile. */
  async read({ id, blob }: StoredStatisticsFile): Promise<AsyncIterable<Uint8Array>> {
    const content = await this.#options.blobs.read(blob);
    if (content === undefined) throw new PlatformError('statistics/file-not-found', { id });
    return content;
  }

  /** Makes a file of these days. @throws PlatformError `statistics/file-too-large`, `statistics/busy`. */
  async createTest(range: DayRange, audit: AuditEntry): Promise<StoredStatisticsFile> {
    return this.#create('TEST', String(await this.#options.ids.nextInOrder()), range, [audit]);
  }

  /** Makes the file of the month that is over, when there was any use and it is not there. */
  async step(): Promise<void> {
    const { now, history, isMine, log } = this.#options;
    if (!isMine()) return;
    const range = monthBefore(now() - MONTH_OVER_MS);
    if ((await this.get(realId(range))) !== undefined || !(await isAnyUsage(history, range))) return;
    try {
      const { id, bytes } = await this.#create('REAL', realId(range), range, []);
      log.info({ id, bytes, ...range }, 'the statistics file of a month was made');
    } catch (error) {
      // Another node was faster.
      if (!isChangedMeanwhile(error)) throw error;
    }
  }

  /** One after the other: each reads the usage of all tenants. */
  async #create(
    type: StoredStatisticsFile['type'],
    id: string,
    range: DayRange,
    audits: readonly AuditEntry[],
  ): Promise<StoredStatisticsFile> {
    if (this.#waitingCount >= WAITING_MAX) {
      this.#options.refusals.count(WAITING_LIMIT, UNATTRIBUTED);
      throw new PlatformError('statistics/busy', { limit: WAITING_LIMIT, maximum: WAITING_MAX });
    }
    this.#waitingCount += 1;
    const made = this.#making.then(() => this.#make(type, id, range, audits));
    this.#making = made.then(
      () => undefined,
      () => undefined,
    );
    try {
      return await made;
    } finally {
      this.#waitingCount -= 1;
    }
  }

  async #make(
    type: StoredStatisticsFile['type'],
    id: string,
    range: DayRange,
    audits: readonly AuditEntry[],
  ): Promise<StoredStatisticsFile> {
    const { blobs, flush, now } = this.#options;
    await flush();
    const { key, bytes } = await this.#write(range);
    const file: StoredStatisticsFile = {
      id,
      type,
      dateFrom: `${range.from}T00:00:00.000Z`,
      dateTo: `${range.to}T23:59:59.999Z`,
      generationDate: formatTime(now()),
      blob: key,
      bytes,
    };
    try {
      await changeRecords(
        this.#options,
        SERVER_WIDE,
        [{ collection: STATISTICS_FILES, id, expected: undefined, value: JSON.stringify(file) }],
        audits,
      );
    } catch (error) {
      // Without an answer it may have been written all the same: then the sweep decides.
      if (error instanceof PlatformError && error.status < 500) await blobs.remove(key);
      throw error;
    }
    await this.#removeOldest(type);
    return file;
  }

  async #write(range: DayRange): Promise<{ key: string; bytes: number }> {
    const { history, tenants, blobs, refusals } = this.#options;
    try {
      return await blobs.put(
        usageReport(history, range, (number) => tenants.byNumber(number)),
        FILE_BYTES_MAX,
      );
    } catch (error) {
      if (!(error instanceof BlobTooLarge)) throw error;
      refusals.count(FILE_BYTES_LIMIT, UNATTRIBUTED);
      throw new PlatformError('statistics/file-too-large', { limit: FILE_BYTES_LIMIT, maximum: FILE_BYTES_MAX });
    }
  }

  /** Those above the bound. What a crash leaves goes with the next file. */
  async #removeOldest(type: StoredStatisticsFile['type']): Promise<void> {
    const files = (await this.list()).filter((file) => file.type === type);
    for (const file of files.slice(type === 'REAL' ? REAL_FILES_MAX : TEST_FILES_MAX)) {
      // False: another request, which made a file at the same time, was faster.
      await tryChange(this.#options, SERVER_WIDE, [
        { collection: STATISTICS_FILES, id: file.id, expected: JSON.stringify(file), value: undefined },
      ]);
      await this.#options.blobs.remove(file.blob);
    }
  }
}
