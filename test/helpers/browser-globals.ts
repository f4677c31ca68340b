/**
 * As much of a browser as `@c8y/client` looks for: cookies, session storage, relative URLs, uploads that tell their
 * progress.
 */
import { request as httpRequest } from 'node:http';
import type { Teardown } from './running/server.ts';

/** XMLHttpRequest for uploads; relative URLs are those of the page. */
function uploadsOf(page: string): new () => EventTarget {
  return class Upload extends EventTarget {
    readonly upload = new EventTarget();
    readyState = 0;
    status = 0;
    responseText = '';
    readonly #headers: Record<string, string> = {};
    #method = '';
    #url = '';

    open(method: string, url: string): void {
      this.#method = method;
      this.#url = new URL(url, page).href;
    }

    setRequestHeader(name: string, value: unknown): void {
      this.#headers[name] = String(value);
    }

    send(body: Buffer): void {
      const sent = httpRequest(
        this.#url,
        { method: this.#method, headers: { ...this.#headers, 'content-length': body.length } },
        (response) => {
          this.status = response.statusCode ?? 0;
          response
            .setEncoding('utf8')
            .on('data', (piece: string) => {
              this.responseText += piece;
            })
            .on('end', () => this.#end());
        },
      );
      sent.on('error', () => this.#end());
      sent.on('finish', () => {
        this.upload.dispatchEvent(
          Object.assign(new Event('progress'), { loaded: body.length, total: body.length, lengthComputable: true }),
        );
      });
      sent.end(body);
    }

    #end(): void {
      this.readyState = 4;
      this.dispatchEvent(new Event('loadend'));
    }
  };
}

/** Cookies as a browser keeps them: what is HttpOnly is sent, scripts do not see it. */
class Cookies {
  readonly #kept = new Map<string, { readonly value: string; readonly isHidden: boolean }>();

  take(lines: readonly string[]): void {
    for (const line of lines) {
      const [pair, ...attributes] = line.split(';').map((part) => part.trim());
      const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      if (attributes.some((one) => /^max-age=0$/i.test(one))) this.#kept.delete(name);
      else this.#kept.set(name, { value, isHidden: attributes.some((one) => /^httponly$/i.test(one)) });
    }
  }

  /** @param hidden also those that scripts do not see. */
  text(hidden: boolean): string {
    return [...this.#kept]
      .filter(([, { isHidden }]) => hidden || !isHidden)
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
  }
}

export interface Page {
  /** What scripts of the page see. */
  readonly cookie: string;
  readonly storage: Map<string, string>;
}

/** A page of the server at the URL, until the test ends. */
export function openPage(t: Teardown, url: string): Page {
  const cookies = new Cookies();
  const page: Page = {
    get cookie() {
      return cookies.text(false);
    },
    storage: new Map(),
  };
  const fetchWithCookies = async (to: string, init: RequestInit = {}): Promise<Response> => {
    const sent = cookies.text(true);
    const response = await fetch(to, sent === '' ? init : { ...init, headers: { ...init.headers, cookie: sent } });
    cookies.take(response.headers.getSetCookie());
    return response;
  };
  const globals = globalThis as Record<string, any>;
  const values: Record<string, unknown> = {
    document: page,
    window: { location: new URL(url), setTimeout, clearTimeout, console, fetch: fetchWithCookies },
    sessionStorage: {
      getItem: (key: string) => page.storage.get(key) ?? null,
      removeItem: (key: string) => {
        page.storage.delete(key);
      },
    },
    XMLHttpRequest: uploadsOf(url),
  };
  const before = Object.keys(values).map((name) => [name, Object.getOwnPropertyDescriptor(globals, name)] as const);
  for (const [name, value] of Object.entries(values))
    Object.defineProperty(globals, name, { value, configurable: true, writable: true, enumerable: true });
  t.teardown(() => {
    for (const [name, descriptor] of before) {
      if (descriptor === undefined) delete globals[name];
      else Object.defineProperty(globals, name, descriptor);
    }
  });
  return page;
}
