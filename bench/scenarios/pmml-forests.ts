/** Forests of PMML: how fast one scores beside the same as plain JavaScript, and how long a large one takes to be read. */
import { PmmlReader, readPmml } from '../../src/scoring-workers/pmml/read.ts';
import { forest, forestRecords, forestText } from '../pmml/forest.ts';
import type { Scenario } from '../scenario.ts';

const SCORE = 'pmml-forest';
const UPLOAD = 'pmml-upload';
const RECORDS = 100_000;
/** Of each function before the first round: both are compiled by the engine of JavaScript meanwhile. */
const WARM_UP_ROUNDS = 2;
const DOCUMENT_BYTES = 100_000_000;

const megabytes = (bytes: number): number => Math.round(bytes / 1e5) / 10;

/** Memory outside of the stack; `external` counts the typed arrays. */
function memoryBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

type Score = (record: Readonly<Record<string, number>>) => Readonly<Record<string, unknown>>;

/** Parts of a batch in which the two take turns, so that what else the machine does meets both. */
const TURNS = 20;

/** Records a second of each. */
function rates(scores: readonly Score[], records: readonly Readonly<Record<string, number>>[]): number[] {
  const milliseconds = scores.map(() => 0);
  const length = records.length / TURNS;
  for (let turn = 0; turn < TURNS; turn++) {
    const part = records.slice(turn * length, (turn + 1) * length);
    scores.forEach((score, index) => {
      const results = new Array<unknown>(part.length);
      const begun = performance.now();
      for (let i = 0; i < part.length; i++) results[i] = score(part[i]);
      milliseconds[index] += performance.now() - begun;
    });
  }
  return milliseconds.map((one) => (records.length / one) * 1_000);
}

export const pmmlForest: Scenario = {
  name: SCORE,
  standard: true,
  columns: ['ratio', 'ratePerSecond', 'plainPerSecond'],
  question:
    'records a second of 100 trees of depth 8, 100,000 in a batch on one core, beside the same trees as plain JavaScript (ratio)',
  run: async (context) => {
    const { document, program } = forest();
    const { model, problems } = readPmml([document]);
    if (model === undefined) throw new Error(`the forest is refused: ${problems[0]?.text}`);
    const ours: Score = (record) => model.apply(record);
    const plain = new Function(program)() as Score;
    const records = forestRecords(RECORDS);
    const wrong = records.find((record) => ours(record)['target'] !== plain(record)['target']);
    if (wrong !== undefined)
      throw new Error(`the engine and the plain function do not agree: ${JSON.stringify(wrong)}`);
    for (let i = 0; i < WARM_UP_ROUNDS; i++) rates([plain, ours], records);
    for (let round = 1; round <= context.rounds; round++) {
      context.progress(`${SCORE}: round ${round}`);
      const [plainPerSecond, ratePerSecond] = rates([plain, ours], records);
      const values = { ratio: ratePerSecond / plainPerSecond, ratePerSecond, plainPerSecond };
      context.record({ scenario: SCORE, subject: 'millrace', round, values });
    }
  },
};

export const pmmlUpload: Scenario = {
  name: UPLOAD,
  standard: true,
  columns: ['seconds', 'cpuSeconds', 'peakByCompiled', 'compiledMegabytes'],
  question:
    'seconds to read and compile a PMML forest of 100 MB in chunks of 1 MB; highest memory by that of the compiled model',
  run: async (context) => {
    const chunks = forestText(DOCUMENT_BYTES).map((text) => Buffer.from(text));
    for (let round = 1; round <= context.rounds; round++) {
      context.progress(`${UPLOAD}: round ${round}`);
      const before = memoryBytes();
      const cpu = process.cpuUsage();
      const begun = performance.now();
      const reader = new PmmlReader();
      let peak = 0;
      for (const chunk of chunks) {
        reader.write(chunk);
        peak = Math.max(peak, memoryBytes());
      }
      const { model, problems } = reader.end();
      peak = Math.max(peak, memoryBytes());
      if (model === undefined) throw new Error(`the forest is refused: ${problems[0]?.text}`);
      const { user, system } = process.cpuUsage(cpu);
      context.record({
        scenario: UPLOAD,
        subject: 'millrace',
        round,
        values: {
          seconds: (performance.now() - begun) / 1_000,
          cpuSeconds: (user + system) / 1e6,
          peakByCompiled: (peak - before) / model.bytes,
          compiledMegabytes: megabytes(model.bytes),
        },
      });
    }
  },
};
