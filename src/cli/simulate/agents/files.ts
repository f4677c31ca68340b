/** Files of simulated agents over HTTP: events with content, configuration dumps, downloads. */
import type { AgentFiles } from './operations.ts';

export interface HttpOptions {
  /** Without a slash at the end. */
  readonly url: string;
  readonly tenant: string;
  readonly user: string;
  readonly password: string;
}

const REQUEST_TIMEOUT_MS = 30_000;
/** Bytes of a file that are taken. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;

export interface HttpLogin {
  /** Without a slash at the end. */
  readonly url: string;
  /** Header. */
  readonly authorization: string;
}

export const httpLogin = ({ url, tenant, user, password }: HttpOptions): HttpLogin => ({
  url,
  authorization: `Basic ${Buffer.from(`${tenant}/${user}:${password}`).toString('base64')}`,
});

export function httpFiles({ url, authorization }: HttpLogin): AgentFiles {
  /** @throws Error for another status than 2xx. */
  const ask = async (method: string, target: string, body?: string | FormData, type?: string): Promise<string> => {
    const answer = await fetch(target, {
      method,
      headers: { authorization, accept: 'application/json', ...(type === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
      redirect: 'error',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    if (Number(answer.headers.get('content-length') ?? 0) > FILE_BYTES_MAX)
      throw new Error(`${target} has more than ${FILE_BYTES_MAX} bytes`);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${target}: ${answer.status} ${text.slice(0, 200)}`);
    return text;
  };
  const create = async (path: string, body: object): Promise<any> =>
    JSON.parse(await ask('POST', url + path, JSON.stringify(body), 'application/json'));
  const upload = (target: string, name: string, text: string, object: object): Promise<string> => {
    const form = new FormData();
    form.set('object', JSON.stringify(object));
    form.set('file', new Blob([text], { type: 'text/plain' }), name);
    return ask('POST', target, form);
  };
  return {
    uploadEvent: async (serial, type, name, text) => {
      const path = `/identity/externalIds/c8y_Serial/${encodeURIComponent(serial)}`;
      const { managedObject } = JSON.parse(await ask('GET', url + path)) as { managedObject: { id: string } };
      const time = new Date().toISOString();
      const source = { id: managedObject.id };
      const event = await create('/event/events', { source, type, time, text: `File ${name}` });
      const binaries = `${url}/event/events/${String(event.id)}/binaries`;
      const { self } = JSON.parse(await upload(binaries, name, text, { name, type: 'text/plain' })) as {
        self?: string;
      };
      return self ?? binaries;
    },
    uploadDump: async (name, text) => {
      const object = { name, type: 'text/plain' };
      const binary = JSON.parse(await upload(`${url}/inventory/binaries`, name, text, object)) as { self: string };
      await create('/inventory/managedObjects', { type: 'c8y_ConfigurationDump', name, url: binary.self });
    },
    download: (target) => {
      // The password goes to no other server.
      if (!URL.canParse(target) || new URL(target).origin !== new URL(url).origin)
        throw new Error(`${target} is not a URL of ${url}`);
      return ask('GET', target);
    },
  };
}
