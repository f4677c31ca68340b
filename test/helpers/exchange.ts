/** One HTTP request of a test, as `fetch` sends it in a third of its CPU time. */
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';

/** Shorter than servers keep a connection without requests. */
export const IDLE_MS = 4_000;
/** Its connections without requests keep no process alive. */
const AGENT = new Agent({ keepAlive: true, timeout: IDLE_MS });

export interface Exchange {
  readonly method: string;
  readonly headers: Headers;
  readonly body?: string | Uint8Array | undefined;
  readonly agent?: Agent;
}

/** @returns a redirection too. Nothing is decompressed: who asks for that uses `fetch`. */
export function exchange(url: string, { method, headers, body, agent = AGENT }: Exchange) {
  const sent = Object.fromEntries(headers);
  // The agent would keep the connection where the answer does not say that it ends.
  const own = headers.get('connection') === 'close' ? false : agent;
  if (body !== undefined) {
    sent['content-type'] ??= 'text/plain;charset=UTF-8';
    sent['content-length'] = String(Buffer.byteLength(body));
  }
  return new Promise<{ status: number; headers: Headers; text: string }>((resolve, reject) => {
    const answered = (response: IncomingMessage): void => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode = 0, rawHeaders } = response;
        const received = new Headers();
        for (let at = 0; at < rawHeaders.length; at += 2) received.append(rawHeaders[at], rawHeaders[at + 1]);
        resolve({ status: statusCode, headers: received, text: Buffer.concat(chunks).toString() });
      });
    };
    request(url, { method, agent: own, headers: sent }, answered).on('error', reject).end(body);
  });
}
