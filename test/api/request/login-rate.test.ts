/** Logins for a token count for the rate limits before their passwords are checked. */
import t from 'tap';
import { RequestRates } from '../../../src/accounts/login/request-rates.ts';
import { startApi } from '../helpers/api.ts';

const RATE = 5;

t.test('thirty logins at once', async (t) => {
  const counted: string[] = [];
  let nowMs = 0;
  const rates = new RequestRates({
    tenants: { byNumber: (number) => ({ id: `t${number}`, number }) },
    options: { get: () => undefined },
    tenantRate: 0,
    userRate: RATE,
    refusals: { count: (limit) => void counted.push(limit) },
    now: () => nowMs,
  });
  const api = await startApi(t, { platform: { rates } });
  const headers = { authorization: undefined, 'content-type': 'application/x-www-form-urlencoded' };
  const login = (path: string, password: string, userName = 'admin'): ReturnType<typeof api.call> =>
    api.call('POST', path, {
      headers,
      body: new URLSearchParams({ grant_type: 'PASSWORD', username: userName, password }).toString(),
    });
  for (const path of ['/tenant/oauth?tenant_id=t1', '/tenant/oauth/token?tenant_id=t1']) {
    nowMs += 60_000;
    const before = api.fake.authenticated;
    const replies = await Promise.all(Array.from({ length: 30 }, () => login(path, 'wrong')));
    t.equal(replies.filter(({ status }) => status === 401).length, RATE, path);
    const refused = replies.filter(({ status }) => status === 429);
    t.equal(refused.length, 30 - RATE);
    t.equal(api.fake.authenticated - before, RATE, 'nothing else is checked');
    t.match(Object.fromEntries(refused[0].headers), {
      'retry-after': '1',
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '0',
    });
    t.match(refused[0].json, { error: 'general/Too Many Requests', message: /http\/user-rate/ });
    t.equal((await login(path, 'wrong', 'device_1')).status, 401, 'another name');
    t.equal((await login('/tenant/oauth', 'wrong', 't1/admin')).status, 429, 'the tenant before the name');
    t.equal(
      (await api.call('GET', '/inventory/managedObjects')).status,
      200,
      'who guesses takes nothing away from the user',
    );
    t.equal((await login('/tenant/oauth?tenant_id=none', 'wrong')).status, 401, 'a tenant that there is not');
  }
  t.equal(counted.length, 2 * (30 - RATE + 1));
});
