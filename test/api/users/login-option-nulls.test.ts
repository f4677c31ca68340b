/** `null` in a PUT of a login option takes back what a tenant has set (docs/spec/conventions.md#changes). */
import t from 'tap';
import { startApi } from '../helpers/api.ts';

t.test('null brings the default of a member back', async (t) => {
  const { call, fake } = await startApi(t);
  const put = (type: string, body: object): Promise<any> => call('PUT', `/tenant/loginOptions/${type}`, { body });
  const stored = (type: string): unknown => JSON.parse(fake.get('loginOption', type) ?? 'null');
  const restrictions = { forbiddenClients: ['WEB_BROWSERS'], forbiddenUserAgents: [], trustedUserAgents: [] };
  const own = { providerName: 'p', buttonName: 'b', visibleOnLoginPage: false };
  t.equal((await put('BASIC', { ...own, authenticationRestrictions: restrictions })).status, 200);
  t.same(stored('BASIC'), { ...own, authenticationRestrictions: restrictions });
  const { status, json } = await put('BASIC', {
    authenticationRestrictions: null,
    providerName: null,
    sessionConfiguration: null,
  });
  t.equal(status, 200);
  t.notOk(Object.hasOwn(json, 'providerName'));
  t.match(json, { buttonName: 'b', visibleOnLoginPage: false, authenticationRestrictions: { forbiddenClients: [] } });
  t.same(stored('BASIC'), { buttonName: 'b', visibleOnLoginPage: false });
  t.match((await put('BASIC', { buttonName: null, visibleOnLoginPage: null })).json, { visibleOnLoginPage: true });
  t.same(stored('BASIC'), {});
  for (const sessionConfiguration of [null, { absoluteTimeoutMillis: null }]) {
    t.match((await put('OAUTH2_INTERNAL', { sessionConfiguration: { absoluteTimeoutMillis: 86_400_000 } })).json, {
      sessionConfiguration: { absoluteTimeoutMillis: 86_400_000 },
    });
    t.match((await put('OAUTH2_INTERNAL', { sessionConfiguration })).json, {
      sessionConfiguration: { absoluteTimeoutMillis: 14 * 86_400_000 },
    });
    t.same(stored('OAUTH2_INTERNAL'), {});
  }
});
