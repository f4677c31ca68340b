/** Port of the search for one event among those of a source (SmartREST 407). */
import type { QueryAsker } from './history-reader.ts';

export interface EventWanted {
  /** Managed object. */
  readonly source: number;
  readonly type: string;
}

export interface EventSearch {
  /**
   * @returns the JSON text of the newest event that fits, by time, then by id; undefined when there is none. It sees
   * what was acknowledged before.
   * @throws PlatformError as `HistoryReader.query`.
   */
  newest(wanted: EventWanted, asker: QueryAsker): Promise<string | undefined>;
}
