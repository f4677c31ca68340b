/**
 * The quarantine as a file of JSON lines in the data directory. Its operator may read it, and move it away at any time.
 */
import { open, readFile, stat, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { QuarantineFullError } from '../../ports/stores/quarantine.ts';
import type { Quarantine, QuarantineEntry, QuarantineKey } from '../../ports/stores/quarantine.ts';
import { syncDirectory } from './sync-directory.ts';

/** Bytes of the file. More than a few lines mean a fault that an operator has to look at. */
const QUARANTINE_BYTES_MAX = 64 * 1_048_576;

const keyOf = ({ kind, table, seq, id }: QuarantineKey): string => `${kind}/${table}/${seq}/${id}`;

export class QuarantineFile implements Quarantine {
  sizeBytes = 0;
  isFull = false;
  readonly #path: string;
  readonly #bytesMax: number;
  readonly #now: () => number;
  readonly #keys = new Set<string>();

  private constructor(path: string, bytesMax: number, now: () => number) {
    this.#path = path;
    this.#bytesMax = bytesMax;
    this.#now = now;
  }

  get count(): number {
    return this.#keys.size;
  }

  /** Reads what is there. A line that was cut off by the end of the process is taken away: it was not acknowledged. */
  static async open(path: string, options: { bytesMax?: number; now?: () => number } = {}): Promise<QuarantineFile> {
    const quarantine = new QuarantineFile(path, options.bytesMax ?? QUARANTINE_BYTES_MAX, options.now ?? Date.now);
    await quarantine.#load();
    return quarantine;
  }

  has(key: QuarantineKey): boolean {
    return this.#keys.has(keyOf(key));
  }

  async add(entry: QuarantineEntry): Promise<void> {
    await this.#noticeMoved();
    const key = keyOf(entry);
    if (this.#keys.has(key)) return;
    const line = Buffer.from(`${JSON.stringify({ time: new Date(this.#now()).toISOString(), ...entry })}\n`);
    this.isFull = this.sizeBytes + line.length > this.#bytesMax;
    if (this.isFull) {
      throw new QuarantineFullError(
        `the quarantine ${this.#path} is full (${this.sizeBytes} of ${this.#bytesMax} bytes, a line of ${line.length} more): ` +
          `what the history store refuses cannot be set aside (${entry.error}). Find out why it is refused, then move the file away`,
      );
    }
    const isNew = this.sizeBytes === 0;
    const file = await open(this.#path, 'a');
    try {
      await file.writeFile(line);
      await file.sync();
    } catch (error) {
      // Half a line would spoil the next one.
      await file.truncate(this.sizeBytes).catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
    if (isNew) await syncDirectory(dirname(this.#path));
    this.sizeBytes += line.length;
    this.#keys.add(key);
  }

  async #load(): Promise<void> {
    const bytes = await readFile(this.#path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return Buffer.alloc(0);
      throw error;
    });
    const end = bytes.lastIndexOf('\n') + 1;
    if (end < bytes.length) await truncate(this.#path, end);
    this.sizeBytes = end;
    for (let at = 0; at < end; ) {
      const next = bytes.indexOf('\n', at);
      this.#keys.add(keyOfLine(bytes.toString('utf8', at, next)));
      at = next + 1;
    }
  }

  /** When an operator has moved the file away, a new one begins. */
  async #noticeMoved(): Promise<void> {
    const size = await stat(this.#path).then(
      ({ size: found }) => found,
      () => 0,
    );
    if (size === this.sizeBytes) return;
    this.#keys.clear();
    await this.#load();
  }
}

/** A line that was edited counts for the size, but has no key. */
function keyOfLine(line: string): string {
  try {
    return keyOf(JSON.parse(line) as QuarantineKey);
  } catch {
    return line;
  }
}
