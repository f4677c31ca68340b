/** A base URL of the configuration: it begins all links, and the host that was called still names the tenant. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { decodeJwt } from 'jose';
import t from 'tap';
import { notInCluster, startServer } from '../helpers/running-server.ts';

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
  t.equal((await server.management.post('/tenant/tenants', {
    id: 'acme', company: 'Acme', domain: 'acme', adminName: 'ada', adminEmail: 'ada@example.com', adminPass: PASSWORD })).status, 201);
  const headers = { 'x-forwarded-host': 'acme.example.com', 'content-type': 'application/x-www-form-urlencoded' };
  const reply = await fetch(`${server.url}/tenant/oauth/token`, { method: 'POST', headers,
    body: new URLSearchParams({ grant_type: 'PASSWORD', username: 'ada', password: PASSWORD }).toString() });
  t.equal(reply.status, 200, 'the tenant of the domain');
  t.match(decodeJwt((await reply.json() as any).access_token), { ten: 'acme' });
  const options = await (await fetch(`${server.url}/tenant/loginOptions`, { headers })).json() as any;
  t.equal(options.self, `${BASE_URL}/tenant/loginOptions`);
  t.equal(options.loginOptions[0].initRequest, `${BASE_URL}/tenant/oauth?tenant_id=acme`);
  t.equal((await fetch(`${server.url}/tenant/loginOptions`, { headers: { 'x-forwarded-host': 'acme.example.com' } })).status, 200);
  const basic = `Basic ${Buffer.from(`ada:${PASSWORD}`).toString('base64')}`;
  const current = await (await fetch(`${server.url}/user/currentUser`, { headers: { authorization: basic, 'x-forwarded-host': 'acme.example.com' } })).json() as any;
  t.equal(current.self, `${BASE_URL}/user/acme/users/ada`);
});
