/** How fast PMML models score, beside the same models written as plain JavaScript. */
import { readPmml } from '../../src/scoring-workers/pmml/read.ts';
import { type BenchRecord, PMML_SUBJECTS, type PmmlSubject, records } from '../pmml/models.ts';
import type { Context, Scenario } from '../scenario.ts';

const NAME = 'pmml';
const RECORDS = 100_000;
/** Of each function before the first round. */
const WARM_UP = 20_000;

type Score = (record: BenchRecord) => Record<string, unknown>;

function compile({ name, document }: PmmlSubject): Score {
  const { model, problems } = readPmml([document]);
  if (model === undefined) throw new Error(`${name} is refused: ${problems.map(({ text }) => text).join('; ')}`);
  return (record) => model.apply(record);
}

function plain({ source }: PmmlSubject): Score {
  return new Function('held', `return (record) => { ${source} };`)({}) as Score;
}

/** Records in a second of CPU time: others use the same cores. Results are kept until the end, as a batch keeps them. */
function rate(score: Score, batch: readonly BenchRecord[]): number {
  const results = new Array<unknown>(batch.length);
  const before = process.cpuUsage();
  for (let i = 0; i < batch.length; i++) results[i] = score(batch[i] as BenchRecord);
  const { user, system } = process.cpuUsage(before);
  return (batch.length / (user + system)) * 1_000_000;
}

function measure(context: Context, subject: PmmlSubject, batch: readonly BenchRecord[]): void {
  const ours = compile(subject);
  const theirs = plain(subject);
  for (const record of batch.slice(0, WARM_UP))
    if (ours(record)[subject.output] !== theirs(record)[subject.output])
      throw new Error(`${subject.name}: the engine and the plain function do not agree`);
  for (let round = 1; round <= context.rounds; round++) {
    context.progress(`${NAME}: round ${round}, ${subject.name}`);
    const plainPerSecond = rate(theirs, batch);
    const ratePerSecond = rate(ours, batch);
    const values = { ratio: ratePerSecond / plainPerSecond, ratePerSecond, plainPerSecond };
    context.record({ scenario: NAME, subject: subject.name, round, values });
  }
}

export const pmml: Scenario = {
  name: NAME,
  standard: false,
  columns: ['ratio', 'ratePerSecond', 'plainPerSecond'],
  question: `records in a second of CPU time, ${RECORDS} in a batch: PMML models beside the same models as plain JavaScript (ratio)`,
  run: async (context) => {
    const batch = records(RECORDS);
    for (const make of PMML_SUBJECTS) measure(context, make(), batch);
  },
};
