/**
 * The projector of a node in a cluster: blocks over all its shards, with a position for each (decision 3,
 * docs/internals/cluster.md). Follows the groups live; where the history store is slower it reads the journal again later, so
 * memory is bounded by two blocks of rows.
 *
 * Exactly once: a block is written down (`BlockStore`), named in the progress of each of its shards, decided, inserted
 * with its token, and then the positions move. A node that takes a shard over and finds a block named in its progress
 * settles it first: one that was not decided is abandoned for good, a decided one is built again from the journal, all
 * its ranges, and inserted with the same token. What the history refuses is divided and set aside as in one process
 * (ingest/projector/history-insert.ts); where it is divided is written down beside the block.
 */
import { randomBytes } from 'node:crypto';
import type { JournalCommand } from '../../ingest/journal/command-record.ts';
import type { BegunBlock } from '../../ingest/projector/begun-block.ts';
import { BlockInterval } from '../../ingest/projector/block-interval.ts';
import { readBlock } from '../../ingest/projector/block-records.ts';
import type { BlockRecords } from '../../ingest/projector/block-records.ts';
import { columnsOf } from '../../ingest/measurements/range.ts';
import { deletionsOf } from '../../ingest/projector/late-deletions.ts';
import { GivenUp, HistoryInsert, groupByTable } from '../../ingest/projector/history-insert.ts';
import type { InsertScope } from '../../ingest/projector/history-insert.ts';
import { isConcerned } from '../../ingest/projector/history-query.ts';
import type { HistoryQuery } from '../../ports/history-reader.ts';
import type { ProjectorProgress } from '../../ingest/projector/progress.ts';
import { Waiters } from '../../ingest/projector/waiters.ts';
import type { ClusterProjectorOptions } from './options.ts';
import { AHEAD_VISIBLE_MS, SOURCE_VISIBLE_MS, goneAhead } from './gone-ahead.ts';
import { Block } from './block.ts';
import type { Deletion, OfferedGroup } from './block.ts';
import { decidedBlock, inParts } from './decided-block.ts';
import { BlockSettling } from './settling.ts';
import { StoredBlocks } from './stored-blocks.ts';
import { Track } from './track.ts';
import type { BlockIntent } from './track.ts';
import type { StoredBlock } from '../../ports/cluster/documents.ts';
import { GROUP_RECORDS_MAX } from '../../ports/cluster/journal.ts';

/** Wait before what failed is tried again. */
const RETRY_MS = 50;
/**
 * A block that was decided longer ago may have been inserted, passed and forgotten by others while this node was
 * paused, and its token too (ClickHouse knows 10,000): its store is asked again.
 */
const FRESH_MS = 2_000;

interface Wanted {
  readonly track: Track;
  readonly seq: number;
  readonly query: HistoryQuery | undefined;
}

export class ClusterProjector {
  readonly #options: ClusterProjectorOptions;
  readonly #insert: HistoryInsert;
  readonly #tracks = new Map<number, Track>();
  #filling: Block;
  #spare: Block | undefined;
  #underWay: { readonly block: Block; readonly done: Promise<void> } | undefined;
  readonly #waiters = new Waiters<Wanted>();
  readonly #interval: BlockInterval;
  /** The token of the block that this node is inserting. */
  #token: string | undefined;
  readonly #settling = new BlockSettling(
    this.#scopeOf(),
    (block, scope) => this.#repeat(block, scope),
    (rows) => this.#options.onInserted('measurements', rows),
  );
  readonly #stored: StoredBlocks;
  #isStopping = false;
  #isWanted = false;
  #wake: (() => void) | undefined;
  readonly #running: Promise<void>;

  constructor(options: ClusterProjectorOptions) {
    this.#options = options;
    this.#insert = new HistoryInsert(options);
    this.#stored = new StoredBlocks(options, this.#tracks);
    this.#filling = new Block(options.rowsMax);
    this.#interval = new BlockInterval({
      intervalMs: options.intervalMs,
      isLarge: () => !this.isLagging && this.#filling.isLarge,
      onEnd: () => this.#kick(),
    });
    this.#interval.start();
    this.#running = this.#run();
  }

  /**
   * Takes a shard into service. @param offeredSeq what its state contains: groups behind it will be offered.
   * @param isCurrent false: it was lost meanwhile. @param uncertainThrough see Track.
   * @returns when its progress is known; a block that is to be settled is settled in the background.
   */
  async attach(
    shard: number,
    progress: ProjectorProgress<BlockIntent>,
    offeredSeq: number,
    isCurrent: () => boolean,
    uncertainThrough = 0,
  ): Promise<void> {
    const { position, intent } = await progress.load();
    if (!isCurrent()) return;
    const track = new Track(shard, progress, Math.max(offeredSeq, position));
    track.position = position;
    track.consumedSeq = position;
    track.uncertainThrough = uncertainThrough;
    this.#tracks.set(shard, track);
    if (intent) {
      track.isRepeating = true;
      void this.#settle(track, intent.token);
    }
    this.#kick();
  }

  offer(shard: number, group: OfferedGroup): void {
    const track = this.#tracks.get(shard);
    if (!track) return;
    const { firstSeq, lastSeq, afterSeq, records, rows } = group;
    track.offeredSeq = Math.max(track.offeredSeq, lastSeq);
    if (lastSeq <= track.consumedSeq) return;
    if (track.isLagging || track.isHeld || afterSeq > track.consumedSeq) {
      track.isLagging = true;
    } else {
      const before = track.consumedSeq;
      this.#consume(track, firstSeq, records);
      this.#filling.addRows(rows, before, track.consumedSeq);
    }
    if (this.#filling.isFull || this.#isWanted || track.deletion) this.#kick();
  }

  /**
   * Brings in what was offered of the shard, for `timeoutMs` at most; with the history away there is nothing to wait
   * for.
   */
  async bringIn(shard: number, timeoutMs: number): Promise<void> {
    const track = this.#tracks.get(shard);
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
    const track = this.#tracks.get(shard);
    await this.bringIn(shard, timeoutMs);
    // The positions of a block move together, as far as possible.
    if (!this.#isAway && this.#underWay?.block.ranges.has(shard))
      await Promise.race([this.#underWay.done, pause(timeoutMs)]);
    if (track && this.#tracks.get(shard) === track) this.lose(shard);
  }

  /** The shard has another owner: nothing of it is written any more, but for a block that is decided. */
  lose(shard: number): void {
    const track = this.#tracks.get(shard);
    if (!track) return;
    track.isLost = true;
    this.#tracks.delete(shard);
    this.#waiters.reject(`shard ${shard} is not here any more`, (wanted) => wanted.track === track);
    if (this.#filling.ranges.has(shard)) this.#dropFilling();
    this.#kick();
  }

  /** Everything of the shard up to here is in the history store; undefined when it is not here. */
  position(shard: number): number | undefined {
    return this.#tracks.get(shard)?.position;
  }
  get pendingRows(): number {
    return this.#filling.rowCount;
  }
  /**
   * Groups of the journal, of all shards, that lie between what was decided and what is in the history: of the shard
   * that is most behind.
   */
  get lagGroups(): number {
    const groupOf = (seq: number): number => Math.floor(seq / GROUP_RECORDS_MAX);
    return Math.max(
      0,
      ...[...this.#tracks.values()].map(({ offeredSeq, position }) => groupOf(offeredSeq) - groupOf(position)),
    );
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
    return [...this.#tracks.values()].some((track) => track.isLagging);
  }

  /**
   * Resolves when everything of the shard up to `seq` can be queried; flushes coalesce. Rejects when that takes longer
   * than `timeoutMs`, or when the shard is not here (any more).
   * @param query what is read: rows of other tables or sources are not waited for. Everything when absent.
   */
  visible(shard: number, seq: number, timeoutMs: number, query?: HistoryQuery): Promise<void> {
    const track = this.#tracks.get(shard);
    if (!track) return Promise.reject(new Error(`shard ${shard} is not here`));
    if (!this.#isPending(track, seq, query)) return Promise.resolve();
    const visible = this.#waiters.wait(
      { track, seq, query },
      timeoutMs,
      () => this.lastError ?? `not visible within ${timeoutMs} ms: ${track.stateWith(seq)}`,
    );
    this.#isWanted = true;
    this.#kick();
    return visible;
  }

  #isPending(track: Track, seq: number, query: HistoryQuery | undefined): boolean {
    if (seq <= track.position) return false;
    if (track.isRepeating) return true;
    // Held in front of a DELETE behind `seq`, or up to one of something else, and nothing of it is on the way.
    if (track.deletion && track.position === track.consumedSeq) {
      const { firstSeq, lastSeq, commands } = track.deletion;
      if (
        seq < firstSeq ||
        (seq <= lastSeq && query !== undefined && !commands.some((command) => isConcerned(query, command)))
      )
        return false;
    }
    if (query === undefined || track.isLagging || track.isHeld || seq > track.offeredSeq) return true;
    return this.#filling.holds(query) || (this.#underWay?.block.holds(query) ?? false);
  }

  #release(): void {
    this.#waiters.release(({ track, seq, query }) => this.#isPending(track, seq, query));
    this.#isWanted = this.#waiters.count > 0;
  }

  /** Ends after the block under way; what is not inserted is left to the next owners. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#interval.stop();
    this.#kick();
    await this.#running;
    this.#waiters.reject('the server stops');
  }

  /** As when the process ends: nothing more is written. */
  abandon(): void {
    this.#isStopping = true;
    this.#interval.stop();
    for (const shard of [...this.#tracks.keys()]) this.lose(shard);
  }

  #consume(track: Track, firstSeq: number, records: Buffer, throughSeq?: number): void {
    const consumed = this.#filling.consume(
      track.shard,
      firstSeq,
      records,
      track.consumedSeq,
      throughSeq,
      track.goneAhead,
    );
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
      for (const track of this.#tracks.values())
        if (track.deletion && !track.isDeleting && track.position === track.consumedSeq) void this.#delete(track);
      this.#release();
      if (this.#isStopping) return;
      if (this.#filling.isEmpty) {
        await this.#waitForKick();
        continue;
      }
      const block = this.#filling;
      this.#filling = this.#spare ?? new Block(this.#options.rowsMax);
      this.#spare = undefined;
      this.#interval.start();
      const done = this.#insertBlock(block);
      this.#underWay = { block, done };
      await done;
      this.#underWay = undefined;
      block.clear();
      this.#spare = block;
      this.#release();
      if (!this.#filling.isFull && !this.#isWanted && !this.#canCatchUp()) await this.#waitForKick();
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
    return [...this.#tracks.values()].some(
      (track) => (track.isLagging && !track.isHeld) || (track.deletion && !track.isDeleting),
    );
  }

  /** Reads the journal of shards that lag, a group of each in turn, until the block is full or nothing is left. */
  async #catchUp(): Promise<void> {
    for (let isMore = true; isMore; ) {
      isMore = false;
      for (const track of [...this.#tracks.values()]) {
        if (!track.isLagging || track.isHeld || track.isLost) continue;
        if (this.#filling.isFull || this.#isStopping) return;
        try {
          await this.#catchUpOne(track);
        } catch (error) {
          this.#insert.failed(error as Error, RETRY_MS);
          await pause(RETRY_MS);
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
    const before = track.consumedSeq;
    const group =
      track.consumedSeq < track.offeredSeq ? await this.#options.journal.read(track.shard, before + 1) : undefined;
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

  /** Rows of a shard that is gone are among the others: the block is filled anew from the journal. */
  #dropFilling(): void {
    this.#rewind(this.#filling);
    this.#filling.clear();
  }

  #rewind(block: Block): void {
    for (const shard of block.ranges.keys()) {
      const track = this.#tracks.get(shard);
      const underWay = block === this.#filling ? this.#underWay?.block.ranges.get(shard) : undefined;
      if (!track) continue;
      track.consumedSeq = underWay && underWay.lastSeq > track.position ? underWay.lastSeq : track.position;
      track.isLagging = true;
      if (!track.isDeleting) track.deletion = undefined;
    }
  }

  async #insertBlock(block: Block): Promise<void> {
    const tracks = new Map([...block.ranges.keys()].map((shard) => [shard, this.#tracks.get(shard)] as const));
    const isWhole = (): boolean => [...tracks.values()].every((track) => track !== undefined && !track.isLost);
    const scope = this.#scopeOf();
    const token =
      block.columns.rowCount > 0
        ? `${block.rangeList[0].shard}-${block.rangeList[0].firstSeq}-${randomBytes(9).toString('base64url')}`
        : undefined;
    try {
      await this.#insert.damaged(block.damaged.list, scope);
      if (token !== undefined) {
        this.#token = token;
        const begun = isWhole() ? await this.#begin(block, token, tracks, isWhole) : undefined;
        if (!begun) {
          this.#abandonBlock(block);
          // Whatever refused may take a moment to show.
          await pause(RETRY_MS);
          return;
        }
        const read = async () => (await this.#read(begun)).found;
        this.#inserted(block, 'measurements', await this.#insert.block(begun, block.columns, read, scope));
      }
      // Rows of a shard that was lost are inserted by its next owner too: their version makes them the same.
      for (const [table, rows] of groupByTable(block.rows)) {
        this.#inserted(block, table, await this.#insert.rows(table, rows, scope));
      }
      const moved = await Promise.all(
        [...block.ranges].map(([shard, { lastSeq }]) => this.#move(tracks.get(shard), lastSeq)),
      );
      if (token !== undefined && moved.every(Boolean)) await this.#untilDone(() => this.#options.blocks.remove(token));
    } catch (error) {
      if (!(error instanceof GivenUp)) throw error;
      // The block is gone from the store: its shards have other owners.
      if (!this.#isStopping) this.#abandonBlock(block);
    } finally {
      this.#token = undefined;
    }
  }

  /** Writes the block down and decides it. @returns undefined when a shard is lost: the block must not be inserted. */
  async #begin(
    block: Block,
    token: string,
    tracks: ReadonlyMap<number, Track | undefined>,
    isWhole: () => boolean,
  ): Promise<BegunBlock | undefined> {
    const { blocks, blockOf } = this.#options;
    const begunAt = performance.now();
    await this.#untilDone(() => blocks.begin(token, block.rangeList));
    const named = await Promise.all(
      [...tracks.values()].map(async (track) => {
        try {
          await track?.progress.saveIntent({ token });
          return track !== undefined;
        } catch {
          // The documents of a shard refuse only what comes from a former owner.
          return false;
        }
      }),
    );
    const decision = named.every(Boolean) && isWhole() && !this.#isStopping ? 'insert' : 'abandon';
    const decided = await this.#untilDone(() => blocks.decide(token, decision));
    const isUncertain = block.rangeList.some(
      ({ shard, firstSeq }) => firstSeq <= (tracks.get(shard)?.uncertainThrough ?? 0),
    );
    if (decided === undefined) return undefined;
    if (isUncertain) await this.#untilDone(() => inParts(decided, blocks));
    return decidedBlock(decided, blocks, blockOf, !isUncertain && performance.now() - begunAt < FRESH_MS);
  }

  #read({ ranges }: Pick<StoredBlock, 'ranges'>): Promise<BlockRecords> {
    return readBlock(ranges, (shard, seq) => this.#options.journal.read(shard, seq));
  }

  /** The measurements of a block that a former owner has begun. @returns the rows that were not set aside. */
  async #repeat(block: StoredBlock, scope: InsertScope): Promise<number> {
    const { blocks, blockOf } = this.#options;
    const { found, damaged } = await this.#insert.untilDone(() => this.#read(block), scope);
    await this.#insert.damaged(damaged, scope);
    const begun = decidedBlock(block, blocks, blockOf, false);
    return this.#insert.block(begun, columnsOf(found), async () => found, scope);
  }

  #scopeOf(track?: Track): InsertScope {
    return {
      isOver: () => this.#isStopping || track?.isLost === true,
      positionOf: (shard) => this.position(shard) ?? 0,
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

  /** @returns false when the shard is lost. */
  async #move(track: Track | undefined, lastSeq: number): Promise<boolean> {
    if (track === undefined || track.isLost) return false;
    try {
      await track.progress.savePosition(lastSeq);
    } catch {
      // Only a former owner's is refused. The next one finds the block in the progress.
      return false;
    }
    if (track.isLost) return false;
    track.position = lastSeq;
    this.#release();
    return true;
  }

  /** Settles the block that a former owner has begun, then goes on behind it. */
  async #settle(track: Track, token: string): Promise<void> {
    const { blocks } = this.#options;
    const scope = this.#scopeOf(track);
    try {
      const block = await this.#untilDone(() => blocks.decide(token, 'abandon'), track);
      const range = block?.ranges.find(({ shard }) => shard === track.shard);
      if (block && range) {
        this.#options.log.info(
          { shard: track.shard, token },
          'projector: a block that was begun elsewhere is inserted again',
        );
        await this.#settling.inserted(block, track);
        const rows = await this.#untilDone(async () => track.progress.outbox(track.position, range.lastSeq), track);
        for (const [table, list] of groupByTable(rows)) {
          await this.#insert.rows(table, list, scope);
        }
        if (!(await this.#move(track, range.lastSeq))) return;
        track.consumedSeq = range.lastSeq;
        await this.#untilDone(() => this.#stored.removeIfPassed(block), track);
      }
      track.isRepeating = false;
      track.isLagging = true;
      this.#kick();
    } catch (error) {
      if (!(error instanceof GivenUp)) throw error;
      // The block is gone from the store: what its decision is now tells how to go on.
      if (!scope.isOver()) void this.#settle(track, token);
    }
  }

  /** @param nowMs growing. @returns up to where the journal of each shard that is here is not needed. */
  trimBounds(nowMs: number, unsettledAfterMs?: number): Promise<Map<number, number>> {
    return this.#stored.trimBounds(nowMs, () => this.#token, unsettledAfterMs);
  }

  /** Everything before the DELETE in its own shard is inserted. The shard waits; the others go on. */
  async #delete(track: Track): Promise<void> {
    const { lastSeq, gone, commands } = track.deletion as Deletion;
    track.isDeleting = true;
    try {
      const scope = this.#scopeOf(track);
      let endSeq = lastSeq;
      if (gone.length > 0) endSeq = await this.#deleteGone(track, gone);
      else
        for (const command of commands)
          await this.#insert.deletion(command, () => this.#options.runDeletion(command), scope);
      if (!(await this.#move(track, endSeq))) return;
      track.consumedSeq = endSeq;
      for (const seq of track.goneAhead) if (seq <= endSeq) track.goneAhead.delete(seq);
      track.deletion = undefined;
      track.isLagging = true;
      this.#kick();
    } catch (error) {
      if (!(error instanceof GivenUp)) throw error;
    } finally {
      track.isDeleting = false;
    }
  }

  /** @returns up to which sequence they are carried out. */
  async #deleteGone(track: Track, gone: readonly JournalCommand[]): Promise<number> {
    const { journal, awaitSources, runDeletion } = this.#options;
    const ahead = await this.#untilDone(() => goneAhead(journal, track, gone[gone.length - 1].seq), track);
    let all = [...gone, ...ahead];
    try {
      await awaitSources(all, track.shard, AHEAD_VISIBLE_MS);
    } catch {
      // Shards that wait for each other would wait for ever: the first one alone, as a DELETE by filters, waits for
      // what is before it.
      all = [gone[0]];
      await this.#untilDone(() => awaitSources(all, track.shard, SOURCE_VISIBLE_MS), track);
    }
    for (const command of deletionsOf(all))
      await this.#insert.deletion(command, () => runDeletion(command, true), this.#scopeOf(track));
    for (const { seq } of all.slice(gone.length)) track.goneAhead.add(seq);
    return all[Math.min(all.length, gone.length) - 1].seq;
  }

  /** Repeats until it succeeds; gives up when the node stops or the shard is lost. */
  async #untilDone<Value>(action: () => Promise<Value>, track?: Track): Promise<Value> {
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

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
