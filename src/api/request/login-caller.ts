/** Who asks for a login over HTTP: the address by which wrong passwords are counted, and when the client has left. */
import { NO_ADDRESS, clientAddress } from '../../model/access/client-address.ts';
import type { ClientAddress } from '../../model/access/client-address.ts';
import type { LoginCaller } from '../../model/access/principal.ts';
import { TrustedProxies } from '../../config/trusted-proxies.ts';
import type { ApiRequest } from './request.ts';
import type { HttpExchange } from '../http/exchange.ts';

/** Without a setting none is trusted. */
export const NO_PROXIES = new TrustedProxies();

/**
 * In these a proxy tells for whom it asks; they count where the configuration trusts it. For `headers` of routes that
 * take passwords.
 */
export const FORWARDED_HEADERS: readonly string[] = ['x-forwarded-for', 'forwarded'];

/**
 * A proxy may add a line of its own behind one that the client has invented: of FORWARDED_HEADERS all lines as one
 * list, of others the first.
 */
export const headerText = (exchange: Pick<HttpExchange, 'header' | 'headerValues'>, name: string): string =>
  FORWARDED_HEADERS.includes(name) ? exchange.headerValues(name).join(',') : exchange.header(name);

/**
 * @param header all lines of a header of a request or an upgrade, comma separated, by its name in lower case; '' when
 * absent.
 */
export function addressBehind(
  remoteAddress: string,
  header: (name: string) => string,
  proxies: TrustedProxies,
): ClientAddress {
  if (remoteAddress === '') return NO_ADDRESS;
  if (proxies.hopsOf({ remoteAddress }) === 0) return clientAddress(remoteAddress);
  return clientAddress(remoteAddress, {
    xForwardedFor: header('x-forwarded-for'),
    forwarded: header('forwarded'),
    clientAmong: (addresses) => proxies.clientAmong(addresses),
  });
}

/** Of a request whose headers can still be read. */
export function callerAtHead(
  { exchange, onLeft }: { readonly exchange: HttpExchange; readonly onLeft: LoginCaller['onLeft'] },
  proxies: TrustedProxies,
): LoginCaller {
  return {
    address: addressBehind(exchange.remoteAddress, (name) => headerText(exchange, name), proxies),
    onLeft,
  };
}

/**
 * Of a request whose route reads FORWARDED_HEADERS. It takes the place of what else is to happen when the client
 * leaves.
 */
export function callerOf(request: ApiRequest): LoginCaller {
  const { exchange, headers, platform } = request;
  return {
    address: addressBehind(
      exchange.remoteAddress,
      (name) => headers[name] ?? '',
      platform.config.trustedProxies ?? NO_PROXIES,
    ),
    onLeft: (callback) => exchange.onAborted(callback),
  };
}
