/**
 * What the address of a client says about who it is: for bounds by address. Several clients share one behind a proxy or
 * a translation of addresses; one client of IPv6 has a whole network.
 */

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;
/** As far as eight groups come of it. */
const IPV6 = /^[0-9a-f:]{2,39}(?:\d{1,3}(?:\.\d{1,3}){3})?$/i;
/** An IPv4 address that IPv6 carries, as Node (`::ffff:1.2.3.4`) and uWebSockets.js (eight groups) write it. */
const MAPPED_TEXT = /^(?:::|(?:0{1,4}:){5})ffff:(?:(\d+(?:\.\d+){3})|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i;
const GROUPS = 8;
const MAPPED = 0xffff;
export interface ClientAddress {
  /** An IPv4 address, the first 64 bits of one of IPv6, or '' when there is none. */
  readonly key: string;
  /**
   * False for an address of a local network or of this machine that no trusted proxy has named: a proxy may have it,
   * for all clients.
   */
  readonly isOfClient: boolean;
}

export const NO_ADDRESS: ClientAddress = { key: '', isOfClient: false };

/** Networks within which addresses are translated or proxies stand: first byte or two of IPv4. */
const isLocalIPv4 = ([first, second]: readonly number[]): boolean =>
  first === 0 ||
  first === 10 ||
  first === 127 ||
  (first === 100 && second >= 64 && second < 128) ||
  (first === 169 && second === 254) ||
  (first === 172 && second >= 16 && second < 32) ||
  (first === 192 && second === 168);

/**
 * Headers X-Forwarded-For and Forwarded of a proxy that is trusted. The last element is what that proxy saw, those
 * before it may be invented.
 */
export interface ForwardedFor {
  readonly xForwardedFor: string;
  readonly forwarded: string;
  /** @returns the client among the addresses; by default the last one. */
  clientAmong?(addresses: readonly string[]): string;
}

/**
 * @param address in any notation. @returns it as logs and refusals show it: an IPv4 address also where IPv6 carries it,
 * else the short form of IPv6 (RFC 5952). What is not an address comes back as it is.
 */
export function addressText(address: string): string {
  if (!address.includes(':')) return address;
  const mapped = MAPPED_TEXT.exec(address);
  if (mapped !== null) {
    if (mapped[1] !== undefined) return mapped[1];
    const [high, low] = [mapped[2], mapped[3]].map((group) => Number.parseInt(group, 16));
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  const url = `http://[${address}]`;
  return URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : address;
}

/** @param isTold a trusted proxy has named it, which speaks no HTTP. */
export const ofConnection = (address: string, isTold: boolean): ClientAddress => addressOf(address, isTold);

/** @param socket address of the connection's other end. */
export function clientAddress(socket: string, by?: ForwardedFor): ClientAddress {
  if (by === undefined) return addressOf(socket, false);
  const clientAmong = by.clientAmong ?? lastOf;
  const elements = (list: string): string[] => list.split(',').map((element) => element.trim());
  const told =
    clientAmong(elements(by.xForwardedFor).map(withoutPort)) ||
    clientAmong(elements(by.forwarded).map(forOf).map(withoutPort));
  return addressOf(told === '' ? socket : told, told !== '');
}

const lastOf = (addresses: readonly string[]): string => addresses[addresses.length - 1];

/** The parameter `for` of an element of Forwarded (RFC 7239). */
function forOf(element: string): string {
  for (const pair of element.split(';')) {
    const [name, value = ''] = pair.split('=', 2).map((part) => part.trim());
    if (name.toLowerCase() === 'for') return value.replaceAll('"', '');
  }
  return '';
}

function withoutPort(text: string): string {
  if (text.startsWith('[')) return text.slice(1, Math.max(1, text.indexOf(']')));
  const colon = text.indexOf(':');
  return colon >= 0 && text.indexOf(':', colon + 1) < 0 ? text.slice(0, colon) : text;
}

function addressOf(address: string, isTold: boolean): ClientAddress {
  const plain = address.split('%', 1)[0];
  if (IPV4.test(plain)) return ofIPv4(plain.split('.').map(Number), isTold);
  const groups = IPV6.test(plain) ? groupsOf(plain) : [];
  if (groups.length !== GROUPS || groups.some((group) => !(group <= MAPPED))) return NO_ADDRESS;
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === MAPPED) {
    return ofIPv4([groups[6] >> 8, groups[6] & 255, groups[7] >> 8, groups[7] & 255], isTold);
  }
  const isLocal =
    (groups[0] & 0xffc0) === 0xfe80 ||
    (groups[0] & 0xfe00) === 0xfc00 ||
    groups.slice(0, 4).every((group) => group === 0);
  return {
    key: `${groups
      .slice(0, 4)
      .map((group) => group.toString(16))
      .join(':')}::/64`,
    isOfClient: isTold || !isLocal,
  };
}

const ofIPv4 = (bytes: readonly number[], isTold: boolean): ClientAddress => ({
  key: bytes.join('.'),
  isOfClient: isTold || !isLocalIPv4(bytes),
});

/** Not eight groups, or one that is not a number, when the text is not an address. */
function groupsOf(text: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  const plain =
    dotted === null
      ? text
      : `${dotted[1]}${((Number(dotted[2]) << 8) | Number(dotted[3])).toString(16)}:${((Number(dotted[4]) << 8) | Number(dotted[5])).toString(16)}`;
  const [before, after, ...more] = plain
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))));
  if (after === undefined || more.length > 0) return more.length > 0 ? [] : before;
  return [...before, ...Array.from({ length: Math.max(0, GROUPS - before.length - after.length) }, () => 0), ...after];
}
