/** The head of a request: what answers depend on, heads that are refused, and preflights. */
import { PlatformError } from '../../../model/errors.ts';
import { calledAs } from '../../http/base-url.ts';
import type { HttpExchange } from '../../http/exchange.ts';
import { parseAccept } from '../../http/media-types.ts';
import { APPLICATION_HEADERS } from '../application-key.ts';
import type { Platform } from '../platform.ts';
import { ApiRequest } from '../request.ts';
import { CONTINUE, DONE, Passage, type Outcome, type Parts } from './passage.ts';

/** A body in chunks that uWebSockets.js may read otherwise than its client or a proxy. */
const CHUNKS_LIMIT = 'http/chunks';
/** Carried out when the end of the body is certain, or without any effect. */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'GET', 'HEAD', 'OPTIONS']);

/** @returns the passage of a new request, which the exchange leads to from now on. */
export function enter(exchange: HttpExchange, parts: Parts): Passage {
  const hops = parts.proxies.hopsOf(exchange);
  const request = new ApiRequest(parts.platform, exchange, parts.answers, {
    accept: parseAccept(exchange.header('accept')),
    origin: exchange.header('origin'),
    // Also with a base URL of the configuration: the host names the tenant. Where the first value counts it is in the
    // first line.
    called: calledAs(
      (name) => (hops > 0 && hops < Infinity ? exchange.headerValues(name).join(',') : exchange.header(name)),
      hops,
      exchange.isSecure,
    ),
    acceptEncoding: hasCodings(exchange.method) ? exchange.header('accept-encoding') : '',
    applicationKey: exchange.header(APPLICATION_HEADERS[0]) || exchange.header(APPLICATION_HEADERS[1]),
  });
  const passage = new Passage(request, parts);
  exchange.context = passage;
  return passage;
}

/** What a write answers is short. */
const hasCodings = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** @throws PlatformError for a head whose request may end elsewhere than a proxy believes, counted. */
export function refuseHead({ exchange, parts }: Passage): Outcome {
  const refusal = headRefusal(exchange, parts.platform);
  if (refusal !== undefined) throw refusal;
  return CONTINUE;
}

function headRefusal(
  exchange: HttpExchange,
  { config, refusals, log }: Pick<Platform, 'config' | 'refusals' | 'log'>,
): PlatformError | undefined {
  const { fault, hasLooseChunks, method } = exchange;
  if (fault !== '') {
    refusals.count('http/request-head', { address: exchange.remoteAddress, reason: fault });
    return new PlatformError('general/bad-request-head', { reason: fault });
  }
  if (!hasLooseChunks) return undefined;
  const isDelete = !WITH_BODY.has(method) || exchange.header('x-http-method').toUpperCase() === 'DELETE';
  const isTaken = config.trustsProxy !== true && exchange.header('trailer') === '' && !isDelete;
  if (isTaken) return undefined;
  refusals.count(CHUNKS_LIMIT, { address: exchange.remoteAddress, reason: `${method} ${exchange.path}` });
  log.debug(
    { limit: CHUNKS_LIMIT, method, path: exchange.path, remoteAddress: exchange.remoteAddress },
    'a request in chunks was refused',
  );
  return new PlatformError('general/length-required');
}

/** Answers what browsers ask before a request of another origin. */
export function answerPreflight({ exchange, request, parts }: Passage): Outcome {
  if (exchange.method !== 'OPTIONS') return CONTINUE;
  exchange.respond(204, parts.cors.of(request).preflightHeaders(request.origin), '');
  return DONE;
}
