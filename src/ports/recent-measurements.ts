/** Port of the measurements in memory that are asked for again and again. Implemented in src/ingest/recent. */

export interface RecentValue {
  readonly fragment: string;
  readonly series: string;
  readonly value: number;
  readonly unit: string;
}

/** What is kept of a measurement. */
export interface RecentMeasurement {
  readonly source: number;
  readonly id: number;
  /** ms since 1970. */
  readonly time: number;
  readonly type: string;
  /** '' where columns and form give it back. */
  readonly document: string;
  readonly values: readonly RecentValue[];
  readonly form: number;
  /** Of one without a document. */
  readonly tail?: string;
}

/** The end of a list by time. */
export type Edge = 'newest' | 'oldest';

/** What is kept: of a source, or of all the tenant where it is undefined. */
export interface EdgeOf {
  readonly tenant: number;
  readonly source: number | undefined;
  readonly edge: Edge;
}

/** What is asked for, from the edge on. */
export interface RecentRange {
  /** Both inclusive, ms since 1970. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly offset: number;
  readonly size: number;
}

/** What the history told of an edge. */
export interface EdgeFound {
  /** Measurements of the page that was asked for. */
  readonly page: number;
  /** All from the edge to some time; undefined when the edge is too large, or too far away, to be read for this. */
  readonly measurements: readonly RecentMeasurement[] | undefined;
  /** There are no others. */
  readonly isWhole: boolean;
}

export interface RecentReader {
  /** Larger pages are not kept. */
  readonly pageMax: number;
  /** ms since 1970. */
  now(): number;
  /** @returns from the edge on; undefined when it is not known. */
  find(of: EdgeOf, range: RecentRange): readonly RecentMeasurement[] | undefined;
  /** Whether the edge is known for pages of this size, or known not to be kept for them. */
  has(of: EdgeOf, page: number): boolean;
  /**
   * Asks the history, and keeps what it tells, or that it is not to be asked for this for some minutes. One query for a source at a time: what others learn meanwhile is not
   * kept.
   * @param read begins at once, and sees what came before or waits for it.
   * @returns the range of it; undefined when others may belong to it.
   */
  edge(
    of: EdgeOf,
    range: RecentRange,
    read: () => Promise<EdgeFound>,
  ): Promise<readonly RecentMeasurement[] | undefined>;
  /** @returns how many measurements the source has; undefined when it is not known. */
  total(tenant: number, source: number): number | undefined;
  /** As `edge` for their number; it is not kept when more come meanwhile, which may be counted or not. */
  counted(tenant: number, source: number, read: () => Promise<number>): Promise<number>;
}
