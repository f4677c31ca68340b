/** Token buckets of tenants and users, by a clock of the test. */
import t from 'tap';
import { RequestRates } from '../../src/accounts/login/request-rates.ts';
import type { Tenant } from '../../src/accounts/tenants/tenants.ts';

class Rig {
  nowMs = 0;
  readonly counted: string[] = [];
  tenant: Tenant = { id: 't5', number: 5 };
  option: string | undefined;
  readonly rates: RequestRates;

  constructor(tenantRate = 0, userRate = 0) {
    this.rates = new RequestRates({
      tenants: { byNumber: (number) => (number === 5 ? this.tenant : { id: `t${number}`, number }) },
      options: { get: () => this.option },
      tenantRate,
      userRate,
      refusals: { count: (limit) => void this.counted.push(limit) },
      now: () => this.nowMs,
    });
  }

  take(userName = 'ada', tenantNumber = 5): string {
    const decision = this.rates.take({ tenantNumber, userName });
    return decision === undefined
      ? 'free'
      : `${decision.isAllowed ? 'ok' : `no ${decision.retryAfterSeconds}`} ${decision.remaining}`;
  }
}

t.test('without limits nothing is counted', async (t) => {
  const rig = new Rig();
  t.equal(rig.take(), 'free');
  t.equal(rig.rates.bucketCount, 0);
});

t.test("a second's worth at once, then as fast as the rate", async (t) => {
  const rig = new Rig(0, 2);
  t.same([rig.take(), rig.take(), rig.take()], ['ok 1', 'ok 0', 'no 1 0']);
  t.same(rig.counted, ['http/user-rate']);
  t.equal(rig.take('eve'), 'ok 1', 'each user has his own');
  rig.nowMs += 499;
  t.equal(rig.take(), 'no 1 0');
  rig.nowMs += 1;
  t.equal(rig.take(), 'ok 0');
  rig.nowMs += 3_600_000;
  t.equal(rig.take(), 'ok 1', 'no more is saved up');
  rig.nowMs -= 10_000;
  t.equal(rig.take(), 'ok 0', 'a clock that goes back takes nothing away');
});

t.test('logins count on their own', async (t) => {
  const rig = new Rig(3, 2);
  const login = (name: string): boolean | undefined => rig.rates.takeLogin(5, name)?.isAllowed;
  t.same(
    [login('ada'), login('ada'), login('ada'), login('eve'), login('bob')],
    [true, true, false, true, false],
    'of a name, and of the tenant',
  );
  t.equal(rig.take('ada'), 'ok 1', 'nothing is taken from her requests');
  t.same(rig.counted, ['http/user-rate', 'http/tenant-rate']);
  t.equal(new Rig().rates.takeLogin(5, 'ada'), undefined, 'no limit');
});

t.test('where the numbers come from', async (t) => {
  const rows: [what: string, properties: object | undefined, configured: number, burst: number | 'free'][] = [
    ['the configuration', undefined, 3, 3],
    ['the property as text', { 'limit.http.requests': '2' }, 3, 2],
    ['as number', { 'limit.http.requests': 4 }, 0, 4],
    ['with a queue', { 'limit.http.requests': '2', 'limit.http.queue': '5' }, 0, 7],
    ['a queue alone', { 'limit.http.queue': '5' }, 0, 'free'],
    ['nonsense', { 'limit.http.requests': 'many' }, 3, 3],
    ['zero', { 'limit.http.requests': '0' }, 3, 3],
    ['an object', { 'limit.http.requests': {} }, 0, 'free'],
    ['less than one a second', { 'limit.http.requests': '0.5' }, 0, 1],
  ];
  for (const [what, properties, configured, want] of rows) {
    const rig = new Rig(configured);
    rig.tenant = {
      id: 't5',
      number: 5,
      ...(properties === undefined ? {} : { customProperties: JSON.stringify(properties) }),
    };
    let taken = 0;
    while (taken < 100 && rig.take().startsWith('ok')) taken += 1;
    t.equal(taken === 0 ? rig.take() : taken, want, what);
  }
  const rig = new Rig(0, 5);
  rig.option = '1';
  t.same([rig.take(), rig.take()], ['ok 0', 'no 1 0'], 'the option of the tenant before the configuration');
});

t.test("both limits: the nearer one is told; a user's refusal takes nothing from the tenant", async (t) => {
  const rig = new Rig(3, 2);
  t.same(
    [rig.take('a'), rig.take('a'), rig.take('a'), rig.take('b'), rig.take('b')],
    ['ok 1', 'ok 0', 'no 1 0', 'ok 0', 'no 1 0'],
  );
  t.same(rig.counted, ['http/user-rate', 'http/tenant-rate']);
});

t.test('the table is bounded', async (t) => {
  const rig = new Rig(0, 1);
  for (let index = 0; index < 20_010; index += 1) rig.take(`u${index}`);
  t.equal(rig.rates.bucketCount, 20_000);
});
