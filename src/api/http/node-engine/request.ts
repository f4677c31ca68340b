/** A request of `node:http` in the shape of uWebSockets.js. */
import { IncomingMessage } from 'node:http';
import type { RawRequest } from '../request-head.ts';

/** Length of a WebSocket key in base64. */
const KEY_LENGTH = 24;
const NOT_ASCII = /[^\x00-\x7f]/;
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;

/**
 * The class of the requests of a server. `node:http` asks for `upgrade` when a head is complete, and hands the
 * connection over when it is true. It is for what opens a WebSocket; every other request with an Upgrade header is
 * answered as if it had none.
 * @param isSocketPath whether a path has a WebSocket route.
 */
export function messageClass(isSocketPath: (path: string) => boolean): typeof IncomingMessage {
  class EngineMessage extends IncomingMessage {
    declare asksForUpgrade: boolean | null;
  }
  Object.defineProperty(EngineMessage.prototype, 'upgrade', {
    get(this: EngineMessage): boolean {
      return (
        this.asksForUpgrade === true &&
        (this.method === 'CONNECT' || (opensWebSocket(this) && isSocketPath(new NodeRequest(this).getUrl())))
      );
    },
    set(this: EngineMessage, value: boolean | null) {
      this.asksForUpgrade = value;
    },
  });
  return EngineMessage;
}

function opensWebSocket({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    headers['sec-websocket-key']?.length === KEY_LENGTH &&
    headers.upgrade?.toLowerCase() === 'websocket'
  );
}

/** `node:http` reads bytes as ISO 8859-1; the API takes UTF-8. */
function utf8(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text;
}

export class NodeRequest implements RawRequest {
  readonly #message: IncomingMessage;
  readonly #path: string;
  readonly #query: string | undefined;
  /** Of a target in absolute form: it counts instead of the header. */
  readonly #host: string | undefined;

  constructor(message: IncomingMessage) {
    this.#message = message;
    let target = utf8(message.url ?? '');
    const authority = AUTHORITY.exec(target);
    if (authority !== null) {
      this.#host = authority[1];
      target = target.slice(authority[0].length);
      if (!target.startsWith('/')) target = `/${target}`;
    }
    const mark = target.indexOf('?');
    this.#path = mark < 0 ? target : target.slice(0, mark);
    this.#query = mark < 0 ? undefined : target.slice(mark + 1);
  }

  getCaseSensitiveMethod(): string {
    return this.#message.method ?? '';
  }

  getUrl(): string {
    return this.#path;
  }

  getQuery(): string | undefined {
    return this.#query;
  }

  getHeader(lowerCaseName: string): string {
    let found = '';
    this.forEach((name, value) => {
      if (found === '' && name === lowerCaseName) found = value;
    });
    return found;
  }

  forEach(callback: (name: string, value: string) => void): void {
    const { rawHeaders } = this.#message;
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const name = rawHeaders[index].toLowerCase();
      callback(name, name === 'host' && this.#host !== undefined ? this.#host : utf8(rawHeaders[index + 1]));
    }
  }
}
