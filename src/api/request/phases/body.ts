/** The body of a request: its type, its bytes and the limit of them. */
import { PlatformError, refusedBy } from '../../../model/errors.ts';
import { BYTES_BEFORE_LOGIN_MAX } from '../../http/body-budget.ts';
import type { HttpExchange } from '../../http/exchange.ts';
import type { RouteRules } from '../route-rules.ts';
import type { ApiConfig } from '../platform.ts';
import { CONTINUE, type CheckedPassage, type Outcome, type Passage } from './passage.ts';

/** @throws PlatformError 415. */
export function checkContentType({ compiled, request }: CheckedPassage): Outcome {
  const body = compiled?.route.body;
  if (body === undefined) return CONTINUE;
  const { contentType } = request;
  const isAnyTaken = (body.form === 'bytes' || body.form === 'stream') && body.schema === undefined;
  const isJson = contentType.kind === 'none' || contentType.kind === 'vendor' || contentType.kind === 'json';
  if ((isAnyTaken || isJson) && (contentType.isUtf8 || body.takesCharsets === true)) return CONTINUE;
  const { text = contentType.kind } = contentType;
  throw new PlatformError('general/unsupported-media-type', {
    type: contentType.isUtf8 ? text : `${text}, with a charset other than UTF-8,`,
  });
}

/** Waits for the whole body, but for one that its handler reads in pieces. */
export function awaitBody(passage: Passage): Outcome {
  const route = passage.compiled?.route;
  if (route?.body === undefined) return CONTINUE;
  readBody(passage, route);
  if (passage.request.bodyStream !== undefined || passage.bytes !== undefined) return CONTINUE;
  return passage.waitFor('body');
}

/** Begins to read the body. Does nothing when it is being read already, from when the credentials were checked. */
export function readBody(passage: Passage, route: RouteRules): void {
  if (passage.isReadingBody) return;
  passage.isReadingBody = true;
  // Back-pressure bounds what waits of a stream, also while a password is being checked.
  if (route.body?.form === 'stream') passage.request.bodyStream = passage.exchange.streamBody();
  else passage.exchange.readBody(bodyBytesMax(passage), onBody);
}

/** Bytes that a body of the route may have. */
export const bodyBytesOf = (
  route: RouteRules | undefined,
  { bodyMaxBytes, jsonBodyMaxBytes }: Pick<ApiConfig, 'bodyMaxBytes' | 'jsonBodyMaxBytes'>,
): number => (route?.body?.limit === 'large' ? bodyMaxBytes : jsonBodyMaxBytes);

/** Bytes that the body of this request may have. */
function bodyBytesMax({ compiled, credentials, parts }: Passage): number {
  const limit = bodyBytesOf(compiled?.route, parts.platform.config);
  return credentials === '' ? Math.min(limit, BYTES_BEFORE_LOGIN_MAX) : limit;
}

/** One function for all requests. */
function onBody(exchange: HttpExchange, body: Buffer | undefined, refused?: string): void {
  const passage = exchange.context as Passage;
  if (body !== undefined) {
    passage.bytes = body;
    passage.resume('body');
    return;
  }
  const { answers } = passage.parts;
  passage.request.refused(refused ?? 'http/body-bytes');
  const error =
    refused === undefined
      ? new PlatformError('general/payload-too-large', { limit: bodyBytesMax(passage) })
      : refusedBy(refused);
  answers.fail(passage.request, error);
}
