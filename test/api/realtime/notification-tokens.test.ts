/** POST /notification2/unsubscribe, which needs a token only (docs/spec/notifications.md#tokens). */
import t from 'tap';
import { RequestRates } from '../../../src/accounts/login/request-rates.ts';
import { startApi } from '../helpers/api.ts';

t.test('what was removed is audited, and the rate of the tenant holds', async (t) => {
  const counted: string[] = [];
  const rates = new RequestRates({
    tenants: { byNumber: (number) => ({ id: `t${number}`, number }) },
    options: { get: () => undefined },
    tenantRate: 2,
    userRate: 0,
    refusals: { count: (limit) => void counted.push(limit) },
    now: () => 0,
  });
  const claims = { tenant: 't1', tenantNumber: 2, subscription: 'a', isShared: false, isVolatile: false };
  const removed = [false, true];
  const api = await startApi(t, {
    platform: {
      rates,
      notifications: {
        tokens: {
          issue: () => Promise.resolve(''),
          verify: (token) => Promise.resolve({ ...claims, subscriber: token, payload: {} as never }),
        },
        backlogs: () => [],
        unsubscribe: () => Promise.resolve(removed.shift() === true),
        subscriptionChanged: () => Promise.resolve(),
      },
    },
  });
  const unsubscribe = async (): Promise<number> => {
    const headers = { authorization: undefined };
    return (await api.call('POST', '/notification2/unsubscribe?token=b', { headers })).status;
  };
  t.same([await unsubscribe(), api.fake.sent.length], [200, 0], 'there was none');
  t.equal(await unsubscribe(), 200);
  t.match(api.fake.sent, [{ body: { audits: [{ activity: 'Notification subscriber removed' }] } }]);
  t.equal(await unsubscribe(), 429);
  t.same(counted, ['http/tenant-rate']);
});
