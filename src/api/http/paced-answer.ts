/**
 * Answers that leave as fast as their client reads, however slow that is. The library closes a connection when its last
 * write failed and 10 s pass without another, and tells of room only when a third of what the kernel keeps (up to 4 MiB
 * a connection) has left, which at 60 kB/s takes longer. So what waits is tried again in between. A try that succeeds
 * leaves the 10 s of the one before running, also while the next piece is being made; a pause with a resume begins them
 * anew (all seen, uwebsockets 3.0.6, 2026-11-22). What is with the kernel when the last byte has been taken arrives,
 * whatever the library does.
 */

/** What is used of the library's response. */
export interface AnswerOutlet {
  onWritable(handler: (offset: number) => boolean): unknown;
  cork(callback: () => void): unknown;
  /**
   * @returns whether the kernel has taken all that was written before; less than 16 KiB are kept for the end of `cork`
   * and tell nothing of themselves.
   */
  write(piece: string | Uint8Array): boolean;
  end(body?: string | Uint8Array, closeConnection?: boolean): unknown;
  getWriteOffset(): number;
  /** @returns whether all of it has been taken, and whether that was the end of the answer. */
  tryEnd(piece: Uint8Array, totalBytes: number, closeConnection?: boolean): [boolean, boolean];
  pause(): unknown;
  resume(): unknown;
}

export interface PaceOptions {
  /** Without progress for this time the client counts as disconnected. */
  readonly stalledMsMax: number;
  /** The connection ends with the answer. */
  readonly isLast: boolean;
  /** Nothing more can be sent; called once. */
  readonly onStalled: () => void;
  /** The answer is complete and the response dead. */
  readonly onDone: () => void;
  /** Calls back; takes what is thrown. */
  readonly guard: (callback: () => void) => void;
}

/** A client that takes nothing at all of an answer for this time is cut off. */
export const STALLED_MS_MAX = 60_000;
export const STALLED_LIMIT = 'http/stalled-answers';
/** Below the library's 10 s, which it counts in steps of 4 s. */
const RETRY_MS = 2_500;
/** Above 16 KiB, so that the library tells what became of it; it keeps at most one. */
const SLICE_BYTES = 65_536;
/**
 * Kept back until the end, more than there are tries in `stalledMsMax`: written one at a time they tell whether all
 * before them has left.
 */
const TAIL_BYTES = 64;

export class PacedAnswer {
  readonly #response: AnswerOutlet;
  readonly #options: PaceOptions;
  readonly #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  /** The library keeps a part of what was written. */
  #isKept = false;
  #wasSlow = false;
  /** Runs from the first try that failed to the end. */
  #timer: NodeJS.Timeout | undefined;
  #waiting: { readonly attempt: () => boolean; readonly resolve: () => void } | undefined;
  #progressAt = 0;

  constructor(response: AnswerOutlet, options: PaceOptions) {
    this.#response = response;
    this.#options = options;
    response.onWritable(() => {
      options.guard(() => void this.#try());
      return true;
    });
  }

  /** Sends a piece of content of `totalBytes`. Resolves when it has been taken, or with `stop`. */
  sendSized(piece: Uint8Array, totalBytes: number): Promise<void> {
    const response = this.#response;
    const start = response.getWriteOffset();
    return this.#until(() => {
      const from = response.getWriteOffset();
      let [isTaken, isDone] = [false, false];
      response.cork(() => {
        [isTaken, isDone] = response.tryEnd(piece.subarray(from - start), totalBytes, this.#options.isLast);
      });
      if (isDone) this.#done();
      else if (response.getWriteOffset() > from) this.#progressed();
      return isTaken || isDone;
    });
  }

  /** Writes a small piece of a stream at once, whatever became of the one before. */
  write(piece: Uint8Array): void {
    if (piece.length > 0) this.#writeChunk(piece);
  }

  /** Sends a piece of a stream. Resolves when there is room for the next, or with `stop`; one at a time. */
  send(piece: Uint8Array): Promise<void> {
    this.#enqueue(piece);
    return this.#until(() => this.#writeQueue());
  }

  /** Completes a stream with a last piece, which may be empty. */
  async end(piece: Uint8Array): Promise<void> {
    this.#enqueue(piece);
    let isSettled = false;
    await this.#until(() => {
      if (!this.#writeQueue()) return false;
      // What the library keeps when the stream ends has 10 s to leave, whatever the client does: nothing may be left.
      if (this.#queuedBytes > 0 && !isSettled) {
        if (!this.#writeChunk(this.#take(1))) return false;
        isSettled = true;
        // So that there is room for the rest: less than a packet of the client's.
        if (this.#wasSlow) return false;
      }
      const rest = this.#take(TAIL_BYTES);
      this.#response.cork(() => {
        if (rest.length > 0) this.#response.write(rest);
        this.#response.end('', this.#options.isLast);
      });
      this.#done();
      return true;
    });
  }

  #done(): void {
    clearInterval(this.#timer);
    this.#options.onDone();
  }

  /** Wakes the waiting writer; nothing is sent any more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#settle();
  }

  #settle(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve();
  }

  /** Calls `attempt` until it returns true. */
  #until(attempt: () => boolean): Promise<void> {
    this.#progressed();
    if (attempt()) return Promise.resolve();
    const { stalledMsMax, guard } = this.#options;
    this.#timer ??= setInterval(() => guard(() => this.#tick()), Math.min(RETRY_MS, stalledMsMax / 4));
    return new Promise((resolve) => {
      this.#waiting = { attempt, resolve };
    });
  }

  #tick(): void {
    if (this.#try()) return;
    if (this.#waiting !== undefined && performance.now() - this.#progressAt >= this.#options.stalledMsMax) {
      this.stop();
      this.#options.onStalled();
      return;
    }
    this.#response.pause();
    this.#response.resume();
  }

  /** @returns whether the answer may be complete. */
  #try(): boolean {
    if (this.#waiting?.attempt() !== true) return false;
    this.#settle();
    return true;
  }

  #progressed(): void {
    this.#progressAt = performance.now();
  }

  #enqueue(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#queue.push(piece);
    this.#queuedBytes += piece.length;
  }

  /** @returns at most `bytesMax` bytes from the head of the queue. */
  #take(bytesMax: number): Uint8Array {
    const parts: Uint8Array[] = [];
    for (let wanted = bytesMax; wanted > 0 && this.#queue.length > 0; ) {
      const [first] = this.#queue;
      const part = first.subarray(0, wanted);
      if (part.length === first.length) this.#queue.shift();
      else this.#queue[0] = first.subarray(wanted);
      parts.push(part);
      wanted -= part.length;
      this.#queuedBytes -= part.length;
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  /**
   * @returns whether only the tail is left. A byte asks first whether what the library keeps has left, so that it never
   * keeps more.
   */
  #writeQueue(): boolean {
    while (this.#queuedBytes > TAIL_BYTES) {
      const bytesMax = this.#isKept ? 1 : Math.min(SLICE_BYTES, this.#queuedBytes - TAIL_BYTES);
      if (!this.#writeChunk(this.#take(bytesMax))) return false;
    }
    return true;
  }

  #writeChunk(chunk: Uint8Array): boolean {
    let isTaken = true;
    this.#response.cork(() => {
      isTaken = this.#response.write(chunk);
    });
    this.#isKept = !isTaken;
    if (isTaken) this.#progressed();
    else this.#wasSlow = true;
    return isTaken;
  }
}
