/** What requests with many records share (docs/spec/scoring.md#batch). */
import Type from 'typebox';
import type { Asker } from '../../scoring/asker.ts';
import { RECORDS_PER_THREAD_DEFAULT, type Batch } from '../../scoring/batches.ts';
import type { RunningBatch } from '../../scoring/running-batches.ts';
import type { Spool } from '../../scoring/spool.ts';
import { zipped } from '../../scoring/zip-output.ts';
import type { RecordFormat } from '../../scoring-workers/protocol.ts';
import { attachmentHeader } from '../http/byte-range.ts';
import { ANSWERED } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { QueryParameters } from '../request/schema/query-values.ts';
import { askerOf, scoringOf } from './parts.ts';

export const ZIP_TYPE = 'application/zip';
const CONTENT_TYPES: Readonly<Record<RecordFormat, string>> = {
  csv: 'text/csv;charset=UTF-8',
  json: 'application/json;charset=UTF-8',
};
/** Records of a slice; more that a client asks for are these. */
const RECORDS_MAX = 20_000;

export const BATCH_PARAMETERS: QueryParameters = {
  maxThreads: {
    schema: Type.Integer({ minimum: 1 }),
    description: 'Slices of records that are scored at the same time; default and bound: twice the scoring threads',
  },
  maxRecordsPerThread: {
    schema: Type.Integer({ minimum: 1, default: RECORDS_PER_THREAD_DEFAULT }),
    description: `Records of a slice; a larger number counts as ${RECORDS_MAX}`,
  },
};

/** Options of a batch that the query names. */
export const batchOptions = ({ query }: ApiRequest): { threadsMax: number | undefined; recordsMax: number } => ({
  threadsMax: query.integer('maxThreads'),
  recordsMax: Math.min(query.integer('maxRecordsPerThread') ?? RECORDS_PER_THREAD_DEFAULT, RECORDS_MAX),
});

/**
 * Answers when all records are scored: what is wrong with one is an answer of its own, and clients that send all of a
 * batch before they read are not held up. @param score returns the headers of the answer.
 */
export async function answerBatch(
  request: ApiRequest,
  of: { readonly modelName: string; readonly groupName?: string },
  score: (asker: Asker, results: Spool, running: RunningBatch) => Promise<readonly string[]>,
): Promise<typeof ANSWERED> {
  const scoring = scoringOf(request);
  const asker = askerOf(request);
  const running = scoring.batches.begin(asker, of, request.platform.now());
  const results = scoring.spool(asker);
  try {
    const headers = await score(asker, results, running);
    await request.sendContent(200, headers, results.bytes, results.read());
  } finally {
    await results.close();
    scoring.batches.end(running);
  }
  return ANSWERED;
}

/** Writes the results, in ZIP where the input is. @returns the headers of the answer. */
export async function writeBatch(
  results: Spool,
  { output, packing, pieces }: Pick<Batch, 'output' | 'packing' | 'pieces'>,
  modelName: string,
): Promise<readonly string[]> {
  const name = `${modelName}.${output}`;
  const isZip = packing === 'zip';
  for await (const piece of isZip ? zipped([{ name, pieces }]) : pieces) await results.write(piece);
  if (!isZip) return ['Content-Type', CONTENT_TYPES[output]];
  return ['Content-Type', ZIP_TYPE, 'Content-Disposition', attachmentHeader(`${name}.zip`)];
}
