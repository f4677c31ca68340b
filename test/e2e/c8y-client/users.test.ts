/** `@c8y/client`, unmodified: users, their passwords and one-time codes, groups, roles, inventory roles. */
import { BasicAuth, Client } from '@c8y/client';
import { Secret, TOTP } from 'otpauth';
import t from 'tap';
import { leftOut } from '../../helpers/clients/c8y-client-calls.ts';
import { CLUSTER_NODES, PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
const SECRET = 'Analytical-1';
/** Status of an answer, also of one that the client throws. */
const statusOf = async (answer: Promise<any>): Promise<number> => {
  const found = await answer.catch((error: unknown) => error);
  return found.res?.status ?? found.status;
};
const newUser = async (userName: string): Promise<any> =>
  (await client.user.create({ userName, password: SECRET, email: `${userName}@example.com`, newsletter: true })).data;

t.test('UserService', async (t) => {
  const created = await newUser('ada');
  t.match(created, { id: 'ada', userName: 'ada', email: 'ada@example.com', enabled: true });
  t.match((await client.user.detail('ada')).data, { id: 'ada' });
  t.match((await client.user.update({ ...created, firstName: 'Ada', customProperties: { language: 'en' } })).data, {
    firstName: 'Ada',
    customProperties: { language: 'en' },
  });
  const { data, paging } = await client.user.list({ pageSize: 1, withTotalPages: true });
  t.equal(data.length, 1);
  t.ok(paging.totalPages >= 2);
  t.equal((await paging.next()).data.length, 1);
  t.match((await client.user.current()).data, {
    userName: 'admin',
    groups: { references: [{ group: { name: 'admins' } }] },
  });
  const { data: current } = await client.user.currentWithEffectiveRoles();
  t.ok(client.user.hasRole(current, 'ROLE_INVENTORY_ADMIN'));
  t.ok(client.user.hasRole((await client.user.current()).data, 'ROLE_INVENTORY_ADMIN'), 'by roles or groups');
  t.ok(client.user.hasAnyGlobalRole(current, [1]));
  t.ok(client.user.hasAllRoles(current, ['ROLE_ALARM_READ', 'ROLE_EVENT_READ']));
  t.notOk(client.user.hasAllRoles(current, ['ROLE_ALARM_READ', 'ROLE_NONE']));
  t.ok(client.user.hasAnyRole(current, ['ROLE_NONE', 'ROLE_EVENT_READ']));
  for (const is of ['isDeviceUser', 'isServiceUser', 'isExternalUser']) t.notOk(client.user[is](current), is);
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
  const token = await eventually(
    'the mail',
    () => /token=([\w-]+)&/.exec(server.complaints.findLast((line) => line.includes('forgot@example.com')) ?? '')?.[1],
  );
  t.equal((await anonymous.user.validateResetToken(token, 'forgot@example.com')).res.status, 200);
  t.equal(await statusOf(anonymous.user.validateResetToken('x', 'forgot@example.com')), 422);
  t.equal(
    (
      await anonymous.user.resetPassword(
        { token, email: 'forgot@example.com', newPassword: 'Another-one-2', passwordStrength: 'GREEN' },
        TENANT,
      )
    ).res.status,
    200,
  );
  t.equal(
    (await Client.authenticate({ tenant: TENANT, user: 'forgot', password: 'Another-one-2' }, server.url)).core.tenant,
    TENANT,
  );
});

/** Other nodes of a cluster know what was changed within a second. */
const noticed = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, CLUSTER_NODES > 0 ? 1_000 : 0);
  });

t.test('UserService: one-time codes', async (t) => {
  await newUser('careful');
  const credentials = { tenant: TENANT, user: 'careful', password: SECRET };
  const careful: any = await Client.authenticate(credentials, server.url);
  const { data: secret } = await careful.user.generateTotpSecret();
  t.match(secret, { rawSecret: /^[A-Z2-7]{32}$/, secretQrUrl: /^data:image/ });
  const code = (): string => new TOTP({ secret: Secret.fromBase32(secret.rawSecret) }).generate();
  t.same((await careful.user.getActivityTotp()).data, { isActive: false, isForced: false });
  t.equal(await statusOf(careful.user.activateTotp()), 422, 'before a code was shown');
  t.equal((await careful.user.verifyTotpCode(code())).res.status, 204);
  t.equal((await careful.user.activateTotp()).res.status, 204);
  await noticed();
  t.match((await careful.user.getActivityTotp()).data, { isActive: true });
  t.equal(await statusOf(careful.user.current()), 401, 'the password is not enough');
  const tfa = (await careful.user.verifyTotpCode(code())).res.headers.get('tfatoken');
  const again: any = await Client.authenticate({ ...credentials, tfa }, server.url);
  t.equal((await again.user.current()).data.userName, 'careful');
  t.equal((await client.user.totpRevokeSecret({ id: 'careful' })).res.status, 204);
  await noticed();
  t.equal((await careful.user.current()).data.userName, 'careful');
  const refused = await careful.user.verifyTFACode('123456').catch((error: unknown) => error);
  t.match(refused, { res: { status: 404 }, data: { error: String, message: /user\/pin/ } }, 'codes by SMS');
});

t.test('UserGroupService and UserRoleService', async (t) => {
  const user = await newUser('member');
  const { data: group, res } = await client.userGroup.create({ name: 'Operators', description: 'd' });
  t.equal(res.status, 201);
  t.equal(typeof group.id, 'number');
  t.match((await client.userGroup.detail(group.id)).data, { name: 'Operators' });
  t.match((await client.userGroup.update({ id: group.id, name: 'Operators 2' })).data, {
    name: 'Operators 2',
    description: 'd',
  });
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
  await client.userGroup.addRoleToGroup(group.id, role);
  await client.userGroup.addUserToGroup(group.id, user);
  t.match(
    (await client.userGroup.update((await client.userGroup.detail(group.id)).data)).data,
    { name: 'Operators 2' },
    'as it was read',
  );
  t.equal((await client.userGroup.removeRoleFromGroup(group, role.self)).res.status, 204, 'by its URL');
  t.equal((await client.userGroup.removeUserFromGroup(group, user.self)).res.status, 204);
  t.match((await client.userGroup.detail(group.id)).data, {
    roles: { references: { length: 0 } },
    users: { references: { length: 0 } },
  });
  t.equal((await client.userGroup.delete(group.id)).res.status, 204);
  t.equal(await statusOf(client.userGroup.detail(group.id)), 404);
});

t.test('InventoryRoleService and the assignments of a user', async (t) => {
  const user = await newUser('keeper');
  const group = (await client.inventory.create({ name: 'Site', c8y_IsDeviceGroup: {} })).data;
  await client.inventory.create({ name: 'Elsewhere' });
  const { data: role } = await client.inventoryRole.create({
    name: 'Site reader',
    description: 'd',
    permissions: [{ type: '*', scope: '*', permission: 'READ' }],
  });
  t.match((await client.inventoryRole.detail(role.id)).data, { name: 'Site reader' });
  t.match((await client.inventoryRole.update({ ...role, description: 'e' })).data, {
    description: 'e',
    permissions: [{ scope: '*' }],
  });
  t.ok((await client.inventoryRole.list({ pageSize: 100 })).data.length >= 5);
  const assignments = client.user.inventoryAssignment(user);
  const { data: assignment } = await assignments.create({ managedObject: group.id, roles: [role] });
  t.match((await assignments.list()).data, [{ id: assignment.id, managedObject: group.id }]);
  t.match((await assignments.detail(assignment.id)).data, { roles: [{ id: role.id }] });
  const keeper: any = await Client.authenticate({ tenant: TENANT, user: 'keeper', password: SECRET }, server.url);
  t.same(
    (await keeper.inventory.list({ pageSize: 100 })).data.map((one: any) => one.id),
    [group.id],
  );
  t.match((await assignments.update({ id: assignment.id, roles: [{ id: 3 }] })).data, { roles: [{ id: 3 }] });
  t.equal((await assignments.delete(assignment.id)).res.status, 204);
  t.same((await keeper.inventory.list({ pageSize: 100 })).data, []);
  t.match((await client.inventoryRole.update({ id: role.id, name: 'Renamed reader' })).data, {
    name: 'Renamed reader',
    permissions: [{ scope: '*' }],
  });
  t.equal((await client.inventoryRole.delete(role.id)).res.status, 204);
});

t.test('UserService: the end of all tokens', async (t) => {
  await newUser('walker');
  const walker: any = await Client.authenticateViaOAuthInternal(
    { tenant: TENANT, user: 'walker', password: SECRET },
    server.url,
  );
  t.equal((await walker.user.current()).data.userName, 'walker');
  t.equal((await client.user.revokeTokens()).res.status, 200);
  t.ok(await eventually('the token ends', async () => (await statusOf(walker.user.current())) === 401));
});

t.test('every method of these classes was called', async (t) => {
  t.same(leftOut('users'), []);
});
