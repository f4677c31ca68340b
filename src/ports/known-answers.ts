/** Port of answers of the history that are kept until what they are about changes. Implemented in src/ingest/recent. */
import type { HistoryStatement } from './history-reader.ts';

export interface KnownAnswers {
  /**
   * @param statement names the answer by its text and values; its tables, tenant and source are what it is about.
   * @param read asks the history. It begins at once, and sees what came before or waits for it.
   * @param bytesOf an estimate of what the answer takes in memory.
   * @returns what was read, now or since the last change. It is shared: it may not be changed.
   */
  answer<Value>(
    statement: HistoryStatement,
    read: () => Promise<Value>,
    bytesOf: (value: Value) => number,
  ): Promise<Value>;
}
