/** Content in memory. */
import { BlobTooLarge, ownerText } from '../../../src/ports/blobs.ts';
import type { Blobs, ContentOwner } from '../../../src/ports/blobs.ts';

export class MemoryBlobs implements Blobs {
  readonly contents = new Map<string, { readonly content: Buffer; readonly writtenAt: number }>();
  #count = 0;

  async put(
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    limitBytes: number,
    owner?: ContentOwner,
  ): Promise<{ key: string; bytes: number }> {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of content) {
      bytes += piece.length;
      if (bytes > limitBytes) throw new BlobTooLarge(`the content has more than ${limitBytes} bytes`);
      pieces.push(piece);
    }
    this.#count += 1;
    const key = `blob${this.#count}${owner === undefined ? '' : `-${ownerText(owner)}`}`;
    this.contents.set(key, { content: Buffer.concat(pieces), writtenAt: Date.now() });
    return { key, bytes };
  }

  async read(
    key: string,
    range?: { readonly from: number; readonly through: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const found = this.contents.get(key);
    if (found === undefined) return undefined;
    const content = found.content.subarray(range?.from ?? 0, range === undefined ? undefined : range.through + 1);
    return (async function* pieces() {
      yield content;
    })();
  }

  async remove(key: string): Promise<number> {
    const bytes = this.contents.get(key)?.content.length ?? 0;
    this.contents.delete(key);
    return bytes;
  }

  async *keys(): AsyncIterable<{ key: string; writtenAt: number; bytes: number }> {
    for (const [key, { content, writtenAt }] of this.contents) yield { key, writtenAt, bytes: content.length };
  }
}
