/**
 * The projector (design 4): turns what the journal and the actors hold into rows and inserts them in large blocks, over
 * all shards of a node (decision 3, docs/internals/cluster.md) or the one stream of a single process, with a position
 * for each. Follows the groups live; where the history store is slower or away it lags and reads the journal again
 * later, so memory stays bounded by two blocks of rows.
 *
 * Measurements are inserted exactly once: a block is written down (`BlockLog`), inserted with its token, and then the
 * positions move; a block that was begun before is built again from the journal and inserted with the same token. Rows
 * of mutable tables are inserted at least once, which their version makes the same. What the store refuses goes into the
 * quarantine (history-insert.ts).
 */
import type { DataDelete } from '../../model/commands/deletion.ts';
import type { HistoryQuery } from '../../ports/history-reader.ts';
import type { JournalCommand } from '../journal/command-record.ts';
import { columnsOf } from '../measurements/range.ts';
import type { BegunBlock, UntilDone } from './begun-block.ts';
import { Block, isLate } from './block.ts';
import type { Deletion } from './block.ts';
import { BlockInterval } from './block-interval.ts';
import { readBlock } from './block-records.ts';
import type { BlockRecords } from './block-records.ts';
import { GivenUp, HistoryInsert, groupByTable } from './history-insert.ts';
import type { InsertScope } from './history-insert.ts';
import { isConcerned } from './history-query.ts';
import { deletionsOf } from './late-deletions.ts';
import type { ProjectorOptions } from './options.ts';
import type { InsertIntent, ProjectorProgress } from './progress.ts';
import { BlockSettling } from './settling.ts';
import { Track } from './track.ts';
import type { OfferedGroup } from './track.ts';
import { Waiters } from './waiters.ts';

/** Wait before what failed is tried again. */
const RETRY_MS = 50;

interface Wanted {
  readonly track: Track;
  readonly askedSeq: number;
  /** Beyond `askedSeq` when a DELETE up to there has sent commands. */
  seq: number;
  readonly query: HistoryQuery | undefined;
}

export class Projector<Intent = InsertIntent> {
  /** Of the shards that are here. */
  readonly tracks = new Map<number, Track<Intent>>();
  readonly #options: ProjectorOptions<Intent>;
  readonly #isOneStream: boolean;
  readonly #insert: HistoryInsert;
  #filling: Block;
  #spare: Block;
  #underWay: { readonly block: Block; readonly done: Promise<void> } | undefined;
  readonly #waiters = new Waiters<Wanted>();
  readonly #interval: BlockInterval;
  readonly #settling: BlockSettling;
  /** Of one stream: when the block that was begun before is in the history. */
  #settled: Promise<void> = Promise.resolve();
  #isStopping = false;
  #isWanted = false;
  /** The block's time was over while the one before it was still being inserted. */
  #isDue = false;
  #wake: (() => void) | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ProjectorOptions<Intent>) {
    this.#options = options;
    this.#isOneStream = options.deleteGone === undefined;
    this.#insert = new HistoryInsert(options);
    this.#settling = new BlockSettling(
      this.#scopeOf(),
      (block, scope) => this.#repeat(block, scope),
      (rows) => options.onInserted('measurements', rows),
    );
    this.#filling = new Block(options.rowsMax, this.#isOneStream);
    this.#spare = new Block(options.rowsMax, this.#isOneStream);
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
   * Takes a shard into service. @param offeredSeq what its state contains: groups behind it will be offered.
   * @param isCurrent false: it was lost meanwhile. @param uncertainThrough see Track.
   * @returns when its progress is known; a block that was begun before is settled in the background.
   */
  async attach(
    shard: number,
    progress: ProjectorProgress<Intent>,
    offeredSeq: number,
    isCurrent: () => boolean = () => true,
    uncertainThrough = 0,
  ): Promise<void> {
    const { position, intent } = await progress.load();
    if (!isCurrent()) return;
    const track = new Track(shard, progress, position, offeredSeq, uncertainThrough);
    this.tracks.set(shard, track);
    if (intent !== undefined) {
      track.isRepeating = true;
      const settled = this.#settle(track, intent);
      if (this.#isOneStream) this.#settled = settled;
    }
    if (this.#running === undefined) {
      this.#interval.start();
      this.#running = this.#run();
    }
    this.#kick();
  }

  /**
   * Takes a group that the actors have decided. Follows live if nothing is missing in between, else the journal is read
   * later.
   */
  offer(shard: number, { firstSeq, lastSeq, afterSeq, records, rows }: OfferedGroup): void {
    const track = this.tracks.get(shard);
    if (!track) return;
    track.offeredSeq = Math.max(track.offeredSeq, lastSeq);
    if (lastSeq <= track.consumedSeq) return;
    if (track.isLagging || track.isHeld || afterSeq > track.consumedSeq) {
      track.isLagging = true;
    } else {
      const before = track.consumedSeq;
      this.#consume(track, firstSeq, records);
      // Rows behind a full block or a DELETE come from the outbox, with their records.
      this.#filling.addRows(rows, before, track.consumedSeq);
    }
    if (this.#filling.isFull || this.#isWanted || track.deletion) this.#kick();
  }

  /**
   * Brings in what was offered of the shard, for `timeoutMs` at most; with the history away there is nothing to wait
   * for.
   */
  async bringIn(shard: number, timeoutMs: number): Promise<void> {
    const track = this.tracks.get(shard);
    if (track && !this.#isAway)
      await this.visible(shard, track.offeredSeq, timeoutMs).catch((error: Error) => {
        this.#options.log.info(
          { shard, error: error.message },
          'projector: the rest of the shard is inserted later, or by its next owner',
        );
      });
  }

  /** Ends the service of a shard in order: what was offered is brought in first, for `timeoutMs` at most. */
  async release(shard: number, timeoutMs: number): Promise<void> {
    const track = this.tracks.get(shard);
    await this.bringIn(shard, timeoutMs);
    // The positions of a block move together, as far as possible.
    if (!this.#isAway && this.#underWay?.block.ranges.has(shard))
      await Promise.race([this.#underWay.done, pause(timeoutMs)]);
    if (track && this.tracks.get(shard) === track) this.lose(shard);
  }

  /** The shard has another owner: nothing of it is written any more, but for a block that is decided. */
  lose(shard: number): void {
    const track = this.tracks.get(shard);
    if (!track) return;
    track.isLost = true;
    this.tracks.delete(shard);
    this.#waiters.reject(`shard ${shard} is not here any more`, (wanted) => wanted.track === track);
    if (this.#filling.ranges.has(shard)) this.#dropFilling();
    this.#kick();
  }

  /** Everything of the shard up to here is in the history store; undefined when it is not here. */
  position(shard: number): number | undefined {
    return this.tracks.get(shard)?.position;
  }
  /** For the metrics: rows that wait for an insert in memory. */
  get pendingRows(): number {
    return this.#filling.rowCount;
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
  get #isAway(): boolean {
    return this.lastError !== undefined || this.#options.isHistoryAway?.() === true;
  }
  get isLagging(): boolean {
    return [...this.tracks.values()].some((track) => track.isLagging);
  }

  /**
   * Resolves when everything of the shard up to `seq` can be queried; flushes coalesce. Rejects when that takes longer
   * than `timeoutMs`, or when the shard is not here (any more).
   * @param query what is read: rows of other tables or sources are not waited for. Everything when absent.
   */
  visible(shard: number, seq: number, timeoutMs: number, query?: HistoryQuery): Promise<void> {
    const track = this.tracks.get(shard);
    if (!track) return Promise.reject(new Error(`shard ${shard} is not here`));
    if (!this.#isPending(track, seq, query)) return Promise.resolve();
    const visible = this.#waiters.wait(
      { track, askedSeq: seq, seq, query },
      timeoutMs,
      () => this.lastError ?? `not visible within ${timeoutMs} ms: ${track.stateWith(seq)}`,
    );
    this.#isWanted = true;
    this.#kick();
    return visible;
  }

  #isPending(track: Track, seq: number, query: HistoryQuery | undefined): boolean {
    if (seq <= track.position) return false;
    const { deletion, deleting, isRepeating } = track;
    if (isRepeating || isAwaited(deleting, seq, query) || isAwaited(deletion, seq, query)) return true;
    // Nothing before the DELETE is on its way.
    if (deletion && seq < deletion.firstSeq && track.position === track.consumedSeq) return false;
    const isRead = deletion ? seq <= deletion.lastSeq : !track.isLagging;
    if (query === undefined || !isRead || seq > track.offeredSeq) return true;
    return this.#filling.holds(query) || (this.#underWay?.block.holds(query) ?? false);
  }

  #release(): void {
    this.#waiters.release(({ track, seq, query }) => this.#isPending(track, seq, query));
    this.#isWanted = this.#waiters.count > 0;
  }

  /** Ends after the block under way; what is not inserted is left to the next owners, or the next start. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#interval.stop();
    this.#kick();
    await this.#running;
    await this.#settled;
    this.#waiters.reject('the server stops');
  }

  /** As when the process ends: nothing more is written. */
  abandon(): void {
    this.#isStopping = true;
    this.#interval.stop();
    for (const shard of [...this.tracks.keys()]) this.lose(shard);
  }

  #consume(track: Track, firstSeq: number, records: Buffer, throughSeq = Number.POSITIVE_INFINITY): void {
    const { shard, consumedSeq, goneAhead } = track;
    const consumed = this.#filling.consume(shard, firstSeq, records, consumedSeq, throughSeq, goneAhead);
    if (consumed) {
      track.consumedSeq = consumed.lastSeq;
      track.deletion = consumed.deletion;
    }
    track.isLagging = track.consumedSeq < track.offeredSeq;
  }

  #kick(): void {
    this.#wake?.();
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      await this.#catchUp();
      const deletions = [...this.tracks.values()]
        .filter(({ canDelete }) => canDelete)
        .map((track) => this.#delete(track));
      if (this.#isOneStream && deletions.length > 0) {
        await this.#meanwhile(deletions[0]);
        continue;
      }
      this.#release();
      if (this.#isStopping) return;
      if (this.#filling.isEmpty) {
        await this.#waitForKick();
        continue;
      }
      const block = this.#filling;
      this.#filling = this.#spare;
      this.#isDue = false;
      this.#interval.start();
      const done = this.#insertBlock(block);
      this.#underWay = { block, done };
      await done;
      // What it holds may not be there: who waits for it is told so.
      if (this.#isStopping) return;
      this.#underWay = undefined;
      block.clear();
      this.#spare = block;
      this.#release();
      if (!this.#filling.isFull && !this.#isDue && !this.#isWanted && !this.#canCatchUp()) await this.#waitForKick();
    }
  }

  async #waitForKick(): Promise<void> {
    if (this.#isStopping) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }

  #canCatchUp(): boolean {
    return [...this.tracks.values()].some(
      (track) => (track.isLagging && !track.isHeld) || (track.deletion && !track.deleting),
    );
  }

  /** Reads the journal of tracks that lag, a group of each in turn, until the block is full or nothing is left. */
  async #catchUp(): Promise<void> {
    for (let isMore = true; isMore; ) {
      isMore = false;
      for (const track of [...this.tracks.values()]) {
        if (!track.isLagging || track.isHeld || track.isLost) continue;
        if (this.#filling.isFull || this.#isStopping) return;
        try {
          await this.#catchUpOne(track);
        } catch (error) {
          // The next start repairs the journal of a single process.
          if (this.#isOneStream) throw error;
          this.#insert.failed(error as Error, RETRY_MS);
          await pause(RETRY_MS);
          // The rows of other shards do not wait for this one.
          if (!this.#filling.isEmpty) return;
        }
        isMore = true;
      }
      // Yields: catching up must not hold the sockets.
      if (isMore)
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
    }
  }

  async #catchUpOne(track: Track): Promise<void> {
    const { journal } = this.#options;
    const before = track.consumedSeq;
    const group = before < track.offeredSeq ? await journal.read(track.shard, before + 1, true) : undefined;
    const isGone = (): boolean => track.isLost || this.#isStopping || track.consumedSeq !== before;
    if (isGone()) return;
    if (!group || group.firstSeq > track.offeredSeq) {
      // Nothing is left: what was offered last is what was consumed last.
      if (this.#filling.ranges.get(track.shard) === undefined && track.position === before)
        track.position = Math.max(before, track.offeredSeq);
      track.consumedSeq = Math.max(before, track.offeredSeq);
      track.isLagging = false;
      return;
    }
    const through = Math.min(group.lastSeq, track.offeredSeq);
    const rows = await track.progress.outbox(before, through);
    if (isGone() || this.#filling.isFull) return;
    this.#consume(track, group.firstSeq, group.records, through);
    this.#filling.addRows(rows, before, track.consumedSeq);
  }

  /** What is behind a DELETE is read while it runs: who asks for something else waits for its own rows only. */
  async #meanwhile(deletion: Promise<void>): Promise<void> {
    const caughtUp = this.#catchUp().finally(() => this.#release());
    for (const one of await Promise.allSettled([deletion, caughtUp])) if (one.status === 'rejected') throw one.reason;
  }

  /** Rows of a shard that is gone are among the others: the block is filled anew from the journal. */
  #dropFilling(): void {
    this.#rewind(this.#filling);
    this.#filling.clear();
  }

  #rewind(block: Block): void {
    for (const shard of block.ranges.keys()) {
      const track = this.tracks.get(shard);
      const underWay = block === this.#filling ? this.#underWay?.block.ranges.get(shard) : undefined;
      if (!track) continue;
      track.consumedSeq = underWay && underWay.lastSeq > track.position ? underWay.lastSeq : track.position;
      track.isLagging = true;
      if (!track.deleting) track.deletion = undefined;
    }
  }

  async #insertBlock(block: Block): Promise<void> {
    const { blocks } = this.#options;
    const tracks = new Map([...block.ranges.keys()].map((shard) => [shard, this.tracks.get(shard)] as const));
    const isWhole = (): boolean => [...tracks.values()].every((track) => track !== undefined && !track.isLost);
    const scope = this.#scopeOf();
    let begun: BegunBlock | undefined;
    try {
      await this.#insert.damaged(block.damaged.list, scope);
      if (block.columns.rowCount > 0) {
        const mayInsert = (): boolean => isWhole() && !this.#isStopping;
        const untilDone: UntilDone = (action) => this.#untilDone(action);
        begun = isWhole() ? await blocks.begin(block.rangeList, tracks, mayInsert, untilDone) : undefined;
        if (!begun) {
          this.#abandonBlock(block);
          // Whatever refused may take a moment to show.
          await pause(RETRY_MS);
          return;
        }
        const { ranges } = begun;
        const read = async () => (await this.#read(ranges)).found;
        this.#inserted(block, 'measurements', await this.#insert.block(begun, block.columns, read, scope));
      }
      // Rows of a shard that was lost are inserted by its next owner too: their version makes them the same.
      for (const [table, rows] of groupByTable(block.rows))
        this.#inserted(block, table, await this.#insert.rows(table, rows, scope));
      for (const deletion of block.late.deletions) await this.#meanwhile(this.#carryOut(deletion, scope));
      const moved = await Promise.all(
        [...block.ranges].map(([shard, { lastSeq }]) => this.#move(tracks.get(shard), lastSeq)),
      );
      if (begun !== undefined && moved.every(Boolean)) await this.#passed(begun, true);
    } catch (error) {
      if (!(error instanceof GivenUp)) throw error;
      // The block is gone from the store: its shards have other owners.
      if (!this.#isStopping) this.#abandonBlock(block);
    }
  }

  #read(ranges: BegunBlock['ranges']): Promise<BlockRecords> {
    return readBlock(ranges, (shard, seq) => this.#options.journal.read(shard, seq));
  }

  /** The measurements of a block that was begun before. @returns the rows that were not set aside. */
  async #repeat(block: BegunBlock, scope: InsertScope): Promise<number> {
    const { found, damaged } = await this.#insert.untilDone(() => this.#read(block.ranges), scope);
    await this.#insert.damaged(damaged, scope);
    return this.#insert.block(block, columnsOf(found), async () => found, scope);
  }

  async #passed(block: BegunBlock, areAll: boolean, track?: Track): Promise<void> {
    await this.#untilDone(() => this.#options.blocks.passed?.(block, areAll), track);
  }

  #scopeOf(track?: Track): InsertScope {
    return {
      isOver: () => this.#isStopping || track?.isLost === true,
      positionOf: (shard) => this.position(this.#isOneStream ? 0 : shard) ?? 0,
    };
  }

  /** Nothing of it was inserted: its shards that are still here fill other blocks. */
  #abandonBlock(block: Block): void {
    // What follows in the filling block must not come before it.
    const isBehind = [...block.ranges.keys()].some((shard) => this.#filling.ranges.has(shard));
    this.#underWay = undefined;
    if (isBehind) this.#dropFilling();
    this.#rewind(block);
  }

  /** @returns false when the shard is lost, or the projector stops. */
  async #move(track: Track | undefined, lastSeq: number): Promise<boolean> {
    if (track === undefined || track.isLost) return false;
    try {
      await this.#untilDone(() => track.progress.savePosition(lastSeq), track);
    } catch (error) {
      // The next owner, or the next start, finds the block in the progress.
      if (error instanceof GivenUp) return false;
      throw error;
    }
    track.position = lastSeq;
    this.#options.onPosition?.(lastSeq);
    this.#release();
    return true;
  }

  /** Inserts the block that was begun before, then goes on behind it. */
  async #settle(track: Track<Intent>, intent: Intent): Promise<void> {
    const { blocks, log, onInserted } = this.#options;
    const { shard } = track;
    const scope = this.#scopeOf(track);
    try {
      const block = await this.#untilDone(() => blocks.reopen(intent, track), track);
      const range = block?.ranges.find((one) => one.shard === shard);
      if (block && range) {
        const { token, ranges } = block;
        log.info({ shard, token }, 'projector: a block that was begun before is inserted again');
        await this.#settling.inserted(block, track);
        const rows = await this.#untilDone(() => track.progress.outbox(track.position, range.lastSeq), track);
        for (const [table, list] of groupByTable(rows)) onInserted(table, await this.#insert.rows(table, list, scope));
        if (this.#isOneStream) {
          const { deletions } = await this.#untilDone(() => this.#read(ranges), track);
          // Earlier versions put a DELETE by filters at the end of its block, too.
          for (const deletion of [...deletionsOf(deletions.filter(isLate)), ...deletions.filter((one) => !isLate(one))])
            await this.#carryOut(deletion, scope);
        }
        if (!(await this.#move(track, range.lastSeq))) return;
        track.consumedSeq = range.lastSeq;
        await this.#passed(block, false, track);
      }
      track.isRepeating = false;
      track.isLagging = true;
      this.#kick();
    } catch (error) {
      if (!(error instanceof GivenUp)) throw error;
      // The block is gone from the store: what its decision is now tells how to go on.
      if (!scope.isOver()) void this.#settle(track, intent);
    }
  }

  /** Everything before the DELETE in its own track is inserted. A shard waits for it. */
  async #delete(track: Track<Intent>): Promise<void> {
    const deletion = track.deletion as Deletion;
    track.deleting = deletion;
    if (this.#isOneStream) this.#goOnBehind(track, deletion.lastSeq);
    try {
      const endSeq = await this.#deleteAll(track, deletion);
      if (!(await this.#move(track, endSeq))) return;
      for (const seq of track.goneAhead) if (seq <= endSeq) track.goneAhead.delete(seq);
      if (!this.#isOneStream) this.#goOnBehind(track, endSeq);
      track.deleting = undefined;
      this.#kick();
    } catch (error) {
      // The next owner, or the next start, carries it out.
      if (!(error instanceof GivenUp)) throw error;
    }
  }

  #goOnBehind(track: Track, seq: number): void {
    track.consumedSeq = seq;
    track.deletion = undefined;
    track.isLagging = true;
  }

  /** @returns up to which sequence it is carried out. */
  async #deleteAll(track: Track<Intent>, { lastSeq, gone, commands }: Deletion): Promise<number> {
    const { deleteGone } = this.#options;
    const scope = this.#scopeOf(track);
    if (deleteGone !== undefined && gone.length > 0)
      return deleteGone(track, gone, {
        untilDone: (action) => this.#untilDone(action, track),
        deletion: (command, run) => this.#insert.deletion(command, run, scope),
      });
    for (const command of commands) await this.#carryOut(command, scope);
    return lastSeq;
  }

  async #carryOut(deletion: JournalCommand, scope: InsertScope): Promise<void> {
    await this.#insert.deletion(deletion, () => this.#options.runDeletion(deletion), scope);
    // In a cluster its owner tells what it has sent, of all shards.
    if (!this.#isOneStream || (deletion.body as DataDelete).table === 'measurements') return;
    // It has sent a command for each entity, and all are decided: who asked behind it waits for what they left, too.
    for (const wanted of this.#waiters.wanted) {
      const { track, askedSeq, query } = wanted;
      if (askedSeq >= deletion.seq && (query === undefined || isConcerned(query, deletion)))
        wanted.seq = track.offeredSeq;
    }
  }

  /** Repeats until it succeeds; gives up when the projector stops or the shard is lost. */
  async #untilDone<Value>(action: () => Value | Promise<Value>, track?: Track): Promise<Value> {
    const value = await this.#insert.untilDone(action, this.#scopeOf(track));
    if (track?.isLost) throw new GivenUp();
    return value;
  }

  #inserted(block: Block, table: string, rows: number): void {
    block.done.add(table);
    this.#options.onInserted(table, rows);
    this.#release();
  }
}

/** Whether a query behind the DELETE, or one within it, may show what it takes. */
const isAwaited = (deletion: Deletion | undefined, seq: number, query: HistoryQuery | undefined): boolean =>
  deletion !== undefined &&
  seq >= deletion.firstSeq &&
  (query === undefined || deletion.commands.some((command) => isConcerned(query, command)));

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
