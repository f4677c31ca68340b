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
