/**
 * The server's API with the types of its own /openapi.json:
 * `const page = await got(api.GET('/inventory/managedObjects', { params: { query: { pageSize: 100 } }, signal }))`.
 * openapi-fetch gives the types alone: of its code the console would use a tenth.
 */
import type { Client } from 'openapi-fetch';
import type { paths } from 'millrace-api';
import { SERVER_URL } from '../places.ts';
import { queryText } from '../route.ts';
import type { Query } from '../route.ts';
import { ApiError, refusalOf } from './error.ts';
import { contentOf, methodOf, retrySecondsOf, send } from './send.ts';

interface Given {
  readonly params?: { readonly path?: Readonly<Record<string, string>>; readonly query?: Query };
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;

const callOf =
  (method: string) =>
  async (path: string, { params = {}, body, signal }: Given = {}): Promise<Called<unknown>> => {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params.path?.[name] ?? ''));
    const init = {
      method,
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    };
    const response = await send(new Request(SERVER_URL + filled + queryText(params.query ?? {}), init));
    const content = await contentOf(response);
    return response.ok ? { data: content, response } : { error: content, response };
  };

export const api = Object.fromEntries(METHODS.map((method) => [method, callOf(method)])) as unknown as Pick<
  Client<paths>,
  (typeof METHODS)[number]
>;

/** What a call resolves to. */
interface Called<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** The entity of an answer. @throws ApiError for a refusal. */
export async function got<T>(call: Promise<Called<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await call;
  if (!response.ok) {
    const about = { method: methodOf(response), url: response.url, retrySeconds: retrySecondsOf(response) };
    throw new ApiError(refusalOf(response.status, error, about));
  }
  return data as NonNullable<T>;
}
