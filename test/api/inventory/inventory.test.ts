import t from 'tap';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import { DEVICE, startApi } from '../helpers/api.ts';

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
  for (const name of ['childDevices', 'childAdditions', 'deviceParents', 'assetParents', 'additionParents'])
    t.ok(created.json[name], name);
  t.equal((await api.call('GET', `${PATH}/${id}/`)).text, created.text);
  for (const query of ['?withChildrenCount=true', '?withChildrenCount=true&withChildren=false', '?withParents=true']) {
    const { text, json } = await api.call('POST', `${PATH}${query}`, { body });
    t.equal((await api.call('GET', `${PATH}/${json.id}${query}`)).text, text, query);
  }
  const changed = await api.call('PUT', `${PATH}/${id}`, {
    body: { name: 'new', c8y_IsDevice: null, owner: 'other', lastUpdated: 'x' },
  });
  t.match(changed.json, { name: 'new', c8y_IsDevice: undefined });
  t.match(api.fake.sent.at(-1), {
    key: Number(id),
    body: { doc: '{"name":"new","c8y_IsDevice":null,"owner":"other"}', mayChangeOwner: true },
  });
  const sent = api.fake.sent.length;
  for (const body of [{}, { id }]) {
    const beat = await api.call('PUT', `${PATH}/${id}`, { body });
    t.match(
      beat,
      { status: 200, text: JSON.stringify({ self: `${api.url}${PATH}/${id}`, id }) },
      'a heartbeat is answered shortly',
    );
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
  t.equal((await api.call('POST', `${PATH}/1/childDevices`, { body: {} })).status, 422, 'nothing is made of nothing');
  t.equal((await api.call('POST', `${PATH}/99/childDevices`, { body: {} })).status, 404);
  const parent = (await api.call('GET', `${PATH}/1`)).json;
  t.strictSame(parent.childDevices.references, [
    { managedObject: { id: '2', name: 'n2', self: `${api.url}${PATH}/2` }, self: `${api.url}${PATH}/1/childDevices/2` },
  ]);
  t.equal(parent.childAssets.references.length, 2);
  t.equal((await api.call('GET', `${PATH}/1?withChildren=false`)).json.childAssets.references.length, 0);
  t.equal((await api.call('GET', `${PATH}/1?withChildrenCount=true`)).json.childAssets.count, 2);
  t.equal(
    (await api.call('GET', `${PATH}/1?skipChildrenNames=true`)).json.childDevices.references[0].managedObject.name,
    undefined,
  );
  t.equal((await api.call('GET', `${PATH}/2`)).json.deviceParents.references.length, 0);
  t.equal((await api.call('GET', `${PATH}/2?withParents=true`)).json.deviceParents.references[0].managedObject.id, '1');
  const page = (await api.call('GET', `${PATH}/1/childAssets?pageSize=1&withTotalElements=true`)).json;
  t.match(page, {
    statistics: { totalElements: 2 },
    references: [{ managedObject: { id: '2', name: 'n2' } }],
    next: /currentPage=2/,
  });
  const last = (await api.call('GET', `${PATH}/1/childAssets?pageSize=1&currentPage=2`)).json;
  t.match(last, { references: [{ managedObject: { id: '3' } }], prev: /currentPage=1/ });
  t.notOk('next' in last, 'a full page, and nothing behind it');
  t.match(
    (await api.call('GET', `${PATH}/1/childAssets?pageSize=1`)).json,
    { next: /currentPage=2/ },
    'without totals too',
  );
  t.equal((await api.call('GET', `${PATH}/2/deviceParents`)).json.references[0].managedObject.id, '1');
  t.equal((await api.call('GET', `${PATH}/1/childDevices/2`)).json.managedObject.name, 'n2');
  t.match(await api.call('GET', `${PATH}/1/childDevices/3`), {
    status: 422,
    json: { message: 'managedObject 3 is not a child of 1' },
  });
  t.equal((await api.call('DELETE', `${PATH}/1/childDevices/2`)).status, 204);
  t.equal((await api.call('DELETE', `${PATH}/1/childDevices/2`)).status, 422);
  t.equal(
    (await api.call('DELETE', `${PATH}/1/childAssets`, { body: { references: [{ managedObject: { id: '99' } }] } }))
      .status,
    422,
  );
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
  for (const [parent, kind, child] of [
    ['1', 'childDevices', '2'],
    ['1', 'childDevices', '3'],
    ['4', 'childAssets', '1'],
    ['5', 'childAssets', '1'],
    ['4', 'childAssets', '3'],
  ]) {
    api.fake.put('children', `${parent}\n${kind}\n${child}`, '1');
    api.fake.put('parents', `${child}\n${kind}\n${parent}`, '1');
  }
  const idsOf = async (path: string, headers?: Record<string, string>): Promise<string[]> =>
    (await api.call('GET', `${PATH}/${path}`, { headers: headers ?? {} })).json.references.map(
      ({ managedObject }: { managedObject: { id: string } }) => managedObject.id,
    );
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
  for (const child of ['1', '2'])
    t.equal(
      (await api.call('GET', `${PATH}/4/childAssets/${child}`, { headers: mine })).status,
      403,
      'nor whether they are linked',
    );
  await api.call('GET', `${PATH}/1/childDevices?query=has(secret)`, { headers: mine });
  t.ok(Object.values(api.fake.asked.at(-1)?.params ?? {}).includes('device_1'), 'nor those of a query');
});

t.test('the vendor type says what a body of a collection of children is', async (t) => {
  const api = await startApi(t);
  for (const id of ['1', '2']) api.fake.addManagedObject(id, { name: `n${id}` });
  const post = (type: string, body: object) =>
    api.call('POST', `${PATH}/1/childAssets`, { body, headers: { 'content-type': type } });
  const vendor = (name: string): string => `application/vnd.com.nsn.cumulocity.${name}+json;charset=UTF-8;ver=0.9`;
  const sent = api.fake.sent.length;
  t.match(await post(vendor('managedObjectReference'), { id: '2' }), {
    status: 422,
    json: { message: /managedObject\.id/ },
  });
  t.match(await post(vendor('managedobjectreferencecollection'), {}), { status: 422, json: { message: /references/ } });
  t.match(await post(vendor('managedObjectReferenceCollection'), { managedObject: { id: '2' } }), {
    status: 422,
    json: { message: /references/ },
  });
  t.equal(api.fake.sent.length, sent, 'nothing was asked of anybody');
  t.equal((await post(vendor('managedObjectReference'), { managedObject: { id: '2' }, references: [] })).status, 201);
  t.match(api.fake.sent.at(-1), { body: { child: '2', parent: '1' } });
  const before = api.fake.sent.length;
  for (const body of [{}, { x: null }])
    t.match(await post(vendor('managedObject'), body), { status: 422, json: { message: /managedObject\.id/ } });
  t.equal((await post(vendor('managedObject'), { managedObject: { id: '99' } })).status, 404);
  t.equal(api.fake.sent.length, before, 'nothing is made silently');
  t.match(await post(vendor('managedObject'), { name: 'made', references: [] }), {
    status: 201,
    json: { name: 'made' },
  });
  t.match(api.fake.sent.at(-1), { body: { doc: /"made"/, parent: { id: '1', kind: 'childAssets' } } });
  t.match(await post('application/json', { name: 'plain' }), { status: 201, json: { name: 'plain' } });
});

t.test('withGroups fills assetParents with groups', async (t) => {
  const api = await startApi(t);
  const objects: [id: string, members: object][] = [
    ['1', { name: 'asset' }],
    ['2', { name: 'by fragment', c8y_IsDeviceGroup: {} }],
    ['3', { name: 'by type', type: 'c8y_DeviceSubGroup' }],
    ['4', { name: 'device' }],
    ['9', {}],
  ];
  for (const [id, members] of objects) api.fake.addManagedObject(id, members);
  for (const parent of ['1', '2', '3']) api.fake.put('parents', `9\nchildAssets\n${parent}`, '1');
  for (const parent of ['2', '4']) api.fake.put('parents', `9\nchildDevices\n${parent}`, '1');
  const parents = async (query: string): Promise<[string[], string[]]> => {
    const { assetParents, deviceParents } = (await api.call('GET', `${PATH}/9?${query}`)).json;
    const ids = ({ references }: { references: { managedObject: { id: string } }[] }): string[] =>
      references.map(({ managedObject }) => managedObject.id);
    return [ids(assetParents), ids(deviceParents)];
  };
  t.strictSame(await parents(''), [[], []]);
  t.strictSame(await parents('withGroups=true'), [['2', '3'], []]);
  t.strictSame(await parents('withGroups=true&skipChildrenNames=true'), [['2', '3'], []]);
  t.strictSame(await parents('withParents=true&withGroups=true'), [
    ['1', '2', '3'],
    ['2', '4'],
  ]);
});

t.test('an agent has its marker under both names', async (t) => {
  const api = await startApi(t);
  const [primary, branded] = ['com_platform_model_Agent', 'com_cumulocity_model_Agent'];
  api.fake.addManagedObject('1', { name: 'a', [branded]: { a: 1 }, last: 1 });
  api.fake.addManagedObject('2', { [primary]: {} });
  api.fake.addManagedObject('3', {});
  const markers = async (id: string, accept: string): Promise<string[]> =>
    Object.keys((await api.call('GET', `${PATH}/${id}`, { headers: { accept } })).json).filter((name) =>
      name.endsWith('_model_Agent'),
    );
  for (const accept of [
    'application/vnd.com.nsn.platform.managedObject+json',
    'application/vnd.com.nsn.cumulocity.managedObject+json',
    'application/json',
  ]) {
    const both = [primary, branded];
    t.strictSame(
      [await markers('1', accept), await markers('2', accept), await markers('3', accept)],
      [both, both, []],
      accept,
    );
  }
  const { text } = await api.call('GET', `${PATH}/1`);
  t.match(text, `"name":"a","${primary}":{"a":1},"${branded}":{"a":1},"last":1`, 'in its place');
  const headers = { 'x-platform-processing-mode': 'TRANSIENT' };
  const made = await api.call('POST', PATH, { body: { [branded]: {} }, headers });
  t.match(made.json, { id: null, [primary]: {}, [branded]: {} }, 'also where it is not stored');
  const changed = await api.call('PUT', `${PATH}/1`, { body: { name: 'b' }, headers });
  t.match(changed.json, { id: null, [primary]: { a: 1 }, [branded]: { a: 1 } });
});

t.test('many links in one body are one command, and each child is there once', async (t) => {
  const api = await startApi(t, { config: { jsonBodyMaxBytes: 1_048_576 } });
  const ids = Array.from({ length: 5_000 }, (_, index) => String(index + 10));
  for (const id of ['1', '5999', ...ids]) api.fake.addManagedObject(id, { name: 'n' });
  const references = (children: readonly string[]): object => ({
    references: children.map((id) => ({ managedObject: { id } })),
  });
  const post = (children: readonly string[]) =>
    api.call('POST', `${PATH}/1/childAssets`, { body: references(children) });
  const remove = (children: readonly string[]) =>
    api.call('DELETE', `${PATH}/1/childAssets`, { body: references(children) });
  const made = await post([...ids.slice(0, 4_000), '10']);
  t.equal(made.status, 201);
  t.equal(made.json.references.length, 4_000);
  t.equal(api.fake.sent.length, 1);
  t.equal((await post(ids)).status, 201);
  t.strictSame(
    (api.fake.sent.at(-1)?.body as { children: string[] }).children,
    ids,
    'the first ones are asked for again: who made them cannot take them back',
  );
  t.equal((await post(ids.slice(0, 4_000))).status, 201);
  t.equal(api.fake.sent.length, 2, 'all are linked for good');
  t.equal((await post([...ids.slice(0, 4_000), '5999'])).status, 201);
  t.match(api.fake.sent.at(-1)?.body, { child: '5999', children: undefined }, 'only those that are not linked');
  t.equal((await remove(['5999'])).status, 204);
  t.match(await post([...ids, '1', '5999']), {
    status: 422,
    json: {
      message:
        'The body has 5002 references; it takes 5000 (inventory/references): send the others with further requests',
    },
  });
  t.strictSame(api.fake.counted, ['inventory/references']);
  const sent = api.fake.sent.length;
  t.match(await remove(['10', '5999']), { status: 422, json: { message: 'managedObject 5999 is not a child of 1' } });
  t.match(await remove(['10', 'x\ny']), { status: 422 });
  t.equal(api.fake.sent.length, sent, 'all are looked at first');
  t.equal((await remove(['10', '11', '10'])).status, 204);
  t.strictSame((api.fake.sent.at(-1)?.body as { children: string[] }).children, ['10', '11']);
  const page = await api.call('GET', `${PATH}/1/childAssets?pageSize=2&withTotalElements=true`);
  t.match(api.fake.asked.at(-1)?.sql, /hasAny\(parents, /, 'large collections are read from the history');
  t.match([page.status, api.fake.asked.some(({ sql }) => sql.includes('ORDER BY id LIMIT'))], [200, true]);
  t.equal((await api.call('DELETE', `${PATH}/1/childAssets`)).status, 204);
  t.equal((await api.call('GET', `${PATH}/1/childAssets?withTotalElements=true`)).json.statistics.totalElements, 0);
});

t.test('what a link is made with goes, or is refused, at the same moment', async (t) => {
  const api = await startApi(t);
  for (const id of ['1', '2', '3', '4']) api.fake.addManagedObject(id);
  const collections = api.fake as unknown as { collections: Map<string, Map<string, string>> };
  const { handle } = api.fake as unknown as {
    handle: (command: { kind: number; key: number; body: { children?: string[] } }) => unknown;
  };
  const undo = (what: (id: string) => void): void => {
    Object.assign(api.fake, {
      handle: (command: Parameters<typeof handle>[0]) => {
        const answer = handle.call(api.fake, command);
        if (command.kind === COMMAND.CHILD_ADD || command.kind === COMMAND.MANAGED_OBJECT_CREATE)
          what(String(command.key));
        return answer;
      },
    });
  };
  const unlink = (child: string) => collections.collections.get('2/children')?.delete(`1\nchildAssets\n${child}`);
  undo(() => unlink('2'));
  t.match(await api.call('POST', `${PATH}/1/childAssets`, { body: { managedObject: { id: '2' } } }), {
    status: 422,
    json: { error: 'inventory/Invalid Data' },
  });
  const references = [{ managedObject: { id: '3' } }, { managedObject: { id: '2' } }];
  t.equal((await api.call('POST', `${PATH}/1/childAssets`, { body: { references } })).status, 422);
  t.equal(api.fake.get('children', '1\nchildAssets\n3'), undefined, 'all or none');
  undo(() => {
    unlink('2');
    api.fake.put('children', '1\nchildAssets\n3', '1');
  });
  t.equal((await api.call('POST', `${PATH}/1/childAssets`, { body: { references } })).status, 422);
  t.equal(api.fake.get('children', '1\nchildAssets\n3'), '1', 'what somebody else has asked for meanwhile stays');
  undo((id) => {
    for (const gone of ['4', id]) collections.collections.get('2/managedObject')?.delete(gone);
  });
  t.match(await api.call('POST', `${PATH}/4/childAssets`, { body: { name: 'orphan' } }), {
    status: 404,
    json: { message: /'4'/ },
  });
});

t.test('a page of children and of names is bounded in bytes', async (t) => {
  const api = await startApi(t, { config: { pageBytesMax: 640_000 } });
  api.fake.addManagedObject('1');
  const ids = Array.from({ length: 70 }, (_, index) => String(index + 10));
  for (const id of ids) {
    api.fake.addManagedObject(id, { name: 'x'.repeat(10_000) });
    api.fake.put('children', `1\nchildAssets\n${id}`, '1');
  }
  const tooLarge = { status: 422, json: { error: 'general/Page Too Large' } };
  t.match(await api.call('GET', `${PATH}/1/childAssets?pageSize=100`), tooLarge, 'whole objects');
  t.match(await api.call('GET', `${PATH}/1`), tooLarge, 'their names');
  t.equal((await api.call('GET', `${PATH}/1?skipChildrenNames=true`)).status, 200);
  t.strictSame(api.fake.counted, ['lists/page-bytes', 'lists/page-bytes']);
  for (const id of ids) {
    api.fake.addManagedObject(`2${id}`);
    api.fake.put('children', `2${id}\nchildAssets\n10`, '1');
  }
  api.fake.rows = [ids.map((id) => ({ entityId: `2${id}` }))];
  t.match(await api.call('GET', `${PATH}?pageSize=100`), tooLarge, 'a name that many objects show');
});

t.test('a query that the engine would work on for seconds before it reads a row is refused', async (t) => {
  const api = await startApi(t);
  const asked = (query: string) => api.call('GET', `${PATH}?query=${encodeURIComponent(query)}`);
  const path = (length: number): string => Array.from({ length }, () => 'a').join('.');
  const orders = (length: number): string =>
    Array.from({ length: 10 }, (_, index) => `b${index}.${path(length)}.date`).join(',');
  for (const length of [8, 18]) {
    api.fake.rows = [[]];
    t.equal((await asked(`$filter=has(a) $orderby=${orders(length)}`)).status, 200);
    t.ok(
      (api.fake.asked.at(-1)?.sql.length ?? Infinity) < 80_000,
      `each order has its value once: ${api.fake.asked.at(-1)?.sql.length}`,
    );
  }
  api.fake.rows = [[]];
  const serials = Array.from({ length: 200 }, (_, index) => `c8y_Hardware.serialNumber eq 'SN-${index}'`).join(' or ');
  t.equal((await asked(serials)).status, 200, 'as many serial numbers as there may be conditions');
  const before = api.fake.asked.length;
  for (const query of [
    Array.from({ length: 60 }, () => `${path(20)} eq 1`).join(' or '),
    `hasany(${Array.from({ length: 900 }, () => 'a.a').join(',')})`,
  ]) {
    t.match(
      await asked(query),
      {
        status: 422,
        json: { error: 'inventory/Invalid Data', message: /more than 131072 \(inventory\/query-length\)/ },
      },
      query.slice(0, 50),
    );
  }
  t.strictSame(api.fake.counted, ['inventory/query-length', 'inventory/query-length']);
  t.equal(api.fake.asked.length, before, 'the engine is not asked');
});

t.test('who links or unlinks needs a right to both objects', async (t) => {
  const api = await startApi(t);
  for (const [id, owner] of [
    ['1', 'device_1'],
    ['2', 'device_1'],
    ['3', 'admin'],
  ])
    api.fake.addManagedObject(id, {}, owner);
  const as = (method: string, path: string, body?: object): Promise<number> =>
    api
      .call(method, `${PATH}/${path}`, { ...(body === undefined ? {} : { body }), headers: { authorization: DEVICE } })
      .then(({ status }) => status);
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
  for (const none of ['ids=', 'ids', 'ids=,', 'type=a&ids='])
    t.match((await ask(none)).sql, /WHERE (.* AND )?0 /, `${none} asks for none`);
  t.strictSame((await ask('childAssetId=5')).values[1], 8);
  t.match((await ask('childDeviceId=5')).sql, 'WHERE 0 ');
  t.match(
    (await ask('text=a%22/b')).values,
    [2, 'a"/b', ['a"/b', 'a\\"/b', '\\u', '\\/']],
    'as it is meant, and parts of its spellings',
  );
  t.match(await ask('query=type%20eq%20a&type=b'), { values: [2, 'a', 5, 0] }, 'instead of the type');
  t.match((await ask('q=type%20eq%20a')).values, [2, 'a', 'c8y_IsDevice']);
  t.match((await ask('q=')).values, [2, 'c8y_IsDevice'], 'of devices, also without a condition');
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
  t.strictSame(bound.json, {
    self,
    externalId: 'a/b ü',
    type: 'c8y_Serial',
    managedObject: { id: '1', self: `${api.url}${PATH}/1` },
  });
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
    json: {
      error: 'identity/Not Found',
      message: 'External id not found; external id = ID [type=c8y_Serial, value=none]',
    },
  });
  t.equal((await api.call('DELETE', self.slice(api.url.length))).status, 204);
  t.equal((await api.call('DELETE', self.slice(api.url.length))).status, 404);
});
