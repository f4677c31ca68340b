/** Ports for servers that a test starts later, or that shall answer nothing. */
import { createServer } from 'node:net';

/**
 * Below the ports that the system gives connections, of which one may be gone when a server listens at last. The same
 * plus 10,000, where servers of a Redis Cluster listen too, are below them as well, and never given.
 */
const LOWEST = 10_000;
const COUNT = 10_000;
/** A port may be wanted some time before its server listens. */
const given = new Set<number>();

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** @returns a TCP port of 127.0.0.1 that was free a moment ago, and was not given in this process before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * COUNT);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}
