/** Requests whose answers a screen knows the shape of, where the types of the route say no more than "JSON". */
import { sendRaw } from './send.ts';

/** A path of the API whose values are encoded: `` pathOf`/user/${tenant}/users/${name}` ``. */
export const pathOf = (texts: TemplateStringsArray, ...values: readonly (string | number)[]): string =>
  texts.reduce((path, text, index) => path + encodeURIComponent(String(values[index - 1])) + text);

/** The JSON at the path, with its query. @throws ApiError. */
export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await sendRaw(path, signal === undefined ? {} : { signal })).json()) as T;
}

/**
 * Sends JSON, or bytes with their type. @param body an object is sent as JSON; a form and a Blob as they are.
 * @returns the JSON of the answer, undefined of one without a body. @throws ApiError.
 */
export async function changeJson<T = unknown>(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: object,
): Promise<T | undefined> {
  const isAsIs = body instanceof FormData || body instanceof Blob;
  const answer = await sendRaw(path, {
    method,
    ...(body === undefined
      ? {}
      : isAsIs
        ? { body: body as BodyInit }
        : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  });
  const text = await answer.text();
  return text === '' ? undefined : (JSON.parse(text) as T);
}
