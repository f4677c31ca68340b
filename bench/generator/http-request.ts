/** POST requests with measurements, built once; the time and a digit of each value are overwritten before each use. */
import type { Target } from './job.ts';

const MEASUREMENT = 'application/vnd.com.nsn.cumulocity.measurement+json';
const COLLECTION = 'application/vnd.com.nsn.cumulocity.measurementcollection+json';
const PATH = '/measurement/measurements';
const TIME_BYTES = '2026-01-01T00:00:00.000Z'.length;

/**
 * One request and the places in it that change. It belongs to one connection: a write of it must end before the next
 * change.
 */
export interface PostRequest {
  bytes: Buffer;
  timesAt: number[];
  digitsAt: number[];
}

/** @returns the value of an Authorization header. */
export function basicAuthorization(target: Target): string {
  return `Basic ${Buffer.from(`${target.userName}:${target.password}`).toString('base64')}`;
}

/** @param count 1 for a single measurement, more for a collection; sources in turn, beginning with `first`. */
export function postRequest(target: Target, sources: readonly string[], first: number, count: number): PostRequest {
  const rows: string[] = [];
  for (let index = 0; index < count; index++) {
    const source = sources[(first + index) % sources.length]!;
    const value = `${String(10 + (index % 30))}.5`;
    rows.push(
      `{"source":{"id":"${source}"},"time":"2026-01-01T00:00:00.000Z","type":"c8y_Temperature",` +
        `"c8y_Temperature":{"T":{"value":${value},"unit":"C"}}}`,
    );
  }
  const body = count === 1 ? rows[0]! : `{"measurements":[${rows.join(',')}]}`;
  const head =
    `POST ${PATH} HTTP/1.1\r\nHost: ${target.host}:${target.port}\r\nAuthorization: ${basicAuthorization(target)}\r\n` +
    `Content-Type: ${count === 1 ? MEASUREMENT : COLLECTION}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const bytes = Buffer.from(head + body, 'latin1');
  return { bytes, timesAt: places(bytes, '"time":"'), digitsAt: places(bytes, '"value":') };
}

/** Creates a device; the body is always the same. */
export function managedObjectRequest(target: Target): PostRequest {
  const body =
    '{"name":"bench object","type":"c8y_Bench","c8y_IsDevice":{},"c8y_Hardware":{"model":"M1","serialNumber":"123456"}}';
  const head =
    `POST /inventory/managedObjects HTTP/1.1\r\nHost: ${target.host}:${target.port}\r\nAuthorization: ${basicAuthorization(target)}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  return { bytes: Buffer.from(head + body, 'latin1'), timesAt: [], digitsAt: [] };
}

/** Reads a path; the request is always the same. */
export function getRequest(target: Target, path: string): PostRequest {
  const head = `GET ${path} HTTP/1.1\r\nHost: ${target.host}:${target.port}\r\nAuthorization: ${basicAuthorization(target)}\r\n\r\n`;
  return { bytes: Buffer.from(head, 'latin1'), timesAt: [], digitsAt: [] };
}

/** Gives every measurement of the request this time, and new values. */
export function changeRequest(request: PostRequest, timeMs: number, digit: number): void {
  const { bytes, timesAt, digitsAt } = request;
  const first = timesAt[0];
  if (first === undefined) return;
  bytes.write(new Date(timeMs).toISOString(), first, 'latin1');
  for (let index = 1; index < timesAt.length; index++) bytes.copy(bytes, timesAt[index]!, first, first + TIME_BYTES);
  for (let index = 0; index < digitsAt.length; index++) bytes[digitsAt[index]! + 1] = 48 + ((digit + index) % 10);
}

function places(bytes: Buffer, after: string): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(after); at >= 0; at = bytes.indexOf(after, at + 1)) found.push(at + after.length);
  return found;
}
