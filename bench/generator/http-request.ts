/** POST requests with measurements, built once; the time and a digit of each value are overwritten before each use. */
import type { BenchEntity, Target } from './job.ts';

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
  /** Of `NUMBER`. */
  numberAt?: number;
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

const PATHS: Readonly<Record<BenchEntity, string>> = {
  managedObject: '/inventory/managedObjects',
  event: '/event/events',
  alarm: '/alarm/alarms',
};
/** Place of the number in the type of an alarm. */
const NUMBER = '0'.repeat(10);

/** @param source of an event or alarm. */
export function entityRequest(target: Target, entity: BenchEntity, source = ''): PostRequest {
  const common = `"source":{"id":"${source}"},"time":"2026-01-01T00:00:00.000Z"`;
  const body = {
    managedObject:
      '{"name":"bench object","type":"c8y_Bench","c8y_IsDevice":{},"c8y_Hardware":{"model":"M1","serialNumber":"123456"}}',
    event: `{${common},"type":"c8y_BenchEvent","text":"A door was opened","c8y_Door":{"number":4,"byHand":true}}`,
    alarm: `{${common},"type":"bench ${NUMBER}","text":"The door does not close","severity":"MAJOR","status":"ACTIVE"}`,
  }[entity];
  const head =
    `POST ${PATHS[entity]} HTTP/1.1\r\nHost: ${target.host}:${target.port}\r\nAuthorization: ${basicAuthorization(target)}\r\n` +
    `Content-Type: application/json\r\nAccept: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.from(head + body, 'latin1');
  return { bytes, timesAt: places(bytes, '"time":"'), digitsAt: [], numberAt: places(bytes, '"type":"bench ')[0] };
}

/** Reads a path; the request is always the same. */
export function getRequest(target: Target, path: string): PostRequest {
  const head = `GET ${path} HTTP/1.1\r\nHost: ${target.host}:${target.port}\r\nAuthorization: ${basicAuthorization(target)}\r\n\r\n`;
  return { bytes: Buffer.from(head, 'latin1'), timesAt: [], digitsAt: [] };
}

/** Gives everything of the request this time, and new values. @param number grows from one request to the next. */
export function changeRequest(request: PostRequest, timeMs: number, number: number): void {
  const { bytes, timesAt, digitsAt, numberAt } = request;
  if (numberAt !== undefined) bytes.write(String(number).padStart(NUMBER.length, '0'), numberAt, 'latin1');
  const first = timesAt[0];
  if (first === undefined) return;
  bytes.write(new Date(timeMs).toISOString(), first, 'latin1');
  for (let index = 1; index < timesAt.length; index++) bytes.copy(bytes, timesAt[index]!, first, first + TIME_BYTES);
  for (let index = 0; index < digitsAt.length; index++) bytes[digitsAt[index]! + 1] = 48 + ((number + index) % 10);
}

function places(bytes: Buffer, after: string): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(after); at >= 0; at = bytes.indexOf(after, at + 1)) found.push(at + after.length);
  return found;
}
