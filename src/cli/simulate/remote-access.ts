/**
 * The device's side of remote access, as agents do it: a connection to the address of the order, a WebSocket to the
 * server with its key, and bytes both ways until one of them closes.
 */
import { once } from 'node:events';
import { createConnection } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import type { ConnectOrder } from '../../model/access/remote-access.ts';
import { joinStreams } from '../remote/tunnel-stream.ts';

const CONNECT_TIMEOUT_MS = 30_000;

export interface OpenTunnel {
  /** Resolves with code and reason when both connections are closed. */
  readonly ended: Promise<{ readonly code: number; readonly reason: string }>;
  close(): void;
}

/**
 * @param server.url of HTTP. @returns when both connections are open: the operation is SUCCESSFUL then.
 * @throws Error with the reason that the operation is FAILED with.
 */
export async function openTunnel(
  server: { readonly url: string; readonly authorization: string },
  { hostname, port, connectionKey }: ConnectOrder,
): Promise<OpenTunnel> {
  const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  const local = createConnection({ host: hostname, port, noDelay: true });
  local.on('error', () => local.destroy());
  try {
    await once(local, 'connect', { signal });
    const socket = new WebSocket(
      `${server.url.replace(/^http/, 'ws')}/service/remoteaccess/device/${encodeURIComponent(connectionKey)}`,
      ['binary'],
      { headers: { authorization: server.authorization }, perMessageDeflate: false },
    );
    const tunnel = await new Promise<OpenTunnel>((resolve, reject) => {
      socket.on('open', () => {
        // At once: what the client has sent comes with the answer.
        const ended = joinStreams(socket, local, local).finally(() => local.destroy());
        resolve({ ended, close: () => socket.close() });
      });
      socket.on('unexpected-response', (_request, response: IncomingMessage) => {
        socket.terminate();
        reject(new Error(`the server refuses the tunnel with status ${response.statusCode}`));
      });
      socket.on('error', reject);
      signal.addEventListener('abort', () => socket.readyState === WebSocket.CONNECTING && socket.terminate());
    });
    return tunnel;
  } catch (error) {
    local.destroy();
    throw new Error(`${hostname}:${port} by remote access: ${(error as Error).message}`, { cause: error });
  }
}
