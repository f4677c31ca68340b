/** What every adapter of the Quarantine port promises; run for each of them. */
import type { Test } from 'tap';
import { QuarantineFullError } from '../../src/ports/stores/quarantine.ts';
import type { Quarantine, QuarantineEntry } from '../../src/ports/stores/quarantine.ts';

export interface QuarantinePlace {
  readonly quarantine: Quarantine;
  /** There is no room any more for `entryOf` with a long text; or there is again. */
  fill(isFull: boolean): Promise<void> | void;
}

export const entryOf = (seq: number, more: Partial<QuarantineEntry> = {}): QuarantineEntry => ({
  kind: 'row',
  table: 'events',
  seq,
  shard: 1,
  id: 2,
  position: 0,
  code: 6,
  error: 'e',
  row: '\u2028\n',
  ...more,
});
const LONG = 'x'.repeat(10_000);

export function quarantineContract(t: Test, name: string, newPlace: (t: Test) => Promise<QuarantinePlace>): void {
  t.test(`${name}: an entry is kept once, by its name`, async (t) => {
    const { quarantine } = await newPlace(t);
    t.same(
      [quarantine.count, quarantine.sizeBytes, quarantine.isFull, quarantine.has(entryOf(1))],
      [0, 0, false, false],
    );
    await quarantine.add(entryOf(1));
    await quarantine.add(entryOf(1, { row: 'again', position: 9 }));
    t.same([quarantine.count, quarantine.has(entryOf(1))], [1, true]);
    const others = [
      entryOf(2),
      entryOf(1, { id: 3 }),
      entryOf(1, { table: 'alarms' }),
      entryOf(1, { kind: 'deletion' }),
    ];
    t.notOk(others.some((entry) => quarantine.has(entry)));
    for (const entry of others) await quarantine.add(entry);
    t.same([quarantine.count, others.every((entry) => quarantine.has(entry))], [5, true]);
  });

  t.test(`${name}: full: what finds no room is refused, and nowhere`, async (t) => {
    const { quarantine, fill } = await newPlace(t);
    await quarantine.add(entryOf(1));
    await fill(true);
    t.ok(
      (await quarantine.add(entryOf(2, { row: LONG })).catch((error: unknown) => error)) instanceof QuarantineFullError,
    );
    t.same(
      [quarantine.isFull, quarantine.count, quarantine.has(entryOf(2)), quarantine.has(entryOf(1))],
      [true, 1, false, true],
    );
    await quarantine.add(entryOf(1));
    t.equal(quarantine.count, 1, 'what is there needs no room');
    await fill(false);
    await quarantine.add(entryOf(3));
    t.same([quarantine.isFull, quarantine.has(entryOf(3))], [false, true]);
  });
}
