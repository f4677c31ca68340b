/** `@c8y/client`, unmodified: users, groups, roles, inventory roles, and its ways to log in. */
import { BasicAuth, BearerAuth, Client, CookieAuth, FetchClient } from '@c8y/client';
import t from 'tap';
import { MANAGEMENT_PASSWORD, PASSWORD, TENANT, eventually, startServer } from '../helpers/running-server.ts';

const server = await startServer(t);
const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
const SECRET = 'Analytical-1';
/** Status of an answer, also of one that the client throws. */
const statusOf = async (answer: Promise<any>): Promise<number> => { const found = await answer.catch((error: unknown) => error); return found.res?.status ?? found.status; };
const newUser = async (userName: string): Promise<any> => (await client.user.create({ userName, password: SECRET, email: `${userName}@example.com`, newsletter: true })).data;

t.test('UserService', async (t) => {
  const created = await newUser('ada');
  t.match(created, { id: 'ada', userName: 'ada', email: 'ada@example.com', enabled: true });
  t.match((await client.user.detail('ada')).data, { id: 'ada' });
  t.match((await client.user.update({ ...created, firstName: 'Ada', customProperties: { language: 'en' } })).data, { firstName: 'Ada', customProperties: { language: 'en' } });
  const { data, paging } = await client.user.list({ pageSize: 1, withTotalPages: true });
  t.equal(data.length, 1);
  t.ok(paging.totalPages >= 2);
  t.equal((await paging.next()).data.length, 1);
  t.match((await client.user.current()).data, { userName: 'admin', groups: { references: [{ group: { name: 'admins' } }] } });
  const { data: current } = await client.user.currentWithEffectiveRoles();
  t.ok(client.user.hasRole(current, 'ROLE_INVENTORY_ADMIN'));
  t.ok(client.user.hasRole((await client.user.current()).data, 'ROLE_INVENTORY_ADMIN'), 'by roles or groups');
  t.ok(client.user.hasAnyGlobalRole(current, [1]));
  t.match((await client.user.updateCurrent({ ...current, lastName: 'Istrator' })).data, { lastName: 'Istrator' });
  t.equal((await client.user.savePhoneNumber('+44 20')).data.phone, '+44 20');
  t.match((await client.user.getNewsletterEmails()).data, 'ada@example.com');
  t.equal(await statusOf(client.user.changeUserPassword('ada', 'Another-one-2', 'wrong')), 422);
  t.equal(await statusOf(client.user.changeUserPassword('ada', 'Another-one-2', PASSWORD)), 200);
  const ada: any = await Client.authenticate({ tenant: TENANT, user: 'ada', password: 'Another-one-2' }, server.url);
  t.equal(await statusOf(ada.user.changeCurrentUserPassword('Another-one-3', 'Another-one-2')), 200);
  t.equal(await statusOf(ada.user.current()), 401);
  t.equal((await client.user.delete('ada')).res.status, 204);
  t.equal(await statusOf(client.user.detail('ada')), 404);
  t.equal(await statusOf(client.user.create({ userName: 'admin', password: SECRET })), 409);
});

t.test('UserService: a new password by mail', async (t) => {
  await newUser('forgot');
  const anonymous: any = new Client(new BasicAuth({}), server.url);
  anonymous.core.tenant = TENANT;
  t.equal((await anonymous.user.sendPasswordResetMail('forgot@example.com', TENANT)).res.status, 200);
  const token = await eventually('the mail', () => /token=([\w-]+)&/.exec(server.complaints.findLast((line) => line.includes('forgot@example.com')) ?? '')?.[1]);
  t.equal((await anonymous.user.validateResetToken(token, 'forgot@example.com')).res.status, 200);
  t.equal(await statusOf(anonymous.user.validateResetToken('x', 'forgot@example.com')), 422);
  t.equal((await anonymous.user.resetPassword({ token, email: 'forgot@example.com', newPassword: 'Another-one-2', passwordStrength: 'GREEN' }, TENANT)).res.status, 200);
  t.equal((await Client.authenticate({ tenant: TENANT, user: 'forgot', password: 'Another-one-2' }, server.url)).core.tenant, TENANT);
});

t.test('UserGroupService and UserRoleService', async (t) => {
  const user = await newUser('member');
  const { data: group, res } = await client.userGroup.create({ name: 'Operators', description: 'd' });
  t.equal(res.status, 201);
  t.equal(typeof group.id, 'number');
  t.match((await client.userGroup.detail(group.id)).data, { name: 'Operators' });
  t.match((await client.userGroup.update({ id: group.id, name: 'Operators 2' })).data, { name: 'Operators 2', description: 'd' });
  t.ok((await client.userGroup.list({ pageSize: 100 })).data.some((one: any) => one.id === group.id));
  const { data: role } = await client.userRole.detail('ROLE_ALARM_READ');
  const roles = (await client.userRole.list({ pageSize: 2000 })).data;
  t.ok(roles.some((one: any) => one.id === 'ROLE_ALARM_READ'));
  t.equal((await client.userGroup.addRoleToGroup(group.id, role.self)).res.status, 201);
  t.equal((await client.userGroup.addUserToGroup(group.id, user.self)).res.status, 201);
  const member: any = await Client.authenticate({ tenant: TENANT, user: 'member', password: SECRET }, server.url);
  t.ok(member.user.hasRole((await member.user.current()).data, 'ROLE_ALARM_READ'));
  t.equal((await client.userGroup.removeRoleFromGroup(group.id, role)).res.status, 204);
  t.equal((await client.userGroup.removeUserFromGroup(group.id, user)).res.status, 204);
  t.same((await member.user.current()).data.groups.references, []);
  t.equal((await client.userGroup.delete(group.id)).res.status, 204);
});

t.test('InventoryRoleService and the assignments of a user', async (t) => {
  const user = await newUser('keeper');
  const group = (await client.inventory.create({ name: 'Site', c8y_IsDeviceGroup: {} })).data;
  await client.inventory.create({ name: 'Elsewhere' });
  const { data: role } = await client.inventoryRole.create({ name: 'Site reader', description: 'd', permissions: [{ type: '*', scope: '*', permission: 'READ' }] });
  t.match((await client.inventoryRole.detail(role.id)).data, { name: 'Site reader' });
  t.match((await client.inventoryRole.update({ ...role, description: 'e' })).data, { description: 'e', permissions: [{ scope: '*' }] });
  t.ok((await client.inventoryRole.list({ pageSize: 100 })).data.length >= 5);
  const assignments = client.user.inventoryAssignment(user);
  const { data: assignment } = await assignments.create({ managedObject: group.id, roles: [role] });
  t.match((await assignments.list()).data, [{ id: assignment.id, managedObject: group.id }]);
  t.match((await assignments.detail(assignment.id)).data, { roles: [{ id: role.id }] });
  const keeper: any = await Client.authenticate({ tenant: TENANT, user: 'keeper', password: SECRET }, server.url);
  t.same((await keeper.inventory.list({ pageSize: 100 })).data.map((one: any) => one.id), [group.id]);
  t.match((await assignments.update({ id: assignment.id, roles: [{ id: 3 }] })).data, { roles: [{ id: 3 }] });
  t.equal((await assignments.delete(assignment.id)).res.status, 204);
  t.same((await keeper.inventory.list({ pageSize: 100 })).data, []);
  t.equal((await client.inventoryRole.delete(role.id)).res.status, 204);
});

t.test('logging in: Basic, Bearer, cookies of Node.js and of a browser', async (t) => {
  await newUser('traveller');
  const credentials = { tenant: TENANT, user: 'traveller', password: SECRET };
  const bearer: any = await Client.authenticateViaOAuthInternal(credentials, server.url);
  t.equal((await bearer.user.current()).data.userName, 'traveller');
  const management: any = await Client.authenticateViaOAuthInternal({ tenant: 'management', user: 'admin', password: MANAGEMENT_PASSWORD } as any, server.url);
  t.equal((await management.tenant.current()).data.name, 'management');
  const node: any = await Client.authenticateViaOAuthInternalCookie(credentials, server.url);
  t.equal((await node.user.current()).data.userName, 'traveller');
  await t.rejects(Client.authenticateViaOAuthInternal({ ...credentials, password: 'wrong-password' }, server.url));

  // A browser keeps the cookies and sends them by itself; the client reads one of them from the document.
  const reply = await fetch(`${server.url}/tenant/oauth?tenant_id=${TENANT}`, { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'PASSWORD', username: 'traveller', password: SECRET }).toString() });
  const cookie = reply.headers.getSetCookie().map((one) => one.split(';')[0]).join('; ');
  const browser = globalThis as any;
  browser.document = { cookie };
  browser.window = { fetch: (url: string, init: any) => fetch(url, { ...init, headers: { ...init.headers, cookie: browser.document.cookie } }), location: new URL(server.url) };
  t.teardown(() => { delete browser.document; delete browser.window; });
  const auth = new CookieAuth();
  const inBrowser: any = new Client(auth, server.url);
  t.equal((await inBrowser.user.current()).data.userName, 'traveller');
  t.equal((await inBrowser.tenant.current()).data.name, TENANT);
  t.equal((await auth.logout()).status, 200);
  t.equal(await statusOf(inBrowser.user.current()), 401);
});

t.test('BearerAuth: logout; and the end of all tokens', async (t) => {
  await newUser('walker');
  const login = async (): Promise<{ auth: BearerAuth; of: any }> => {
    const fetcher = new FetchClient(server.url);
    const answer = await fetcher.fetch(`/tenant/oauth/token?tenant_id=${TENANT}`, { method: 'POST', body: new URLSearchParams({ grant_type: 'PASSWORD', username: 'walker', password: SECRET }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' } });
    const auth = new BearerAuth((await answer.json()).access_token);
    return { auth, of: new Client(auth, server.url) };
  };
  const [one, other] = [await login(), await login()];
  t.equal((await other.of.user.current()).data.userName, 'walker');
  // Its logout knows no base URL outside of a browser.
  const browser = globalThis as any;
  browser.window = { fetch, location: new URL(server.url) };
  t.equal((await one.auth.logout()).status, 200);
  delete browser.window;
  t.equal((await other.of.user.current()).data.userName, 'walker');
  t.equal((await client.user.revokeTokens()).res.status, 200);
  t.equal(await statusOf(other.of.user.current()), 401);
});

t.test('login options', async (t) => {
  t.same((await client.options.login.listForCurrentTenant()).data.map((one: any) => one.type), ['OAUTH2_INTERNAL', 'BASIC']);
  t.match((await client.options.login.listForManagement()).data[0].initRequest, /management$/);
  t.equal((await client.options.login.detail('BASIC')).data.id, 'BASIC');
});
