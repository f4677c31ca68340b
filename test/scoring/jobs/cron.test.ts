import t from 'tap';
import { parseSchedule } from '../../../src/scoring/jobs/cron.ts';

const FROM = Date.parse('2026-11-26T12:00:00Z');

function times(expression: string, timeZone = 'UTC', count = 3): string[] {
  const schedule = parseSchedule(expression, timeZone);
  const found: string[] = [];
  for (let at = schedule.next(FROM); at !== undefined && found.length < count; at = schedule.next(at))
    found.push(new Date(at).toISOString());
  return found;
}

t.test('expressions of Quartz', async (t) => {
  t.same(times('0 0/5 * * * ?', 'UTC', 2), ['2026-11-26T12:05:00.000Z', '2026-11-26T12:10:00.000Z']);
  t.same(times('0 0/30 14,18 * * ?', 'UTC', 2), ['2026-11-26T14:00:00.000Z', '2026-11-26T14:30:00.000Z']);
  t.same(
    times('0 0 12 ? * 2-6', 'Europe/Berlin', 2),
    ['2026-11-27T11:00:00.000Z', '2026-11-30T11:00:00.000Z'],
    'Monday to Friday',
  );
  t.same(times('0 0 0 ? * 1', 'UTC', 1), ['2026-11-29T00:00:00.000Z'], '1 is Sunday');
  t.same(times('0 0 0 ? * 6#3', 'UTC', 1), ['2026-12-18T00:00:00.000Z'], 'the third Friday');
  t.same(times('0 0 0 ? * 6L', 'UTC', 1), ['2026-11-27T00:00:00.000Z'], 'the last Friday');
  t.same(times('0 0 0 L * ?', 'UTC', 1), ['2026-11-30T00:00:00.000Z']);
  t.same(times('0 0 0 1 1 ? 2028'), ['2028-01-01T00:00:00.000Z']);
  t.same(times('0 0 0 1 1 ? 2020'), [], 'never again');
  t.same(times('0 0 12 1/15 * ?', 'UTC', 2), ['2026-12-01T12:00:00.000Z', '2026-12-16T12:00:00.000Z']);
});

t.test('ranges pass the end of their field, steps may have no beginning, days are counted from the end', async (t) => {
  t.same(
    times('0 0 12 ? * FRI-MON', 'UTC', 4).map((time) => time.slice(8, 10)),
    ['27', '28', '29', '30'],
  );
  t.same(times('0 0 12 ? * 6-2', 'UTC', 5).at(-1), '2026-12-04T12:00:00.000Z');
  t.same(
    times('0 0 22-2 * * ?', 'UTC', 6).map((time) => time.slice(11, 13)),
    ['22', '23', '00', '01', '02', '22'],
  );
  t.same(times('0 /20 12 * * ?', 'UTC', 2), ['2026-11-26T12:20:00.000Z', '2026-11-26T12:40:00.000Z']);
  t.same(times('0 0 0 1 NOV-FEB/2 ?', 'UTC', 2), ['2027-01-01T00:00:00.000Z', '2027-11-01T00:00:00.000Z']);
  t.same(times('0 0 0 L-3 2,11 ?', 'UTC', 3), [
    '2026-11-27T00:00:00.000Z',
    '2027-02-25T00:00:00.000Z',
    '2027-11-27T00:00:00.000Z',
  ]);
  t.same(
    times('0 0 0 L-3W * ?', 'UTC', 3),
    ['2026-11-27T00:00:00.000Z', '2026-12-28T00:00:00.000Z', '2027-01-28T00:00:00.000Z'],
    'the working day nearest to the third last but one',
  );
  t.same(times('0 0 0 L-28 2 ? 2027-2028', 'UTC', 2), ['2028-02-01T00:00:00.000Z'], 'not in each February');
  t.same(times('0 0 0 1W 8 ?', 'UTC', 1), ['2027-08-02T00:00:00.000Z']);
});

t.test('time zones of the database, offsets, and short names of Java', async (t) => {
  const noon = (timeZone: string): string | undefined => times('0 0 12 * * ?', timeZone, 1)[0]?.slice(11, 16);
  for (const [timeZone, utc] of [
    ['America/New_York', '17:00'],
    ['GMT+05:30', '06:30'],
    ['UTC-3', '15:00'],
    ['GMT+5', '07:00'],
    ['+0200', '10:00'],
    ['PST', '20:00'],
    ['GMT', '12:00'],
  ] as const)
    t.equal(noon(timeZone), utc, timeZone);
  for (const timeZone of ['GMT+15', 'UTC+1:70', 'XYZ', '']) t.throws(() => noon(timeZone), { name: 'CronError' });
});

t.test('summer time: an hour that there is not is skipped', async (t) => {
  const schedule = parseSchedule('0 30 2 * * ?', 'Europe/Berlin');
  const at = schedule.next(Date.parse('2027-03-27T12:00:00Z'));
  t.ok(at !== undefined && at >= Date.parse('2027-03-28T01:00:00Z') && at <= Date.parse('2027-03-29T00:30:00Z'));
});

t.test('what is none is told', async (t) => {
  for (const [expression, timeZone, message] of [
    ['* * * * *', 'UTC', 'it has 5 fields; a Quartz expression has 6, or 7 with a year'],
    ['61 * * * * ?', 'UTC', 'Invalid value for second: 61'],
    ['0 0 0 ? * 8', 'UTC', "'8' is not a day of the week; they are 1 (Sunday) to 7"],
    ['0 0 0 1 * 2', 'UTC', "one of day-of-month and day-of-week is '?'"],
    ['0 0 0 * * ?', 'Mars/Base', "'Mars/Base' is not a time zone"],
  ] as const)
    t.throws(() => parseSchedule(expression, timeZone), { name: 'CronError', message }, expression);
});
