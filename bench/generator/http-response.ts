/** The least of an HTTP/1.1 response reader: status, length of the body, where the response ends. */

const HEADER_END = Buffer.from('\r\n\r\n');
const LENGTH_NAMES = [Buffer.from('\r\nContent-Length: '), Buffer.from('\r\ncontent-length: ')];
/** A response header longer than this is a mistake. */
const HEADER_BYTES_MAX = 16 * 1024;

/** Follows the responses of one connection with one request at a time. Bodies are skipped. */
export class ResponseReader {
  /** Status of the last complete response. */
  status = 0;
  /** Bytes of the last complete response's body. */
  bodyBytes = 0;
  private header: Buffer | undefined;
  private missing = 0;

  /** @returns true when this chunk completes the response. @throws for a response without a length. */
  read(bytes: Buffer, length: number): boolean {
    if (this.missing > 0) {
      this.missing -= length;
      return this.missing <= 0;
    }
    let chunk = bytes.subarray(0, length);
    if (this.header !== undefined) chunk = Buffer.concat([this.header, chunk]);
    const end = chunk.indexOf(HEADER_END);
    if (end < 0) {
      if (chunk.length > HEADER_BYTES_MAX) throw new Error('a response header without an end');
      this.header = Buffer.from(chunk);
      return false;
    }
    this.header = undefined;
    this.status = (chunk[9]! - 48) * 100 + (chunk[10]! - 48) * 10 + chunk[11]! - 48;
    this.bodyBytes = this.status === 204 ? 0 : contentLength(chunk, end);
    this.missing = end + HEADER_END.length + this.bodyBytes - chunk.length;
    return this.missing <= 0;
  }
}

function contentLength(chunk: Buffer, end: number): number {
  for (const name of LENGTH_NAMES) {
    const at = chunk.indexOf(name);
    if (at < 0 || at >= end) continue;
    let value = 0;
    for (let index = at + name.length; chunk[index]! >= 48 && chunk[index]! <= 57; index++)
      value = value * 10 + chunk[index]! - 48;
    return value;
  }
  throw new Error(`a response without Content-Length: ${chunk.subarray(0, end).toString('latin1')}`);
}
