/**
 * The projector (design 4): turns what the journal and the actors hold into rows and inserts them in large batches.
 * Follows the groups live; where the history store is slower or away it lags and reads the journal again later, so
 * memory stays bounded by two blocks of rows. Measurements are inserted exactly once, by intent and deduplication
 * token; rows of mutable tables at least once, which their version makes the same. What the store refuses goes into the
 * quarantine (history-insert.ts).
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { DataDelete } from '../../model/commands/deletion.ts';
import type { Log } from '../../ports/log.ts';
import { intentBlock } from './begun-block.ts';
import { BlockInterval } from './block-interval.ts';
import { readBlock } from './block-records.ts';
import { BlockRows } from './block-rows.ts';
import { readableCommand } from '../journal/command-record.ts';
import type { JournalCommand } from '../journal/command-record.ts';
import { LateDeletions, isOfOneMeasurement } from './late-deletions.ts';
import { GivenUp, HistoryInsert, groupByTable } from './history-insert.ts';
import type { InsertScope } from './history-insert.ts';
import type { HistoryRow, HistoryWriter } from '../../ports/stores/history-writer.ts';
import { isConcerned } from './history-query.ts';
import type { HistoryQuery } from '../../ports/history-reader.ts';
import type { Journal } from '../../ports/stores/journal.ts';
import { isWholeMeasurement } from '../measurements/record.ts';
import { kindAt, nextAt, rowCountAt } from '../journal/record-layout.ts';
import type { InsertIntent, ProjectorProgress } from './progress.ts';
import { Waiters } from './waiters.ts';
import type { Quarantine } from '../../ports/stores/quarantine.ts';

/** Of batches of the journal that need no new memory. */
const ROOM_BYTES = 4 * 1_048_576;

export interface ProjectorOptions {
  readonly journal: Journal;
  readonly history: HistoryWriter;
  readonly progress: ProjectorProgress;
  /** Takes what the history store refuses for what it is. */
  readonly quarantine: Pick<Quarantine, 'has' | 'add'>;
  readonly rowsMax: number;
  /** Of the inserts while little comes; see BlockInterval. */
  readonly intervalMs: number;
  readonly log: Log;
  /**
   * Carries out a DELETE once everything before it is in the history store, or sees to it that it will be. Repeatable.
   */
  readonly runDeletion: (command: JournalCommand) => Promise<void>;
  /** Told of each new position: the journal may be trimmed. */
  readonly onPosition: (position: number) => void;
  readonly onInserted: (table: string, rows: number) => void;
  /** See HistoryInsertOptions. */
  readonly uncertainTries?: number;
  /** See HistoryInsertOptions. */
  readonly isPaused?: () => boolean;
}

/** One block being filled or inserted. */
class Block extends BlockRows {
  firstSeq = 0;
  lastSeq = 0;
  /** A DELETE that ends the block: nothing behind it may be inserted before it is done. */
  deletion: JournalCommand | undefined;
  /** What is deleted behind the rows. */
  readonly late = new LateDeletions();

  /** Also where a DELETE of what the query reads is not carried out. */
  override holds(query: HistoryQuery): boolean {
    if (this.deletion !== undefined && isConcerned(query, this.deletion)) return true;
    return this.late.concerns(query) || super.holds(query);
  }

  override get isFull(): boolean {
    return this.deletion !== undefined || super.isFull || this.late.isFull;
  }
  get isEmpty(): boolean {
    return this.lastSeq === 0;
  }

  /** @param seq of the record at `at`, which follows those before. */
  take(records: Buffer, view: DataView, at: number, seq: number): void {
    const kind = kindAt(records, at);
    const isDeletion = kind === COMMAND.DATA_DELETE || kind === COMMAND.SOURCE_DELETE;
    const command = isDeletion ? readableCommand(records, at, seq) : undefined;
    if (command === undefined) this.addRecord(records, view, at, seq);
    else if (kind === COMMAND.SOURCE_DELETE || isOfOneMeasurement(command)) this.late.add(command);
    else this.deletion = command;
    if (this.firstSeq === 0) this.firstSeq = seq;
    this.lastSeq = seq;
  }

  override clear(): void {
    super.clear();
    this.firstSeq = 0;
    this.lastSeq = 0;
    this.deletion = undefined;
    this.late.clear();
  }
}

interface Wanted {
  readonly askedSeq: number;
  /** Beyond `askedSeq` when a DELETE up to there has sent commands. */
  seq: number;
  readonly query: HistoryQuery | undefined;
}

export class Projector {
  /** Everything up to this sequence is in the history store. */
  position = 0;
  isLagging = false;
  readonly #options: ProjectorOptions;
  readonly #insert: HistoryInsert;
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
  readonly #waiters = new Waiters<Wanted>();
  readonly #interval: BlockInterval;
  /** Its time was over while the one before it was still being inserted. */
  #isDue = false;
  #stopping = false;
  readonly #scope: InsertScope = { isOver: () => this.#stopping, positionOf: () => this.position };
  #running: Promise<void> | undefined;
  #wake: (() => void) | undefined;

  constructor(options: ProjectorOptions) {
    this.#options = options;
    this.#insert = new HistoryInsert(options);
    this.#filling = new Block(options.rowsMax);
    this.#spare = new Block(options.rowsMax);
    this.#interval = new BlockInterval({
      intervalMs: options.intervalMs,
      isLarge: () => !this.isLagging && this.#filling.isLarge,
      onEnd: () => {
        this.#isDue = !this.#filling.isEmpty;
        this.#kick();
      },
    });
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
    this.#interval.start();
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
      this.#filling.addRows(rows, 0, this.#consumedSeq);
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
    const visible = this.#waiters.wait(
      { askedSeq: seq, seq, query },
      timeoutMs,
      () => this.lastError ?? `not visible within ${timeoutMs} ms`,
    );
    this.#kick();
    return visible;
  }

  /** Whether rows of the tables up to `seq` are still to be inserted. */
  #isPending(seq: number, query: HistoryQuery | undefined): boolean {
    if (seq <= this.position) return false;
    if (query === undefined || this.isLagging) return true;
    return this.#filling.holds(query) || (this.#underWay?.holds(query) ?? false);
  }

  #release(): void {
    this.#waiters.release(({ seq, query }) => this.#isPending(seq, query));
  }

  /** Ends after the block under way; what is not inserted comes from the journal at the next start. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#interval.stop();
    this.#kick();
    await this.#running;
    this.#waiters.reject('the server stops');
  }

  /** Adds records to the block until it is full. Moves `#consumedSeq`. */
  #consume(firstSeq: number, records: Buffer, through = Number.POSITIVE_INFINITY): void {
    const block = this.#filling;
    const view = new DataView(records.buffer, records.byteOffset, records.length);
    let seq = firstSeq;
    for (let at = 0; at < records.length; at = nextAt(records, at), seq += 1) {
      if (seq <= this.#consumedSeq) continue;
      if (block.isFull || seq > through) return;
      block.take(records, view, at, seq);
      this.#consumedSeq = seq;
    }
  }

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
    const rows = await this.#options.progress.outbox(this.position, intent.lastSeq);
    this.#filling.addRows(rows, this.position, intent.lastSeq);
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
      this.#filling.addRows(await progress.outbox(before, this.#consumedSeq), before, this.#consumedSeq);
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
    this.#interval.start();
    try {
      await this.#insertAll(block, begun);
      await this.#insert.untilDone(() => this.#options.progress.savePosition(block.lastSeq), this.#scope);
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
    const { progress, journal } = this.#options;
    await this.#insert.damaged(damaged.list, this.#scope);
    if (columns.rowCount > 0) {
      const intent = begun ?? { firstSeq, lastSeq };
      if (begun === undefined) await this.#insert.untilDone(() => progress.saveIntent(intent), this.#scope);
      const stored = intentBlock(intent, progress, begun === undefined);
      const read = async () => (await readBlock(stored.ranges, (_shard, seq) => journal.read(seq))).found;
      this.#inserted(block, 'measurements', await this.#insert.block(stored, columns, read, this.#scope));
    }
    for (const [table, rows] of groupByTable(block.rows))
      this.#inserted(block, table, await this.#insert.rows(table, rows, this.#scope));
    for (const deletion of block.late.deletions) await this.#delete(deletion);
    if (block.deletion) await this.#delete(block.deletion);
  }

  /** What has come behind the DELETE is read meanwhile: who asks for something else waits for its own rows only. */
  async #delete(deletion: JournalCommand): Promise<void> {
    const [deleted, caughtUp] = await Promise.allSettled([
      this.#insert.deletion(deletion, () => this.#options.runDeletion(deletion), this.#scope),
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
    for (const wanted of this.#waiters.wanted) {
      const { askedSeq, query } = wanted;
      if (askedSeq >= deletion.seq && (query === undefined || isConcerned(query, deletion)))
        wanted.seq = this.#offeredSeq;
      this.#wantedSeq = Math.max(this.#wantedSeq, wanted.seq);
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
    return this.#filling.rowCount;
  }
}
