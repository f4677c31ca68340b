/** Scores the measurements of a chunk with the model of their binding, PMML in a thread and ONNX in a process. */
import { nextAt } from '../../ingest/journal/record-layout.ts';
import { PlatformError } from '../../model/errors.ts';
import { Collector } from '../../scoring-workers/measurements/collector.ts';
import { InputReader } from '../../scoring-workers/measurements/input-reader.ts';
import type { Measured, Plan } from '../../scoring-workers/measurements/plan.ts';
import type { OnnxDescription } from '../../scoring-workers/onnx/tasks.ts';
import type { InputRecord, OutputRecord } from '../../scoring-workers/pmml/engine.ts';
import type { OnnxScoring } from '../onnx/onnx-scoring.ts';
import { BINDINGS, type Scoring } from '../scoring.ts';
import type { Chunk } from './backlog.ts';
import { onnxBody, onnxRecords, RowsError } from './onnx-rows.ts';
import type { Bound } from './tenant-bindings.ts';
import { isOfValues } from './value-errors.ts';

/** Runs of a model in one task that may fail because of values: some for each of a few measurements. */
const FAULTS_MAX = 64;

export interface ScoringEngines {
  readonly scoring: Pick<Scoring, 'measure'>;
  readonly onnx: Pick<OnnxScoring, 'apply'>;
}

/**
 * @param mark JSON text that marks its predictions
 * @throws PlatformError 400 while the model cannot be used, or takes the values of too many measurements not; 503 at a
 * bound or when a worker is lost
 */
export function scoreChunk(
  { scoring, onnx }: ScoringEngines,
  tenant: number,
  { binding, model, information, plan: unmarked }: Bound,
  { bytes, used, room }: Pick<Chunk, 'bytes' | 'used' | 'room'>,
  mark: string,
): Promise<Measured> {
  const { measurement } = unmarked;
  const plan: Plan = measurement === undefined ? unmarked : { ...unmarked, measurement: { ...measurement, mark } };
  const records = bytes.subarray(0, used);
  if (binding.modelKind === 'pmml') return scoring.measure(tenant, model, records, plan, room);
  return scoreRows(records, plan, async (inputs) => {
    const body = onnxBody(JSON.parse(information) as OnnxDescription, inputs);
    const output = await onnx.apply({ tenant, user: BINDINGS }, model, one(Buffer.from(body)), {
      columns: plannedNames(plan),
    });
    return onnxRecords(JSON.parse(Buffer.from(output).toString()) as Readonly<Record<string, unknown>>, inputs.length);
  });
}

const plannedNames = ({ measurement, event, alarm }: Plan): readonly string[] => [
  ...new Set([
    ...(measurement?.outputs.map(({ name }) => name) ?? []),
    ...[event, alarm].filter((name) => name !== undefined),
  ]),
];

type Apply = (inputs: readonly InputRecord[]) => Promise<readonly (OutputRecord | undefined)[]>;

async function scoreRows(records: Buffer, plan: Plan, apply: Apply): Promise<Measured> {
  const reader = new InputReader(plan);
  const collector = new Collector(plan);
  const complete: { readonly at: number; readonly input: InputRecord }[] = [];
  for (let at = 0; at < records.length; at = nextAt(records, at)) {
    const input = reader.read(records, at);
    if (input === undefined) collector.addIncomplete();
    // The reader's record is that of the next measurement then.
    else complete.push({ at, input: { ...input } });
  }
  if (complete.length === 0) return collector.measured();
  const outputs = await appliedInParts(
    complete.map(({ input }) => input),
    apply,
    { faultsLeft: FAULTS_MAX },
  );
  for (const [index, { at }] of complete.entries()) {
    const output = outputs[index];
    if (output === undefined) collector.addRefused();
    else collector.add(records, at, output);
  }
  return collector.measured();
}

/** Where the model does not take the values of all, each half by itself: one device does not hold up the others. */
async function appliedInParts(
  inputs: readonly InputRecord[],
  apply: Apply,
  bound: { faultsLeft: number },
): Promise<readonly (OutputRecord | undefined)[]> {
  try {
    return await apply(inputs);
  } catch (cause) {
    const error = cause instanceof RowsError ? refusedRows(cause) : cause;
    if (!isOfValues(error) || bound.faultsLeft === 0) throw error;
    bound.faultsLeft -= 1;
    if (inputs.length === 1) return [undefined];
    const middle = Math.ceil(inputs.length / 2);
    const first = await appliedInParts(inputs.slice(0, middle), apply, bound);
    return [...first, ...(await appliedInParts(inputs.slice(middle), apply, bound))];
  }
}

const refusedRows = ({ message }: RowsError): PlatformError =>
  new PlatformError('scoring/bad-input', { reason: `The model cannot be bound: ${message}.` });

async function* one(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}
