/**
 * The server's API with the types of its own /openapi.json:
 * `const page = await got(api.GET('/inventory/managedObjects', { params: { query: { pageSize: 100 } }, signal }))`.
 */
import createClient from 'openapi-fetch';
import type { paths } from 'millrace-api';
import { SERVER_URL } from '../places.ts';
import { ApiError, refusalOf } from './error.ts';
import { methodOf, send } from './send.ts';

export const api = createClient<paths>({ baseUrl: SERVER_URL, fetch: send });

/** What a call resolves to. */
interface Called<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** The entity of an answer. @throws ApiError for a refusal. */
export async function got<T>(call: Promise<Called<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await call;
  if (!response.ok)
    throw new ApiError(refusalOf(response.status, error, { method: methodOf(response), url: response.url }));
  return data as NonNullable<T>;
}
