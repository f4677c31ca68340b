/**
 * What a request must fulfil before its handler runs: who may reach its route, its media types, its processing mode and
 * its body.
 */
import { PlatformError } from '../../model/errors.ts';
import { processingModeOf } from '../../model/commands/processing-mode.ts';
import { BOOTSTRAP_ROLE, SERVICE_BOOTSTRAP_ROLE } from '../../model/access/roles.ts';
import type { ApiRequest } from './request.ts';
import type { HttpExchange } from '../http/exchange.ts';
import { chooseKind } from '../http/media-types.ts';
import type { MediaKind } from '../http/media-types.ts';
import type { Platform } from './platform.ts';
import type { CheckedRoute, RouteRules } from './route-rules.ts';

const DEFAULT_PRODUCES: readonly MediaKind[] = ['vendor', 'json'];

/**
 * Who only asks for device credentials reaches nothing else (docs/spec/device-registration.md#bootstrap-user), but what
 * is open to everybody. The bootstrap user of a microservice reaches its own application, tenant and user
 * (docs/spec/microservices.md#users).
 */
export function mayReach(principal: ApiRequest['principal'], route: RouteRules): boolean {
  if (principal.roles.has(SERVICE_BOOTSTRAP_ROLE))
    return route.access === 'public' || route.isForServiceBootstrap === true;
  if (!principal.roles.has(BOOTSTRAP_ROLE) || principal.roles.size > 1) return true;
  return route.access === 'public' || route.roles?.includes(BOOTSTRAP_ROLE) === true;
}

export function checkContentType(request: ApiRequest, route: RouteRules): void {
  const { contentType } = request;
  const isWrong =
    (route.body?.form === 'bytes' || route.body?.form === 'stream') && route.body.schema === undefined
      ? false
      : contentType.kind !== 'none' && contentType.kind !== 'vendor' && contentType.kind !== 'json';
  if (isWrong || !contentType.isUtf8) {
    const { text = contentType.kind } = contentType;
    throw new PlatformError('general/unsupported-media-type', {
      type: contentType.isUtf8 ? text : `${text}, with a charset other than UTF-8,`,
    });
  }
}

export function chooseMediaType(request: ApiRequest, route: RouteRules): void {
  if (!request.accept.isPresent || request.method === 'DELETE') return;
  const kind = chooseKind(request.accept, route.produces ?? DEFAULT_PRODUCES);
  if (kind === undefined) throw new PlatformError('general/not-acceptable', { accept: request.accept.text ?? '' });
  request.kind = kind;
}

export function readMode(request: ApiRequest): void {
  const mode = processingModeOf(request.modeName.trim());
  if (mode === undefined) {
    throw new PlatformError('general/invalid-parameter', {
      name: 'X-Platform-Processing-Mode',
      value: request.modeName,
      limit: 'one of PERSISTENT, TRANSIENT, QUIESCENT, CEP',
    });
  }
  request.mode = mode;
}

const NO_NAMES: ReadonlySet<string> = new Set();

export function readJson(request: ApiRequest, compiled: CheckedRoute): void {
  if (compiled.route.body?.isOptional === true && request.body.length === 0) return;
  const { validator } = compiled;
  request.dropNulls(validator?.droppedNulls ?? NO_NAMES);
  validator?.checkValue(JSON.parse(request.bodyText()));
}

/** A body in chunks that uWebSockets.js may read otherwise than its client or a proxy. */
const CHUNKS_LIMIT = 'http/chunks';
/** Carried out when the end of the body is certain, or without any effect. */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'GET', 'HEAD', 'OPTIONS']);

/** @returns why the head of a request is refused, counted; undefined when it is not. */
export function headRefusal(
  exchange: HttpExchange,
  { config, refusals, log }: Pick<Platform, 'config' | 'refusals' | 'log'>,
): PlatformError | undefined {
  const { fault, hasLooseChunks, method } = exchange;
  if (fault !== '') {
    refusals.count('http/request-head');
    return new PlatformError('general/bad-request-head', { reason: fault });
  }
  if (!hasLooseChunks) return undefined;
  const isDelete = !WITH_BODY.has(method) || exchange.header('x-http-method').toUpperCase() === 'DELETE';
  const isTaken = config.trustsProxy !== true && exchange.header('trailer') === '' && !isDelete;
  if (isTaken) return undefined;
  refusals.count(CHUNKS_LIMIT);
  log.debug(
    { limit: CHUNKS_LIMIT, method, path: exchange.path, remoteAddress: exchange.remoteAddress },
    'a request in chunks was refused',
  );
  return new PlatformError('general/length-required');
}
