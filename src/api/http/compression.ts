/**
 * Content codings of answers (RFC 9110 section 12.5.3): which one a client takes, and a bound on how many answers are
 * compressed at once. zlib works on threads of its own; the level is low, since they are shared with files.
 */
import { promisify } from 'node:util';
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  type BrotliCompress,
  type Gzip,
} from 'node:zlib';

export type Coding = 'br' | 'gzip';

/** Characters of a text that is worth it: a page of five small entities goes as it is. */
const LENGTH_MIN = 4_096;
/** Answers in one piece, and in streams, that are compressed at once. The others go plain. */
const WHOLE_MAX = 2;
const STREAMS_MAX = 4;
const EMPTY = Buffer.alloc(0);
const GZIP = { level: 1 };
/** The window has 256 KiB: memory of a stream. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 18 } };
const compress = { br: promisify(brotliCompress), gzip: promisify(gzip) };

/**
 * @param header Accept-Encoding; '' takes no coding. @param length of the text in characters; undefined for a stream.
 * @returns the coding to use. A client that refuses `identity` gets small texts compressed, too.
 */
export function codingFor(header: string, length?: number): Coding | undefined {
  if (header === '') return undefined;
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [name, ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((text) => /^q\s*=/.test(text))?.replace(/^q\s*=\s*/, '');
    weights.set(name === 'x-gzip' ? 'gzip' : name, weight === undefined ? 1 : Number(weight) || 0);
  }
  const others = weights.get('*');
  const identity = weights.get('identity') ?? (others === 0 ? 0 : undefined);
  if (length !== undefined && length < LENGTH_MIN && identity !== 0) return undefined;
  const [br, plainGzip] = ['br', 'gzip'].map((name) => weights.get(name) ?? others ?? 0);
  if (Math.max(br, plainGzip) <= (identity ?? 0)) return undefined;
  return br >= plainGzip ? 'br' : 'gzip';
}

/** The codings of a server's answers. */
export class Compression {
  /** Answers that went plain since as many as may be were being compressed. */
  plainCount = 0;
  #wholeCount = 0;
  #streamsCount = 0;

  /** @returns the compressed text; undefined when it has to go plain. @throws what zlib says. */
  async whole(coding: Coding, text: string): Promise<Buffer | undefined> {
    if (this.#wholeCount >= WHOLE_MAX) {
      this.plainCount += 1;
      return undefined;
    }
    this.#wholeCount += 1;
    try {
      const bytes = Buffer.from(text);
      return await (coding === 'br' ? compress.br(bytes, BROTLI) : compress.gzip(bytes, GZIP));
    } finally {
      this.#wholeCount -= 1;
    }
  }

  /** @returns what encodes one stream, to be closed by its owner; undefined when it has to go plain. */
  stream(coding: Coding): StreamEncoder | undefined {
    if (this.#streamsCount >= STREAMS_MAX) {
      this.plainCount += 1;
      return undefined;
    }
    this.#streamsCount += 1;
    return new StreamEncoder(coding, () => {
      this.#streamsCount -= 1;
    });
  }
}

/** Compresses a stream piece by piece: each one can be read by the client when it arrives. */
export class StreamEncoder {
  readonly #zlib: Gzip | BrotliCompress;
  readonly #flushKind: number;
  readonly #onClosed: () => void;
  #made: Buffer[] = [];
  #isClosed = false;
  #error: Error | undefined;

  /** @param onClosed called once. */
  constructor(coding: Coding, onClosed: () => void) {
    this.#zlib = coding === 'br' ? createBrotliCompress(BROTLI) : createGzip(GZIP);
    this.#flushKind = coding === 'br' ? constants.BROTLI_OPERATION_FLUSH : constants.Z_SYNC_FLUSH;
    this.#onClosed = onClosed;
    this.#zlib.on('data', (made: Buffer) => this.#made.push(made));
    this.#zlib.on('error', (error) => {
      this.#error = error;
    });
  }

  /** One at a time. @returns what of the coding is new; nothing after `close`. @throws what zlib says. */
  encode(piece: Uint8Array): Promise<Buffer> {
    return this.#madeBy((done) => {
      this.#zlib.write(piece);
      this.#zlib.flush(this.#flushKind, done);
    });
  }

  /** @returns the end of the coding. */
  end(): Promise<Buffer> {
    return this.#madeBy((done) => {
      this.#zlib.once('end', done);
      this.#zlib.end();
    });
  }

  /** Lets its memory go; may be called more than once, and while a piece is being encoded. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#zlib.destroy();
    this.#onClosed();
  }

  async #madeBy(work: (done: () => void) => void): Promise<Buffer> {
    if (this.#isClosed) return EMPTY;
    await new Promise<void>((resolve) => {
      this.#zlib.once('close', resolve);
      work(() => {
        this.#zlib.off('close', resolve);
        resolve();
      });
    });
    if (this.#error !== undefined) throw this.#error;
    const made = Buffer.concat(this.#made);
    this.#made = [];
    return made;
  }
}
