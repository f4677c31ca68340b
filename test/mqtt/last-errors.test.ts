/** The last errors of devices: the newest of each, bounded for each tenant. */
import t from 'tap';
import { LastErrors } from '../../src/mqtt/devices/last-errors.ts';

const FAULT = { protocol: 'smartrest', code: '41', message: 'no such topic' } as const;

t.test('the newest of each device, with their count', async (t) => {
  let now = 1;
  const errors = new LastErrors(() => now);
  const told: unknown[] = [];
  errors.onNoted = (...noted) => void told.push(noted);
  t.equal(errors.last(1, 7), undefined);
  errors.note(1, 7, FAULT);
  now = 2;
  errors.note(1, 7, { ...FAULT, code: '45', message: 'x'.repeat(1_000) });
  t.match(errors.last(1, 7), { time: 2, code: '45', count: 2, message: /^x{500}$/ });
  t.equal(errors.last(2, 7), undefined, 'tenants apart');
  t.equal(told.length, 2);
  errors.put(1, 7, { ...FAULT, time: 1, count: 9 });
  t.equal(errors.last(1, 7)?.code, '45', 'an older one of another node changes nothing');
  errors.put(1, 7, { ...FAULT, time: 3, count: 9 });
  t.equal(errors.last(1, 7)?.count, 9);
  t.equal(told.length, 2, 'and is not told again');
});

t.test('a tenant pushes out its own oldest, and nothing of others', async (t) => {
  const errors = new LastErrors(() => 1);
  errors.note(2, 1, FAULT);
  for (let source = 1; source <= 1_001; source += 1) errors.note(1, source, FAULT);
  t.equal(errors.count, 1_001);
  t.equal(errors.last(1, 1), undefined);
  t.ok(errors.last(1, 2));
  t.ok(errors.last(2, 1));
  for (let tenant = 3; tenant <= 25; tenant += 1)
    for (let source = 1; source <= 1_000; source += 1) errors.note(tenant, source, FAULT);
  t.equal(errors.count, 20_000, 'of all tenants');
  t.ok(errors.last(2, 1), 'who has few keeps them');
  errors.note(99, 1, FAULT);
  t.equal(errors.count, 20_000);
  t.ok(errors.last(99, 1), 'a tenant without any gets a place of the tenant with most');
});
