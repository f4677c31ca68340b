/** Tenants below a tenant: whose they are when their parent goes meanwhile, and how many there may be. */
import t from 'tap';
import type { Test } from 'tap';
import type { Tenant } from '../../../src/accounts/tenants/tenants.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import { ROLES } from '../../../src/model/access/roles.ts';
import { basic, startApi } from '../helpers/api.ts';
import type { Api, Reply } from '../helpers/api.ts';

const PARENT: Tenant = { id: 'acme', number: 5, parent: 'management', allowCreateTenants: true };
const MANAGEMENT: Tenant = { id: 'management', number: 1, allowCreateTenants: true };

async function start(
  t: Test,
  further: readonly Tenant[] = [],
): Promise<Api & { post(id: string, more?: object): Promise<Reply>; stored(id: string): Tenant | undefined }> {
  const stored = (id: string): Tenant | undefined => {
    const text = api.fake.get('tenant', id, 0);
    return text === undefined ? undefined : (JSON.parse(text) as Tenant);
  };
  const all = (): Tenant[] =>
    [...(api.fake.collections.get('0/tenant')?.values() ?? [])].map((text) => JSON.parse(text) as Tenant);
  const tenants = {
    byId: stored,
    byDomain: (domain: string) => all().find((one) => one.domain === domain),
    byNumber: (number: number) => all().find((one) => one.number === number),
    default: { id: 't1', number: 2 },
    get all() {
      return all();
    },
  };
  const api: Api = await startApi(t, { platform: { tenants } });
  for (const { id, number } of [PARENT, MANAGEMENT]) {
    api.fake.users.set(`${id}/root`, {
      password: 'secret',
      principal: { tenant: id, tenantNumber: number, userName: 'root', roles: new Set(ROLES) },
    });
  }
  api.fake.put('job', 'tenants', JSON.stringify({ nextNumber: 100_000, version: 1 }), 0);
  for (const tenant of [MANAGEMENT, PARENT, ...further]) api.fake.put('tenant', tenant.id, JSON.stringify(tenant), 0);
  const post = (id: string, more = {}): Promise<Reply> =>
    api.call('POST', '/tenant/tenants', {
      body: { company: 'c', domain: `${id}-d`, id, ...more },
      headers: { authorization: basic('acme/root') },
    });
  return { ...api, post, stored };
}

t.test('a tenant has the number of its parent, and shows it to nobody', async (t) => {
  const { post, stored } = await start(t);
  const reply = await post('child');
  t.equal(reply.status, 201, reply.text);
  t.match(stored('child'), { parent: 'acme', parentNumber: 5 });
  t.notMatch(reply.text, 'parentNumber');
});

for (const [what, next] of [
  ['gone', undefined],
  ['gone, and another one has its id', { ...PARENT, number: 6 }],
  ['suspended', { ...PARENT, status: 'SUSPENDED' }],
  ['not allowed to any more', { ...PARENT, allowCreateTenants: false }],
] as const) {
  t.test(`the parent is ${what} before it is registered`, async (t) => {
    const { post, stored, fake } = await start(t);
    const handle = fake.handle.bind(fake);
    fake.handle = (command) => {
      if (command.kind === COMMAND.USER_PUT) {
        fake.collections.get('0/tenant')?.delete('acme');
        if (next !== undefined) fake.put('tenant', 'acme', JSON.stringify(next), 0);
        // As every deletion does.
        if (next?.number !== PARENT.number)
          fake.put('job', 'tenants', JSON.stringify({ nextNumber: 100_001, version: 2 }), 0);
      }
      return handle(command);
    };
    t.equal((await post('child')).status, 403);
    t.equal(stored('child'), undefined);
    t.ok(fake.get('job', 'tenant-deletion/100000', 0), 'what was made of it is removed');
  });
}

t.test('who gets the id of a former parent has none of its tenants', async (t) => {
  const child: Tenant = { id: 'child', number: 9, parent: 'acme', parentNumber: 4 };
  const { call } = await start(t, [
    child,
    { ...child, id: 'own', number: 10, parentNumber: 5 },
    { id: 'older', number: 11, parent: 'acme' },
  ]);
  const get = async (path: string): Promise<any> =>
    call('GET', path, { headers: { authorization: basic('acme/root') } });
  t.equal((await get('/tenant/tenants/child')).status, 404);
  t.same(
    (await get('/tenant/tenants?withApps=false')).json.tenants.map(({ id }: any) => id),
    ['older', 'own'],
  );
});

t.test('below one tenant there are so many, on all levels, whoever makes them', async (t) => {
  const below: Tenant[] = Array.from({ length: 999 }, (_, index) => ({
    id: `b${index}`,
    number: 100 + index,
    parent: index === 0 ? 'acme' : `b${index - 1}`,
    parentNumber: index === 0 ? 5 : 99 + index,
  }));
  const { post, call, stored, fake } = await start(t, [...below, { id: 'aside', number: 50, parent: 'management' }]);
  t.equal((await post('last')).status, 201);
  t.match(await post('one-more'), {
    status: 422,
    json: { message: 'There are at most 1000 tenants below acme (tenants/below-tenant)' },
  });
  t.same(
    fake.counted.filter((limit) => limit.startsWith('tenants/')),
    ['tenants/below-tenant'],
  );
  t.match(
    fake.refused,
    [{ limit: 'tenants/below-tenant', tenant: 'acme', user: 'root', address: String }],
    'for the log',
  );
  t.equal(stored('one-more'), undefined);
  t.equal(JSON.parse(fake.get('job', 'tenants', 0) ?? '').nextNumber, 100_001, 'nothing was written');
  const body = { company: 'c', domain: 'of-management', id: 'of-management' };
  t.equal(
    (await call('POST', '/tenant/tenants', { body, headers: { authorization: basic('management/root') } })).status,
    201,
    'others are not concerned',
  );
});

t.test('their properties have so many bytes together', async (t) => {
  const customProperties = JSON.stringify({ a: 'x'.repeat(16_000) });
  const below: Tenant[] = Array.from({ length: 261 }, (_, index) => ({
    id: `b${index}`,
    number: 100 + index,
    parent: 'acme',
    parentNumber: 5,
    customProperties,
  }));
  const { post, call } = await start(t, below);
  const properties = (length: number): object => ({ customProperties: { a: 'x'.repeat(length) } });
  t.equal((await post('small', properties(10_000))).status, 201);
  t.match(await post('large', properties(16_000)), {
    status: 422,
    json: { message: /^The customProperties of the tenants below acme .*4194304.*tenants.properties-bytes/ },
  });
  t.equal((await post('none')).status, 201);
  const put = async (id: string, body: object): Promise<number> =>
    (await call('PUT', `/tenant/tenants/${id}`, { body, headers: { authorization: basic('acme/root') } })).status;
  t.equal(await put('small', properties(16_300)), 422);
  t.equal(await put('b0', properties(15_000)), 200, 'less is always taken');
  t.equal(await put('small', { contactName: 'Ada' }), 200);
  t.match(await post('too-large', properties(16_384)), {
    status: 422,
    json: { message: /customProperties .*16384 bytes/ },
  });
});
