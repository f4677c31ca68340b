/**
 * Which bindings of a tenant take a measurement: found by the hash of its type and of its fragments, so that what a
 * measurement costs does not grow with the number of bindings. Nothing is allocated for one that no binding takes.
 */
import {
  keyAt,
  OFFSET_COUNT,
  OFFSET_DOCUMENT_LENGTH,
  OFFSET_TEXTS,
  OFFSET_TYPE_LENGTH,
  TYPE_IS_FRAGMENT,
  VALUE_FRAGMENT_LENGTH,
  VALUE_HEADER_BYTES,
  VALUE_SERIES_LENGTH,
  VALUE_UNIT_LENGTH,
} from '../../ingest/journal/record-layout.ts';
import { hashOf, isAt } from '../../scoring-workers/measurements/names.ts';
import { DEPTH_MAX, depthOf } from './mark.ts';

/** What is to be scored, and where it goes. */
export interface Candidate {
  /** Types or fragments, one of which a measurement has. */
  readonly names: readonly string[];
  /** Undefined: all of the tenant. */
  readonly devices: { has(source: number): boolean } | undefined;
  readonly scoresPredictions: boolean;
  /** @param depth of predictions, 0 of what devices measured */
  offer(records: Buffer, at: number, depth: number): void;
  /** A prediction that is not scored. */
  leaveOut(): void;
}

interface Entry {
  readonly name: Buffer;
  readonly places: number[];
}

export class Selection {
  readonly #candidates: readonly Candidate[];
  readonly #entries = new Map<number, Entry[]>();
  /** Of each candidate the number of the record that it was offered last. */
  readonly #offered: Float64Array;
  #record = 0;
  /** Of the record that is looked at; -1: not known yet. */
  #depth = 0;

  constructor(candidates: readonly Candidate[]) {
    this.#candidates = candidates;
    this.#offered = new Float64Array(candidates.length);
    for (const [place, { names }] of candidates.entries())
      for (const text of new Set(names)) this.#add(Buffer.from(text), place);
  }

  #add(name: Buffer, place: number): void {
    const hash = hashOf(name, 0, name.length);
    const entries = this.#entries.get(hash) ?? [];
    this.#entries.set(hash, entries);
    const entry = entries.find((one) => one.name.equals(name));
    if (entry === undefined) entries.push({ name, places: [place] });
    else entry.places.push(place);
  }

  /** @param at of a whole MEASUREMENT record */
  offer(records: Buffer, at: number): void {
    this.#record += 1;
    this.#depth = -1;
    const typeLength = records.readUInt16LE(at + OFFSET_TYPE_LENGTH);
    const typeAt = at + OFFSET_TEXTS;
    let cursor = typeAt;
    if (typeLength !== TYPE_IS_FRAGMENT) {
      cursor += typeLength;
      this.#look(records, at, typeAt, cursor);
    }
    cursor += records.readUInt32LE(at + OFFSET_DOCUMENT_LENGTH);
    for (let left = records.readUInt16LE(at + OFFSET_COUNT); left > 0; left -= 1) {
      const fragmentAt = cursor + VALUE_HEADER_BYTES;
      const fragmentEnd = fragmentAt + records.readUInt16LE(cursor + VALUE_FRAGMENT_LENGTH);
      this.#look(records, at, fragmentAt, fragmentEnd);
      cursor =
        fragmentEnd +
        records.readUInt16LE(cursor + VALUE_SERIES_LENGTH) +
        records.readUInt16LE(cursor + VALUE_UNIT_LENGTH);
    }
  }

  #look(records: Buffer, at: number, start: number, end: number): void {
    const entries = this.#entries.get(hashOf(records, start, end));
    if (entries === undefined) return;
    for (const { name, places } of entries) {
      if (!isAt(name, records, start, end)) continue;
      for (const place of places) this.#offerTo(place, records, at);
    }
  }

  #offerTo(place: number, records: Buffer, at: number): void {
    if (this.#offered[place] === this.#record) return;
    this.#offered[place] = this.#record;
    const candidate = this.#candidates[place] as Candidate;
    if (candidate.devices !== undefined && !candidate.devices.has(keyAt(records, at))) return;
    if (this.#depth < 0) this.#depth = depthAt(records, at);
    if (this.#depth > 0 && (!candidate.scoresPredictions || this.#depth >= DEPTH_MAX)) candidate.leaveOut();
    else candidate.offer(records, at, this.#depth);
  }
}

function depthAt(records: Buffer, at: number): number {
  const typeLength = records.readUInt16LE(at + OFFSET_TYPE_LENGTH);
  const documentAt = at + OFFSET_TEXTS + (typeLength === TYPE_IS_FRAGMENT ? 0 : typeLength);
  return depthOf(records, documentAt, documentAt + records.readUInt32LE(at + OFFSET_DOCUMENT_LENGTH));
}
