/** External IDs: every endpoint, rule, role and error (docs/spec/identity.md). */
import t from 'tap';
import { MANAGEMENT_PASSWORD, PASSWORD, Rest, TENANT, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest, management } = server;
const idsOf = (object: string): string => `/identity/globalIds/${object}/externalIds`;
const pathOf = (type: string, externalId: string): string =>
  `/identity/externalIds/${encodeURIComponent(type)}/${encodeURIComponent(externalId)}`;

t.test('the root resource', async (t) => {
  t.match(await rest.read('/identity'), {
    self: `${server.url}/identity`,
    externalId: `${server.url}/identity/externalIds/{type}/{externalId}`,
    externalIdsOfGlobalId: `${server.url}/identity/globalIds/{globalId}/externalIds`,
  });
});

t.test('bind, read, list, unbind: whatever the texts are', async (t) => {
  const object = await rest.createDevice('Named');
  const texts: [type: string, externalId: string][] = [
    ['c8y_Serial', 'plain'],
    ['c8y_MAC', 'aa:bb'],
    ['my type', 'with blank'],
    ['a/b', 'c/d'],
    ['ä', 'ö%2F'],
    ['x', '?&=#+'],
    ['c8y_IMEI', '0'.repeat(1000)],
    ['same', '1'],
    ['other', '1'],
  ];
  for (const [type, externalId] of texts) {
    const self = `${server.url}${pathOf(type, externalId)}`;
    const bound = await rest.post(idsOf(object), { type, externalId });
    t.equal(bound.status, 201, `${type} ${externalId}`);
    t.equal(bound.headers.get('location'), self);
    const want = {
      self,
      externalId,
      type,
      managedObject: { id: object, self: `${server.url}/inventory/managedObjects/${object}` },
    };
    t.same(bound.json, want);
    t.same(await rest.read(pathOf(type, externalId)), want);
  }
  const list = await rest.read(idsOf(object));
  t.equal(list.self, server.url + idsOf(object));
  t.same(
    list.externalIds.map(({ type, externalId }: any) => `${type} ${externalId}`).sort(),
    texts.map((pair) => pair.join(' ')).sort(),
  );
  const page = await rest.read(`${idsOf(object)}?pageSize=4&currentPage=2`);
  t.match([page.externalIds.length, page.next, page.prev], [4, /currentPage=3/, /currentPage=1/]);
  t.equal((await rest.read(`${idsOf(object)}?pageSize=4&currentPage=3`)).next, undefined);
  for (const [type, externalId] of texts) {
    t.equal((await rest.delete(pathOf(type, externalId))).status, 204);
    t.equal((await rest.get(pathOf(type, externalId))).status, 404);
  }
  t.same((await rest.read(idsOf(object))).externalIds, []);
  t.equal((await rest.post(idsOf(object), { type: 'same', externalId: '1' })).status, 201, 'it can be bound again');
});

t.test('errors', async (t) => {
  const object = await rest.createDevice('Errors');
  const other = await rest.createDevice('Other');
  await rest.create(idsOf(object), { type: 'c8y_Serial', externalId: 'taken' });
  const rows: [method: string, path: string, body: object | undefined, status: number, json: object][] = [
    ['POST', idsOf(object), { type: 'c8y_Serial', externalId: 'taken' }, 409, { error: 'identity/Duplicate' }],
    ['POST', idsOf(other), { type: 'c8y_Serial', externalId: 'taken' }, 409, { error: 'identity/Duplicate' }],
    ['POST', idsOf('999999999'), { type: 'a', externalId: 'b' }, 404, { error: 'inventory/Not Found' }],
    ['POST', idsOf('x'), { type: 'a', externalId: 'b' }, 404, {}],
    ['POST', idsOf(object), {}, 422, { error: 'undefined/validationError', message: /: externalId,type$/ }],
    ['POST', idsOf(object), { type: 'a' }, 422, { message: /: externalId$/ }],
    ['POST', idsOf(object), { type: '', externalId: 'b' }, 422, {}],
    ['POST', idsOf(object), { type: 'a', externalId: 7 }, 422, { error: 'identity/Invalid Data' }],
    ['POST', idsOf(object), { type: 'a', externalId: 'b\nc' }, 422, { error: 'identity/Invalid Data' }],
    [
      'POST',
      idsOf(object),
      { type: 'a', externalId: '\u0001'.repeat(70) },
      422,
      { message: /without control characters/ },
    ],
    ['POST', idsOf(object), { type: 'a', externalId: 'b'.repeat(1500) }, 422, { error: 'identity/Invalid Data' }],
    ['GET', idsOf('999999999'), undefined, 404, { error: 'inventory/Not Found' }],
    [
      'GET',
      pathOf('c8y_Serial', 'none'),
      undefined,
      404,
      { error: 'identity/Not Found', message: 'External id not found; external id = ID [type=c8y_Serial, value=none]' },
    ],
    ['GET', pathOf('other', 'taken'), undefined, 404, { error: 'identity/Not Found' }],
    ['DELETE', pathOf('c8y_Serial', 'none'), undefined, 404, { error: 'identity/Not Found' }],
  ];
  for (const [method, path, body, status, json] of rows) {
    t.match(
      await rest.request(method, path, body === undefined ? {} : { body }),
      { status, json },
      `${method} ${path.slice(0, 80)} ${JSON.stringify(body)?.slice(0, 80)}`,
    );
  }
  const many = await Promise.all(
    Array.from({ length: 20 }, () => rest.post(idsOf(object), { type: 'at', externalId: 'once' })),
  );
  t.equal(many.filter(({ status }) => status === 201).length, 1, 'of many at once one is first');
});

t.test('unique per tenant; gone with the object', async (t) => {
  const object = await rest.createDevice('Tenant 1');
  const foreign = await new Rest(server.url, 'management/admin', MANAGEMENT_PASSWORD).createDevice('Management');
  await rest.create(idsOf(object), { type: 'c8y_Serial', externalId: 'both' });
  t.equal((await management.get(pathOf('c8y_Serial', 'both'))).status, 404);
  t.equal((await management.post(idsOf(foreign), { type: 'c8y_Serial', externalId: 'both' })).status, 201);
  t.equal((await management.get(idsOf(object))).status, 404);
  await rest.delete(`/inventory/managedObjects/${object}`);
  t.equal((await rest.get(pathOf('c8y_Serial', 'both'))).status, 404);
  t.equal((await management.get(pathOf('c8y_Serial', 'both'))).status, 200);
});

t.test('roles and owners', async (t) => {
  const object = await rest.createDevice('Owned', { owner: 'id-owner' });
  await rest.create(idsOf(object), { type: 'c8y_Serial', externalId: 'roles' });
  const rows: [name: string, role: string | undefined, may: string[]][] = [
    ['id-reader', 'ROLE_IDENTITY_READ', ['root', 'list', 'GET']],
    ['id-admin', 'ROLE_IDENTITY_ADMIN', ['POST', 'DELETE']],
    ['id-owner', undefined, ['list', 'GET', 'POST', 'DELETE']],
    ['id-stranger', undefined, []],
  ];
  for (const [name, role, may] of rows) {
    await rest.create(`/user/${TENANT}/users`, {
      userName: name,
      password: PASSWORD,
      roles: { references: role === undefined ? [] : [{ role: { id: role } }] },
    });
    const user = new Rest(server.url, `${TENANT}/${name}`, PASSWORD);
    const calls: [string, () => Promise<{ status: number }>][] = [
      ['root', () => user.get('/identity')],
      ['list', () => user.get(idsOf(object))],
      ['GET', () => user.get(pathOf('c8y_Serial', 'roles'))],
      ['POST', () => user.post(idsOf(object), { type: 'by', externalId: name })],
      [
        'DELETE',
        async () => {
          await rest.post(idsOf(object), { type: 'by', externalId: name });
          return user.delete(pathOf('by', name));
        },
      ],
    ];
    for (const [what, call] of calls) {
      const { status } = await call();
      t.equal(status < 300, may.includes(what), `${what} by ${name}: ${status}`);
    }
  }
  t.match(
    await fetch(`${server.url}/identity`).then(async (answer) => ({
      status: answer.status,
      json: await answer.json(),
    })),
    { status: 401, json: { error: 'general/internalError' } },
  );
  t.same(
    server.complaints.filter((line) => !line.includes('refused by the limit')),
    [],
  );
});
