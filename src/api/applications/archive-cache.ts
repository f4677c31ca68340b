/**
 * Lists of entries of the archives that are served: reading one takes as long as the archive has files. Content never
 * changes under its key.
 */
import { LRUCache } from 'lru-cache';
import { openArchive } from './zip-archive.ts';
import type { Archive, ArchiveLimits, ArchiveSource } from './zip-archive.ts';

/** Entries of all lists together, about 200 bytes each: far above those of one archive (zip-archive.ts). */
const ENTRIES_MAX = 200_000;

export class ArchiveCache {
  readonly #known: LRUCache<string, Archive>;
  readonly #underWay = new Map<string, Promise<Archive>>();

  constructor(entriesMax = ENTRIES_MAX) {
    this.#known = new LRUCache({ maxSize: entriesMax, sizeCalculation: ({ size }) => Math.max(1, size) });
  }

  get entryCount(): number {
    return this.#known.calculatedSize;
  }

  async open(source: ArchiveSource, limits: ArchiveLimits): Promise<Archive> {
    const known = this.#known.get(source.key);
    if (known !== undefined) return known;
    let reading = this.#underWay.get(source.key);
    if (reading === undefined) {
      reading = openArchive(source, limits)
        .then((archive) => {
          this.#known.set(source.key, archive);
          return archive;
        })
        .finally(() => this.#underWay.delete(source.key));
      this.#underWay.set(source.key, reading);
    }
    return reading;
  }
}
