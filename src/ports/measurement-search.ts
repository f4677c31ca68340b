/** Port of the search for one measurement, which only the history knows. */
import type { QueryAsker } from './history-reader.ts';

export interface FoundMeasurement {
  /** Managed object. */
  readonly source: number;
  readonly timeMs: number;
}

export interface MeasurementSearch {
  /**
   * @returns undefined when there is none of that id. It sees what was acknowledged before.
   * @throws PlatformError as `HistoryReader.query`.
   */
  find(id: string, asker: QueryAsker): Promise<FoundMeasurement | undefined>;
}
