import { ContentTooLong } from './byte-reader.ts';

/** A content in one piece. @throws ContentTooLong beyond the bound */
export async function whole(content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of content) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new ContentTooLong(bytesMax);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
