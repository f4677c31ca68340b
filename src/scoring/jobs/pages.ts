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

/** Makes pages of results as they come: each a JSON array of devices with a part of their records. */
export class Pages {
  #pieces: Uint8Array[] = [];
  #records = 0;

  /** @returns the page, when it is full. @throws Error for a part that does not fit into the page. */
  add({ deviceId, records, models }: PagePart): Uint8Array | undefined {
    this.#records += records;
    if (this.#records > PAGE_RECORDS) throw new Error(`a page of results has ${this.#records} records`);
    const begin = this.#pieces.length === 0 ? '[' : ',';
    const head = `${begin}{"deviceId":${JSON.stringify(deviceId)},"recordSize":${records},"recordCollection":[`;
    this.#pieces.push(Buffer.from(head));
    models.forEach((model, index) => {
      if (index > 0) this.#pieces.push(COMMA);
      this.#pieces.push(model);
    });
    this.#pieces.push(DEVICE_END);
    return this.#records === PAGE_RECORDS ? this.end() : undefined;
  }

  /** The last page; undefined where nothing is left. */
  end(): Uint8Array | undefined {
    if (this.#records === 0) return undefined;
    const page = Buffer.concat([...this.#pieces, PAGE_END]);
    this.#pieces = [];
    this.#records = 0;
    return page;
  }
}
