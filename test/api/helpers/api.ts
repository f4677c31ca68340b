/** An API server over the fake platform on a free port, and a small client. */
import { Agent } from 'node:http';
import type { Test } from 'tap';
import { IDLE_MS, exchange } from '../../helpers/exchange.ts';
import { ApiServer } from '../../../src/api/api-server.ts';
import type { HttpLibrary } from '../../../src/api/http/library.ts';
import type { ApiConfig, Platform } from '../../../src/api/request/platform.ts';
import { apiRoutes } from '../../../src/api/routes.ts';
import type { Route } from '../../../src/api/request/route.ts';
import { LIBRARY } from './engines.ts';
import { FakePlatform } from './fake-platform.ts';

export const basic = (user: string, password = 'secret'): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
export const ADMIN = basic('t1/admin');
export const DEVICE = basic('t1/device_1');

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: any;
}

export interface Api {
  readonly fake: FakePlatform;
  readonly server: ApiServer;
  /** That of the server. */
  readonly platform: Platform;
  readonly port: number;
  readonly url: string;
  /**
   * With the administrator's credentials and `Accept: application/json` unless given; undefined leaves a header out.
   */
  call(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string | undefined> },
  ): Promise<Reply>;
}

export async function startApi(
  t: Test,
  options: {
    further?: Route[];
    prepare?: (server: ApiServer) => void;
    config?: Partial<ApiConfig>;
    platform?: Partial<Platform>;
    library?: HttpLibrary;
  } = {},
): Promise<Api> {
  const fake = new FakePlatform();
  fake.config = { ...fake.config, ...options.config };
  const platform = Object.assign(fake.platform(), options.platform);
  const server = new ApiServer(platform, apiRoutes(options.further), options.library ?? LIBRARY);
  options.prepare?.(server);
  const port = await server.listen({ host: '127.0.0.1', port: 0 });
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  t.teardown(() => {
    agent.destroy();
    return server.close(100);
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    fake,
    server,
    platform,
    port,
    url,
    call: async (method, path, { body, headers = {} } = {}) => {
      const all: Record<string, string | undefined> = {
        authorization: ADMIN,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      };
      const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
      const text = body === undefined || typeof body === 'string' ? (body as string | undefined) : JSON.stringify(body);
      const reply = await exchange(`${url}${path}`, { method, headers: new Headers(given), body: text, agent });
      let json: unknown;
      try {
        json = JSON.parse(reply.text);
      } catch {
        json = undefined;
      }
      return { ...reply, json };
    },
  };
}
