/** Brings the blocks of one process's projector into the history store; see history-insert.ts for what is refused. */
import type { JournalCommand } from '../journal/command-record.ts';
import type { DamagedMeasurement } from '../measurements/damaged.ts';
import { GivenUp, HistoryInsert } from './history-insert.ts';
import type { HistoryInsertOptions, InsertScope } from './history-insert.ts';
import type { HistoryRow } from '../../ports/stores/history-writer.ts';
import type { Journal } from '../../ports/stores/journal.ts';
import type { MeasurementColumns } from '../measurements/columns.ts';
import { findMeasurements } from '../measurements/range.ts';
import type { FoundMeasurement } from '../measurements/range.ts';
import type { InsertIntent, InsertParts, ProjectorProgress } from './progress.ts';

export { GivenUp };

export interface BlockInsertOptions extends HistoryInsertOptions {
  readonly journal: Journal;
  readonly progress: ProjectorProgress;
  /** Carries out a DELETE by filters; repeatable. */
  readonly runDeletion: (command: JournalCommand) => Promise<void>;
}

/** Every method rejects with GivenUp when the server stops and the store refuses. */
export class BlockInsert {
  isStopping = false;
  readonly #options: BlockInsertOptions;
  readonly #insert: HistoryInsert;
  readonly #isOver = (): boolean => this.isStopping;

  constructor(options: BlockInsertOptions) {
    this.#options = options;
    this.#insert = new HistoryInsert(options);
  }

  get insertErrorsCount(): number {
    return this.#insert.insertErrorsCount;
  }
  get lastError(): string | undefined {
    return this.#insert.lastError;
  }
  /** What was set aside since the start. */
  get setAsideCount(): number {
    return this.#insert.setAsideCount;
  }

  #scope(position: number): InsertScope {
    return { isOver: this.#isOver, positionOf: () => position };
  }

  /**
   * Inserts the measurements of a block exactly once. `intent.parts` says that it was begun in parts.
   * @param isFresh no earlier process has begun it.
   * @returns the rows that were not set aside.
   */
  async measurements(
    columns: MeasurementColumns,
    intent: InsertIntent,
    position: number,
    isFresh: boolean,
  ): Promise<number> {
    const { progress, log } = this.#options;
    const { firstSeq, lastSeq } = intent;
    let { parts } = intent;
    const token = `${firstSeq}-${lastSeq}`;
    if (parts === undefined) {
      await this.untilDone(() => progress.saveIntent(intent));
      const refusal = await this.#insert.measurements({ columns, token, isFresh }, this.#scope(position));
      if (refusal === undefined || refusal === 'left') return columns.rowCount;
      log.warn(
        { error: refusal.message, firstSeq, lastSeq },
        'projector: a block of measurements is refused; it is inserted in parts',
      );
      parts = { after: firstSeq - 1, ends: [lastSeq] };
      // From here on the whole block must never be inserted under its own token: parts of it will be there.
      await this.untilDone(() => progress.saveIntent({ firstSeq, lastSeq, parts: parts as InsertParts }));
    }
    let { ends } = parts;
    return (
      columns.rowCount -
      (await this.#insert.parts(
        {
          token,
          after: parts.after,
          endOf: (after) => ends.find((end) => end > after),
          split: (after, through) => {
            ends = [through, ...ends.filter((end) => end > after && end !== through)];
            return progress.saveIntent({ firstSeq, lastSeq, parts: { after, ends } });
          },
          read: (from, through) => this.#read(from, through),
        },
        this.#scope(position),
      ))
    );
  }

  async #read(from: number, through: number): Promise<FoundMeasurement[]> {
    const found: FoundMeasurement[] = [];
    for (let seq = from; seq <= through; ) {
      const batch = await this.#options.journal.read(seq);
      if (!batch) throw new Error(`journal ends before ${through}, which a begun insert needs`);
      seq = findMeasurements(batch, from, through, found);
    }
    return found;
  }

  /** Inserts rows of a mutable table, at least once. @returns how many were not set aside. */
  rows(table: string, rows: readonly HistoryRow[], position: number): Promise<number> {
    return this.#insert.rows(table, rows, this.#scope(position));
  }

  deletion(command: JournalCommand, position: number): Promise<void> {
    return this.#insert.deletion(command, () => this.#options.runDeletion(command), this.#scope(position));
  }

  /** Sets aside the records of a block that cannot be read. */
  damaged(measurements: readonly DamagedMeasurement[], position: number): Promise<void> {
    return this.#insert.damaged(measurements, this.#scope(position));
  }

  /** Repeats until it succeeds. */
  untilDone(action: () => Promise<void>): Promise<void> {
    return this.#insert.untilDone(action, { isOver: this.#isOver });
  }
}
