/** Errors that are a fault of what was sent, by their names: the engine, the contents and the models have their own. */
import { ContentError, ContentTooLong } from '../content/byte-reader.ts';
import type { RefusedAnswer } from '../protocol.ts';

/** A model that cannot be used any more although it could be once, for instance without its lookup table. */
export class RefusedModel extends Error {
  override readonly name = 'RefusedModel';
}

/** @returns undefined for errors that are the server's. */
export function refusalOf(error: unknown): RefusedAnswer | undefined {
  if (!(error instanceof Error)) return undefined;
  const { name, message } = error;
  if (error instanceof ContentTooLong) return { kind: 'refused', reason: 'too-long', message };
  if (error instanceof ContentError) return { kind: 'refused', reason: 'content', message };
  if (name === 'SeriesFormatError' || name === 'EncodingError') return { kind: 'refused', reason: 'content', message };
  if (name === 'TrainingError') return { kind: 'refused', reason: 'model', message };
  if (name === 'XmlError') return { kind: 'refused', reason: 'xml', message };
  if (name === 'PmmlError' || name === 'FunctionError' || error instanceof RefusedModel)
    return { kind: 'refused', reason: 'model', message };
  if (error instanceof RangeError) return { kind: 'refused', reason: 'memory', message };
  return undefined;
}
