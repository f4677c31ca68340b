/** Scores the measurements of a chunk with the model of their binding, PMML in a thread and ONNX in a process. */
import type { DecodedMeasurement } from '../../ingest/measurements/record.ts';
import { Collector } from '../../scoring-workers/measurements/collector.ts';
import { InputReader } from '../../scoring-workers/measurements/input-reader.ts';
import type { Measured, Plan } from '../../scoring-workers/measurements/plan.ts';
import { measurementsOf } from '../../scoring-workers/measurements/score.ts';
import type { OnnxDescription } from '../../scoring-workers/onnx/tasks.ts';
import type { InputRecord } from '../../scoring-workers/pmml/engine.ts';
import type { OnnxScoring } from '../onnx/onnx-scoring.ts';
import { BINDINGS, type Scoring } from '../scoring.ts';
import type { Chunk } from './backlog.ts';
import { onnxBody, onnxRecords } from './onnx-rows.ts';
import type { Bound } from './tenant-bindings.ts';

export interface ScoringEngines {
  readonly scoring: Pick<Scoring, 'measure'>;
  readonly onnx: Pick<OnnxScoring, 'apply'>;
}

/**
 * @param mark JSON text that marks its predictions
 * @throws PlatformError 400 while the model cannot be used, 503 at a bound or when a worker is lost; RowsError for
 * answers of an ONNX model that are not rows
 */
export function scoreChunk(
  { scoring, onnx }: ScoringEngines,
  tenant: number,
  { binding, model, information, plan: unmarked }: Bound,
  { bytes, used }: Pick<Chunk, 'bytes' | 'used'>,
  mark: string,
): Promise<Measured> {
  const { measurement } = unmarked;
  const plan: Plan = measurement === undefined ? unmarked : { ...unmarked, measurement: { ...measurement, mark } };
  const records = bytes.subarray(0, used);
  if (binding.modelKind === 'pmml') return scoring.measure(tenant, model, records, plan);
  return scoreRows(records, plan, information, async (body) => {
    const output = await onnx.apply({ tenant, user: BINDINGS }, model, one(body));
    return JSON.parse(Buffer.from(output).toString()) as Readonly<Record<string, unknown>>;
  });
}

async function scoreRows(
  records: Uint8Array,
  plan: Plan,
  information: string,
  apply: (body: Uint8Array) => Promise<Readonly<Record<string, unknown>>>,
): Promise<Measured> {
  const reader = new InputReader(plan);
  const collector = new Collector(plan);
  const complete: { readonly measurement: DecodedMeasurement; readonly input: InputRecord }[] = [];
  for (const measurement of measurementsOf(records)) {
    const input = reader.read(measurement);
    if (input === undefined) collector.addIncomplete();
    else complete.push({ measurement, input });
  }
  if (complete.length === 0) return collector.measured;
  const inputs = complete.map(({ input }) => input);
  const body = onnxBody(JSON.parse(information) as OnnxDescription, inputs);
  const outputs = onnxRecords(await apply(Buffer.from(body)), complete.length);
  for (const [index, { measurement }] of complete.entries()) collector.add(measurement, outputs[index] ?? {});
  return collector.measured;
}

async function* one(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}
