import t from 'tap';
import { formatTime, parseTime, parseTimeBytes, shapedTime } from '../../src/model/documents/iso-time.ts';

t.test('timestamps (docs/spec/conventions.md#timestamps)', (t) => {
  const want = Date.UTC(2024, 4, 2, 10, 0, 0);
  const cases: readonly (readonly [string, number | undefined])[] = [
    ['2024-05-02T10:00:00.000Z', want],
    ['2024-05-02T12:00:00.000+02:00', want],
    ['2024-05-02T12:00:00+0200', want],
    ['2024-05-02T12:00+02', want],
    ['2024-05-02T10:00', want],
    ['2024-05-02T10:00:00', want],
    ['2024-05-02 10:00:00', want],
    ['2024-05-02t10:00:00z', want],
    ['2024-05-02T04:30:00-05:30', want],
    ['2024-05-02T10:00:00,5Z', want + 500],
    ['2024-05-02T10:00:00.123456789Z', want + 123],
    ['2024-05-02T10:00:00.05Z', want + 50],
    ['2024-05-02', want - 36_000_000],
    ['2024-02-29', Date.UTC(2024, 1, 29)],
    ['1969-12-31T23:59:59.999Z', -1],
    ['2000-02-29', Date.UTC(2000, 1, 29)],
    ['2023-02-29', undefined],
    ['1900-02-29', undefined],
    ['2024-13-01', undefined],
    ['2024-00-10', undefined],
    ['2024-04-31', undefined],
    ['2024-05-02T24:00:00Z', undefined],
    ['2024-05-02T10:60:00Z', undefined],
    ['2024-05-02T10:00:60Z', undefined],
    ['2024-05-02T10', undefined],
    ['2024-05-02T10:00:', undefined],
    ['2024-05-02T10:00:0', undefined],
    ['2024-05-02T10:00:00.', undefined],
    ['2024-05-02T10:00:00.Z', undefined],
    ['2024-05-02T10:00:00+2', undefined],
    ['2024-05-02T10:00:00+02:0', undefined],
    ['2024-05-02T10:00:00+19:00', undefined],
    ['2024-05-02T10:00:00ZZ', undefined],
    ['2024-05-02T10:00:00 02:00', undefined],
    ['', undefined],
    ['now', undefined],
    ['1714644000000', undefined],
    ['２024-05-02', undefined],
    ['2024-05-02x10:00', undefined],
    [`2024-05-02T10:00:00.${'1'.repeat(50)}Z`, undefined],
  ];
  for (const [text, time] of cases) t.equal(parseTime(text), time, JSON.stringify(text));
  t.end();
});

t.test('the form in which times are shown: milliseconds, the offset that was sent', (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['2024-05-02T10:00:00.000Z', '2024-05-02T10:00:00.000Z'],
    ['2024-05-02T12:00:00.120+02:00', '2024-05-02T12:00:00.120+02:00'],
    ['2024-05-02T12:00:00+0200', '2024-05-02T12:00:00.000+02:00'],
    ['2024-05-02T00:30+02', '2024-05-02T00:30:00.000+02:00'],
    ['2024-05-02T23:30:00-05:30', '2024-05-02T23:30:00.000-05:30'],
    ['2024-05-02T10:00:00.123456789Z', '2024-05-02T10:00:00.123Z'],
    ['2024-05-02T10:00:00,5z', '2024-05-02T10:00:00.500Z'],
    ['2024-05-02 10:00:00', '2024-05-02T10:00:00.000Z'],
    ['2024-05-02', '2024-05-02T00:00:00.000Z'],
    ['2024-05-02T10:00-0000', '2024-05-02T10:00:00.000-00:00'],
    ['soon', 'soon'],
    ['', ''],
  ];
  for (const [text, shaped] of cases) {
    t.equal(shapedTime(text), shaped, text);
    t.equal(parseTime(shaped), parseTime(text), `${text}: the same instant`);
  }
  t.end();
});

t.test('a plus sign that arrived as a space is read in queries only', (t) => {
  t.equal(parseTime('2024-05-02T12:00:00.000 02:00', { spaceIsPlus: true }), Date.UTC(2024, 4, 2, 10));
  t.equal(parseTime('2024-05-02 12:00:00 02:00', { spaceIsPlus: true }), Date.UTC(2024, 4, 2, 10));
  t.equal(parseTime('2024-05-02T12:00:00.000 02:00'), undefined);
  t.end();
});

t.test('bytes: a range is read, nothing behind it', (t) => {
  const bytes = Buffer.from('xx2024-05-02T10:00:00Z9');
  t.equal(parseTimeBytes(bytes, 2, 22), Date.UTC(2024, 4, 2, 10));
  t.equal(parseTimeBytes(bytes, 2, 12), Date.UTC(2024, 4, 2));
  t.ok(Number.isNaN(parseTimeBytes(bytes, 2, 14)));
  t.ok(Number.isNaN(parseTimeBytes(bytes, 2, 23)));
  t.end();
});

t.test('a day that is no day is none after one that is, and the other way round', (t) => {
  const midnights: [string, number | undefined][] = [
    ['2024-05-02', Date.UTC(2024, 4, 2)],
    ['2024-05-32', undefined],
    ['2024-05-02', Date.UTC(2024, 4, 2)],
    ['2024-05-0:', undefined],
    ['2024-05-03', Date.UTC(2024, 4, 3)],
    ['20x4-05-03', undefined],
    ['2023-02-29', undefined],
    ['2024-02-29', Date.UTC(2024, 1, 29)],
    ['2023-02-29', undefined],
    ['2024-02-29', Date.UTC(2024, 1, 29)],
    ['2025-02-28', Date.UTC(2025, 1, 28)],
  ];
  for (const [day, ms] of midnights)
    t.equal(parseTime(`${day}T00:00:01Z`), ms === undefined ? undefined : ms + 1_000, day);
  t.end();
});

t.test('format and parse are inverse over four millennia', (t) => {
  const seed = Date.now();
  let state = seed;
  for (let round = 0; round < 20_000; round += 1) {
    state = (state * 6_364_136 + 1_442_695) % 2_147_483_647;
    const time = state * 100_000 - 60_000_000_000_000 + (state % 1000);
    if (parseTime(formatTime(time)) !== time) t.fail(`${time}, seed ${seed}`);
  }
  t.equal(formatTime(Date.UTC(2024, 4, 2, 10)), '2024-05-02T10:00:00.000Z');
  t.end();
});
