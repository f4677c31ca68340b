/** The results of a run in the pages that clients read (docs/spec/scoring.md#inferences). */

/** Records of one page, as the API fixes it. */
export const PAGE_RECORDS = 2_000;

export interface DeviceResult {
  readonly deviceId: string;
  /** ms since 1970, of each record. */
  readonly times: readonly number[];
  /** Of each model the outputs of each record. */
  readonly models: readonly {
    readonly modelName: string;
    readonly outputs: readonly Readonly<Record<string, unknown>>[];
  }[];
}

interface DevicePart {
  readonly deviceId: string;
  readonly recordSize: number;
  readonly recordCollection: readonly {
    readonly modelName: string;
    readonly outputRecords: Readonly<Record<string, unknown[]>>;
  }[];
}

/** Makes pages of results as they come: each a JSON array of devices with a part of their records. */
export class Pages {
  readonly #jobId: number;
  #page: DevicePart[] = [];
  #records = 0;

  constructor(jobId: number) {
    this.#jobId = jobId;
  }

  /** @returns pages that are full now */
  add(result: DeviceResult): string[] {
    const full: string[] = [];
    for (let at = 0; at < result.times.length; ) {
      const count = Math.min(PAGE_RECORDS - this.#records, result.times.length - at);
      this.#page.push(this.#part(result, at, count));
      this.#records += count;
      at += count;
      if (this.#records === PAGE_RECORDS) full.push(this.#take());
    }
    return full;
  }

  /** The last page, where something is left. */
  end(): string[] {
    return this.#records === 0 ? [] : [this.#take()];
  }

  #take(): string {
    const text = JSON.stringify(this.#page);
    this.#page = [];
    this.#records = 0;
    return text;
  }

  /** Arrays of one value for each record, and of their times. */
  #part(result: DeviceResult, at: number, count: number): DevicePart {
    const timestamps = result.times.slice(at, at + count).map((time) => new Date(time).toISOString());
    return {
      deviceId: result.deviceId,
      recordSize: count,
      recordCollection: result.models.map(({ modelName, outputs }) => {
        const some = outputs.slice(at, at + count);
        const outputRecords = Object.create(null) as Record<string, unknown[]>;
        for (const name of Object.keys(some[0] ?? {})) outputRecords[name] = some.map((output) => output[name] ?? null);
        outputRecords[`timestamp_${this.#jobId}`] = timestamps;
        return { modelName, outputRecords };
      }),
    };
  }
}
