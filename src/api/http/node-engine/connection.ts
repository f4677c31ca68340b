/**
 * One HTTP connection of the engine on `node:http`. Requests that the client sends without waiting are answered one
 * after the other: a request is given to its handler when the answer before it is complete.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { NodeResponse, endSocket } from './response.ts';

/**
 * A body has to bring so much in each of these times, and an answer has to leave within them; uWebSockets.js has 10 s,
 * too.
 */
const PROGRESS_MS = 10_000;
const BODY_BYTES_MIN = 1_024;

interface Pending {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

export class Connection {
  /** Answered without reading: no request of it is taken. */
  isRefused = false;
  readonly socket: Socket;
  readonly #handle: (response: NodeResponse) => void;
  readonly #turned: (isIdle: boolean) => void;
  #active: NodeResponse | undefined;
  readonly #waiting: Pending[] = [];
  /** What is answered behind the requests that wait, as the end of the connection. */
  #lastText: string | undefined;
  #checkedAt = performance.now();
  #keptBytes = 0;

  /**
   * @param handle answers a request, now or later. @param turned called when a request begins, and when the connection
   * waits for its next.
   */
  constructor(socket: Socket, handle: (response: NodeResponse) => void, turned: (isIdle: boolean) => void) {
    this.socket = socket;
    this.#handle = handle;
    this.#turned = turned;
  }

  /** A request is under way. */
  get isBusy(): boolean {
    return this.#active !== undefined;
  }

  take(message: IncomingMessage, response: ServerResponse): void {
    if (this.isRefused || this.#lastText !== undefined) return;
    if (this.#active === undefined) {
      this.#begin({ message, response });
      return;
    }
    this.#waiting.push({ message, response });
    // What has been read already may hold more requests: as many as one read brings.
    this.socket.pause();
  }

  #begin({ message, response }: Pending): void {
    this.#turned(false);
    const active = new NodeResponse(message, response);
    this.#active = active;
    this.#checkedAt = performance.now();
    this.#keptBytes = 0;
    response.on('error', () => this.socket.destroy());
    message.on('error', () => undefined);
    response.on('close', () => {
      active.abort();
      if (message.complete || this.socket.destroyed) this.#next(active);
      else {
        // The rest of the body is thrown away, at the pace that `isAlive` wants.
        active.isPaused = false;
        message
          .on('data', ({ length }: Buffer) => {
            active.bodyBytes += length;
          })
          .on('close', () => this.#next(active))
          .resume();
      }
    });
    this.#handle(active);
  }

  #next(before: NodeResponse): void {
    if (this.#active !== before) return;
    this.#active = undefined;
    // The answer was the last one: what came behind its request is passed over.
    if (this.socket.destroyed || this.socket.writableEnded) return;
    const pending = this.#waiting.shift();
    if (this.#waiting.length === 0 && this.#lastText === undefined) this.socket.resume();
    if (pending !== undefined) this.#begin(pending);
    else if (this.#lastText !== undefined) endSocket(this.socket, this.#lastText);
    else this.#turned(true);
  }

  /** Bytes came that are not a request. Answers under way are completed, unless it is in the body of one. */
  refuse(text: string): void {
    const active = this.#active;
    if (active === undefined) {
      endSocket(this.socket, text);
      return;
    }
    if (active.message.complete) {
      this.#lastText ??= text;
      this.socket.pause();
      return;
    }
    this.#waiting.length = 0;
    // Nothing may be written into the middle of an answer.
    if (active.isBegun) this.socket.destroySoon();
    else endSocket(this.socket, text);
    active.abort();
  }

  /**
   * To be called now and then. @returns false when the client has let the time pass in which a body or an answer has to
   * go on.
   */
  isAlive(now: number): boolean {
    const active = this.#active;
    if (active === undefined || now - this.#checkedAt < PROGRESS_MS) return true;
    this.#checkedAt = now;
    const { bodyBytes } = active;
    active.bodyBytes = 0;
    // A paced answer has a time limit of its own.
    if (active.isOver && this.socket.writableLength > 0) {
      const isStalled = this.#keptBytes === this.socket.writableLength;
      this.#keptBytes = this.socket.writableLength;
      return !isStalled;
    }
    return active.message.complete || active.isPaused || active.isBodyComplete || bodyBytes >= BODY_BYTES_MIN;
  }

  /** The connection has closed. */
  closed(): void {
    this.#waiting.length = 0;
    this.#active?.abort();
    this.#active = undefined;
  }
}
