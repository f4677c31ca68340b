/** What the functions of this folder read with. */
import type { DocumentReader } from '../ports/document-reader.ts';
import type { HistoryReader } from '../ports/history-reader.ts';
import type { Refusals } from '../ports/refusals.ts';
import type { KnownAnswers } from '../ports/known-answers.ts';
import type { RecentReader } from '../ports/recent-measurements.ts';
import type { TotalCache } from './total-cache.ts';

export interface ListReaders {
  /** Number of the tenant. */
  readonly tenant: number;
  readonly history: HistoryReader;
  readonly documents: DocumentReader;
  readonly totals: TotalCache;
  /** Absent where not all that is stored is seen, or not waited for. */
  readonly recent?: RecentReader | undefined;
  /** As `recent`. */
  readonly known?: KnownAnswers | undefined;
  readonly refusals: Refusals;
  /** Longest text of a document, in bytes. */
  readonly textBytesMax: number;
}

export interface ExportReaders extends ListReaders {
  /** Shows what was visible already: an export waits for acknowledged data once, when it begins. */
  readonly later: HistoryReader;
  /** Runs a query in its turn (exports.ts). */
  readonly inTurn: <Result>(run: () => Promise<Result>) => Promise<Result>;
}
