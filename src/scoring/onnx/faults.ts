/** What clients are told when a process of ONNX or Python has no result (docs/spec/scoring.md#onnx-errors). */
import type { Asker } from '../asker.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { WorkerFault } from '../../scoring-workers/processes/protocol.ts';
import { WorkerEnded } from '../../scoring-workers/processes/worker-process.ts';
import { ONNX_LIMIT } from './limits.ts';

/**
 * Does work in a process.
 * @throws PlatformError 400 for a fault of the request, model or script, 503 for a process that ended; other errors as
 * they are.
 */
export async function told<Result>(refusals: Refusals, asker: Asker, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof WorkerFault) throw faultOf(refusals, asker, error);
    if (error instanceof WorkerEnded) throw endOf(refusals, asker, error);
    throw error;
  }
}

function faultOf(refusals: Refusals, asker: Asker, { kind, message }: WorkerFault): Error {
  if (kind === 'internal') return new Error(message);
  if (kind !== 'memory' && kind !== 'time') return new PlatformError('scoring/bad-input', { reason: message });
  const limit = kind === 'memory' ? ONNX_LIMIT.MEMORY : ONNX_LIMIT.SCRIPT_TIME;
  refusals.count(limit, { ...asker, reason: message });
  return new PlatformError('scoring/too-much', { reason: message, limit });
}

function endOf(refusals: Refusals, asker: Asker, { reason }: WorkerEnded): PlatformError {
  const limit = reason === 'time' ? ONNX_LIMIT.TIME : ONNX_LIMIT.PROCESS_LOST;
  if (reason === 'time' || reason === 'ended') refusals.count(limit, asker);
  return refusedBy(limit);
}
