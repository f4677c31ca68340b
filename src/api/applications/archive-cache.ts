/**
 * Lists of entries of the archives that are served: reading one takes as long as the archive has files. Content never
 * changes under its key.
 */
import { openArchive } from './zip-archive.ts';
import type { Archive, ArchiveLimits, ArchiveSource } from './zip-archive.ts';

/** Entries of all lists together, about 200 bytes each. */
const ENTRIES_MAX = 200_000;

export class ArchiveCache {
  readonly #entriesMax: number;
  /** The one used longest ago first. */
  readonly #known = new Map<string, Archive>();
  readonly #underWay = new Map<string, Promise<Archive>>();
  #entries = 0;

  constructor(entriesMax = ENTRIES_MAX) {
    this.#entriesMax = entriesMax;
  }

  get entryCount(): number {
    return this.#entries;
  }

  async open(source: ArchiveSource, limits: ArchiveLimits): Promise<Archive> {
    const known = this.#known.get(source.key);
    if (known !== undefined) {
      this.#known.delete(source.key);
      this.#known.set(source.key, known);
      return known;
    }
    let reading = this.#underWay.get(source.key);
    if (reading === undefined) {
      reading = openArchive(source, limits)
        .then((archive) => this.#remember(source.key, archive))
        .finally(() => this.#underWay.delete(source.key));
      this.#underWay.set(source.key, reading);
    }
    return reading;
  }

  #remember(key: string, archive: Archive): Archive {
    this.#known.set(key, archive);
    this.#entries += archive.size;
    for (const [oldest, { size }] of this.#known) {
      if (this.#entries <= this.#entriesMax || oldest === key) break;
      this.#known.delete(oldest);
      this.#entries -= size;
    }
    return archive;
  }
}
