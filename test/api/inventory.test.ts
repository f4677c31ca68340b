import t from 'tap';
import { DEVICE, startApi } from './helpers/api.ts';

const PATH = '/inventory/managedObjects';

t.test('create, read, change, delete', async (t) => {
  const api = await startApi(t);
  const body =
    '{ "name": "Pumpe \\u00e9", "10": 1, "2": 2, "c8y_IsDevice": {}, "big": 12345678901234567890, ' +
    '"self": "x", "id": "4", "childAssets": {} }';
  const created = await api.call('POST', PATH, { body });
  t.equal(created.status, 201);
  const { id } = created.json;
  t.equal(created.headers.get('location'), `${api.url}${PATH}/${id}`);
  t.match(
    created.text,
    `{"self":"${api.url}${PATH}/${id}","id":"${id}","name":"Pumpe \\u00e9","10":1,"2":2,"c8y_IsDevice":{},"big":12345678901234567890,`,
    'exactly as it was sent, in its order',
  );
  t.strictSame(created.json.childAssets, { references: [], self: `${api.url}${PATH}/${id}/childAssets` });
  for (const name of ['childDevices', 'childAdditions', 'deviceParents', 'assetParents', 'additionParents']) t.ok(created.json[name], name);
  t.equal((await api.call('GET', `${PATH}/${id}/`)).text, created.text);
  const changed = await api.call('PUT', `${PATH}/${id}`, { body: { name: 'new', c8y_IsDevice: null, owner: 'other', lastUpdated: 'x' } });
  t.match(changed.json, { name: 'new', c8y_IsDevice: undefined });
  t.match(api.fake.sent.at(-1), {
    key: Number(id),
    body: { doc: '{"name":"new","c8y_IsDevice":null,"owner":"other"}', mayChangeOwner: true },
  });
  const sent = api.fake.sent.length;
  for (const body of [{}, { id }]) {
    const beat = await api.call('PUT', `${PATH}/${id}`, { body });
    t.match(beat, { status: 200, text: JSON.stringify({ self: `${api.url}${PATH}/${id}`, id }) }, 'a heartbeat is answered shortly');
    t.equal((await api.call('PUT', `${PATH}/${id}`, { body, headers: { accept: '' } })).text, '');
  }
  t.equal(api.fake.sent.length, sent, 'and nothing is written');
  t.equal((await api.call('PUT', `${PATH}/999999999`, { body: {} })).status, 404);
  t.equal((await api.call('DELETE', `${PATH}/${id}?cascade=true`)).status, 204);
  t.match(api.fake.sent.at(-1), { body: { cascade: true, forceCascade: false } });
  t.match(await api.call('GET', `${PATH}/${id}`), { status: 404, json: { error: 'inventory/Not Found' } });
  for (const strange of ['abc', '0', '-1', '1.5', '99999999999999999', '..', 'a\nb', '__proto__']) {
    t.equal((await api.call('GET', `${PATH}/${encodeURIComponent(strange)}x`)).status, 404, strange);
  }
});

t.test('children of three kinds', async (t) => {
  const api = await startApi(t);
  for (const id of ['1', '2', '3']) api.fake.addManagedObject(id, { name: `n${id}` });
  const linked = await api.call('POST', `${PATH}/1/childDevices`, { body: { managedObject: { id: '2' } } });
  t.equal(linked.status, 201);
  t.match(linked.json, { managedObject: { id: '2', name: 'n2' }, self: `${api.url}${PATH}/1/childDevices/2` });
  t.equal(
    (
      await api.call('POST', `${PATH}/1/childAssets`, {
        body: { references: [{ managedObject: { self: `${api.url}${PATH}/3/` } }, { managedObject: { id: 2 } }] },
      })
    ).status,
    201,
  );
  const made = await api.call('POST', `${PATH}/1/childAdditions`, { body: { name: 'new' } });
  t.equal(made.json.name, 'new');
  t.equal(made.headers.get('location'), `${api.url}${PATH}/${made.json.id}`);
  t.match(api.fake.sent.at(-1), { body: { parent: { id: '1', kind: 'childAdditions' } } });
  t.equal((await api.call('POST', `${PATH}/1/childDevices`, { body: { managedObject: { id: '99' } } })).status, 404);
  t.equal((await api.call('POST', `${PATH}/1/childDevices`, { body: { managedObject: {} } })).status, 422);
  t.equal((await api.call('POST', `${PATH}/99/childDevices`, { body: {} })).status, 404);
  const parent = (await api.call('GET', `${PATH}/1`)).json;
  t.strictSame(parent.childDevices.references, [
    { managedObject: { id: '2', name: 'n2', self: `${api.url}${PATH}/2` }, self: `${api.url}${PATH}/1/childDevices/2` },
  ]);
  t.equal(parent.childAssets.references.length, 2);
  t.equal((await api.call('GET', `${PATH}/1?withChildren=false`)).json.childAssets.references.length, 0);
  t.equal((await api.call('GET', `${PATH}/1?withChildrenCount=true`)).json.childAssets.count, 2);
  t.equal((await api.call('GET', `${PATH}/1?skipChildrenNames=true`)).json.childDevices.references[0].managedObject.name, undefined);
  t.equal((await api.call('GET', `${PATH}/2`)).json.deviceParents.references.length, 0);
  t.equal((await api.call('GET', `${PATH}/2?withParents=true`)).json.deviceParents.references[0].managedObject.id, '1');
  const page = (await api.call('GET', `${PATH}/1/childAssets?pageSize=1&withTotalElements=true`)).json;
  t.match(page, { statistics: { totalElements: 2 }, references: [{ managedObject: { id: '2', name: 'n2' } }], next: /currentPage=2/ });
  const last = (await api.call('GET', `${PATH}/1/childAssets?pageSize=1&currentPage=2`)).json;
  t.match(last, { references: [{ managedObject: { id: '3' } }], prev: /currentPage=1/ });
  t.notOk('next' in last, 'a full page, and nothing behind it');
  t.match((await api.call('GET', `${PATH}/1/childAssets?pageSize=1`)).json, { next: /currentPage=2/ }, 'without totals too');
  t.equal((await api.call('GET', `${PATH}/2/deviceParents`)).json.references[0].managedObject.id, '1');
  t.equal((await api.call('GET', `${PATH}/1/childDevices/2`)).json.managedObject.name, 'n2');
  t.match(await api.call('GET', `${PATH}/1/childDevices/3`), { status: 422, json: { message: 'managedObject 3 is not a child of 1' } });
  t.equal((await api.call('DELETE', `${PATH}/1/childDevices/2`)).status, 204);
  t.equal((await api.call('DELETE', `${PATH}/1/childDevices/2`)).status, 422);
  t.equal((await api.call('DELETE', `${PATH}/1/childAssets`, { body: { references: [{ managedObject: { id: '99' } }] } })).status, 422);
  t.equal((await api.call('DELETE', `${PATH}/1/childAssets`)).status, 204, 'all of them');
  t.equal((await api.call('GET', `${PATH}/1/childAssets`)).json.references.length, 0);
});

t.test('links do not show objects that one may not read', async (t) => {
  const api = await startApi(t);
  const mine = { authorization: DEVICE };
  api.fake.addManagedObject('1', { name: 'mine' }, 'device_1');
  api.fake.addManagedObject('2', { name: 'foreign child', secret: 'a' });
  api.fake.addManagedObject('3', { name: 'own child' }, 'device_1');
  api.fake.addManagedObject('4', { name: 'foreign group', secret: 'b' });
  api.fake.addManagedObject('5', { name: 'foreign' });
  for (const [parent, kind, child] of [['1', 'childDevices', '2'], ['1', 'childDevices', '3'], ['4', 'childAssets', '1'], ['5', 'childAssets', '1'], ['4', 'childAssets', '3']]) {
    api.fake.put('children', `${parent}\n${kind}\n${child}`, '1');
    api.fake.put('parents', `${child}\n${kind}\n${parent}`, '1');
  }
  const idsOf = async (path: string, headers?: Record<string, string>): Promise<string[]> =>
    (await api.call('GET', `${PATH}/${path}`, { headers: headers ?? {} })).json.references.map(({ managedObject }: { managedObject: { id: string } }) => managedObject.id);
  t.strictSame(await idsOf('1/childDevices'), ['2', '3']);
  t.strictSame(await idsOf('1/childDevices', mine), ['3']);
  t.strictSame(await idsOf('1/assetParents'), ['4', '5']);
  t.strictSame(await idsOf('1/assetParents', mine), []);
  const first = await api.call('GET', `${PATH}/1/childDevices?pageSize=1&withTotalElements=true`, { headers: mine });
  t.match(first.json, { references: [], next: /currentPage=2/ }, 'a short page with a next one');
  t.equal(first.json.statistics.totalElements, null);
  t.strictSame(await idsOf('1/childDevices?pageSize=1&currentPage=2', mine), ['3']);
  t.equal((await api.call('GET', `${PATH}/1/childDevices/2`, { headers: mine })).status, 403);
  t.equal((await api.call('GET', `${PATH}/1/childDevices/3`, { headers: mine })).status, 200);
  for (const child of ['1', '2']) t.equal((await api.call('GET', `${PATH}/4/childAssets/${child}`, { headers: mine })).status, 403, 'nor whether they are linked');
  await api.call('GET', `${PATH}/1/childDevices?query=has(secret)`, { headers: mine });
  t.ok(Object.values(api.fake.asked.at(-1)?.params ?? {}).includes('device_1'), 'nor those of a query');
});

t.test('who links or unlinks needs a right to both objects', async (t) => {
  const api = await startApi(t);
  for (const [id, owner] of [['1', 'device_1'], ['2', 'device_1'], ['3', 'admin']]) api.fake.addManagedObject(id, {}, owner);
  const as = (method: string, path: string, body?: object): Promise<number> =>
    api.call(method, `${PATH}/${path}`, { ...(body === undefined ? {} : { body }), headers: { authorization: DEVICE } }).then(({ status }) => status);
  const reference = (id: string): object => ({ managedObject: { id } });
  t.equal(await as('POST', '1/childDevices', reference('2')), 201);
  t.equal(await as('POST', '1/childDevices', reference('3')), 403, 'a child of somebody else');
  t.equal(await as('POST', '3/childDevices', reference('2')), 403, 'a parent of somebody else');
  api.fake.put('children', '3\nchildDevices\n2', '1');
  t.equal(await as('DELETE', '3/childDevices/2'), 403);
  t.equal(await as('DELETE', '3/childDevices'), 403);
  t.ok(api.fake.get('children', '3\nchildDevices\n2'));
  t.equal(await as('DELETE', '1/childDevices/2'), 204);
});

t.test('lists and counts', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('5');
  api.fake.put('parents', '5\nchildAssets\n8', '1');
  const ask = async (query: string): Promise<{ sql: string; values: unknown[] }> => {
    t.equal((await api.call('GET', `${PATH}?${query}`)).status, 200, query);
    const { sql, params } = api.fake.asked.at(-1) ?? { sql: '', params: {} };
    return { sql, values: Object.values(params) };
  };
  t.match(
    (await ask('type=a&fragmentType=b&owner=c&onlyRoots=true')).sql,
    'PREWHERE tenant = {tenant:UInt32} WHERE type = {p0:String} AND has(fragments, {p1:String}) ' +
      'AND owner = {p2:String} AND empty(parents) ORDER BY id LIMIT',
  );
  const ids = await ask('ids=7,5,x,5');
  t.match(ids.sql, 'ORDER BY indexOf(');
  t.strictSame(ids.values[1], [7, 5, 5]);
  t.match((await ask('ids=x')).sql, 'WHERE 0 ');
  t.strictSame((await ask('childAssetId=5')).values[1], 8);
  t.match((await ask('childDeviceId=5')).sql, 'WHERE 0 ');
  t.match((await ask('text=a%22/b')).values, [2, 'a"/b', ['a"/b', 'a\\"/b', '\\u', '\\/']], 'as it is meant, and parts of its spellings');
  t.match(await ask('query=type%20eq%20a&type=b'), { values: [2, 'a', 5, 0] }, 'instead of the type');
  t.match((await ask('q=type%20eq%20a')).values, [2, 'a', 'c8y_IsDevice']);
  t.match(await api.call('GET', `${PATH}?query=type%20eq`), { status: 422, json: { error: 'inventory/Invalid Data' } });
  api.fake.rows = [[{ total: '12' }]];
  t.equal((await api.call('GET', `${PATH}/count?type=a`)).text, '12');
  api.fake.put('managedObject', '5', '{"id":"5","name":"x"}');
  api.fake.rows = [[{ entityId: '5' }]];
  t.equal((await api.call('GET', PATH, { headers: { authorization: DEVICE } })).json.managedObjects[0].name, 'x');
  t.ok(Object.values(api.fake.asked.at(-1)?.params ?? {}).includes('device_1'), 'without a role: own objects');
});

t.test('identity', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1');
  const body = { type: 'c8y_Serial', externalId: 'a/b ü' };
  const bound = await api.call('POST', '/identity/globalIds/1/externalIds', { body });
  t.equal(bound.status, 201);
  const self = `${api.url}/identity/externalIds/c8y_Serial/a%2Fb%20%C3%BC`;
  t.strictSame(bound.json, { self, externalId: 'a/b ü', type: 'c8y_Serial', managedObject: { id: '1', self: `${api.url}${PATH}/1` } });
  t.equal(bound.headers.get('location'), self);
  t.equal((await api.call('POST', '/identity/globalIds/1/externalIds', { body })).status, 409);
  t.strictSame((await api.call('GET', self.slice(api.url.length))).json, bound.json);
  t.strictSame((await api.call('GET', '/identity/globalIds/1/externalIds')).json.externalIds, [bound.json]);
  t.equal((await api.call('POST', '/identity/globalIds/9/externalIds', { body })).status, 404);
  t.match(await api.call('POST', '/identity/globalIds/1/externalIds', { body: {} }), {
    status: 422,
    json: { message: 'Following mandatory fields should be included: externalId,type' },
  });
  for (const externalId of ['a\nb', 'x'.repeat(2000), '']) {
    t.equal(
      (await api.call('POST', '/identity/globalIds/1/externalIds', { body: { type: 't', externalId } })).status,
      422,
      externalId.slice(0, 5),
    );
  }
  t.match(await api.call('GET', '/identity/externalIds/c8y_Serial/none'), {
    status: 404,
    json: { error: 'identity/Not Found', message: 'External id not found; external id = ID [type=c8y_Serial, value=none]' },
  });
  t.equal((await api.call('DELETE', self.slice(api.url.length))).status, 204);
  t.equal((await api.call('DELETE', self.slice(api.url.length))).status, 404);
});
