/**
 * Whom ClockTrust believes: with a wall clock, a steady clock and a record of the test's own. Retention's part is in
 * test/jobs/retention-runner.test.ts.
 */
import t from 'tap';
import { encodeCommand } from '../../src/ingest/journal/command-record.ts';
import { encodeMeasurement } from '../../src/ingest/measurements/record.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { RecordsChange } from '../../src/model/commands/records.ts';
import { ClockTrust } from '../../src/operate/clock-trust.ts';
import { newestRetentionDay } from '../../src/jobs/retention/runner.ts';
import { LmdbJournal } from '../../src/store/lmdb/journal.ts';
import { NOW, openEnvironment, silentLog } from '../actors/platform.ts';

const DAY_MS = 86_400_000;

class Machine {
  wall = NOW;
  up = 1_000;
  record: string | undefined;
  reads = 0;
  readonly refused: string[] = [];

  clock(journalTime?: number): ClockTrust {
    const documents = {
      get: async (_collection: string, tenant: number) => {
        if (tenant !== 0) return undefined;
        this.reads += 1;
        return this.record;
      },
    } as never;
    const commands = {
      request: async ({ body }: { body: RecordsChange }) => {
        this.record = body.changes[0].value;
      },
    } as never;
    return new ClockTrust({
      documents,
      commands,
      refusals: {
        count: (limit) => {
          this.refused.push(limit);
        },
      },
      log: silentLog,
      now: () => this.wall,
      steady: { boot: 'this', now: () => this.up },
      differenceMaxMs: DAY_MS,
      settleMs: DAY_MS,
      newestKnown: () => newestRetentionDay(documents, [1, 2], journalTime),
    });
  }
}

t.test(
  'a server without a confirmed time believes a clock that agrees with the newest record of its journal',
  async (t) => {
    const environment = openEnvironment(t);
    const empty = new LmdbJournal(environment);
    t.equal(empty.timeAtOpening, undefined);
    const command = (receivedAt: number): Buffer =>
      encodeCommand({ kind: COMMAND.RECORDS_CHANGE, tenant: 1, key: 't', mode: 0, receivedAt, body: {} });
    const measurement = encodeMeasurement({
      tenant: 1,
      source: 1,
      id: 1,
      time: 0,
      mode: 0,
      receivedAt: NOW,
      type: 'm',
      document: '',
      values: [],
    });
    await empty.append(1, command(NOW + DAY_MS), 1);
    await empty.append(2, Buffer.concat([command(NOW - 1), measurement, command(Number.NaN)]), 3);
    const { timeAtOpening } = new LmdbJournal(environment);
    t.equal(timeAtOpening, NOW, 'of its newest batch');
    const machine = new Machine();
    machine.wall += 61 * DAY_MS;
    t.equal(await machine.clock(timeAtOpening).read(), undefined);
    machine.record = undefined;
    t.equal(await machine.clock().read(), machine.wall, 'a new server has no data that are old');
  },
);

t.test('between two looks a clock that was set is not believed, and all who ask share one look', async (t) => {
  const machine = new Machine();
  const clock = machine.clock(NOW);
  t.equal(clock.isBelieved, false, 'before the first look');
  t.same(await Promise.all([clock.read(), clock.read(), clock.read()]), [NOW, NOW, NOW]);
  t.equal(machine.reads, 1);
  t.equal(clock.isBelieved, true);
  machine.wall += 20_000;
  machine.up += 20_000;
  t.equal(clock.isBelieved, true);
  machine.wall += 61 * DAY_MS;
  t.equal(clock.isBelieved, false, 'at once');
  t.same(await Promise.all([clock.read(), clock.read()]), [undefined, undefined]);
  t.same([machine.reads, machine.refused, clock.isBelieved], [2, ['retention/clock'], false]);
  machine.wall -= 61 * DAY_MS;
  t.same([clock.isBelieved, await clock.read(), clock.isBelieved], [false, machine.wall, true]);
});
