/** A quarantine in memory; nothing more comes into it when its node is gone. */
import { QuarantineFullError } from '../../../src/ports/stores/quarantine.ts';
import type { Quarantine, QuarantineEntry, QuarantineKey } from '../../../src/ports/stores/quarantine.ts';

export class MemoryQuarantine implements Quarantine {
  readonly entries: QuarantineEntry[];
  readonly sizeBytes = 0;
  isFull = false;
  readonly #isGone: () => boolean;

  /** @param entries what is there already. */
  constructor(isGone: () => boolean = () => false, entries: QuarantineEntry[] = []) {
    this.entries = entries;
    this.#isGone = isGone;
  }

  get count(): number {
    return this.entries.length;
  }

  has(key: QuarantineKey): boolean {
    return this.entries.some(
      ({ kind, table, seq, id }) => kind === key.kind && table === key.table && seq === key.seq && id === key.id,
    );
  }

  async add(entry: QuarantineEntry): Promise<void> {
    if (this.#isGone()) return new Promise(() => undefined);
    if (this.has(entry)) return;
    if (this.isFull) throw new QuarantineFullError('the quarantine is full');
    this.entries.push(entry);
  }
}
