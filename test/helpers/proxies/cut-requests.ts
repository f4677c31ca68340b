/**
 * Sends the same request again and again, cut in two at another place each time: no answer may depend on how a request
 * was cut into reads.
 */
import { createConnection } from 'node:net';
import { PATIENCE } from '../until.ts';

/** Connections at a time. */
const AT_ONCE = 100;
/** Between two pieces: in the server's process a read of the first is many turns of the event loop away by then. */
const READ_MS = 5;
const ANSWER_MS = 20_000 * PATIENCE;

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
/** Without what differs from answer to answer. */
const stable = (answer: string): string => answer.replace(/^Date: .*\r\n/im, '');

/**
 * @returns all that the server says until it closes the connection, or is silent behind a whole answer with a
 * Content-Length.
 */
async function answerTo(port: number, pieces: readonly string[]): Promise<string> {
  const socket = createConnection({ port, host: '127.0.0.1', noDelay: true });
  let text = '';
  const ended = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`no whole answer within ${ANSWER_MS} ms to ${JSON.stringify(pieces)}: ${text}`)),
      ANSWER_MS,
    );
    const end = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve();
    };
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const headEnd = text.indexOf('\r\n\r\n');
      const length = / (?:204|304) /.test(text.slice(0, 14))
        ? 0
        : /^content-length: (\d+)\r$/im.exec(text.slice(0, headEnd + 2))?.[1];
      if (headEnd > 0 && length !== undefined && text.length >= headEnd + 4 + Number(length)) end();
    });
    // A server that refuses a request may close before the rest of it was sent.
    socket.on('error', end).on('close', end);
  });
  await new Promise((resolve) => {
    socket.once('connect', resolve).once('close', resolve);
  });
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await pause(READ_MS);
    if (socket.writable) socket.write(piece);
  }
  await ended;
  return stable(text);
}

/**
 * @param request ASCII, with an answer that is always the same.
 * @param part what of an answer is compared.
 * @returns the answer to the whole request, and descriptions of cuts behind which the answer was another one.
 */
export async function answersToCuts(
  port: number,
  request: string,
  part = (answer: string): string => answer,
): Promise<{ whole: string; different: string[] }> {
  const whole = part(await answerTo(port, [request]));
  const different: string[] = [];
  const compare = async (pieces: readonly string[]): Promise<void> => {
    const answer = part(await answerTo(port, pieces));
    if (answer !== whole) different.push(`${JSON.stringify(pieces.slice(0, 2))}: ${answer.slice(0, 100)}`);
  };
  const cuts = Array.from({ length: request.length - 1 }, (_, index) => index + 1);
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let cut = cuts.pop(); cut !== undefined; cut = cuts.pop())
        await compare([request.slice(0, cut), request.slice(cut)]);
    }),
  );
  await compare([...request]);
  return { whole, different };
}
