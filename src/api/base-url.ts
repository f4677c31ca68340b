/** The start of all links (document 4 section 0.4, Link content): by configuration, or what the client or its proxy called. */

/** What a host may look like: anything else would be written into links and headers. */
const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

export interface CalledAs {
  readonly host: string;
  readonly forwardedHost: string;
  readonly forwardedProto: string;
}

/** @param configured without a slash at the end. @returns for instance `https://iot.example.com`. */
export function baseUrlOf(configured: string | undefined, called: CalledAs): string {
  if (configured !== undefined && configured !== '') return configured;
  const proto = firstOf(called.forwardedProto).toLowerCase() === 'https' ? 'https' : 'http';
  const forwarded = firstOf(called.forwardedHost);
  if (HOST.test(forwarded)) return `${proto}://${forwarded}`;
  return `${proto}://${HOST.test(called.host) ? called.host : 'localhost'}`;
}

/** Several proxies append theirs: the first is the one the client called. */
function firstOf(header: string): string {
  const comma = header.indexOf(',');
  return (comma === -1 ? header : header.slice(0, comma)).trim();
}
