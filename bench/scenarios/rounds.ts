/** The common shape of a comparison: start all subjects, then let them take turns, round by round. */
import type { HttpClosedJob, MqttClosedJob, MqttFloodJob } from '../generator/job.ts';
import { loadRound } from '../load-round.ts';
import type { Context } from '../scenario.ts';
import { isOurs, type Subject, type SubjectName } from '../subjects/subject.ts';

export type LoadJob = MqttClosedJob | MqttFloodJob | HttpClosedJob;

/** Columns of a comparison's table. */
export const LOAD_COLUMNS = [
  'ratePerSecond',
  'acknowledgedPerSecond',
  'storedPerSecond',
  'serverMicrosPerMessage',
  'engineMicrosPerMessage',
  'serverCpuPercent',
  'engineCpuPercent',
  'generatorCpuPercent',
  'othersCpuPercent',
  'serverMebibytes',
  'engineMebibytes',
  'catchUpMs',
  'missingRows',
  'surplusRows',
  'failed',
] as const;

export interface Comparison {
  scenario: string;
  subjects: readonly SubjectName[];
  /** Makes what a subject needs before its first round (devices, for instance). */
  prepare?: (subject: Subject) => Promise<void>;
  job: (subject: Subject) => LoadJob;
}

/**
 * Runs A B C A B C …, so that a slow minute of the machine meets all of them. A peer that fails is left out from then
 * on, with a note.
 */
export async function compare(context: Context, comparison: Comparison): Promise<void> {
  let subjects: Subject[] = [];
  for (const name of context.chosen(comparison.subjects)) {
    const subject = await context.start(name);
    await comparison.prepare?.(subject);
    subjects.push(subject);
  }
  for (let round = 1; round <= context.rounds; round++) {
    for (const subject of subjects) {
      context.progress(`${comparison.scenario}: round ${round}, ${subject.name}`);
      try {
        const values = await loadRound(subject, comparison.job(subject));
        context.record({ scenario: comparison.scenario, subject: subject.name, round, values });
      } catch (error) {
        if (isOurs(subject.name)) throw error;
        context.note(
          `${comparison.scenario}: without ${subject.name} from round ${round} on: ${(error as Error).message}`,
        );
        subjects = subjects.filter((other) => other !== subject);
        await subject.stop();
      }
    }
  }
  for (const subject of subjects) await subject.stop();
}
