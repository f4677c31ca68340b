/** The results of a run in the pages that clients read (docs/spec/scoring.md#inferences). */

/** Records of one page, as the API fixes it. */
export const PAGE_RECORDS = 2_000;

/** Results of some records of a device, all of one page. */
export interface PagePart {
  readonly deviceId: string;
  readonly records: number;
  /** Of each model its results as a JSON object, UTF-8. */
  readonly models: readonly Uint8Array[];
}

const COMMA = Buffer.from(',');
const DEVICE_END = Buffer.from(']}');
const PAGE_END = Buffer.from(']');

/** Parts of a result of at least this many bytes are handed on as they are: copies of large pages would hold up messages. */
const COPIED_BYTES_MAX = 65_536;

export interface Page {
  /** One behind the other. */
  readonly pieces: readonly Uint8Array[];
  readonly bytes: number;
}

/** Makes pages of results as they come: each a JSON array of devices with a part of their records. */
export class Pages {
  #pieces: Uint8Array[] = [];
  /** Short ones, which become one piece. */
  #short: Uint8Array[] = [];
  #bytes = 0;
  #records = 0;

  /** @returns the page, when it is full. @throws Error for a part that does not fit into the page. */
  add({ deviceId, records, models }: PagePart): Page | undefined {
    this.#records += records;
    if (this.#records > PAGE_RECORDS) throw new Error(`a page of results has ${this.#records} records`);
    const begin = this.#bytes === 0 ? '[' : ',';
    const head = `${begin}{"deviceId":${JSON.stringify(deviceId)},"recordSize":${records},"recordCollection":[`;
    this.#add(Buffer.from(head));
    models.forEach((model, index) => {
      if (index > 0) this.#add(COMMA);
      this.#add(model);
    });
    this.#add(DEVICE_END);
    return this.#records === PAGE_RECORDS ? this.end() : undefined;
  }

  /** The last page; undefined where nothing is left. */
  end(): Page | undefined {
    if (this.#records === 0) return undefined;
    this.#add(PAGE_END);
    this.#join();
    const page = { pieces: this.#pieces, bytes: this.#bytes };
    this.#pieces = [];
    this.#bytes = 0;
    this.#records = 0;
    return page;
  }

  #add(piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (piece.length >= COPIED_BYTES_MAX) {
      this.#join();
      this.#pieces.push(piece);
    } else {
      this.#short.push(piece);
    }
  }

  #join(): void {
    if (this.#short.length > 0) this.#pieces.push(Buffer.concat(this.#short));
    this.#short = [];
  }
}
