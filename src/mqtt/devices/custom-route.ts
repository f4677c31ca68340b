/** From the bytes of a topic to a collection of custom templates: for the topic that a connection published on last. */
import type { SingleRows } from '../../smartrest/custom/single-row.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import type { KnownCollection } from './template-collections.ts';

export class CustomRoute {
  readonly known: KnownCollection;
  readonly mode: ProcessingMode;
  readonly rows: SingleRows;
  readonly #topic: Buffer;

  /** @param rows of `known`. */
  constructor(topic: string, mode: ProcessingMode, known: KnownCollection, rows: SingleRows) {
    this.#topic = Buffer.from(topic);
    this.mode = mode;
    this.known = known;
    this.rows = rows;
  }

  /** Whether the topic in `chunk[start, end)` is this one. */
  isTopic(chunk: Buffer, start: number, end: number): boolean {
    const topic = this.#topic;
    if (end - start !== topic.length) return false;
    // Names of one fleet differ at their ends.
    for (let index = topic.length - 1; index >= 0; index -= 1) if (chunk[start + index] !== topic[index]) return false;
    return true;
  }
}
