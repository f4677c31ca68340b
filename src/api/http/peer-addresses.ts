/**
 * Addresses at the other end of the connections to a port, as Linux tells them: uWebSockets.js does not say whose
 * connection has ended.
 */
import { readFileSync } from 'node:fs';

const ESTABLISHED = '01';
/** The client has closed, the server has not: it still has its descriptor. */
const CLOSE_WAIT = '08';

/** @returns undefined where the system does not tell them. */
export function peerAddresses(
  port: number,
  read = (path: string): string => readFileSync(path, 'utf8'),
): string[] | undefined {
  const found: string[] = [];
  let isKnown = false;
  for (const path of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
    try {
      addPeers(read(path), port, found);
      isKnown = true;
    } catch {
      // A system without this protocol, or without /proc.
    }
  }
  return isKnown ? found : undefined;
}

/**
 * A line: number, local address and port, remote ones, state, all in hexadecimal digits; words of an address are in the
 * order of the machine.
 */
function addPeers(text: string, port: number, found: string[]): void {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const line of text.split('\n')) {
    const [, local, remote, state] = line.trim().split(/\s+/, 4);
    if ((state === ESTABLISHED || state === CLOSE_WAIT) && local.endsWith(suffix))
      found.push(addressOf(remote.slice(0, remote.indexOf(':'))));
  }
}

function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  for (let word = 0; word + 4 <= bytes.length; word += 4) bytes.subarray(word, word + 4).reverse();
  return bytes.length === 4
    ? bytes.join('.')
    : Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(':');
}
