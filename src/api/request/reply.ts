/** The usual answers of handlers. */
import type { ApiRequest } from './request.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import { ANSWERED } from './answer.ts';
import type { Answer } from './answer.ts';

export const NO_CONTENT: Answer = { status: 204, text: '' };

/** 200 with an entity or collection. @param mediaType vendor name. */
export const found = (mediaType: string, text: string): Answer => ({ status: 200, text, mediaType });

/** Of a count: the number, as JSON or as plain text, which are the same. */
export const COUNT_TYPES = ['application/json', 'text/plain'] as const;
export const counted = ({ kind }: ApiRequest, text: string): Answer => ({
  status: 200,
  text,
  contentType: kind === 'text' ? 'text/plain;charset=UTF-8' : JSON_TYPE,
});

/** 201 with Location; the entity is left out when the request has no Accept. */
export const created = (mediaType: string, text: string, location: string): Answer => ({
  status: 201,
  text,
  mediaType,
  location,
});

/** 201 without Location: nothing was stored. */
export const notStored = (mediaType: string, text: string): Answer => ({ status: 201, text, mediaType });

/** 200 with bytes that are in memory. @param headers names and values in turn. */
export async function sendBytes(
  request: ApiRequest,
  pieces: readonly Buffer[],
  headers: readonly string[],
): Promise<typeof ANSWERED> {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  await request.sendContent(200, [...headers, 'X-Content-Type-Options', 'nosniff'], bytes, each(pieces));
  return ANSWERED;
}

async function* each(pieces: readonly Buffer[]): AsyncIterable<Buffer> {
  yield* pieces;
}
