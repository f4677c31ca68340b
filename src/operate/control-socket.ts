/** `<data>/control.sock`: commands of the same machine's user to the running server, one JSON line each (backup). */
import { chmod, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import type { Log } from '../ports/log.ts';

const LINE_BYTES_MAX = 65_536;

export type ControlHandler = (request: Readonly<Record<string, unknown>>) => Promise<object>;

export class ControlSocket {
  readonly #path: string;
  readonly #handlers: ReadonlyMap<string, ControlHandler>;
  readonly #log: Log;
  #server: Server | undefined;

  constructor(path: string, handlers: ReadonlyMap<string, ControlHandler>, log: Log) {
    this.#path = path;
    this.#handlers = handlers;
    this.#log = log;
  }

  async listen(): Promise<void> {
    await rm(this.#path, { force: true });
    const server = createServer((socket) => {
      let text = '';
      socket.setEncoding('utf8');
      socket.on('error', (error) => {
        this.#log.debug({ error: error.message }, 'control connection failed');
      });
      socket.on('data', (chunk: string) => {
        text += chunk;
        const end = text.indexOf('\n');
        if (end < 0 && text.length <= LINE_BYTES_MAX) return;
        socket.pause();
        void this.#answer(text.slice(0, Math.max(end, 0))).then((answer) => {
          socket.end(`${JSON.stringify(answer)}\n`);
        });
      });
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#path, resolve);
    });
    await chmod(this.#path, 0o600);
    this.#server = server;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server)
      await new Promise((resolve) => {
        server.close(resolve);
      });
    await rm(this.#path, { force: true });
  }

  async #answer(line: string): Promise<object> {
    try {
      const request = JSON.parse(line) as Record<string, unknown>;
      const handler = this.#handlers.get(String(request.command));
      if (!handler)
        throw new Error(
          `unknown command ${String(request.command)}; it takes ${[...this.#handlers.keys()].join(', ')}`,
        );
      return { ok: true, ...(await handler(request)) };
    } catch (error) {
      this.#log.warn({ error: (error as Error).message }, 'a control command failed');
      return { ok: false, error: (error as Error).message };
    }
  }
}
