/** The resource of bindings over HTTP: pages, roles, bounds, neighbours (docs/spec/scoring.md#bindings). */
import t from 'tap';
import { createModel } from '../../../src/scoring/records.ts';
import { BINDINGS_MAX } from '../../../src/scoring/limits.ts';
import { ADMIN, basic, startApi } from '../helpers/api.ts';

const api = await startApi(t);
const { platform } = api;
Object.assign(platform, {
  bindings: {
    stateOf: () => ({ state: 'ACTIVE', reason: null }),
    countsOf: () => ({ received: 3, scored: 2 }),
  },
});
const PATH = '/service/scoring/bindings';

const send = (method: string, path: string, body?: object, authorization = ADMIN) =>
  api.call(method, path, { body, headers: { authorization } });

const BINDING = {
  bindingName: 'b',
  modelName: 'oven',
  modelToDeviceMappings: { t: 'oven.t.value' },
  output: { event: { type: 'e', forEach: true }, alarm: { type: 'a', severity: 'MINOR', above: 1 } },
};

t.test('create, read, replace, list and delete', async (t) => {
  t.match(await send('POST', PATH, BINDING), { status: 404, json: { errors: ["Model 'oven' not found."] } });
  const model = { name: 'oven', blob: 'k', bytes: 1, compiledBytes: 1, isActive: true, createdAt: 1 };
  const information = { inputFields: [{ name: 't' }], outputFields: [{ name: 'p' }] };
  await createModel(platform, { tenant: 2, user: 'admin' }, 'pmml', model, JSON.stringify(information));
  const created = await send('POST', PATH, BINDING);
  t.match(created, { status: 201, json: { ...BINDING, isActive: true, modelType: 'PMML' } });
  const one = `${PATH}/${created.json.id}`;
  t.same((await send('GET', one)).json, created.json);
  t.same((await send('GET', `${one}/metrics`)).json, { state: 'ACTIVE', reason: null, received: 3, scored: 2 });
  const changed = await send('PUT', one, { ...created.json, bindingName: 'other' });
  t.match(changed, { status: 200, json: { bindingName: 'other', creationTime: created.json.creationTime } });
  t.match(await send('GET', `${PATH}?withTotalPages=true`), {
    json: { bindings: [changed.json], next: null, statistics: { totalPages: 1, pageSize: 5 } },
  });
  t.match(await send('PUT', one, { ...BINDING, modelToDeviceMappings: { z: 'a.b.value' } }), {
    status: 400,
    json: { errors: [/names 'z', which is not an input of the model 'oven'; its inputs are t/] },
  });
  t.match(await send('POST', PATH, { ...BINDING, groupOrDeviceId: 99 }), { status: 404 });
  t.match(await send('POST', PATH, { ...BINDING, output: {} }), { status: 400 });
  t.equal((await send('PATCH', one)).status, 405);
  for (const wrong of ['0', '1e3', '99999999999999999', '%0a', 'total'])
    t.match(await send('GET', `${PATH}/${wrong}`), { status: 404 }, wrong);
  t.match(await send('DELETE', one), { status: 200, json: { bindings: [] } });
  t.match(await send('DELETE', one), {
    status: 404,
    json: { errors: [`Binding with id '${created.json.id}' does not exist.`] },
  });
});

t.test('a tenant has a bound', async (t) => {
  for (let count = 0; count < BINDINGS_MAX; count += 1) await send('POST', PATH, BINDING);
  t.match(await send('POST', PATH, BINDING), { status: 400, json: { errors: [/at most 100 .*scoring\/bindings/] } });
  t.match(await send('GET', `/service/zementis/bindings?pageSize=2&currentPage=2`), {
    json: {
      bindings: { length: 2 },
      next: '/service/zementis/bindings?pageSize=2&currentPage=3',
      prev: '/service/zementis/bindings?pageSize=2&currentPage=1',
    },
  });
  t.match(await send('DELETE', PATH), { json: { bindings: [] } });
  t.equal((await send('POST', PATH, BINDING)).status, 201, 'there is room again');
});

t.test('roles', async (t) => {
  api.fake.addUser('reader', ['ROLE_MACHINE_LEARNING_READ']);
  api.fake.addUser('stranger', ['ROLE_MEASUREMENT_ADMIN']);
  const [reader, stranger] = [basic('t1/reader'), basic('t1/stranger')];
  t.equal((await send('GET', PATH, undefined, reader)).status, 200);
  t.equal((await send('POST', PATH, BINDING, reader)).status, 403);
  t.equal((await send('DELETE', PATH, undefined, reader)).status, 403);
  t.equal((await send('GET', PATH, undefined, stranger)).status, 403);
});
