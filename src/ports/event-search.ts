/** Port of the search for one event among those of a source (SmartREST 407 and 408). */
import type { QueryAsker } from './history-reader.ts';

export interface EventWanted {
  /** Managed object. */
  readonly source: number;
  readonly type: string;
  /** It has this top-level member. */
  readonly fragment?: string;
  /** Its time is not later, ms since 1970. */
  readonly until?: number;
}

export interface EventSearch {
  /**
   * @returns the JSON text of the newest event that fits, by time, then by id; undefined when there is none. It sees
   * what was acknowledged before.
   * @throws PlatformError as `HistoryReader.query`.
   */
  newest(wanted: EventWanted, asker: QueryAsker): Promise<string | undefined>;
}
