/** POST in a closed loop over keep-alive connections: the answer to one request lets the next go. */
import { connect, type Socket } from 'node:net';
import { portOf, type HttpClosedJob, type WindowResult } from './job.ts';
import { answer } from './channel.ts';
import { changeRequest, entityRequest, getRequest, postRequest, type PostRequest } from './http-request.ts';
import { ResponseReader } from './http-response.ts';
import { measure, type Load } from './window.ts';

const READ_BUFFER_BYTES = 64 * 1024;
const readBuffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);

interface Client {
  socket: Socket;
  reader: ResponseReader;
  request: PostRequest;
}

class HttpLoop implements Load {
  sent = 0;
  counted = 0;
  failed = 0;
  firstFailure = '';
  private stopped = false;
  private requestsLeft: number;
  private timeMs: number;
  private readonly clients: Client[] = [];
  /** Bodies that all clients send in turn, where there are more sources than their own have room for. */
  private readonly bodies: PostRequest[] = [];
  private sentBodies = 0;
  private readonly job: HttpClosedJob;

  constructor(job: HttpClosedJob) {
    this.job = job;
    this.requestsLeft = job.requests ?? Infinity;
    this.timeMs = job.firstTimeMs;
  }

  async open(): Promise<void> {
    const { target, sources, measurementsPerBody, get, entity, connections } = this.job;
    // A body goes out again when all others have, so that no client waits for one that another is writing.
    if (sources.length > 2 * connections * measurementsPerBody)
      for (let first = 0; first < sources.length; first += measurementsPerBody)
        this.bodies.push(postRequest(target, sources, first, measurementsPerBody));
    for (let index = 0; index < this.job.connections; index++) {
      const request =
        get !== undefined
          ? getRequest(target, get)
          : entity !== undefined
            ? entityRequest(target, entity, sources[index % Math.max(1, sources.length)])
            : postRequest(target, sources, measurementsPerBody === 1 ? index : 0, measurementsPerBody);
      const reader = new ResponseReader();
      await new Promise<void>((resolve, reject) => {
        const client: Client = {
          reader,
          request,
          socket: connect({
            host: target.host,
            port: portOf(target, index),
            noDelay: true,
            onread: { buffer: readBuffer, callback: (length, bytes) => this.answered(client, bytes as Buffer, length) },
          }),
        };
        client.socket.once('connect', resolve).on('error', (error) => {
          this.fail(error.message);
          reject(error);
        });
        this.clients.push(client);
      });
    }
  }

  start(): void {
    for (const client of this.clients) this.send(client);
  }

  stop(): void {
    this.stopped = true;
  }

  outstanding(): number {
    return this.sent - this.counted - this.failed * this.job.measurementsPerBody;
  }

  /** @returns when all requests of a job with a number of them are answered. */
  async finished(): Promise<void> {
    while ((this.requestsLeft > 0 || this.outstanding() > 0) && this.failed === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  close(): void {
    for (const client of this.clients) client.socket.destroy();
  }

  private answered(client: Client, bytes: Buffer, length: number): boolean {
    if (!client.reader.read(bytes, length)) return true;
    if (client.reader.status === (this.job.get === undefined ? 201 : 200)) this.counted += this.job.measurementsPerBody;
    else this.fail(`status ${client.reader.status}: ${bytes.toString('latin1', 0, Math.min(length, 500))}`);
    if (!this.stopped && this.requestsLeft > 0) this.send(client);
    return true;
  }

  private fail(what: string): void {
    this.failed++;
    if (this.firstFailure === '') this.firstFailure = what;
  }

  private send(client: Client): void {
    this.requestsLeft--;
    if (this.bodies.length > 0) client.request = this.bodies[this.sentBodies++ % this.bodies.length]!;
    this.timeMs += this.job.stepMs;
    changeRequest(client.request, this.timeMs, this.sent);
    this.sent += this.job.measurementsPerBody;
    client.socket.write(client.request.bytes);
  }
}

export async function runHttpClosed(
  job: HttpClosedJob,
): Promise<WindowResult | { totalCount: number; elapsedMs: number }> {
  const load = new HttpLoop(job);
  await load.open();
  answer({ kind: 'connected', count: job.connections });
  try {
    if (job.requests !== undefined) {
      const begun = performance.now();
      load.start();
      await load.finished();
      if (load.failed > 0) throw new Error(load.firstFailure);
      return { totalCount: load.counted, elapsedMs: performance.now() - begun };
    }
    const result = await measure(load, job);
    if (load.failed > 0)
      process.stderr.write(`bench: ${load.failed} requests failed, the first: ${load.firstFailure}\n`);
    return result;
  } finally {
    load.close();
  }
}
