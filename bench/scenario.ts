/** What a scenario is and what it may use. */
import type { Options } from './options.ts';
import type { Subject, SubjectName } from './subjects/subject.ts';

/** One round of one subject: a line of the results file. */
export interface Sample {
  scenario: string;
  subject: string;
  round: number;
  values: Record<string, number>;
}

export interface StartOptions {
  /** As for `taskset -c`: for questions about more work than one core does. */
  readonly cores?: string;
  /** Settings that are not the defaults. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Context {
  readonly options: Options;
  readonly rounds: number;
  /**
   * Starts a server with fresh data; it is stopped when the scenario ends, at the latest.
   * @param own of Millrace alone
   */
  start(name: SubjectName, own?: StartOptions): Promise<Subject>;
  /** The names that this run is to measure, in order. */
  chosen(names: readonly SubjectName[]): SubjectName[];
  record(sample: Sample): void;
  /** Samples so far, of this and earlier scenarios. */
  readonly samples: readonly Sample[];
  /** A line for the report: what a reader must know beside the figures. */
  note(text: string): void;
  progress(text: string): void;
}

export interface Scenario {
  readonly name: string;
  readonly question: string;
  /** Values shown in the table, in order; the first is the figure. */
  readonly columns: readonly string[];
  /** False: only by --only. */
  readonly standard: boolean;
  run(context: Context): Promise<void>;
}

/** @returns the median of a value over the rounds so far, NaN without any. */
export function valuesOf(samples: readonly Sample[], scenario: string, subject: string, value: string): number[] {
  return samples
    .filter(
      (sample) => sample.scenario === scenario && sample.subject === subject && sample.values[value] !== undefined,
    )
    .map((sample) => sample.values[value]!);
}
