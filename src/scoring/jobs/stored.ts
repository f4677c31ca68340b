/** Jobs and their runs as records (docs/internals/scoring.md#jobs). */
import type { JobConfiguration } from './configuration.ts';

export interface StoredJob extends JobConfiguration {
  readonly jobId: number;
  readonly jobCreationDate: string;
  /** Whose rights it was created with, for the turns of scoring. */
  readonly user: string;
  /** Whether the target is a group. */
  readonly isGroup: boolean;
  /** When it runs next, ms since 1970; null: never again. */
  readonly nextAt: number | null;
  /** Number of its last run; 0: none yet. */
  readonly lastNumber: number;
  /** It is being deleted: it runs no more, is shown no more, and its runs go before it. */
  readonly isDeleted?: boolean;
  /** By whom. */
  readonly deletedBy?: string;
}

/** `Running` until it ends; `Warning`: something could not be scored; `Failure`: nothing was. */
export type RunStatus = 'Running' | 'Success' | 'Warning' | 'Failure';

export interface StoredRun {
  readonly number: number;
  readonly isGroup: boolean;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly status: RunStatus;
  /** ms since 1970; of a run under way: a later one was interrupted (run-lease.ts). */
  readonly until?: number;
  readonly messages: readonly string[];
  /** Of its event, while that is not known to be created. */
  readonly eventId?: string;
  /** Its results: pages one behind the other, and the bytes of each. */
  readonly blob?: string;
  readonly pages?: readonly number[];
  readonly devices?: number;
  readonly models?: number;
}

/** Of the event of a run: what retention rules name it by. */
export const RUN_EVENT_TYPE = 'c8y_ScoringExecution';

export const JOB_PREFIX = 'job\n';
export const RUN_PREFIX = 'run\n';
/** Record of the last id and of the count of jobs. */
export const JOB_COUNTER_ID = 'jobs';

const DIGITS = 12;
/** So that records are listed by number. */
const padded = (number: number): string => String(number).padStart(DIGITS, '0');

export const jobRecordId = (jobId: number): string => `${JOB_PREFIX}${padded(jobId)}`;
export const runPrefix = (jobId: number): string => `${RUN_PREFIX}${padded(jobId)}\n`;
export const runRecordId = (jobId: number, number: number): string => `${runPrefix(jobId)}${padded(number)}`;

/** Contents that the text of a run names. */
export const runBlobs = (value: string): string[] => {
  const { blob } = JSON.parse(value) as Partial<StoredRun>;
  return blob === undefined ? [] : [blob];
};
