/**
 * Sends an HTTP library a request in several reads before the server listens: one binary of uWebSockets.js answered 505
 * then.
 */
import { connect } from 'node:net';
import type { HttpLibrary, ListenSocket } from '../library.ts';

/** Cut inside of the path, the version and a header. */
const PIECES = ['GET /a/lo', 'ng/path HT', 'TP/1.1\r\nHost: localhost\r\nX-Che', 'ck: 17\r\n\r\n'];
const EXPECTED = 'GET /a/long/path 17';
/** Between two pieces: time for the library to read one by itself. */
const READ_MS = 2;
/** Long: the answer comes in milliseconds, but a machine that has just booted is busy. */
const ANSWER_MS = 20_000;
/** An answer that has begun, and is another than the expected one, is over after this time. */
const REST_MS = 1_000;
const ADDRESS = '127.0.0.1';
const EXCLUSIVELY = 1;

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** @returns what is wrong with the answer, undefined when it is right. Takes about ten milliseconds. */
export async function faultOf(library: HttpLibrary, answerMs = ANSWER_MS): Promise<string | undefined> {
  const app = library.App();
  app.any('/*', (response, request) => {
    response.onAborted(() => undefined);
    response.end(`${request.getCaseSensitiveMethod()} ${request.getUrl()} ${request.getHeader('x-check')}`);
  });
  try {
    const socket = await new Promise<ListenSocket | false>((resolve) => {
      app.listen(ADDRESS, 0, EXCLUSIVELY, resolve);
    });
    if (socket === false) return `it cannot listen on ${ADDRESS}`;
    const answer = await answerOf(library.us_socket_local_port(socket), answerMs);
    library.us_listen_socket_close(socket);
    if (/^HTTP\/1\.1 200 /.test(answer) && answer.endsWith(EXPECTED)) return undefined;
    return answer === '' ? `no answer within ${answerMs} ms` : JSON.stringify(answer.slice(0, 100));
  } finally {
    app.close();
  }
}

/** @returns what has come when it is the answer, when the connection ends, or when the time is over. */
async function answerOf(port: number, answerMs: number): Promise<string> {
  const socket = connect({ port, host: ADDRESS, noDelay: true });
  let answer = '';
  const answered = new Promise<void>((resolve) => {
    let timer = setTimeout(resolve, answerMs);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    socket.on('data', (chunk) => {
      answer += chunk.toString();
      clearTimeout(timer);
      if (answer.endsWith(EXPECTED)) resolve();
      else timer = setTimeout(resolve, REST_MS);
    });
    socket.on('error', end).on('close', end);
  });
  socket.once(
    'connect',
    () =>
      void (async () => {
        for (const piece of PIECES) {
          if (socket.writable) socket.write(piece);
          await pause(READ_MS);
        }
      })(),
  );
  await answered;
  socket.destroy();
  return answer;
}
