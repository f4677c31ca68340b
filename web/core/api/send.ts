/**
 * Sends requests of the console: credentials, a login in place when they have ended, one more try when the server is
 * busy.
 */
import { signal } from '@preact/signals';
import { SERVER_URL } from '../places.ts';
import { ApiError, isAborted, refusalOf } from './error.ts';
import { askForLogin, loginCount, sessionHeaders } from './session.ts';

/** Tries of a GET that the server was too busy for. */
const TRIES_MAX = 3;
const RETRY_SECONDS_MAX = 10;

/** Requests that wait for a server that was too busy for them. */
export const waiting = signal(0);

const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

/** Seconds of `Retry-After`, at least 1; undefined when the answer has none. */
export function retrySecondsOf(response: Response): number | undefined {
  const told = response.headers.get('retry-after');
  return told === null ? undefined : Math.max(Number(told) || 1, 1);
}

/** Methods of the requests that were answered: a response does not tell its own. */
const methods = new WeakMap<Response, string>();
export const methodOf = (response: Response): string => methods.get(response) ?? '';

/** Names the console to the server: what it sends counts as no message of a device (docs/spec/conventions.md). */
const APPLICATION = { 'X-Cumulocity-Application-Key': 'millrace-console' };

async function once(request: Request): Promise<Response> {
  const copy = request.clone();
  for (const [name, value] of Object.entries({ ...APPLICATION, ...sessionHeaders() })) copy.headers.set(name, value);
  // Without Accept a POST is answered without its body.
  if (!copy.headers.has('Accept')) copy.headers.set('Accept', 'application/json');
  try {
    const response = await fetch(copy);
    methods.set(response, request.method);
    return response;
  } catch (error) {
    if (isAborted(error) || request.signal.aborted) throw error;
    throw new ApiError({ status: 0, error: '', message: '', method: request.method, url: request.url });
  }
}

/**
 * Fetches from the server. A 401 opens the login, and the request goes on after it: the server has not carried it out.
 * A GET that is answered 503 or 429 with `Retry-After` is repeated. @throws ApiError with status 0 without an answer.
 */
export async function send(request: Request): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    const logins = loginCount();
    const response = await once(request);
    if (response.status === 401) {
      tries = 0;
      // It may have left with the credentials from before a login that has succeeded meanwhile.
      if (loginCount() === logins) await askForLogin();
      continue;
    }
    const seconds = response.status === 503 || response.status === 429 ? retrySecondsOf(response) : undefined;
    if (seconds === undefined || request.method !== 'GET' || tries === TRIES_MAX) return response;
    waiting.value += 1;
    try {
      await wait(Math.min(seconds, RETRY_SECONDS_MAX) * 1_000, request.signal);
    } finally {
      waiting.value -= 1;
    }
  }
}

/** The JSON of an answer, or its text. */
export async function contentOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    // Of a proxy, or rows.
    return text;
  }
}

/** @throws ApiError for an answer that is an error. */
async function requireGood(
  response: Response,
  request: { readonly method: string; readonly url: string },
): Promise<Response> {
  if (response.ok) return response;
  const { method, url } = request;
  const about = { method, url, retrySeconds: retrySecondsOf(response) };
  throw new ApiError(refusalOf(response.status, await contentOf(response), about));
}

/**
 * A request whose answer is not JSON or whose numbers have to keep their digits.
 * @param path of the API with its query. @returns the answer. @throws ApiError.
 */
export async function sendRaw(path: string, init: RequestInit = {}): Promise<Response> {
  const request = new Request(`${SERVER_URL}${path}`, init);
  return requireGood(await send(request), request);
}
