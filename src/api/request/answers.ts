/** The answers of requests: what all of them have, how errors are told, and what is counted of them. */
import { randomBytes } from 'node:crypto';
import { MEMBERS_LIMIT } from '../../model/documents/json-document.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import { BrokenBody } from '../http/body-stream.ts';
import { Compression, codingFor } from '../http/compression.ts';
import type { HttpExchange } from '../http/exchange.ts';
import { JSON_TYPE, vendorType } from '../http/media-types.ts';
import { STALLED_LIMIT } from '../http/paced-answer.ts';
import type { RequestShares } from '../http/request-shares.ts';
import type { Answer } from './answer.ts';
import type { TenantCors } from './cors.ts';
import type { InnerRequester } from './inner-request.ts';
import { deviceOfUser } from '../../remote-access/orders.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { Platform } from './platform.ts';
import type { ApiRequest, RequestOwner } from './request.ts';

type HttpRequest = ApiRequest<HttpExchange>;

/** Of what was asked for with a login: who uses the same browser next does not find it there. */
const NO_STORE = ['Cache-Control', 'no-store'];
const VARY = ['Vary', 'Accept-Encoding'] as const;
/**
 * Data. Answers about users, tenants, applications, logins and credentials are never compressed: the length of a
 * compressed text tells of its secrets to one who may choose a part of it.
 */
const DATA = /^\/(?:inventory|measurement|event|alarm|audit|devicecontrol\/(?:bulk)?operations)(?:\/|$)/;
const TEXTS = /json|csv/;
/** Errors whose text is fixed: what it was is the second of a list of errors. */
const REASON_LISTED: ReadonlySet<string> = new Set([
  'scoring/bad-record',
  'scoring/invalid-onnx',
  'scoring/invalid-python',
]);

/** @param headers of the answer; Content-Type is the first. A tag is that of the plain content. */
function isCompressible({ method, route }: ApiRequest, headers: readonly string[]): boolean {
  return method === 'GET' && DATA.test(route.path) && TEXTS.test(headers[1] ?? '') && !headers.includes('ETag');
}

/** These pass by themselves, and may come at any rate. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 503]);

/**
 * What is refused a device becomes its last error, as what MQTT refuses it does (docs/spec/inventory.md#single-objects).
 * Reads do not count: an agent asks for objects that are not there yet.
 */
export async function noteRefusal(
  { deviceErrors, documents, log }: Pick<Platform, 'deviceErrors' | 'documents' | 'log'>,
  { method, principal }: { readonly method: string; readonly principal: Principal },
  { status, code, message }: PlatformError,
): Promise<void> {
  if (deviceErrors === undefined || method === 'GET' || PASSING_STATUSES.has(status)) return;
  try {
    const device = await deviceOfUser({ documents }, principal);
    if (device !== undefined)
      deviceErrors.note(principal.tenantNumber, Number(device), { protocol: 'rest', code, message });
  } catch (error) {
    log.debug({ err: error, user: principal.userName, code }, 'the last error of a device could not be noted');
  }
}

export class RequestAnswers implements RequestOwner<HttpExchange> {
  readonly #platform: Platform;
  readonly #cors: TenantCors;
  readonly #shares: RequestShares;
  readonly compression = new Compression();
  readonly inner: InnerRequester;
  readonly isOfRow = false;

  constructor(platform: Platform, cors: TenantCors, shares: RequestShares, inner: InnerRequester) {
    this.#platform = platform;
    this.inner = inner;
    this.#cors = cors;
    this.#shares = shares;
  }

  answer(request: HttpRequest, answer: Answer): void {
    const headers: string[] = [];
    let { text } = answer;
    // What a write has done must be told.
    const limit = request.method === 'GET' ? this.#shares.takeAnswer(request.exchange, text.length) : undefined;
    if (limit !== undefined) return this.fail(request, refusedBy(limit));
    if (text !== '' && !request.wantsBody && answer.status < 300) text = '';
    if (text !== '') {
      const type =
        answer.contentType ??
        (request.kind === 'json' ? JSON_TYPE : vendorType(answer.mediaType ?? 'entity', request.accept.isBranded));
      headers.push('Content-Type', type, 'X-Content-Type-Options', 'nosniff');
    }
    if (answer.location !== undefined) headers.push('Location', answer.location);
    if (answer.headers !== undefined) headers.push(...answer.headers);
    if (answer.status !== 200 || !isCompressible(request, headers) || text.length === 0)
      return this.#respond(request, answer.status, headers, text);
    headers.push(...VARY);
    const coding = codingFor(request.acceptEncoding, text.length);
    if (coding === undefined) return this.#respond(request, answer.status, headers, text);
    // The body of the request is not needed any more.
    request.dropBody();
    this.compression
      .whole(coding, text)
      .then((bytes) => {
        if (bytes !== undefined) headers.push('Content-Encoding', coding);
        this.#respond(request, answer.status, headers, bytes ?? text);
      })
      .catch((error: unknown) => this.fail(request, error));
  }

  stream(request: HttpRequest, status: number, headers: readonly string[]): void {
    const { exchange } = request;
    const isCoded = isCompressible(request, headers);
    const coding = isCoded && exchange.method !== 'HEAD' ? codingFor(request.acceptEncoding) : undefined;
    const encoder = coding === undefined ? undefined : this.compression.stream(coding);
    const all = [...headers, ...(isCoded ? VARY : [])];
    if (coding !== undefined && encoder !== undefined) {
      all.push('Content-Encoding', coding);
      exchange.encodeWith(encoder);
    }
    exchange.startStream(status, this.#begin(request, all));
    this.#platform.onAnswered?.(request.method, status, undefined);
  }

  async sendContent(
    request: HttpRequest,
    status: number,
    headers: readonly string[],
    totalBytes: number,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const all = this.#begin(request, headers);
    this.#platform.onAnswered?.(request.method, status, undefined);
    await request.exchange.respondSized(status, all, totalBytes, pieces);
  }

  /** @param error any; what is not a PlatformError is logged and answered with 500. */
  fail(request: HttpRequest, error: unknown): void {
    if (request.exchange.isOver && (error instanceof BrokenBody || error === request.exchange.signal.reason)) return;
    if (error instanceof PlatformError) {
      if (request.bodyStream !== undefined && 'limit' in error) request.refused(String(error.limit));
      if (error.code === MEMBERS_LIMIT) request.refused(MEMBERS_LIMIT);
      // A client that obeyed it would have a stored command carried out twice.
      const isToRepeat = error.status === 429 || (error.status === 503 && !error.code.startsWith('commands/'));
      this.refuse(request, error, isToRepeat ? ['Retry-After', String(error.details['retryAfterSeconds'] ?? 1)] : []);
      return;
    }
    const reference = randomBytes(6).toString('hex');
    this.#platform.log.error(
      { err: error, reference, method: request.method, path: request.exchange.path },
      'a request failed',
    );
    this.refuse(request, new PlatformError('general/internal', { reference }), []);
  }

  /** @param headers names and values in turn. */
  refuse(request: HttpRequest, error: PlatformError, headers: readonly string[]): void {
    if (request.exchange.isOver) return;
    if (error.status === 401 || error.status === 403) this.#countRefusal(request, error);
    void noteRefusal(this.#platform, request, error);
    const answer = request.answerToRefusal(error);
    if (answer !== undefined)
      return this.#respond(request, answer.status, ['Content-Type', answer.contentType ?? JSON_TYPE], answer.text);
    if (request.hasErrorList && error.status !== 401 && error.status !== 403) {
      const { reason } = error.details;
      const errors = [error.message, ...(REASON_LISTED.has(error.code) ? [String(reason)] : [])];
      // These resources know no 422.
      const status = error.status === 422 ? 400 : error.status;
      this.#respond(request, status, ['Content-Type', JSON_TYPE, ...headers], JSON.stringify({ errors }));
      return;
    }
    const type = vendorType('error', request.accept.isBranded);
    const text = JSON.stringify({ error: error.error, message: error.message, info: `${request.baseUrl}/openapi` });
    this.#respond(request, error.status, ['Content-Type', type, ...headers], text);
  }

  /** The answer was broken off because its client takes nothing of it. */
  stalled({ method, path, holder, remoteAddress: address }: HttpExchange): void {
    const { tenant, userName: user } = holder ?? {};
    this.#platform.refusals.count(STALLED_LIMIT, { tenant, user, address, reason: `${method} ${path}` });
    this.#platform.log.warn(
      { method, path, limit: STALLED_LIMIT },
      'an answer was cut off: its client read nothing of it within the limit',
    );
  }

  #countRefusal(request: HttpRequest, { status, code, message }: PlatformError): void {
    const { method, exchange } = request;
    const { log } = this.#platform;
    request.refused(`http/${status}`, `${method} ${exchange.path}: ${message}`);
    if (log.isLevelEnabled('debug'))
      log.debug({ method, path: exchange.path, code, reason: message }, 'a request was refused');
  }

  #respond(request: HttpRequest, status: number, headers: readonly string[], text: string | Uint8Array): void {
    // An answer may take its client long to read.
    request.dropBody();
    request.exchange.respond(status, this.#begin(request, headers), text);
    this.#platform.onAnswered?.(
      request.method,
      status,
      request.isHeldBack ? undefined : performance.now() - request.exchange.receivedAt,
    );
  }

  /** Counts the request. @returns the headers with those that every answer has, however it is sent. */
  #begin(request: HttpRequest, headers: readonly string[]): readonly string[] {
    this.#count(request);
    const { rateHeaders, origin, method, tenant } = request;
    const isPrivate = method === 'GET' && tenant !== 0 && !headers.includes('Cache-Control');
    if (!isPrivate && rateHeaders.length === 0 && origin === '') return headers;
    return [
      ...headers,
      ...(isPrivate ? NO_STORE : []),
      ...rateHeaders,
      ...(origin === '' ? [] : this.#cors.of(request).headers(origin)),
    ];
  }

  /** For the statistics of the tenant. */
  #count({ tenant, applicationKey }: HttpRequest): void {
    const { usage } = this.#platform;
    if (usage === undefined || tenant === 0) return;
    usage.count(tenant, 'requests');
    if (applicationKey === '') usage.count(tenant, 'device_requests');
  }
}
