/**
 * The PROXY protocol, versions 1 (text) and 2 (binary): the header with which a proxy of TCP begins a connection, to say
 * who its client is.
 */
import { isIP } from 'node:net';
import type { Socket } from 'node:net';

const V1_START = Buffer.from('PROXY ');
/** With its line end. */
const V1_BYTES_MAX = 107;
const V2_START = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const FAMILIES: Readonly<Record<string, number>> = { TCP4: 4, TCP6: 6 };
const V2_HEAD_BYTES = 16;
/** Addresses and what a proxy adds to them: so much of a connection is held before its login. */
const V2_BYTES_MAX = 4_096;
const V2_PROXY = 0x21;
const V2_LOCAL = 0x20;
const IPV4_BYTES = 4;
const IPV6_BYTES = 16;

export interface ProxyHeader {
  /** Bytes of the header. */
  readonly length: number;
  /** IP address of the client; undefined where the proxy speaks for itself, or does not know it. */
  readonly address: string | undefined;
}

/** @returns undefined while more has to come. @throws Error when the connection begins otherwise. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader | undefined {
  if (startsLike(bytes, V1_START)) return bytes.length < V1_START.length ? undefined : parseText(bytes);
  if (startsLike(bytes, V2_START)) return bytes.length < V2_HEAD_BYTES ? undefined : parseBinary(bytes);
  throw new Error('the connection does not begin with a header of the PROXY protocol');
}

function startsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.compare(start, 0, length, 0, length) === 0;
}

function parseText(bytes: Buffer): ProxyHeader | undefined {
  const end = bytes.indexOf('\r\n');
  if (end < 0 && bytes.length < V1_BYTES_MAX) return undefined;
  if (end < 0 || end + 2 > V1_BYTES_MAX)
    throw new Error(`the header of the PROXY protocol has more than ${V1_BYTES_MAX} bytes`);
  const [, family, address] = bytes.toString('latin1', 0, end).split(' ');
  if (family === 'UNKNOWN') return { length: end + 2, address: undefined };
  if (isIP(address ?? '') !== FAMILIES[family])
    throw new Error(`the header of the PROXY protocol names no client of TCP, but ${family} ${address}`);
  return { length: end + 2, address };
}

function parseBinary(bytes: Buffer): ProxyHeader | undefined {
  const command = bytes[12];
  if (command !== V2_PROXY && command !== V2_LOCAL)
    throw new Error(`the header of the PROXY protocol has version and command 0x${command.toString(16)}`);
  const length = V2_HEAD_BYTES + bytes.readUInt16BE(14);
  if (length > V2_BYTES_MAX) throw new Error(`the header of the PROXY protocol has more than ${V2_BYTES_MAX} bytes`);
  if (bytes.length < length) return undefined;
  const family = bytes[13] >> 4;
  const size = family === 1 ? IPV4_BYTES : family === 2 ? IPV6_BYTES : 0;
  if (command === V2_LOCAL || size === 0) return { length, address: undefined };
  if (length < V2_HEAD_BYTES + 2 * size + 4) throw new Error('the header of the PROXY protocol has no addresses');
  const address = bytes.subarray(V2_HEAD_BYTES, V2_HEAD_BYTES + size);
  return { length, address: size === IPV4_BYTES ? [...address].join('.') : textOfIPv6(address) };
}

const textOfIPv6 = (address: Buffer): string =>
  Array.from({ length: IPV6_BYTES / 2 }, (_, index) => address.readUInt16BE(index * 2).toString(16)).join(':');

/**
 * Reads the header from a socket that nothing else reads yet; what follows it stays in the socket. The socket is closed
 * where it does not come.
 * @param done called once: with the header, or with why there is none, undefined when the socket was closed before.
 */
export function readProxyHeader(
  socket: Socket,
  timeoutMs: number,
  done: (header: ProxyHeader | undefined, fault: string | undefined) => void,
): void {
  let bytes = Buffer.alloc(0);
  const finish = (header: ProxyHeader | undefined, fault: string | undefined): void => {
    clearTimeout(timer);
    socket.off('readable', onReadable);
    socket.off('error', onEnd);
    socket.off('close', onEnd);
    if (header === undefined) socket.destroy();
    done(header, fault);
  };
  const onReadable = (): void => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null)
      bytes = Buffer.concat([bytes, chunk]);
    try {
      const header = parseProxyHeader(bytes);
      if (header === undefined) return;
      if (bytes.length > header.length) socket.unshift(bytes.subarray(header.length));
      finish(header, undefined);
    } catch (error) {
      finish(undefined, (error as Error).message);
    }
  };
  const onEnd = (): void => finish(undefined, undefined);
  const timer = setTimeout(
    () => finish(undefined, `no header of the PROXY protocol came within ${timeoutMs} ms`),
    timeoutMs,
  );
  socket.on('readable', onReadable);
  socket.on('error', onEnd);
  socket.on('close', onEnd);
}
