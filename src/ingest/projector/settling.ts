/**
 * Blocks that were begun before, by former owners or an earlier process: a node that takes over many shards of one block
 * inserts it once, for all of them. Each insert reads all ranges of the block from the journal and looks in the history
 * for what is there, so twenty of them would hold up all shards.
 */
import type { BegunBlock } from './begun-block.ts';
import type { InsertScope } from './history-insert.ts';
import type { Track } from './track.ts';

/** Tokens that are remembered, each for the shards of the block that come later. */
const SETTLED_MAX = 100;

interface UnderWay {
  readonly tracks: Set<Track>;
  readonly done: Promise<void>;
}

export class BlockSettling {
  readonly #insert: (block: BegunBlock, scope: InsertScope) => Promise<number>;
  readonly #onInserted: (rows: number) => void;
  readonly #scope: InsertScope;
  readonly #underWay = new Map<string, UnderWay>();
  readonly #settled = new Set<string>();

  /**
   * @param scope of this node; the insert of a block is over too when all shards that wait for it are lost.
   * @param insert of the measurements of all ranges; resolves to their number without those that were set aside.
   */
  constructor(
    scope: InsertScope,
    insert: (block: BegunBlock, scope: InsertScope) => Promise<number>,
    onInserted: (rows: number) => void,
  ) {
    this.#scope = scope;
    this.#insert = insert;
    this.#onInserted = onInserted;
  }

  /**
   * Resolves when the measurements of the block are in the history, of all its shards. Rejects with GivenUp.
   */
  async inserted(block: BegunBlock, track: Track): Promise<void> {
    const { token } = block;
    // A shard that names the block did so already when the others were settled: nothing of it is missing.
    if (this.#settled.has(token)) return;
    const known = this.#underWay.get(token);
    if (known !== undefined) {
      known.tracks.add(track);
      return known.done;
    }
    const tracks = new Set([track]);
    const { isOver, positionOf } = this.#scope;
    const done = this.#insert(block, {
      positionOf,
      isOver: () => isOver() || [...tracks].every(({ isLost }) => isLost),
    })
      .then((rows) => {
        this.#remember(token);
        if (rows > 0) this.#onInserted(rows);
      })
      .finally(() => {
        this.#underWay.delete(token);
      });
    this.#underWay.set(token, { tracks, done });
    return done;
  }

  #remember(token: string): void {
    this.#settled.add(token);
    for (const oldest of this.#settled) {
      if (this.#settled.size <= SETTLED_MAX) return;
      this.#settled.delete(oldest);
    }
  }
}
