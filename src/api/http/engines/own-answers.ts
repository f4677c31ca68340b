/**
 * Answers that uWebSockets.js makes by itself, before any handler: in a copy of its binary each gets other words of the
 * same length. The new ones name no software, and the answer to HTTP/1.0 names the remedies. Pure: bytes in, bytes out.
 */

interface OwnAnswer {
  readonly built: string;
  readonly head: readonly string[];
  /** Blanks fill the rest: at the end of a body, or behind the last header. */
  readonly body: string;
}

const signed = (title: string, text = ''): string => `<h1>${title}</h1>${text}<hr><i>uWebSockets/20 Server</i>`;
const CLOSE = 'Connection: close';
const EMPTY = 'Content-Length: 0';

const answers: readonly OwnAnswer[] = [
  {
    built: `HTTP/1.1 505 HTTP Version Not Supported\r\n${CLOSE}\r\n\r\n${signed('HTTP Version Not Supported', '<p>This server does not support HTTP/1.0.</p>')}`,
    head: ['HTTP/1.1 505 HTTP', CLOSE, 'Content-Type: application/json'],
    body: '{"error":"http/version","message":"Not HTTP/1.1: nginx proxy_http_version 1.1; or --http-engine node"}',
  },
  {
    built: `HTTP/1.1 431 Request Header Fields Too Large\r\n${CLOSE}\r\n\r\n${signed('Request Header Fields Too Large')}`,
    head: ['HTTP/1.1 431 Request Header Fields Too Large', CLOSE, EMPTY],
    body: '',
  },
  {
    built: `HTTP/1.1 400 Bad Request\r\n${CLOSE}\r\n\r\n${signed('Bad Request')}`,
    head: ['HTTP/1.1 400 Bad Request', CLOSE, EMPTY],
    body: '',
  },
];
/** Of a request without a handler, which the server has not: there is one for every path. */
const NOT_FOUND = '<html><body><h1>File Not Found</h1><hr><i>uWebSockets/20 Server</i></body></html>';

function ownText({ built, head, body }: OwnAnswer): string {
  const text = head.join('\r\n');
  const blanks = ' '.repeat(Math.max(0, built.length - text.length - body.length - 4));
  return body === '' ? `${text}${blanks}\r\n\r\n` : `${text}\r\n\r\n${body}${blanks}`;
}

/** @returns a copy with the server's own answers. @throws Error where one of the built answers is not there once. */
export function withOwnAnswers(file: Uint8Array): Buffer {
  const copy = Buffer.from(file);
  const replace = (built: string, own: string): void => {
    const at = copy.indexOf(built, 0, 'latin1');
    if (at < 0 || copy.includes(built, at + 1, 'latin1') || own.length !== built.length)
      throw new Error(`not once in the file, or not replaced by as many bytes: ${JSON.stringify(built)}`);
    copy.write(own, at, 'latin1');
  };
  for (const answer of answers) replace(answer.built, ownText(answer));
  replace(NOT_FOUND, ' '.repeat(NOT_FOUND.length));
  return copy;
}
