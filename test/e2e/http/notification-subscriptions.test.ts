/** Subscriptions of Notifications 2.0 as records (docs/spec/notifications.md) against a running server. */
import t from 'tap';
import { PASSWORD, Rest, startServer } from '../../helpers/running/server.ts';

const PATH = '/notification2/subscriptions';
const server = await startServer(t);
const { rest } = server;
const device = await rest.createDevice('Pump', { type: 'c8y_Pump' });
const ofDevice = (subscription: string, further: object = {}): object => ({
  context: 'mo',
  source: { id: device },
  subscription,
  ...further,
});
const names = async (query: string): Promise<string[]> =>
  (await rest.read(`${PATH}?pageSize=100${query}`)).subscriptions.map(({ subscription }: any) => subscription);

t.afterEach(async () => {
  for (const { id } of (await rest.read(`${PATH}?pageSize=2000`)).subscriptions) await rest.delete(`${PATH}/${id}`);
});

t.test('one is created, read, listed and deleted', async (t) => {
  const sent = ofDevice('alerts', {
    subscriptionFilter: { apis: ['alarms', 'measurements'], typeFilter: "'temp' or 'pressure'" },
    fragmentsToCopy: ['c8y_Env'],
    nonPersistent: true,
    id: '7',
    self: 'x',
  });
  const answer = await rest.post(PATH, sent);
  t.equal(answer.status, 201, answer.text);
  const { json } = answer;
  t.same(json, {
    id: json.id,
    self: `${server.url}${PATH}/${json.id}`,
    context: 'mo',
    subscription: 'alerts',
    nonPersistent: true,
    fragmentsToCopy: ['c8y_Env'],
    source: { id: device, self: `${server.url}/inventory/managedObjects/${device}`, name: 'Pump', type: 'c8y_Pump' },
    subscriptionFilter: { apis: ['alarms', 'measurements'], typeFilter: "'temp' or 'pressure'" },
  });
  t.equal(answer.headers.get('location'), json.self);
  t.match(answer.headers.get('content-type'), /vnd\.com\.nsn\.platform\.subscription\+json|application\/json/);
  t.same(await rest.read(`${PATH}/${json.id}`), json);
  t.match(await rest.read(PATH), { self: String, statistics: { currentPage: 1, pageSize: 5 }, subscriptions: [json] });
  t.equal((await rest.delete(`${PATH}/${json.id}`)).status, 204);
  for (const again of [
    await rest.delete(`${PATH}/${json.id}`),
    await rest.get(`${PATH}/${json.id}`),
    await rest.get(`${PATH}/x`),
  ]) {
    t.match([again.status, again.json.error], [404, 'reliable-notification/Not Found']);
  }
  t.same(await names(''), []);
  const activities = (await rest.read('/audit/auditRecords?type=SYSTEM&pageSize=100')).auditRecords
    .filter(({ text }: any) => text.includes(': alerts, '))
    .map(({ activity }: any) => activity);
  t.same(activities.sort(), ['Subscription created', 'Subscription deleted']);
});

t.test('filter and type are taken too (docs/spec/notifications.md#fields)', async (t) => {
  const { subscriptionFilter, filter } = await rest.create(
    PATH,
    ofDevice('one', { filter: { apis: ['*'], type: 'c8y_Temp' } }),
  );
  t.same([subscriptionFilter, filter], [{ apis: ['*'], typeFilter: 'c8y_Temp' }, undefined]);
  t.match(await rest.create(PATH, ofDevice('two')), {
    nonPersistent: false,
    subscriptionFilter: undefined,
    fragmentsToCopy: undefined,
  });
});

t.test('context, source and name are those of one', async (t) => {
  const other = await rest.createDevice('other');
  await rest.create(PATH, ofDevice('alerts'));
  const again = await rest.post(PATH, ofDevice('alerts', { subscriptionFilter: { apis: ['alarms'] } }));
  t.match([again.status, again.json.error], [409, 'reliable-notification/Duplicate']);
  // A volatile topic of the same name is another one.
  const { id: ofVolatile } = await rest.create(PATH, ofDevice('alerts', { nonPersistent: true }));
  t.equal((await rest.post(PATH, ofDevice('alerts', { nonPersistent: true }))).status, 409);
  t.equal((await rest.delete(`${PATH}/${ofVolatile}`)).status, 204);
  await rest.create(PATH, { context: 'mo', source: { id: other }, subscription: 'alerts' });
  await rest.create(PATH, ofDevice('Alerts'));
  await rest.create(PATH, {
    context: 'tenant',
    subscription: 'alerts',
    subscriptionFilter: { apis: ['managedobjects'] },
  });
  const attempts = await Promise.all(Array.from({ length: 8 }, () => rest.post(PATH, ofDevice('race'))));
  t.same(attempts.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409, 409, 409]);
  t.equal((await names('')).length, 5);
});

t.test('those of a managed object go with it', async (t) => {
  const [parent, child] = [await rest.createDevice('parent'), await rest.createDevice('child')];
  await rest.create(`/inventory/managedObjects/${parent}/childDevices`, { managedObject: { id: child } });
  for (const id of [parent, child, device])
    await rest.create(PATH, { context: 'mo', source: { id }, subscription: 'gone' });
  const { id } = await rest.create(PATH, { context: 'mo', source: { id: child }, subscription: 'second' });
  await rest.create(PATH, {
    context: 'tenant',
    subscription: 'gone',
    subscriptionFilter: { apis: ['managedobjects'] },
  });
  t.equal((await rest.delete(`/inventory/managedObjects/${parent}?cascade=true`)).status, 204);
  t.same(
    (await rest.read(`${PATH}?pageSize=100`)).subscriptions.map(({ source }: any) => source?.id),
    [device, undefined],
  );
  t.equal((await rest.get(`${PATH}/${id}`)).status, 404);
  t.equal((await rest.post(PATH, { context: 'mo', source: { id: child }, subscription: 'late' })).status, 404);
});

t.test('lists by context, source, name and filter, in pages', async (t) => {
  const other = await rest.createDevice('other');
  for (const name of ['a', 'b', 'c'])
    await rest.create(PATH, ofDevice(name, name === 'b' ? { subscriptionFilter: { typeFilter: 'x' } } : {}));
  await rest.create(PATH, { context: 'mo', source: { id: other }, subscription: 'a' });
  await rest.create(PATH, {
    context: 'tenant',
    subscription: 't',
    subscriptionFilter: { apis: ['alarms'], typeFilter: 'x' },
  });
  // By source: of two objects made by two nodes either may come first.
  t.same((await names('')).sort(), ['a', 'a', 'b', 'c', 't']);
  t.same((await names('&context=mo')).sort(), ['a', 'a', 'b', 'c']);
  t.same(await names('&context=tenant'), ['t']);
  t.same(await names(`&source=${device}`), ['a', 'b', 'c']);
  t.same(await names(`&source=${device}&context=tenant`), []);
  t.same(await names('&source=99999999'), []);
  t.same(await names('&subscription=a'), ['a', 'a']);
  t.same(await names('&typeFilter=x'), ['b', 't']);
  const first = await rest.read(`${PATH}?pageSize=2&withTotalElements=true&withTotalPages=true`);
  t.match(first, { next: /currentPage=2/, statistics: { totalElements: 5, totalPages: 3 } });
  const third = await rest.read(`${PATH}?pageSize=2&currentPage=3`);
  t.match([third.subscriptions.length, third.next, third.prev], [1, undefined, /currentPage=2/]);
});

t.test('all of an object, or of the context tenant, are deleted at once', async (t) => {
  const other = await rest.createDevice('other');
  for (const name of ['a', 'b']) {
    await rest.create(PATH, ofDevice(name));
    await rest.create(PATH, { context: 'mo', source: { id: other }, subscription: name });
    await rest.create(PATH, { context: 'tenant', subscription: name, subscriptionFilter: { apis: ['operations'] } });
  }
  for (const [query, message] of [
    ['', 'Following mandatory fields should be included: source'],
    ['?context=mo', 'Following mandatory fields should be included: source'],
    [
      `?context=tenant&source=${device}`,
      `The field source has the value ${device}; it takes nothing when the context is tenant`,
    ],
    ['?context=all', 'The parameter context has the value all; it takes one of mo, tenant'],
  ]) {
    const { status, json } = await rest.delete(`${PATH}${query}`);
    t.same([status, json.message], [422, message], query);
  }
  t.equal((await names('')).length, 6);
  t.equal((await rest.delete(`${PATH}?source=${other}`)).status, 204);
  t.equal((await rest.delete(`${PATH}?context=mo&source=${device}`)).status, 204);
  t.same(
    (await rest.read(PATH)).subscriptions.map(({ context }: any) => context),
    ['tenant', 'tenant'],
  );
  t.equal((await rest.delete(`${PATH}?context=tenant`)).status, 204);
  t.same(await names(''), []);
});

const TENANT = { context: 'tenant', subscription: 'a' };
const REFUSED: readonly (readonly [body: object, message: string])[] = [
  [{}, 'Following mandatory fields should be included: context,subscription'],
  [{ context: 'mo', subscription: 'a' }, 'Following mandatory fields should be included: source'],
  [
    { ...TENANT, source: { id: '1' }, subscriptionFilter: { apis: ['operations'] } },
    'The field source has the value 1; it takes nothing when the context is tenant',
  ],
  [
    TENANT,
    'The field subscriptionFilter.typeFilter has the value null; it takes a type in the context tenant, but for managedobjects, operations and *',
  ],
  [
    { ...TENANT, subscriptionFilter: { apis: ['managedobjects', 'alarms'] } },
    'The field subscriptionFilter.typeFilter has the value null; it takes a type in the context tenant, but for managedobjects, operations and *',
  ],
  [
    { ...TENANT, subscriptionFilter: { apis: ['measurements'], typeFilter: 'x' } },
    'The field subscriptionFilter.apis has the value measurements; it takes in the context tenant one of alarms, events, managedobjects, operations, *',
  ],
  [
    ofDevice('a', { subscriptionFilter: { apis: ['*', 'alarms'] } }),
    'The field subscriptionFilter.apis has the value *,alarms; it takes * alone, or names without it',
  ],
];

t.test('wrong ones are refused and change nothing', async (t) => {
  for (const [body, message] of REFUSED) {
    const { status, json } = await rest.post(PATH, body);
    t.same([status, json.message], [422, message], JSON.stringify(body));
  }
  for (const body of [
    { ...ofDevice('a'), context: 'other' },
    ofDevice('a or b'),
    ofDevice(''),
    ofDevice('a'.repeat(65)),
    ofDevice('a/b'),
    ofDevice('a', { nonPersistent: 'yes' }),
    ofDevice('a', { subscriptionFilter: { apis: [] } }),
    ofDevice('a', { subscriptionFilter: { apis: ['inventory'] } }),
    ofDevice('a', { fragmentsToCopy: 'x' }),
    ...["'a' and 'b'", "'a' or b", 'a or b', "'a", "''", ''].map((typeFilter) =>
      ofDevice('a', { subscriptionFilter: { typeFilter } }),
    ),
  ]) {
    const { status, json } = await rest.post(PATH, body);
    t.match(
      [status, json.error],
      [422, /^(reliable-notification\/Invalid Data|undefined\/validationError)$/],
      JSON.stringify(body),
    );
  }
  for (const id of ['99999999', 'x', '-1']) {
    const { status, json } = await rest.post(PATH, { context: 'mo', source: { id }, subscription: 'a' });
    t.match([status, json.error], [404, 'inventory/Not Found'], id);
  }
  t.same(await names(''), []);
});

t.test('a type may be one, in quotes or not, or several', async (t) => {
  for (const [index, typeFilter] of [
    'c8y_Temp',
    "'c8y_Temp'",
    "'a b' or 'c'",
    "'it''s'",
    "'a' OR 'b' or 'c'",
  ].entries()) {
    t.match(await rest.create(PATH, ofDevice(`n${index}`, { subscriptionFilter: { typeFilter } })), {
      subscriptionFilter: { typeFilter },
    });
  }
});

t.test('they need ROLE_NOTIFICATION_2_ADMIN and are those of their tenant', async (t) => {
  const { id } = await rest.create(PATH, ofDevice('mine'));
  await rest.create('/user/t1/users', { userName: 'reader', password: PASSWORD, email: 'reader@example.com' });
  const reader = new Rest(server.url, 't1/reader', PASSWORD);
  t.match((await reader.read('/notification2')).notificationSubscriptions, {
    self: `${server.url}${PATH}`,
    subscriptions: null,
  });
  t.equal(
    (await reader.read('/notification2')).notificationSubscriptionsBySourceAndContext,
    `${server.url}${PATH}?source={source}&context={context}`,
  );
  for (const { status } of [
    await reader.get(PATH),
    await reader.get(`${PATH}/${id}`),
    await reader.post(PATH, ofDevice('b')),
    await reader.delete(`${PATH}/${id}`),
    await reader.delete(`${PATH}?source=${device}`),
  ])
    t.equal(status, 403);
  const own = await rest.create('/user/t1/groups', { name: 'subscribers' });
  await rest.post(`/user/t1/groups/${own.id}/roles`, {
    role: { self: `${server.url}/user/roles/ROLE_NOTIFICATION_2_ADMIN` },
  });
  await rest.post(`/user/t1/groups/${own.id}/users`, { user: { self: `${server.url}/user/t1/users/reader` } });
  t.equal((await reader.get(`${PATH}/${id}`)).status, 200);

  await server.management.create('/tenant/tenants', {
    company: 'Two',
    domain: 'two',
    adminName: 'boss',
    adminEmail: 'boss@example.com',
    adminPass: PASSWORD,
  });
  const [tenant] = (await server.management.read('/tenant/tenants?pageSize=2000')).tenants.filter(
    ({ company }: any) => company === 'Two',
  );
  const two = new Rest(server.url, `${tenant.id}/boss`, PASSWORD);
  t.same((await two.read(PATH)).subscriptions, []);
  t.equal((await two.get(`${PATH}/${id}`)).status, 404);
  t.equal((await two.delete(`${PATH}?source=${device}`)).status, 204);
  t.equal((await two.post(PATH, ofDevice('x'))).status, 404);
  t.equal((await rest.get(`${PATH}/${id}`)).status, 200);
});

t.test('a source has at most 100, and their deletion takes it in steps', async (t) => {
  const bodies = Array.from({ length: 100 }, (_, index) => ofDevice(`s${String(index).padStart(3, '0')}`));
  for (let at = 0; at < bodies.length; at += 50)
    await Promise.all(bodies.slice(at, at + 50).map((body) => rest.create(PATH, body)));
  const { status, json } = await rest.post(PATH, ofDevice('more'));
  t.match([status, json.message], [422, /100 subscriptions .*notifications\/subscriptions-of-source/]);
  const last = await rest.read(`${PATH}?pageSize=20&currentPage=5&withTotalElements=true`);
  t.match([last.subscriptions[19].subscription, last.next, last.statistics.totalElements], ['s099', undefined, 100]);
  t.equal((await rest.delete(`${PATH}?source=${device}`)).status, 204);
  t.same(await names(''), []);
});
