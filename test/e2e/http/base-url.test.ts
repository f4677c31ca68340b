/** A base URL of the configuration: it begins all links, and the host that was called still names the tenant. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { decodeJwt } from 'jose';
import t from 'tap';
import { scratchDirectory } from '../../helpers/until.ts';
import { PASSWORD as SERVER_PASSWORD, Rest, notInCluster, startServer } from '../../helpers/running/server.ts';

/** The helper finds the port in the URL that the server shows, which is the base URL. */
const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address() as AddressInfo;
probe.close();
await once(probe, 'close');
const BASE_URL = `http://iot.example.com:${port}`;
const PASSWORD = 'Analytical-1';

t.test('login, login options and links by the host', { skip: notInCluster('one port for all nodes') }, async (t) => {
  const server = await startServer(t, { flags: ['--base-url', BASE_URL, '--http-port', String(port)] });
  t.equal(
    (
      await server.management.post('/tenant/tenants', {
        id: 'acme',
        company: 'Acme',
        domain: 'acme',
        adminName: 'ada',
        adminEmail: 'ada@example.com',
        adminPass: PASSWORD,
      })
    ).status,
    201,
  );
  const headers = { 'x-forwarded-host': 'acme.example.com', 'content-type': 'application/x-www-form-urlencoded' };
  const reply = await fetch(`${server.url}/tenant/oauth/token`, {
    method: 'POST',
    headers,
    body: new URLSearchParams({ grant_type: 'PASSWORD', username: 'ada', password: PASSWORD }).toString(),
  });
  t.equal(reply.status, 200, 'the tenant of the domain');
  t.match(decodeJwt(((await reply.json()) as any).access_token), { ten: 'acme' });
  const options = (await (await fetch(`${server.url}/tenant/loginOptions`, { headers })).json()) as any;
  t.equal(options.self, `${BASE_URL}/tenant/loginOptions`);
  t.equal(options.loginOptions[0].initRequest, `${BASE_URL}/tenant/oauth?tenant_id=acme`);
  t.equal(
    (await fetch(`${server.url}/tenant/loginOptions`, { headers: { 'x-forwarded-host': 'acme.example.com' } })).status,
    200,
  );
  const basic = `Basic ${Buffer.from(`ada:${PASSWORD}`).toString('base64')}`;
  const current = (await (
    await fetch(`${server.url}/user/currentUser`, {
      headers: { authorization: basic, 'x-forwarded-host': 'acme.example.com' },
    })
  ).json()) as any;
  t.equal(current.self, `${BASE_URL}/user/acme/users/ada`);
  const called = async (name: string, value: string): Promise<number> =>
    (await fetch(`${server.url}/user/currentUser`, { headers: { authorization: basic, [name]: value } })).status;
  t.equal(await called('forwarded', 'host=acme.example.com;proto=https'), 200, 'as the one standard header tells it');
  t.equal(await called('x-forwarded-host', 'acme.example.com, inner'), 200, 'the first of several proxies');
  t.equal(await called('forwarded', 'host=other.example.com'), 401);
  await server.management.create('/tenant/tenants', {
    id: 'labs',
    company: 'Labs',
    domain: 'labs-d',
    adminName: 'a',
    adminEmail: 'a@example.com',
    adminPass: PASSWORD,
  });
  t.equal(await called('forwarded', 'host=labs.example.com'), 403, 'the id of a tenant');
});

t.test(
  "a tenant that takes the first label of the server's name for its domain gets no login of the server",
  { skip: notInCluster('one port for all nodes') },
  async (t) => {
    const data = scratchDirectory(t);
    const flags = ['--domain-suffix', 'tenants.example.com'];
    let server = await startServer(t, { data, flags });
    const fields = (id: string, domain: string, more: object = {}): object => ({
      id,
      company: domain,
      domain,
      adminName: 'admin',
      adminEmail: 'ada@example.com',
      adminPass: PASSWORD,
      ...more,
    });
    await server.management.create('/tenant/tenants', fields('maker', 'maker', { allowCreateTenants: true }));
    const maker = new Rest(server.url, 'maker/admin', PASSWORD);
    t.equal((await maker.post('/tenant/tenants', fields('taker', 'iot'))).status, 201);
    t.equal((await maker.post('/tenant/tenants', fields('its-id', 'other'))).status, 201);
    t.equal((await maker.put('/tenant/tenants/its-id', { domain: 'other-2' })).status, 200);
    await server.management.create('/tenant/tenants', fields('given', 'given'));
    const tenantAt = async (host: string, password: string): Promise<unknown> => {
      const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`;
      const reply = await fetch(`${server.url}/tenant/currentTenant`, {
        headers: { authorization, 'x-forwarded-host': host, accept: 'application/json' },
      });
      return reply.status === 200 ? ((await reply.json()) as { name: string }).name : reply.status;
    };
    t.equal(await tenantAt('iot.example.com', SERVER_PASSWORD), 't1');
    t.equal(await tenantAt('iot.example.com', PASSWORD), 401);
    t.equal(await tenantAt('taker.example.com', SERVER_PASSWORD), 't1', 'an id elsewhere is no fault');
    for (const name of ['iot', 'its-id', 'other-2']) {
      const host = `${name}.tenants.example.com`;
      t.equal(await tenantAt(host, SERVER_PASSWORD), 't1', `${host} may be the server's own name`);
      t.equal(await tenantAt(host, PASSWORD), 401);
    }
    t.equal(await tenantAt('given.tenants.example.com', PASSWORD), 'given', 'the operator decides');
    const own = `http://iot.tenants.example.com:${port}`;
    await server.stop();
    server = await startServer(t, { data, flags: [...flags, '--base-url', own, '--http-port', String(port)] });
    t.equal(await tenantAt('iot.tenants.example.com', SERVER_PASSWORD), 't1', "the server's own name");
    t.equal(await tenantAt('other-2.tenants.example.com', PASSWORD), 'its-id', 'its full name');
    t.equal(await tenantAt('its-id.tenants.example.com', SERVER_PASSWORD), 403, 'the id of a tenant');
    t.equal((await server.management.put('/tenant/tenants/taker', { domain: 'iot-2' })).status, 200);
    t.equal((await server.management.put('/tenant/tenants/taker', { domain: 'iot' })).status, 200);
    t.equal(await tenantAt('iot.tenants.example.com', PASSWORD), 'taker', 'the operator decides');
  },
);

t.test(
  'the name of the server itself is given away by the management tenant only',
  { skip: notInCluster('one port for all nodes') },
  async (t) => {
    const server = await startServer(t, { flags: ['--base-url', BASE_URL, '--http-port', String(port)] });
    const fields = (domain: string, more: object = {}): object => ({
      company: domain,
      domain,
      adminName: 'ada',
      adminEmail: 'ada@example.com',
      adminPass: PASSWORD,
      ...more,
    });
    await server.management.create('/tenant/tenants', fields('acme', { id: 'acme', allowCreateTenants: true }));
    const acme = new Rest(server.url, 'acme/ada', PASSWORD);
    const below = await acme.create('/tenant/tenants', fields('below'));
    for (const name of ['iot', 'localhost']) {
      t.match(await acme.post('/tenant/tenants', fields(name)), {
        status: 422,
        json: { message: new RegExp(`domain has the value ${name}`) },
      });
      t.match(await acme.post('/tenant/tenants', fields('other', { id: name })), {
        status: 422,
        json: { message: new RegExp(`id has the value ${name}`) },
      });
      t.equal((await acme.put(`/tenant/tenants/${below.id}`, { domain: name })).status, 422);
    }
    // The configuration says what the server is called, the sender of a request what its headers say.
    for (const host of ['198.51.100.7', 'edge.example.com:8443']) {
      t.equal(
        (await acme.request('POST', '/tenant/tenants', { body: fields('iot'), headers: { 'x-forwarded-host': host } }))
          .status,
        422,
        host,
      );
    }
    const taken = await acme.request('POST', '/tenant/tenants', {
      body: fields('edge'),
      headers: { 'x-forwarded-host': 'edge.example.org:8443' },
    });
    t.equal(taken.status, 201, 'a name that a request gives the server is not its own');
    t.equal((await acme.put(`/tenant/tenants/${below.id}`, { company: 'x', domain: 'below' })).status, 200);
    t.equal((await server.management.post('/tenant/tenants', fields('iot'))).status, 201, 'the operator decides');
  },
);
