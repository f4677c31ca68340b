/**
 * A bare uWebSockets.js handler that collects the body, JSON.parses it and answers 201: the ceiling of an HTTP server
 * here.
 */
import type { LibraryResponse } from '../../src/api/http/library.ts';
import { loadUws } from '../../src/api/http/engines/uws.ts';

function answer(response: LibraryResponse, body: Buffer): void {
  let status = '201 Created';
  try {
    JSON.parse(body.toString('utf8'));
  } catch {
    status = '400 Bad Request';
  }
  response.cork(() => {
    response.writeStatus(status);
    response.end();
  });
}

const app = loadUws().App();
app.any('/measurement/measurements', (response) => {
  let aborted = false;
  const chunks: Buffer[] = [];
  response.onAborted(() => {
    aborted = true;
  });
  response.onData((chunk, isLast) => {
    if (aborted) return;
    if (isLast && chunks.length === 0) {
      answer(response, Buffer.from(chunk));
      return;
    }
    chunks.push(Buffer.from(chunk.slice(0)));
    if (isLast) answer(response, Buffer.concat(chunks));
  });
});
app.listen('127.0.0.1', Number(process.argv[2]), 0, (socket) => {
  if (socket !== false) process.send?.('listening');
  else process.exit(1);
});
process.on('disconnect', () => process.exit(0));
