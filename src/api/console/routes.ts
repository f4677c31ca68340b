/**
 * The console at `/console/` (docs/internals/console.md): its files out of dist/web, and its page for every other path,
 * since each screen has a URL. Files are not secret: the login is one of the screens.
 */
import { join } from 'node:path';
import { PROJECT_FOLDER } from '../../config/project.ts';
import { PlatformError } from '../../model/errors.ts';
import { isKnownTag } from '../http/byte-range.ts';
import { codingFor } from '../http/compression.ts';
import { contentTypeOf } from '../http/content-types.ts';
import { ANY_CONTENT } from '../http/media-types.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { readConsole, tagOf } from './files.ts';
import type { ConsoleFile, ConsoleFiles } from './files.ts';

const ROOT = '/console';
const HTML_TYPE = 'text/html;charset=UTF-8';
/** A name of a file has an ending, an address of a screen has none. */
const FILE = /^[^/]+\.[a-z0-9]{2,5}$/;
const YEAR = 'public, max-age=31536000, immutable';

/** Scheme, host and path. Not by URL: what a client calls the server need not be a host that it takes, for instance 256.0.0.1. */
const BASE = /^http(s?):\/\/([^/]+)(.*)$/;

/**
 * Nothing comes from elsewhere, and no code stands in the page. Older Safari does not take `self` for a WebSocket.
 * @param socket the server's WebSockets as the browser calls them.
 */
function policyOf(socket: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    `connect-src 'self' ${socket}`,
    "worker-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function page(request: ApiRequest, index: string): Answer {
  const [, secure = '', host = '', prefix = ''] = BASE.exec(request.baseUrl) ?? [];
  const text = index.replace('{{base}}', `${prefix}${ROOT}/`);
  const tag = tagOf(text + host);
  const headers = [
    ...['ETag', tag, 'Cache-Control', 'no-cache', 'Content-Security-Policy', policyOf(`ws${secure}://${host}`)],
    ...['Referrer-Policy', 'same-origin'],
    ...['Cross-Origin-Opener-Policy', 'same-origin', 'Cross-Origin-Resource-Policy', 'same-origin'],
  ];
  if (isKnownTag(request.headers['if-none-match'], tag)) return { status: 304, text: '', headers };
  return { status: 200, text, contentType: HTML_TYPE, headers };
}

async function file(request: ApiRequest, name: string, found: ConsoleFile): Promise<Answer | typeof ANSWERED> {
  const headers = ['ETag', found.tag, 'Cache-Control', found.isImmutable ? YEAR : 'no-cache'];
  headers.push('Vary', 'Accept-Encoding', 'Cross-Origin-Resource-Policy', 'same-origin');
  if (isKnownTag(request.headers['if-none-match'], found.tag)) return { status: 304, text: '', headers };
  const coding = codingFor(request.acceptEncoding);
  const coded = coding === undefined ? undefined : found.codings[coding];
  if (coded !== undefined) headers.push('Content-Encoding', coding as string);
  const content = coded ?? found.plain;
  headers.push('Content-Type', contentTypeOf(name), 'X-Content-Type-Options', 'nosniff');
  await request.sendContent(200, headers, content.length, once(content));
  return ANSWERED;
}

async function* once(content: Buffer): AsyncIterable<Buffer> {
  yield content;
}

/** Before a folder without console is looked at again: it may be built meanwhile. */
const READ_AGAIN_MS = 1_000;

/** What operators read in the place of the console. */
const fault = (why: string): Answer => ({
  status: 503,
  text: `The console is not available. The API works without it.\n\n${why}\n`,
  contentType: 'text/plain;charset=UTF-8',
  headers: ['Cache-Control', 'no-store'],
});

/** @param folder where the build puts the console; it is read once, at the first request. */
export function consoleRoutes(folder = join(PROJECT_FOLDER, 'dist', 'web')): Route[] {
  let reading: Promise<ConsoleFiles> | undefined;
  const read = (): Promise<ConsoleFiles> => {
    reading ??= readConsole(folder)
      .catch((error: NodeJS.ErrnoException) => ({ fault: `its files cannot be read: ${error.code}` }))
      .then((found) => {
        if ('fault' in found)
          setTimeout(() => {
            reading = undefined;
          }, READ_AGAIN_MS).unref();
        return found;
      });
    return reading;
  };
  const serve = async (request: ApiRequest): Promise<Answer | typeof ANSWERED> => {
    const name = request.params['file'] ?? '';
    if (name === '' && !request.exchange.path.endsWith('/'))
      // Relative links of the page begin at the directory.
      return {
        status: 302,
        text: '',
        headers: ['Location', `.${ROOT}/`, 'Cache-Control', 'no-cache'],
      };
    const built = await read();
    if ('fault' in built) return fault(built.fault);
    const found = built.files.get(name);
    if (found !== undefined) return file(request, name, found);
    if (FILE.test(name)) throw new PlatformError('general/unknown-path', { path: request.exchange.path });
    return page(request, built.index);
  };
  const common = {
    method: 'GET',
    area: 'system',
    access: 'public',
    takesAnyQuery: true,
    headers: ['if-none-match'],
    produces: ANY_CONTENT,
    answers: [
      { status: 200, description: 'The page, or the file', contentTypes: ['text/html', '*/*'] },
      { status: 304, description: 'Not changed' },
      { status: 503, description: 'The console was not built; the text says why', contentTypes: ['text/plain'] },
    ],
    handle: serve,
  } as const;
  return [
    { ...common, path: ROOT, summary: 'The console, the pages for people' },
    { ...common, path: `${ROOT}/{file}`, takesRest: true, summary: 'A screen of the console, or one of its files' },
  ];
}
