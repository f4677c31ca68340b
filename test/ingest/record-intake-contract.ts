/** What every adapter of the RecordIntake port promises; run for each of them. */
import type { Test } from 'tap';
import { nextAt } from '../../src/ingest/journal/record-layout.ts';
import { countRecords, decodeCommand, encodeCommand, shardOf } from '../../src/ingest/journal/command-record.ts';
import type { AcknowledgementSink, RecordIntake } from '../../src/ingest/journal/record-intake.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { until } from '../helpers/until.ts';

export interface RecordIntakePlace {
  readonly intake: RecordIntake;
  /** What the journal was given, one append after the other: they are not acknowledged by themselves. */
  readonly appends: readonly Buffer[];
  /** The journal acknowledges the appends that it has, or refuses them. */
  settle(error?: Error): void;
  /** Bytes that the journal has. */
  setSize(bytes: number): void;
}

const TENANT = 1;
export const JOURNAL_BYTES_MAX = 1_000_000_000;
/** Two actors of different shards. */
const A = 1;
const B = [2, 3, 4, 5].find((key) => shardOf(TENANT, key) !== shardOf(TENANT, A)) as number;

class Sink implements AcknowledgementSink {
  readonly told: string[] = [];
  readonly isOrdered: boolean;
  #unflushed = 0;
  constructor(isOrdered = true) {
    this.isOrdered = isOrdered;
  }
  durable(token: number): void {
    this.told.push(`durable ${token}`);
    this.#unflushed += 1;
  }
  failed(token: number): void {
    this.told.push(`failed ${token}`);
    this.#unflushed += 1;
  }
  flushDurable(): void {
    this.#unflushed = 0;
  }
  get isFlushed(): boolean {
    return this.#unflushed === 0;
  }
}

const recordOf = (key: number, n: number, padding = 0): Buffer =>
  encodeCommand({
    kind: COMMAND.EVENT_DELETE,
    tenant: TENANT,
    key,
    mode: 0,
    receivedAt: 0,
    body: { n, x: 'x'.repeat(padding) },
  });

function put({ intake }: RecordIntakePlace, key: number, sink: Sink, token: number, padding = 0): boolean {
  const record = recordOf(key, token, padding);
  const at = intake.reserve(record.length, TENANT, key);
  if (at < 0) return false;
  record.copy(intake.buffer, at);
  intake.append(record.length, sink, token);
  return true;
}

/** Numbers of the actor's records, as the journal was given them. */
function numbersOf({ appends }: RecordIntakePlace, key: number): number[] {
  return appends.flatMap((records) => {
    const numbers: number[] = [];
    for (let at = 0; at < records.length; at = nextAt(records, at)) {
      const command = decodeCommand(records, at, 1);
      if (command.key === key) numbers.push((command.body as { n: number }).n);
    }
    return numbers;
  });
}

const countOf = ({ appends }: RecordIntakePlace): number =>
  appends.reduce((sum, records) => sum + countRecords(records), 0);
/** Acknowledges whatever the journal gets, until it is so. */
const settledUntil = (place: RecordIntakePlace, what: string, isSo: () => boolean, error?: Error): Promise<unknown> =>
  until(what, () => {
    place.settle(error);
    return isSo();
  });

export function recordIntakeContract(t: Test, name: string, newPlace: () => RecordIntakePlace): void {
  t.test(`${name}: each record is in the journal in the order of its actor, and told once it is durable`, async (t) => {
    const place = newPlace();
    const [ordered, other] = [new Sink(), new Sink(false)];
    for (let token = 1; token <= 20; token += 1)
      t.ok(put(place, token % 2 === 0 ? A : B, token % 5 === 0 ? other : ordered, token));
    await until('the journal is given something', () => place.appends.length > 0);
    t.same([ordered.told, other.told], [[], []], 'nothing is durable yet');
    place.intake.acknowledgeInOrder(ordered, 21);
    await settledUntil(place, 'all are told', () => ordered.told.length === 17 && other.told.length === 4);
    t.same(
      ordered.told,
      Array.from({ length: 21 }, (_, index) => index + 1)
        .filter((token) => token % 5 !== 0)
        .map((token) => `durable ${token}`),
    );
    t.same([...other.told].sort(), ['durable 10', 'durable 15', 'durable 20', 'durable 5']);
    await until('and written', () => ordered.isFlushed && other.isFlushed);
    t.same(
      [numbersOf(place, A), numbersOf(place, B)],
      [
        [2, 4, 6, 8, 10, 12, 14, 16, 18, 20],
        [1, 3, 5, 7, 9, 11, 13, 15, 17, 19],
      ],
    );
  });

  t.test(`${name}: what has no record is acknowledged at once when nothing is before it`, async (t) => {
    const place = newPlace();
    const sink = new Sink();
    place.intake.acknowledgeInOrder(sink, 1);
    await until('it is told', () => sink.told.length === 1 && sink.isFlushed);
    t.same([sink.told, place.appends.length], [['durable 1'], 0]);
  });

  t.test(`${name}: several records are told as one, and may change after the call`, async (t) => {
    const place = newPlace();
    const sink = new Sink();
    put(place, A, sink, 1);
    const records = Buffer.concat([A, B, A, A, B].map((key, index) => recordOf(key, 10 + index)));
    place.intake.appendAll(records, records.length, 5, sink, 2);
    records.fill(0xff);
    put(place, B, sink, 3);
    await settledUntil(place, 'all are told', () => sink.told.length === 3);
    t.same(sink.told, ['durable 1', 'durable 2', 'durable 3']);
    t.same(
      [numbersOf(place, A), numbersOf(place, B)],
      [
        [1, 10, 12, 13],
        [11, 14, 3],
      ],
    );
  });

  t.test(`${name}: what the journal refuses has failed, and what comes then goes on`, async (t) => {
    const place = newPlace();
    const sink = new Sink();
    put(place, A, sink, 1);
    const records = Buffer.concat([A, B].map((key) => recordOf(key, 5)));
    place.intake.appendAll(records, records.length, 2, sink, 2);
    place.intake.acknowledgeInOrder(sink, 3);
    await settledUntil(place, 'all are told', () => sink.told.length === 3, new Error('not today'));
    t.same(sink.told.slice(0, 2), ['failed 1', 'failed 2']);
    t.match(sink.told[2], / 3$/, 'in its turn');
    t.ok(put(place, A, sink, 4));
    await settledUntil(place, 'it goes on', () => sink.told.length === 4);
    t.equal(sink.told[3], 'durable 4');
  });

  t.test(`${name}: full: nothing is reserved until there is room, and whoever waits is called`, async (t) => {
    const place = newPlace();
    const sink = new Sink();
    let token = 1;
    while (token < 1_000 && put(place, A, sink, token, 100_000)) token += 1;
    t.ok(token < 1_000, `${token} records of 100,000 bytes`);
    let calls = 0;
    place.intake.whenFree(() => {
      calls += 1;
    });
    const all = Buffer.concat([recordOf(A, token), recordOf(A, token + 1)]);
    place.intake.appendAll(all, all.length, 2, sink, token);
    await settledUntil(place, 'it is called', () => calls > 0);
    await settledUntil(place, 'what waited by itself is told', () => sink.told.length === token);
    t.same(
      sink.told,
      Array.from({ length: token }, (_, index) => `durable ${index + 1}`),
    );
    t.same(
      [calls, countOf(place), numbersOf(place, A)],
      [1, token + 1, Array.from({ length: token + 1 }, (_, index) => index + 1)],
    );
    t.ok(put(place, A, sink, token + 2));
  });

  t.test(`${name}: a journal at its bound refuses by name`, async (t) => {
    const place = newPlace();
    t.equal(place.intake.refusal, undefined);
    place.setSize(JOURNAL_BYTES_MAX);
    t.equal(place.intake.refusal, 'journal/bytes');
    place.setSize(0);
    t.equal(place.intake.refusal, undefined);
  });
}
