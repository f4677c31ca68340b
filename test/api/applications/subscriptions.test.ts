/** Applications of a tenant (docs/spec/tenants.md#subscriptions): subscribe, list, end. */
import t from 'tap';
import { startApi } from '../helpers/api.ts';

const SERVER_WIDE = 0;
const application = (id: string, more: object = {}): string =>
  JSON.stringify({
    id,
    key: `k${id}`,
    name: `app ${id}`,
    type: 'HOSTED',
    availability: 'PRIVATE',
    owner: 't1',
    ownerNumber: 2,
    doc: '{}',
    ...more,
  });

t.test('subscribe, list, end', async (t) => {
  const { fake, call, url } = await startApi(t);
  fake.put('application', '11', application('11'), SERVER_WIDE);
  const path = '/tenant/tenants/t1/applications';
  const rows: [what: string, body: unknown, status: number][] = [
    ['by id', { application: { id: '11' } }, 201],
    ['twice', { application: { id: '11' } }, 409],
    ['twice, by self', { application: { self: `${url}/application/applications/11` } }, 409],
    ['one that is not there', { application: { id: '12' } }, 404],
    ['nonsense', { application: { id: '../x' } }, 404],
    ['without id', { application: {} }, 422],
    ['without application', {}, 422],
  ];
  for (const [what, body, status] of rows) {
    const reply = await call('POST', path, { body });
    t.equal(reply.status, status, `${what}: ${reply.text}`);
    if (status === 201) {
      t.match(reply.json, {
        self: `${url}${path}/11`,
        application: {
          id: '11',
          key: 'k11',
          name: 'app 11',
          type: 'HOSTED',
          self: `${url}/application/applications/11`,
        },
      });
      t.equal(reply.headers.get('location'), `${url}${path}/11`);
    }
  }
  const listed = await call('GET', `${path}?withTotalElements=true`);
  t.match(listed.json, {
    references: [{ application: { id: '11' }, self: `${url}${path}/11` }],
    statistics: { totalElements: 1 },
  });
  t.strictSame((await call('GET', `${path}/11`)).json, listed.json.references[0]);
  t.equal((await call('GET', `${path}/12`)).status, 404);
  t.match((await call('GET', '/tenant/currentTenant')).json.applications.references, [{ application: { id: '11' } }]);
  t.equal((await call('DELETE', `${path}/11`)).status, 204);
  t.equal((await call('DELETE', `${path}/11`)).status, 404);
  t.equal((await call('GET', `${path}/11`)).status, 404);
  t.same((await call('GET', path)).json.references, []);
  t.equal((await call('GET', '/tenant/tenants/none/applications')).status, 404);
  fake.put('subscription', '99', '{}');
  t.same((await call('GET', path)).json.references, [], 'a deleted application is left out');
});
