/** Which route a request asks for, and what that reads of the head. */
import { parseContentType } from '../../http/media-types.ts';
import { headerText } from '../login-caller.ts';
import type { RouteRules } from '../route-rules.ts';
import { CONTINUE, type Outcome, type Passage } from './passage.ts';

/** For clients that can send only GET and POST. */
export function overrideMethod({ exchange, request }: Passage): Outcome {
  if (exchange.method !== 'POST') return CONTINUE;
  const name = exchange.header('x-http-method').toUpperCase();
  if (name === 'PUT' || name === 'DELETE') request.method = name;
  return CONTINUE;
}

/** A path or method that does not exist is refused later: only users learn which do. */
export function findRoute(passage: Passage): Outcome {
  const { exchange, request, parts } = passage;
  const match = parts.router.find(exchange.path, request.method);
  const compiled = match?.entry.methods.get(request.method);
  if (match === undefined || compiled === undefined) return CONTINUE;
  passage.compiled = compiled;
  request.takeRoute(compiled.route, match.params);
  readHead(passage, compiled.route);
  return CONTINUE;
}

function readHead(passage: Passage, route: RouteRules): void {
  const { exchange, request, parts } = passage;
  if (request.method === 'GET') {
    request.skipsFlush = exchange.header('x-millrace-no-flush') === 'true';
  } else {
    request.contentType = parseContentType(exchange.header('content-type'));
    passage.modeName = exchange.header('x-platform-processing-mode') || exchange.header('x-cumulocity-processing-mode');
  }
  const shown =
    route.takesCertificate === true && parts.proxies.hopsOf(exchange) > 0
      ? parts.platform.config.deviceCertificateHeader
      : undefined;
  if (shown !== undefined) request.certificateHeaders = exchange.headerValues(shown);
  if (route.headers !== undefined)
    request.headers = Object.fromEntries(route.headers.map((name) => [name, headerText(exchange, name)]));
}
