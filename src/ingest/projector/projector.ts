/**
 * The projector (design 4): turns what the journal and the actors hold into rows and inserts them in large batches.
 * Follows the groups live; where the history store is slower or away it lags and reads the journal again later, so
 * memory stays bounded by two blocks of rows. Measurements are inserted exactly once, by intent and deduplication
 * token; rows of mutable tables at least once, which their version makes the same. What the store refuses goes into the
 * quarantine (block-insert.ts).
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { DataDelete } from '../../model/commands/deletion.ts';
import type { Log } from '../../ports/log.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import { BlockInsert, GivenUp } from './block-insert.ts';
import { readableCommand } from '../journal/command-record.ts';
import type { JournalCommand } from '../journal/command-record.ts';
import { DamagedMeasurements } from '../measurements/damaged.ts';
import { LateDeletions, isOfOneMeasurement } from './late-deletions.ts';
import { groupByTable } from './history-insert.ts';
import type { HistoryRow, HistoryWriter } from '../../ports/stores/history-writer.ts';
import { isConcerned } from './history-query.ts';
import type { HistoryQuery } from '../../ports/history-reader.ts';
import type { Journal } from '../../ports/stores/journal.ts';
import { MeasurementColumns } from '../measurements/columns.ts';
import { isWholeMeasurement } from '../measurements/record.ts';
import { kindAt, modeAt, nextAt, rowCountAt } from '../journal/record-layout.ts';
import type { InsertIntent, ProjectorProgress } from './progress.ts';
import type { Quarantine } from '../../ports/stores/quarantine.ts';

/** Rows of mutable tables in one block; more make the block full. */
const MUTABLE_ROWS_MAX = 20_000;
/**
 * A block that has this many rows after the interval waits on, up to HOLD_FACTOR intervals in all: an insert costs the
 * engine 8 ms whatever is in it, and a merge later. 3.1 µs a row for inserts of 10,000, 1.3 for those of 50,000
 * (2026-11-21).
 */
const HELD_ROWS_MIN = 2_000;
/**
 * As HELD_ROWS_MIN, of rows of mutable tables: one alarm has rows in three tables, which are three inserts. A query does
 * not wait for the interval.
 */
const HELD_MUTABLE_ROWS_MIN = 100;
const HOLD_FACTOR = 2.5;
/** Of batches of the journal that need no new memory. */
const ROOM_BYTES = 4 * 1_048_576;

export interface ProjectorOptions {
  readonly journal: Journal;
  readonly history: HistoryWriter;
  readonly progress: ProjectorProgress;
  /** Takes what the history store refuses for what it is. */
  readonly quarantine: Pick<Quarantine, 'has' | 'add'>;
  readonly rowsMax: number;
  /** Of the inserts while little comes; see HOLD_FACTOR. */
  readonly intervalMs: number;
  readonly log: Log;
  /**
   * Carries out a DELETE once everything before it is in the history store, or sees to it that it will be. Repeatable.
   */
  readonly runDeletion: (command: JournalCommand) => Promise<void>;
  /** Told of each new position: the journal may be trimmed. */
  readonly onPosition: (position: number) => void;
  readonly onInserted: (table: string, rows: number) => void;
  /** See BlockInsertOptions. */
  readonly uncertainTries?: number;
  /** See HistoryInsertOptions. */
  readonly isPaused?: () => boolean;
}

/** One block being filled or inserted. */
class Block {
  readonly columns: MeasurementColumns;
  rows: HistoryRow[] = [];
  readonly damaged = new DamagedMeasurements();
  firstSeq = 0;
  lastSeq = 0;
  /** A DELETE that ends the block: nothing behind it may be inserted before it is done. */
  deletion: JournalCommand | undefined;
  /** What is deleted behind the rows. */
  readonly late = new LateDeletions();
  /** Tables whose rows are inserted. */
  readonly done = new Set<string>();

  /** @param monthsMax of one that is built again: any number, it was a block before. */
  constructor(rowsMax: number, monthsMax?: number) {
    this.columns = new MeasurementColumns(rowsMax, monthsMax);
  }

  /** Whether it has rows of one of the tables that are not inserted yet, or a DELETE of what the query reads. */
  holds(query: HistoryQuery): boolean {
    if (this.deletion !== undefined && isConcerned(query, this.deletion)) return true;
    if (this.late.concerns(query)) return true;
    return query.tables.some(
      (table) =>
        !this.done.has(table) &&
        (table === 'measurements' ? this.columns.holds(query.source) : this.rows.some((row) => row.table === table)),
    );
  }

  get isFull(): boolean {
    return (
      this.deletion !== undefined ||
      this.columns.isFull ||
      this.rows.length >= MUTABLE_ROWS_MAX ||
      this.damaged.isFull ||
      this.late.isFull
    );
  }
  get isEmpty(): boolean {
    return this.lastSeq === 0;
  }

  clear(): void {
    this.columns.clear();
    this.rows = [];
    this.damaged.clear();
    this.firstSeq = 0;
    this.lastSeq = 0;
    this.deletion = undefined;
    this.late.clear();
    this.done.clear();
  }
}

interface Waiter {
  readonly askedSeq: number;
  /** Beyond `askedSeq` when a DELETE up to there has sent commands. */
  seq: number;
  readonly query: HistoryQuery | undefined;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class Projector {
  /** Everything up to this sequence is in the history store. */
  position = 0;
  isLagging = false;
  readonly #options: ProjectorOptions;
  readonly #insert: BlockInsert;
  #filling: Block;
  #spare: Block;
  #underWay: Block | undefined;
  /** For the batch that is read while it lags: new memory for each made V8 collect the whole heap. */
  #room: Buffer | undefined;
  #consumedSeq = 0;
  /** What the actors have handled: nothing behind it is read, its rows are not decided yet. */
  #offeredSeq = 0;
  /** Sequence up to which a query waits for visibility. */
  #wantedSeq = 0;
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  /** The block being filled has had its interval and waits on. */
  #isHeld = false;
  /** Its time was over while the one before it was still being inserted. */
  #isDue = false;
  #stopping = false;
  #running: Promise<void> | undefined;
  #wake: (() => void) | undefined;

  constructor(options: ProjectorOptions) {
    this.#options = options;
    this.#insert = new BlockInsert(options);
    this.#filling = new Block(options.rowsMax);
    this.#spare = new Block(options.rowsMax);
  }

  /**
   * Loads the position and begins. An unfinished block is built again first. What is in the journal must have been
   * handled; `offer` follows.
   */
  async start(): Promise<void> {
    const { position, intent } = await this.#options.progress.load();
    this.position = position;
    this.#consumedSeq = position;
    this.#offeredSeq = this.#options.journal.lastSeq;
    this.isLagging = this.#options.journal.lastSeq > position;
    this.#startInterval();
    this.#running = this.#run(intent);
  }

  /**
   * Takes a group that the actors have handled. Follows live if nothing is missing in between, else the journal is read
   * later.
   * @param rows what the actors decided for mutable tables; in the outbox as well.
   */
  offer(firstSeq: number, lastSeq: number, records: Buffer, rows: readonly HistoryRow[]): void {
    this.#offeredSeq = lastSeq;
    if (this.isLagging || firstSeq !== this.#consumedSeq + 1) {
      this.isLagging = true;
    } else {
      this.#consume(firstSeq, records);
      // Rows behind a full block or a deletion come from the outbox, with their records.
      for (const row of rows) if (row.seq <= this.#consumedSeq) this.#filling.rows.push(row);
      if (this.#consumedSeq < lastSeq) this.isLagging = true;
    }
    if (this.#filling.isFull || this.#wantedSeq > this.position) this.#kick();
  }

  /**
   * Resolves when everything up to `seq` can be queried. Flushes coalesce. Rejects when the history store is away for
   * `timeoutMs`.
   * @param query what is read: rows of other tables or sources are not waited for. Everything when absent.
   */
  visible(seq: number, timeoutMs: number, query?: HistoryQuery): Promise<void> {
    if (!this.#isPending(seq, query)) return Promise.resolve();
    this.#wantedSeq = Math.max(this.#wantedSeq, seq);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => waiter.reject(new Error(this.lastError ?? `not visible within ${timeoutMs} ms`)),
        timeoutMs,
      );
      const end = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        askedSeq: seq,
        seq,
        query,
        resolve: () => {
          end();
          resolve();
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      this.#waiters.add(waiter);
      this.#kick();
    });
  }

  /** Whether rows of the tables up to `seq` are still to be inserted. */
  #isPending(seq: number, query: HistoryQuery | undefined): boolean {
    if (seq <= this.position) return false;
    if (query === undefined || this.isLagging) return true;
    return this.#filling.holds(query) || (this.#underWay?.holds(query) ?? false);
  }

  #release(): void {
    for (const waiter of [...this.#waiters]) if (!this.#isPending(waiter.seq, waiter.query)) waiter.resolve();
  }

  /** Ends after the block under way; what is not inserted comes from the journal at the next start. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#insert.isStopping = true;
    clearTimeout(this.#timer);
    this.#kick();
    await this.#running;
    for (const waiter of [...this.#waiters]) waiter.reject(new Error('the server stops'));
  }

  /** Adds records to the block until it is full. Moves `#consumedSeq`. */
  #consume(firstSeq: number, records: Buffer, through = Number.POSITIVE_INFINITY): void {
    const block = this.#filling;
    const view = new DataView(records.buffer, records.byteOffset, records.length);
    let seq = firstSeq;
    for (let at = 0; at < records.length; at = nextAt(records, at), seq += 1) {
      if (seq > this.#consumedSeq) {
        if (block.isFull || seq > through) return;
        const kind = kindAt(records, at);
        if (kind === COMMAND.MEASUREMENT) {
          if (isStored(modeAt(records, at)) && !block.columns.add(records, view, at, seq))
            block.damaged.add(records, at, seq);
        } else if (kind === COMMAND.DATA_DELETE) {
          const command = readableCommand(records, at, seq);
          if (command !== undefined && isOfOneMeasurement(command)) block.late.add(command);
          else block.deletion = command;
        } else if (kind === COMMAND.SOURCE_DELETE) {
          const command = readableCommand(records, at, seq);
          if (command !== undefined) block.late.add(command);
        }
        if (block.firstSeq === 0) block.firstSeq = seq;
        block.lastSeq = seq;
        this.#consumedSeq = seq;
      }
    }
  }

  /** From now on the block being filled has its interval. */
  #startInterval(): void {
    clearTimeout(this.#timer);
    this.#isHeld = false;
    if (!this.#stopping) this.#timer = setTimeout(this.#endInterval, this.#options.intervalMs);
  }

  readonly #endInterval = (): void => {
    const { columns, rows } = this.#filling;
    const isLarge = columns.rowCount >= HELD_ROWS_MIN || rows.length >= HELD_MUTABLE_ROWS_MIN;
    if (!this.#isHeld && !this.isLagging && isLarge) {
      this.#isHeld = true;
      this.#timer = setTimeout(this.#endInterval, this.#options.intervalMs * (HOLD_FACTOR - 1));
      return;
    }
    this.#isDue = !this.#filling.isEmpty;
    this.#kick();
    this.#startInterval();
  };

  #kick(): void {
    this.#wake?.();
  }

  async #run(intent: InsertIntent | undefined): Promise<void> {
    if (intent && intent.lastSeq > this.position) await this.#repeat(intent);
    while (!this.#stopping) {
      if (this.isLagging) await this.#catchUp();
      if (this.#filling.isEmpty || this.#stopping) {
        await this.#waitForKick();
        continue;
      }
      await this.#insertBlock();
      if (!this.#filling.isFull && !this.#isDue && this.#wantedSeq <= this.position && !this.isLagging)
        await this.#waitForKick();
    }
  }

  async #waitForKick(): Promise<void> {
    // A listener of the new position may have stopped the projector before this line was reached.
    if (this.#stopping) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }

  /**
   * Builds the block that was under way when the process ended, from the same records, and inserts it with the same
   * token.
   */
  async #repeat(intent: InsertIntent): Promise<void> {
    this.#consumedSeq = intent.firstSeq - 1;
    // Whatever the bounds are now: the block had room for all of it.
    this.#filling = new Block(await this.#rowsOf(intent), Number.POSITIVE_INFINITY);
    while (this.#consumedSeq < intent.lastSeq && !this.#stopping) {
      const batch = await this.#options.journal.read(this.#consumedSeq + 1);
      if (!batch) throw new Error(`journal ends before ${intent.lastSeq}, which a begun insert needs`);
      this.#consume(batch.firstSeq, batch.records, intent.lastSeq);
    }
    // Part of the block would be another block, with rows that may be there already: the next start repeats it.
    if (this.#consumedSeq < intent.lastSeq) return;
    this.#filling.rows.push(...(await this.#options.progress.outbox(this.position, intent.lastSeq)));
    await this.#insertBlock(intent);
    this.#spare = new Block(this.#options.rowsMax);
  }

  /** A number of rows that the block of the intent does not reach. */
  async #rowsOf(intent: InsertIntent): Promise<number> {
    let rows = 1;
    for (let seq = intent.firstSeq; seq <= intent.lastSeq; ) {
      const batch = await this.#options.journal.read(seq);
      if (!batch) break;
      const { records } = batch;
      const view = new DataView(records.buffer, records.byteOffset, records.length);
      seq = batch.firstSeq;
      for (let at = 0; at < records.length; at = nextAt(records, at), seq += 1) {
        if (kindAt(records, at) !== COMMAND.MEASUREMENT || !isWholeMeasurement(view, at)) continue;
        rows += rowCountAt(records, at);
      }
    }
    return Math.max(rows, this.#options.rowsMax);
  }

  /** Reads the journal until the block is full or nothing is left; then the live groups follow on without a gap. */
  async #catchUp(): Promise<void> {
    const { journal, progress } = this.#options;
    while (!this.#filling.isFull && !this.#stopping) {
      if (this.#consumedSeq >= this.#offeredSeq) {
        this.isLagging = false;
        this.#release();
        return;
      }
      this.#room ??= Buffer.allocUnsafeSlow(ROOM_BYTES);
      const batch = await journal.read(this.#consumedSeq + 1, this.#room);
      if (!batch) throw new Error(`journal ends before ${this.#offeredSeq}, which was handled`);
      const before = this.#consumedSeq;
      this.#consume(batch.firstSeq, batch.records, this.#offeredSeq);
      this.#filling.rows.push(...(await progress.outbox(before, this.#consumedSeq)));
      // Yields: catching up must not hold the sockets.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }

  /** @param begun what an earlier process has written down of it. */
  async #insertBlock(begun?: InsertIntent): Promise<void> {
    const block = this.#filling;
    this.#filling = this.#spare;
    this.#underWay = block;
    this.#isDue = false;
    this.#startInterval();
    try {
      await this.#insertAll(block, begun);
      await this.#insert.untilDone(() => this.#options.progress.savePosition(block.lastSeq));
      this.#moved(block.lastSeq);
    } catch (error) {
      // The server stops: the journal has it all.
      if (!(error instanceof GivenUp)) throw error;
    }
    block.clear();
    this.#spare = block;
    this.#underWay = undefined;
  }

  async #insertAll(block: Block, begun: InsertIntent | undefined): Promise<void> {
    const { columns, damaged, firstSeq, lastSeq } = block;
    await this.#insert.damaged(damaged.list, this.position);
    if (columns.rowCount > 0) {
      const intent = begun ?? { firstSeq, lastSeq };
      this.#inserted(
        block,
        'measurements',
        await this.#insert.measurements(columns, intent, this.position, begun === undefined),
      );
    }
    for (const [table, rows] of groupByTable(block.rows))
      this.#inserted(block, table, await this.#insert.rows(table, rows, this.position));
    for (const deletion of block.late.deletions) await this.#delete(deletion);
    if (block.deletion) await this.#delete(block.deletion);
  }

  /** What has come behind the DELETE is read meanwhile: who asks for something else waits for its own rows only. */
  async #delete(deletion: JournalCommand): Promise<void> {
    const [deleted, caughtUp] = await Promise.allSettled([
      this.#insert.deletion(deletion, this.position),
      this.#catchUp(),
    ]);
    if (caughtUp.status === 'rejected') throw caughtUp.reason;
    if (deleted.status === 'rejected') throw deleted.reason;
    if ((deletion.body as DataDelete).table !== 'measurements') this.#awaitRowsOf(deletion);
  }

  /**
   * The DELETE has sent a command for each entity, and all are handled: a query that was asked behind it waits
   * for what they have left, too.
   */
  #awaitRowsOf(deletion: JournalCommand): void {
    for (const waiter of this.#waiters) {
      if (waiter.askedSeq >= deletion.seq && (waiter.query === undefined || isConcerned(waiter.query, deletion)))
        waiter.seq = this.#offeredSeq;
      this.#wantedSeq = Math.max(this.#wantedSeq, waiter.seq);
    }
  }

  #inserted(block: Block, table: string, rows: number): void {
    block.done.add(table);
    this.#options.onInserted(table, rows);
    this.#release();
  }

  #moved(position: number): void {
    this.position = position;
    this.#options.onPosition(position);
    this.#release();
  }

  get lastError(): string | undefined {
    return this.#insert.lastError;
  }
  get insertErrorsCount(): number {
    return this.#insert.insertErrorsCount;
  }
  /** What was set aside since the start. */
  get setAsideCount(): number {
    return this.#insert.setAsideCount;
  }

  /** For the metrics: rows that wait for an insert in memory. */
  get pendingRows(): number {
    return this.#filling.columns.rowCount + this.#filling.rows.length;
  }
}
