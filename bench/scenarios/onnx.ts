/** What applying an ONNX model costs over the runtime itself, in this process: no server, no channel. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { OnnxModel } from '../../src/scoring-workers/onnx/model.ts';
import type { Scenario } from '../scenario.ts';

/** Beside the repository; each folder has a model with one input of floats. */
const FOLDER = join(process.cwd(), '..', 'shared', 'data', 'onnx');
const ROWS = 64;
const MODELS = [
  { name: 'lgbm-classifier-tensor', input: 'input', dims: [ROWS, 13] },
  { name: 'xgboost-regressor-tree', input: 'input', dims: [ROWS, 13] },
  { name: 'forest-regressor-bench', input: 'X', dims: [ROWS, 10] },
  { name: 'linear-classifier', input: 'input', dims: [ROWS, 12] },
  { name: 'sine-mlp', input: 'dense_2_input', dims: [ROWS, 1] },
] as const;
const WARM_UP_RUNS = 500;
const RUNS = 2_000;

/** CPU time of one run, in microseconds: others use the same cores. */
async function costOf(run: () => Promise<unknown>): Promise<number> {
  for (let count = 0; count < WARM_UP_RUNS; count++) await run();
  const before = process.cpuUsage();
  for (let count = 0; count < RUNS; count++) await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / RUNS;
}

export const onnx: Scenario = {
  name: 'onnx',
  standard: false,
  question: `CPU time of applying an ONNX model to ${ROWS} rows over the bare runtime with a tensor that is ready; with JSON both ways beside it`,
  columns: ['overheadPercent', 'bareMicroseconds', 'applyMicroseconds', 'jsonMicroseconds'],
  async run(context) {
    if (!existsSync(FOLDER)) {
      context.note(`onnx: skipped, ${FOLDER} is not there`);
      return;
    }
    for (let round = 1; round <= context.rounds; round++) {
      for (const { name, input, dims } of MODELS) {
        context.progress(`onnx: round ${round}, ${name}`);
        context.record({ scenario: 'onnx', subject: name, round, values: await measured(name, input, dims) });
      }
    }
  },
};

async function measured(name: string, input: string, dims: readonly [number, number]): Promise<Record<string, number>> {
  const file = readFileSync(join(FOLDER, name, 'model.onnx'));
  const model = await OnnxModel.load(file);
  const session = await InferenceSession.create(file, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
  });
  const [rows, columns] = dims;
  const values = Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) => (row * columns + column) / 10),
  );
  const flat = Float32Array.from(values.flat());
  const body = { [input]: values };
  const text = JSON.stringify(body);
  const bareMicroseconds = await costOf(() => session.run({ [input]: new Tensor('float32', flat, dims) }));
  const applyMicroseconds = await costOf(() => model.apply(body));
  const jsonMicroseconds = await costOf(() => model.applyToJson(JSON.parse(text)));
  await session.release();
  await model.release();
  const overheadPercent = (applyMicroseconds / bareMicroseconds - 1) * 100;
  return { overheadPercent, bareMicroseconds, applyMicroseconds, jsonMicroseconds };
}
