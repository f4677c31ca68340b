/**
 * The head of a request, and where the request ends by it: a head that a proxy in front may understand otherwise is
 * refused (RFC 9112 section 6.3).
 */

/** What is used of the library's request; dead after the handler has returned. */
export interface RawRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  getHeader(lowerCaseName: string): string;
  /** Names in lower case; one that was sent twice comes twice. */
  forEach(callback: (name: string, value: string) => void): void;
}

const LENGTH = /^\d{1,15}$/;

let collected: string[] = [];
/** One function for all requests. */
const collect = (name: string, value: string): void => {
  collected.push(name, value);
};

export class RequestHead {
  /** What makes the end of the request doubtful, or ''. Such a request must be refused. */
  readonly fault: string;
  /**
   * Names in lower case and values in turn: to read all of them once takes the library less than a look for each of
   * those that are needed.
   */
  readonly #fields: readonly string[];

  constructor(request: RawRequest) {
    collected = [];
    request.forEach(collect);
    this.#fields = collected;
    this.fault = faultOf(this.#fields);
  }

  /** @param name lower case. @returns '' when absent; of a header that was sent more than once the first value. */
  get(name: string): string {
    const fields = this.#fields;
    for (let index = 0; index < fields.length; index += 2) if (fields[index] === name) return fields[index + 1];
    return '';
  }

  /** @param name lower case. @returns each value of a header that may have been sent more than once. */
  all(name: string): string[] {
    return this.#fields.filter((_value, index) => index % 2 === 1 && this.#fields[index - 1] === name);
  }

  /**
   * @returns all headers; of one that was sent more than once the last value, but for what proxies tell all values,
   * comma separated.
   */
  toMap(): Map<string, string> {
    const fields = this.#fields;
    const map = new Map<string, string>();
    for (let index = 0; index < fields.length; index += 2) {
      const [name, value] = [fields[index], fields[index + 1]];
      const before = name === 'forwarded' || name.startsWith('x-forwarded-') ? map.get(name) : undefined;
      map.set(name, before === undefined ? value : `${before},${value}`);
    }
    return map;
  }

  /**
   * For uWebSockets.js, which passes over what stands behind a header without a name: the length of a body may be
   * there.
   * @returns whether what it takes for the next request may belong to this one, which has no chunks.
   */
  hasDoubtfulEnd(method: string): boolean {
    return (method === 'POST' || method === 'PUT') && this.get('content-length') === '';
  }
}

function faultOf(fields: readonly string[]): string {
  let lengths = 0;
  let encodings = 0;
  let hosts = 0;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index];
    // Most names differ in their length already.
    if (name.length === 14 && name === 'content-length') {
      lengths += 1;
      if (!LENGTH.test(fields[index + 1])) return 'Content-Length is not a number';
    } else if (name.length === 17 && name === 'transfer-encoding') {
      encodings += 1;
      if (fields[index + 1].toLowerCase() !== 'chunked') return 'Transfer-Encoding is not chunked';
    } else if (name.length === 4 && name === 'host') hosts += 1;
  }
  if (lengths > 1) return 'Content-Length is sent more than once';
  if (encodings > 1) return 'Transfer-Encoding is sent more than once';
  if (lengths + encodings > 1) return 'Content-Length and Transfer-Encoding are sent together';
  return hosts > 1 ? 'Host is sent more than once' : '';
}
