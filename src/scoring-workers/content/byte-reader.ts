/** Takes bytes of a content that comes in pieces, some at a time, and then the rest as pieces again. */
export class ByteReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** At least `count` bytes without taking them; fewer at the end of the content. */
  async peek(count: number): Promise<Buffer> {
    while (this.#held.length < count) {
      const next = await this.#pieces.next();
      if (next.done === true) break;
      this.#held = this.#held.length === 0 ? asBuffer(next.value) : Buffer.concat([this.#held, next.value]);
    }
    return this.#held;
  }

  /** @throws ContentError at the end of the content. */
  async take(count: number): Promise<Buffer> {
    const held = await this.peek(count);
    if (held.length < count) throw new ContentError('it ends too early');
    this.#held = held.subarray(count);
    return held.subarray(0, count);
  }

  /** The next `count` bytes, in pieces. @throws ContentError at the end of the content. */
  async *span(count: number): AsyncGenerator<Uint8Array> {
    for (let left = count; left > 0; ) {
      const held = await this.peek(1);
      if (held.length === 0) throw new ContentError('it ends too early');
      const piece = held.subarray(0, left);
      this.#held = held.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  /** All that is left; nothing else may be taken then. */
  async *rest(): AsyncGenerator<Uint8Array> {
    try {
      if (this.#held.length > 0) yield this.#held;
      for (;;) {
        const next = await this.#pieces.next();
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await this.#pieces.return?.();
    }
  }
}

/** A content that cannot be read: packed wrongly, too long, of another version. */
export class ContentError extends Error {
  override readonly name = 'ContentError';
}

/** A content that has more bytes than it may have, packed or unpacked. */
export class ContentTooLong extends ContentError {
  readonly limitBytes: number;

  constructor(limitBytes: number) {
    super(`it has more than ${limitBytes} bytes`);
    this.limitBytes = limitBytes;
  }
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
