/** The few REST calls of the probes, on one keep-alive connection each. */
import { Agent, request } from 'node:http';
import { basicAuthorization } from './http-request.ts';
import type { Target } from './job.ts';

export interface RestAnswer {
  status: number;
  body: string;
}

/** A client with one connection; calls run one after the other. */
export class RestClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });
  private readonly target: Target;
  private readonly authorization: string;

  constructor(target: Target) {
    this.target = target;
    this.authorization = basicAuthorization(target);
  }

  get(path: string, headers: Record<string, string> = {}): Promise<RestAnswer> {
    return this.call('GET', path, undefined, headers);
  }

  post(path: string, body: unknown): Promise<RestAnswer> {
    return this.call('POST', path, JSON.stringify(body), { 'content-type': 'application/json' });
  }

  put(path: string, body: unknown): Promise<RestAnswer> {
    return this.call('PUT', path, JSON.stringify(body), { 'content-type': 'application/json' });
  }

  close(): void {
    this.agent.destroy();
  }

  private call(
    method: string,
    path: string,
    body: string | undefined,
    headers: Record<string, string>,
  ): Promise<RestAnswer> {
    return new Promise((resolve, reject) => {
      const call = request(
        {
          host: this.target.host,
          port: this.target.port,
          method,
          path,
          agent: this.agent,
          headers: {
            authorization: this.authorization,
            accept: 'application/json',
            ...headers,
            ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
          );
          response.on('error', reject);
        },
      );
      call.on('error', reject);
      call.end(body);
    });
  }
}

/** @returns the id of the managed object with this serial; waits until its first message has created it. */
export async function sourceOfSerial(rest: RestClient, serial: string): Promise<string> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const found = await rest.get(`/identity/externalIds/c8y_Serial/${encodeURIComponent(serial)}`);
    if (found.status === 200) return (JSON.parse(found.body) as { managedObject: { id: string } }).managedObject.id;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no managed object with the serial ${serial} after 5 s`);
}
