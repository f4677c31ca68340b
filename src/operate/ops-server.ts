/**
 * The operator's port: metrics, and readiness with its details, without credentials. It listens on the loopback address
 * unless it is set otherwise, and stays usable when accounts cannot be read.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Log } from '../ports/log.ts';

/** Operators and what scrapes for them; more are refused. */
const CONNECTIONS_MAX = 50;
const TIMEOUT_MS = 10_000;
const JSON_TYPE = 'application/json;charset=UTF-8';
const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface OpsServerOptions {
  readonly health: () =>
    | Promise<{ readonly ready: boolean; readonly parts: object }>
    | { readonly ready: boolean; readonly parts: object };
  readonly metricsText: () => Promise<string>;
  readonly log: Log;
}

export class OpsServer {
  readonly #options: OpsServerOptions;
  readonly #server: Server;

  constructor(options: OpsServerOptions) {
    this.#options = options;
    this.#server = createServer({ requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS }, (request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        options.log.error({ err: error, path: request.url }, 'a request of the operator failed');
        response.destroy();
      });
    });
    this.#server.maxConnections = CONNECTIONS_MAX;
  }

  /** @returns the port. @throws the socket's error. */
  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, type: string, text: string): void => {
      response
        .writeHead(status, {
          'Content-Type': type,
          'X-Content-Type-Options': 'nosniff',
          'Content-Length': Buffer.byteLength(text),
        })
        .end(text);
    };
    const path = (url ?? '').split('?')[0];
    if (method !== 'GET' && method !== 'HEAD') send(405, JSON_TYPE, '{"message":"GET and HEAD only"}');
    else if (path === '/metrics') send(200, PROMETHEUS_TYPE, await this.#options.metricsText());
    else if (path === '/health') send(200, JSON_TYPE, '{"status":"UP"}');
    else if (path === '/health/ready') {
      const report = await this.#options.health();
      send(report.ready ? 200 : 503, JSON_TYPE, JSON.stringify({ status: report.ready ? 'UP' : 'DOWN', ...report }));
    } else send(404, JSON_TYPE, '{"message":"This port has /metrics, /health and /health/ready"}');
  }
}
