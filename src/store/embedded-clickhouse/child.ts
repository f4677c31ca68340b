/**
 * Entry of the process that hosts the embedded ClickHouse. It serves one data directory over HTTP on loopback, says on
 * which port over the channel to its parent, and ends when that channel closes.
 * Argument: `ChildOptions` as JSON. The password comes over the channel: the engine can read files, and so this
 * process's environment.
 */
import { mkdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { Engine } from './engine.ts';
import type { EngineOptions } from './engine.ts';
import { configureEngine } from './engine-config.ts';
import { createHttpServer } from './server.ts';
import { Spool } from './spool.ts';

export interface ChildOptions extends EngineOptions {
  /** 0 for any free port. */
  readonly port: number;
  readonly bodyBytesMax: number;
}

/** To the parent: ready, or why not. */
export type StartMessage = { readonly port: number } | { readonly failure: string; readonly errorCode: string };
export type ChildMessage = StartMessage | { readonly isAlive: true };

/** From the parent: first the password that clients give; then questions, answered by the same. */
export type ParentMessage = { readonly password: string } | { readonly isAlive: true };

const HOST = '127.0.0.1';
/** Answers under way get this long when the parent asks to stop. */
const CLOSE_LIMIT_MS = 5_000;

function main(password: string): void {
  const given = JSON.parse(process.argv[3]) as ChildOptions;
  const options: ChildOptions = { ...given, directory: resolve(given.directory) };
  // A signal to the whole group (Ctrl-C) must not end the child before its parent has written its last rows.
  process.on('SIGINT', () => undefined);
  // The end of a terminal, and what asks the server to read its certificates again.
  process.on('SIGHUP', () => undefined);
  mkdirSync(options.directory, { recursive: true });
  configureEngine(options.directory, options.memoryBytesMax);
  const engine = new Engine(options);
  const spool = new Spool(options.directory);
  const server = createHttpServer({ engine, spool, password, bodyBytesMax: options.bodyBytesMax });
  const close = (): void => {
    const end = (): void => {
      spool.close();
      engine.close();
      process.exit(0);
    };
    server.close(end);
    server.closeIdleConnections();
    setTimeout(end, CLOSE_LIMIT_MS);
  };
  process.once('SIGTERM', close);
  process.once('disconnect', close);
  process.on('message', (message: ParentMessage) => {
    if ('isAlive' in message) send(message);
  });
  server.once('error', (error: NodeJS.ErrnoException) => fail(error.message, error.code ?? ''));
  server.listen(options.port, HOST, () => send({ port: (server.address() as AddressInfo).port }));
}

function send(message: ChildMessage): void {
  process.send?.(message);
}

function fail(failure: string, errorCode: string): void {
  process.send?.({ failure, errorCode } satisfies StartMessage, () => process.exit(1));
}

process.once('message', (message: ParentMessage) => {
  try {
    if ('password' in message) main(message.password);
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error), '');
  }
});
