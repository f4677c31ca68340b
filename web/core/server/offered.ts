/** What this server offers, by its /openapi.json: asked for once, and only where a screen depends on it. */
import { signal } from '@preact/signals';
import { SERVER_URL } from '../places.ts';
import { sendRaw } from '../api/send.ts';

type Methods = Readonly<Record<string, { readonly 'x-roles'?: readonly string[] } | undefined>>;
export type Paths = Readonly<Record<string, Methods>>;

/** undefined until it is known. */
export const offeredPaths = signal<Paths | undefined>(undefined);
let asked: Promise<Paths> | undefined;

/** @throws ApiError; the next call asks again. */
export function readOffered(): Promise<Paths> {
  asked ??= sendRaw('/openapi.json')
    .then(async (response) => ((await response.json()) as { paths: Paths }).paths)
    .then(
      (paths) => {
        offeredPaths.value = paths;
        return paths;
      },
      (error: unknown) => {
        asked = undefined;
        throw error;
      },
    );
  return asked;
}

const isParameter = (part: string): boolean => part.startsWith('{');

/**
 * The roles of which one is needed for a request. @param url whole, or of the API. @returns none where the server says
 * none.
 */
export function rolesFor(paths: Paths, method: string, url: string, server = SERVER_URL): readonly string[] {
  const parts = (url.startsWith(server) ? url.slice(server.length) : url).replace(/[?#].*$/, '').split('/');
  const fitting = Object.keys(paths).filter((path) => {
    const own = path.split('/');
    return own.length === parts.length && own.every((part, index) => isParameter(part) || part === parts[index]);
  });
  // `/alarm/alarms/count` is meant before `/alarm/alarms/{id}`.
  const parameters = (path: string): number => path.split('/').filter(isParameter).length;
  const [best] = fitting.sort((left, right) => parameters(left) - parameters(right));
  return (best === undefined ? undefined : paths[best][method.toLowerCase()]?.['x-roles']) ?? [];
}
