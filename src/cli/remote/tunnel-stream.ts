/** Joins a WebSocket of remote access with streams of this machine, with back-pressure both ways. */
import type { Readable, Writable } from 'node:stream';
import { createWebSocketStream } from 'ws';
import type { WebSocket } from 'ws';

/** A WebSocket cannot be closed for one direction: what still comes behind the end of the input has this pause. */
const LINGER_MS = 2_000;
const NORMAL = 1000;

/** @returns when the WebSocket is closed and its bytes are written: code and reason. */
export function joinStreams(
  socket: WebSocket,
  input: Readable,
  output: Writable,
): Promise<{ readonly code: number; readonly reason: string }> {
  const stream = createWebSocketStream(socket);
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  const read = new Promise<void>((resolve) => {
    // What breaks the connection is told by its close.
    stream.on('end', resolve).on('error', () => resolve());
  });
  let linger: NodeJS.Timeout | undefined;
  const close = (): void => socket.close(NORMAL);
  const closeLater = (): void => {
    clearTimeout(linger);
    linger = setTimeout(close, LINGER_MS);
  };
  input.on('end', () => {
    closeLater();
    stream.on('data', closeLater);
  });
  input.on('error', close).on('close', () => {
    if (!input.readableEnded) close();
  });
  output.on('error', () => socket.terminate());
  // What nothing takes any more is read away, or the end of the stream would not be seen.
  output.on('close', () => {
    close();
    stream.resume();
  });
  input.pipe(stream, { end: false });
  stream.pipe(output);
  return Promise.all([closed, read]).then(([end]) => {
    clearTimeout(linger);
    return end;
  });
}
