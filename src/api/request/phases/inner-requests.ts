/**
 * Requests that the server asks of itself for a user, by way of the route table: the same checks, rights and handlers
 * as over HTTP, without a connection. What they answer is one JSON text.
 */
import { Shares } from '../../../pacing/shares.ts';
import { PlatformError } from '../../../model/errors.ts';
import { parseAccept, parseContentType } from '../../http/media-types.ts';
import type { Answer } from '../answer.ts';
import type { InnerAnswer, InnerRequest, InnerRequester } from '../inner-request.ts';
import { bodyBytesOf } from './body.ts';
import type { Parts } from './passage.ts';
import { proceedWithin } from './pipeline.ts';
import { requireRate } from '../rate.ts';
import { ApiRequest, type RequestOwner } from '../request.ts';
import type { RequestExchange } from '../request-exchange.ts';
import type { RouteRules } from '../route-rules.ts';

/** Characters of an answer. */
const ANSWER_LENGTH_MAX = 4_194_304;
/** Of all bodies whose answers are being made. */
const ANSWERS_LENGTH_MAX = 64 * 1_024 * 1_024;
const ANSWER_LIMIT = 'smartrest/answer-bytes';

export class InnerRequests implements InnerRequester {
  readonly answers = new Shares('smartrest/answers-under-way', ANSWERS_LENGTH_MAX);
  readonly #parts: Pick<Parts, 'platform' | 'router' | 'unknownParameters'>;

  constructor(parts: Pick<Parts, 'platform' | 'router' | 'unknownParameters'>) {
    this.#parts = parts;
  }

  run(asked: InnerRequest, isOpen: (route: RouteRules) => boolean): Promise<InnerAnswer> {
    return new Promise((resolve) => {
      const exchange = new InnerExchange(asked, resolve);
      const request = new ApiRequest(this.#parts.platform, exchange, new InnerAnswers(this.#parts.platform), {
        accept: parseAccept(asked.accept),
        origin: '',
        called: asked.called,
        applicationKey: asked.applicationKey,
        acceptEncoding: '',
      });
      try {
        this.#begin(asked, request, isOpen);
      } catch (error) {
        request.fail(error);
      }
    });
  }

  /** @throws PlatformError. */
  #begin(asked: InnerRequest, request: ApiRequest, isOpen: (route: RouteRules) => boolean): void {
    const { platform, router } = this.#parts;
    const { method, exchange } = request;
    request.identify(asked.principal);
    request.mode = asked.mode;
    if (method !== 'GET') request.contentType = parseContentType(asked.contentType);
    requireRate(request, platform.rates?.take(asked.principal));
    const match = router.find(exchange.path, method);
    const methods = [...(match?.entry.methods.values() ?? [])];
    if (match === undefined || !methods.some(({ route }) => isOpen(route)))
      throw new PlatformError('general/unknown-path', { path: exchange.path });
    const found = match.entry.methods.get(method);
    const compiled = found !== undefined && isOpen(found.route) ? found : undefined;
    let bytes: Buffer | undefined;
    if (compiled !== undefined) {
      const { route } = compiled;
      request.takeRoute(route, match.params);
      request.headers = Object.fromEntries((route.headers ?? []).map((name) => [name, '']));
      if (route.body !== undefined) bytes = Buffer.from(asked.body);
      const limit = bodyBytesOf(route, platform.config);
      if (bytes !== undefined && bytes.length > limit) throw new PlatformError('general/payload-too-large', { limit });
    }
    proceedWithin({ request, parts: this.#parts, compiled, bytes });
  }
}

class InnerExchange implements RequestExchange {
  readonly method: string;
  readonly path: string;
  readonly queryText: string;
  readonly remoteAddress: string;
  readonly isSecure: boolean;
  readonly certificates = [];
  readonly signal: AbortSignal;
  #resolve: ((answer: InnerAnswer) => void) | undefined;

  constructor({ method, uri, remoteAddress, called, signal }: InnerRequest, resolve: (answer: InnerAnswer) => void) {
    const queryAt = uri.indexOf('?');
    this.method = method;
    this.path = queryAt < 0 ? uri : uri.slice(0, queryAt);
    this.queryText = queryAt < 0 ? '' : uri.slice(queryAt + 1);
    this.remoteAddress = remoteAddress;
    this.isSecure = called.isSecure;
    this.signal = signal;
    this.#resolve = resolve;
  }

  get isOver(): boolean {
    return this.#resolve === undefined || this.signal.aborted;
  }

  /** Once. */
  respond(answer: InnerAnswer): void {
    this.#resolve?.(answer);
    this.#resolve = undefined;
  }

  onAborted(callback: () => void): void {
    if (this.signal.aborted) callback();
    else this.signal.addEventListener('abort', callback, { once: true });
  }

  releaseBody(): void {
    /* It counts with the request for which this one is asked. */
  }

  write(): never {
    throw notBegun();
  }

  endStream(): never {
    throw notBegun();
  }

  async pipe(): Promise<never> {
    throw notBegun();
  }
}

const notBegun = (): Error => new Error('an answer within the server has no pieces');

class InnerAnswers implements RequestOwner<InnerExchange> {
  /** What is asked within the server asks nothing itself. */
  readonly inner = undefined;
  readonly isOfRow = true;
  readonly #platform: Parts['platform'];

  constructor(platform: Parts['platform']) {
    this.#platform = platform;
  }

  answer(request: ApiRequest<InnerExchange>, { status, text }: Answer): void {
    const { exchange, wantsBody, method } = request;
    if (text.length <= ANSWER_LENGTH_MAX) return exchange.respond({ status, text: wantsBody ? text : '' });
    request.refused(ANSWER_LIMIT);
    // What a write has done must be told.
    exchange.respond(method === 'GET' ? { status: 413, text: '' } : { status, text: '' });
  }

  /** @throws PlatformError 406: rows are made of one text. */
  stream(request: ApiRequest<InnerExchange>): never {
    throw notText(request);
  }

  /** @throws PlatformError 406. */
  async sendContent(request: ApiRequest<InnerExchange>): Promise<never> {
    throw notText(request);
  }

  fail(request: ApiRequest<InnerExchange>, error: unknown): void {
    if (error instanceof PlatformError) return this.refuse(request, error);
    if (!request.exchange.signal.aborted) {
      const { method, path } = request.exchange;
      this.#platform.log.error({ err: error, method, path }, 'a request of a template failed');
    }
    request.exchange.respond({ status: 500, text: '' });
  }

  refuse(request: ApiRequest<InnerExchange>, { status, message }: PlatformError): void {
    const { exchange, method } = request;
    if (status === 401 || status === 403) request.refused(`http/${status}`, `${method} ${exchange.path}: ${message}`);
    exchange.respond({ status, text: '' });
  }
}

const notText = ({ accept }: ApiRequest<InnerExchange>): PlatformError =>
  new PlatformError('general/not-acceptable', { accept: accept.text ?? '' });
