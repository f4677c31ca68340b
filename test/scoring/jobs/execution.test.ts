/** What a run tells of its end, and what it holds (docs/spec/scoring.md#jobs). */
import t from 'tap';
import { JOB_HELD_BYTES_MAX, JOB_RESULT_BYTES_MAX } from '../../../src/scoring/limits.ts';
import { executeJob, type ExecutionParts, type Outcome } from '../../../src/scoring/jobs/execution.ts';
import type { StoredJob } from '../../../src/scoring/jobs/stored.ts';
import { valueRows } from '../../helpers/value-rows.ts';

const JOB: StoredJob = {
  jobName: 'j',
  jobDescription: '',
  groupOrDeviceId: '7',
  modelOrGroup: 'm',
  applyAllModels: false,
  modelToDeviceMappings: { x: 'pump.a.value' },
  jobSchedule: { frequency: 'once', scheduleAt: '', dataFrom: '1970-01-01T00:00:00Z', dataTo: '1970-01-01T01:00:00Z' },
  jobId: 1,
  jobCreationDate: '',
  user: 'u',
  isGroup: false,
  nextAt: null,
  lastNumber: 0,
};

interface Given {
  readonly records?: number;
  readonly refused?: number;
  readonly inputs?: readonly string[];
  /** Of the results of one model. */
  readonly bytes?: number;
  /** These results themselves. */
  readonly output?: Buffer;
  /** Records that one result is of. */
  readonly ofPiece?: number;
  readonly onScore?: () => void;
}

function run(given: Given, job = JOB): Promise<Outcome> {
  const { records = 1, refused = 0, inputs = ['x'], ofPiece = 1, bytes = given.output?.length ?? 2, onScore } = given;
  const model = { name: 'm', blob: 'b', bytes: 1, compiledBytes: 1, isActive: true, createdAt: 0 };
  const group = { groupName: 'g', models: ['m', 'n', 'o'], primaryModel: 'm' };
  const texts: Readonly<Record<string, object>> = {
    'pmml\nm': model,
    'pmml\nn': { ...model, name: 'n' },
    'pmml\no': { ...model, name: 'o' },
    'group\ng': group,
  };
  const information = JSON.stringify({ inputFields: inputs.map((name) => ({ name })) });
  const rows = Array.from({ length: records }, (_, time) => ({ source: 7, time, fragment: 1, series: 1, value: 1 }));
  const parts = {
    documents: {
      get: (collection: string, _tenant: number, id: string) => {
        if (collection === 'managedObject' || id.startsWith('information')) return information;
        const found = texts[id];
        return found === undefined ? undefined : JSON.stringify(found);
      },
    },
    history: {
      query: async () => (records === 0 ? [] : [{ sourceId: '7', count: records }]),
      bytes: async () => valueRows(rows),
    },
    blobs: {
      put: async (pieces: AsyncIterable<Uint8Array>) => {
        let length = 0;
        for await (const piece of pieces) length += piece.length;
        return { key: 'k', bytes: length };
      },
    },
    score: async () => {
      onScore?.();
      const piece = { deviceId: '7', records: ofPiece, bytes, refused, unseen: [] };
      // As long as is said, without the memory.
      const output = given.output ?? (bytes > 1e6 ? { length: bytes } : Buffer.alloc(bytes));
      return { kind: 'values', output, pieces: [piece], count: 1, predictions: { classes: [], numbers: [] } };
    },
  } as unknown as ExecutionParts;
  return executeJob(parts, 1, job, 0, new AbortController().signal);
}

t.test('the status says whether a record was scored', async (t) => {
  t.match(await run({}), { status: 'Success', messages: [] });
  t.match(await run({ refused: 1 }), { status: 'Failure', messages: [/1 records of device 7 could not be scored/] });
  t.match(await run({ records: 0 }), { status: 'Warning', messages: [/Device 7 has no values/] });
});

t.test('a model that was uploaded anew may have lost an input', async (t) => {
  t.match(await run({ inputs: ['y'] }), {
    status: 'Failure',
    messages: [/names 'x', which is not an input of the model 'm'; its inputs are y/],
  });
});

t.test('the results of all models together are bounded while they are held', async (t) => {
  let calls = 0;
  const outcome = await run(
    { records: 20_000, bytes: JOB_HELD_BYTES_MAX / 2, onScore: () => calls++ },
    { ...JOB, modelOrGroup: 'g', applyAllModels: true },
  );
  t.match(outcome, { status: 'Failure', messages: [/more than 134217728 bytes \(scoring\/job-held-bytes\)/] });
  t.ok(calls <= 6, `${calls} of 30 tasks were begun`);
});

t.test('the results of a run are bounded, and a page that is written is not held', async (t) => {
  const [slices, bytes] = [13, 40 * 1_048_576];
  t.ok(slices * bytes > JOB_RESULT_BYTES_MAX && (slices - 1) * bytes < JOB_RESULT_BYTES_MAX);
  t.match(await run({ records: slices * 2_000, ofPiece: 2_000, output: Buffer.alloc(bytes) }), {
    status: 'Failure',
    messages: [/more than 524288000 bytes \(scoring\/job-result-bytes\)/],
  });
});
