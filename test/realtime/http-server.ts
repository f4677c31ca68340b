/** The Bayeux server behind node:http and ws, as an adapter for tests with foreign clients. */
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import type { Principal } from '../../src/model/access/principal.ts';
import { urlFormOf } from '../../src/realtime/bayeux/channel.ts';
import type { UrlForm } from '../../src/realtime/bayeux/channel.ts';
import { BayeuxServer } from '../../src/realtime/bayeux/server.ts';
import type { BayeuxOptions } from '../../src/realtime/bayeux/server.ts';
import { InProcessLiveBus } from '../../src/realtime/bus/live-bus.ts';
import { CountingRefusals, principal, RecordingLog } from './helpers.ts';

export const AUTHORIZATION = `Basic ${Buffer.from('t1/admin:secret').toString('base64')}`;

export interface RealServer {
  readonly bus: InProcessLiveBus;
  readonly server: BayeuxServer;
  readonly log: RecordingLog;
  readonly refusals: CountingRefusals;
  readonly port: number;
  readonly requestCount: () => number;
  readonly close: () => Promise<void>;
}

function authenticate(userName: string, password: string): Principal | undefined {
  return userName === 't1/admin' && password === 'secret' ? principal() : undefined;
}

export async function startServer(options: Partial<BayeuxOptions> = {}): Promise<RealServer> {
  const log = new RecordingLog();
  const refusals = new CountingRefusals();
  const bus = new InProcessLiveBus({ log });
  const server = new BayeuxServer({
    bus,
    log,
    refusals,
    hierarchy: { ancestors: () => [] },
    authenticator: { authenticate, current: (principal) => principal },
    ...options,
  });
  let requestCount = 0;
  const principalOf = (request: IncomingMessage): Principal | undefined =>
    request.headers.authorization === AUTHORIZATION ? principal() : undefined;
  const http = createServer(async (request, response) => {
    requestCount += 1;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const begin = (): void =>
      void (response.headersSent || response.writeHead(200, { 'content-type': 'application/json' }));
    try {
      server.handle(
        Buffer.concat(chunks).toString(),
        { principal: principalOf(request), urlForm: urlFormOf(request.url as string) as UrlForm },
        {
          send: (text) => {
            begin();
            response.end(text);
          },
          sendBlank: () => {
            begin();
            response.write(' ');
          },
          onAborted: (callback) => void response.on('close', () => void (response.writableFinished || callback())),
        },
      );
    } catch (error) {
      response.writeHead((error as { status: number }).status).end();
    }
  });
  const webSockets = new WebSocketServer({ noServer: true });
  http.on('upgrade', (request, socket, head) =>
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const bayeux = server.open(
        {
          send: (text) => {
            webSocket.send(text, () => bayeux.drained());
            return webSocket.bufferedAmount === 0;
          },
          get bufferedBytes() {
            return webSocket.bufferedAmount;
          },
          end: (reason) => webSocket.close(1008, reason),
        },
        { principal: principalOf(request), urlForm: urlFormOf(request.url as string) as UrlForm },
      );
      webSocket.on('message', (data) => bayeux.message(String(data)));
      webSocket.on('close', () => bayeux.closed());
    }),
  );
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
  return {
    bus,
    server,
    log,
    refusals,
    port: (http.address() as AddressInfo).port,
    requestCount: () => requestCount,
    close: async () => {
      server.close();
      for (const client of webSockets.clients) client.terminate();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
