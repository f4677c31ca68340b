/** The text of an XML document in the encoding that it begins with: a byte order mark, or its declaration. */
import { TextDecoder } from 'node:util';

/** A document in an encoding that is not known, or in another one than it says: 400 with the reason. */
class EncodingError extends Error {
  override readonly name = 'EncodingError';
}

/** A declaration ends before, or names no encoding. */
const HEAD_BYTES_MAX = 1_024;
const DECLARED = /^<\?xml\s[^>]*?encoding\s*=\s*(["'])([^"'>]*)\1/;
/** As Latin-1. */
const UTF_8_MARK = /^\u00ef\u00bb\u00bf/;
const ENCODING_CHARACTERS_SHOWN = 50;

export class DocumentDecoder {
  #head = new Uint8Array();
  #decoder: TextDecoder | undefined;

  /** @returns the text so far, which may be empty. @throws EncodingError for an encoding that is not known, or does not fit */
  write(chunk: Uint8Array): string {
    if (this.#decoder !== undefined) return this.#decode(this.#decoder, chunk);
    const head = Buffer.concat([this.#head, chunk]);
    this.#head = head;
    return head.length < HEAD_BYTES_MAX && !head.includes('>') ? '' : this.#begin();
  }

  /** @returns the rest. @throws EncodingError as `write` */
  end(): string {
    const text = this.#decoder === undefined ? this.#begin() : '';
    return text + this.#decode(this.#decoder as TextDecoder);
  }

  #begin(): string {
    const head = this.#head;
    this.#head = new Uint8Array();
    this.#decoder = decoderOf(head);
    return this.#decode(this.#decoder, head);
  }

  #decode(decoder: TextDecoder, chunk?: Uint8Array): string {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch (error) {
      if (error instanceof TypeError)
        throw new EncodingError(`its bytes are not of the encoding '${decoder.encoding}'`);
      throw error;
    }
  }
}

/** Reads a whole text. @throws EncodingError as `DocumentDecoder` */
export function decodedDocument(bytes: Uint8Array): string {
  const decoder = new DocumentDecoder();
  return decoder.write(bytes) + decoder.end();
}

/** The text with a declaration that says UTF-8, as which it is sent. */
export const declaredUtf8 = (text: string): string =>
  text.replace(/^(\s*<\?xml\s[^>]*?encoding\s*=\s*)(["'])[^"'>]*\2/, '$1$2UTF-8$2');

function decoderOf(head: Uint8Array): TextDecoder {
  const marked = wide(head);
  if (marked !== undefined) return new TextDecoder(marked, { fatal: true });
  const begin = Buffer.from(head).toString('latin1').replace(UTF_8_MARK, '');
  // What is not XML is left to the parser.
  if (!begin.trimStart().startsWith('<')) return new TextDecoder();
  const declared = DECLARED.exec(begin)?.[2] ?? 'utf-8';
  const shown = declared.slice(0, ENCODING_CHARACTERS_SHOWN);
  if (/^utf-?16/i.test(declared)) throw new EncodingError(`its bytes are not of the encoding '${shown}'`);
  try {
    return new TextDecoder(declared, { fatal: true });
  } catch (error) {
    if (error instanceof RangeError) throw new EncodingError(`the encoding '${shown}' is not known`);
    throw error;
  }
}

/** Encodings of two bytes: by their mark, or by the `<` that a document begins with. */
function wide([first, second]: Uint8Array): string | undefined {
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return 'utf-16be';
  return undefined;
}
