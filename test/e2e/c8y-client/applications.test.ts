/**
 * `@c8y/client`, unmodified: applications, their archives and versions, microservices, and what products of the vendor
 * would answer.
 */
import { BasicAuth, Client, FeatureService, FetchClient, SmartRulesService } from '@c8y/client';
import t from 'tap';
import { openPage } from '../../helpers/browser-globals.ts';
import { leftOut } from '../../helpers/clients/c8y-client-calls.ts';
import { PASSWORD, TENANT, startServer } from '../../helpers/running/server.ts';
import { microserviceZip, zipOf } from '../../helpers/zip.ts';

const server = await startServer(t);
const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
const service = client.application;
const statusOf = async (answer: Promise<any>): Promise<number> => {
  const found = await answer.catch((error: unknown) => error);
  return found.res?.status ?? found.status;
};
/** The error that the client throws. */
const failure = (answer: Promise<any>): Promise<any> =>
  answer.then(
    () => undefined,
    (error: unknown) => error,
  );
const idsOf = ({ data }: any): string[] => data.map(({ id }: any) => id);
const page = (text: string): Promise<Buffer> =>
  zipOf({ 'index.html': text, 'cumulocity.json': JSON.stringify({ name: text, isPackage: true }) });

t.test('a deployment: a record from cumulocity.json, its archive, and the whole record again', async (t) => {
  const options = {
    name: 'Blueprint',
    key: 'blueprint-key',
    contextPath: 'blueprint',
    type: 'HOSTED',
    version: '1.0.0',
    webSdkVersion: '1023.77.1',
    description: '',
    globalTitle: 'Blueprint',
    breadcrumbs: false,
    isPackage: false,
    dynamicOptionsUrl: true,
    contentSecurityPolicy: "default-src 'self'",
    icon: { class: 'c8y-icon' },
    docs: { noDefault: true },
    remotes: {},
    exports: [],
  };
  const { data: application } = await service.create(options);
  const { data: binary } = await service
    .binary(application)
    .upload(await zipOf({ 'index.html': 'deployed', 'cumulocity.json': JSON.stringify(options) }), 'blueprint.zip');
  const { type, ...whole } = { ...(await service.detail(application.id as string)).data, ...options };
  const { data: updated } = await service.update({ ...whole, activeVersionId: `${binary.id}` });
  t.match(updated, { dynamicOptionsUrl: true, activeVersionId: binary.id, type }, 'as it was sent');
  t.match((await service.update({ id: application.id, dynamicOptionsUrl: false })).data, { dynamicOptionsUrl: false });
  t.equal((await server.rest.put(`/application/applications/${application.id}`, { dynamicOptionsUrl: 1 })).status, 422);
  t.equal((await service.delete(application.id)).res.status, 204);
});

t.test('create, detail, update, list, delete', async (t) => {
  const { data, res } = await service.create({
    key: 'a-key',
    name: 'a',
    type: 'EXTERNAL',
    externalUrl: 'https://example.com',
  });
  t.equal(res.status, 201);
  t.match((await service.detail(data.id)).data, { name: 'a', owner: { tenant: { id: TENANT } } });
  t.equal(service.getHref(data), 'https://example.com');
  t.match((await service.update({ id: data.id, description: 'd' })).data, { description: 'd', key: 'a-key' });
  t.match(await service.updateApplicationConfig(data, { colour: 'red' }), { config: { colour: 'red' } });
  t.match(await service.updateApplicationConfig(data, { size: 1 }), { config: { colour: 'red', size: 1 } });
  t.match((await service.updateApplicationAvailability(data, 'MARKET')).data, { availability: 'MARKET' });
  for (const found of [
    service.list({ pageSize: 1, withTotalPages: true }),
    service.listByName('a'),
    service.listByTenant(TENANT),
    service.listByTenant(),
    service.listByOwner(TENANT),
    service.listByUser('admin'),
    service.listByUser(),
  ])
    t.ok(idsOf(await found).includes(data.id));
  t.ok((await service.list({ pageSize: 1, withTotalPages: true })).paging.totalPages >= 1);
  t.equal((await service.isAvailable('a')).data, true);
  t.equal((await service.isAvailable({ name: 'a', config: { size: 1 } })).data, true);
  t.equal((await service.isAvailable('none')).data, false);
  for (let index = 0; index < 6; index += 1)
    await service.create({
      key: `more-${index}`,
      name: `more-${index}`,
      type: 'EXTERNAL',
      externalUrl: 'https://example.com',
    });
  for (const name of ['a', 'more-0', 'more-5'])
    t.equal((await service.isAvailable(name)).data, true, `${name} of more than a page`);
  t.equal((await service.delete(data.id)).res.status, 204);
  t.equal(await statusOf(service.detail(data.id)), 404);
});

t.test('a web application: binaries, manifest, clone', async (t) => {
  const { data: app } = await service.create({ key: 'web-key', name: 'web', type: 'HOSTED', contextPath: 'web' });
  t.equal(service.getHref(app), '/apps/web');
  const { data: binary, res } = await service.binary(app).upload(await page('one'), 'web.zip');
  t.equal(res.status, 201);
  t.equal((await service.update({ id: app.id, activeVersionId: String(binary.id) })).data.activeVersionId, binary.id);
  t.match((await service.binary(app).list()).data, [{ id: binary.id, name: 'web.zip' }]);
  t.equal(
    (await (await service.binary(app).downloadArchive(binary.id)).arrayBuffer()).byteLength,
    (await page('one')).length,
  );
  t.match(await service.getAppManifest(app), { name: 'one' });
  t.match((await service.getManifestOfContextPath('web')).data, { id: app.id, manifest: { name: 'one' } });
  t.equal((await service.reactivateArchive(app.id)).res.status, 200);
  t.match((await service.clone(app)).data, { name: 'cloneweb', contextPath: 'cloneweb' });
  const { data: rewritten } = await service.storeAppManifest(app, { name: 'stored' });
  t.match(await service.getAppManifest(app), { name: 'stored' });
  t.equal(await (await client.core.fetch('/apps/web/')).text(), 'one', 'other files stay');
  t.equal((await service.detail(app.id)).data.activeVersionId, rewritten.id);
  t.equal((await service.binary(app).updateFiles([{ path: 'more/page.html', contents: 'two' }])).res.status, 201);
  t.equal(await (await client.core.fetch('/apps/web/more/page.html')).text(), 'two');
  t.equal(await statusOf(service.binary(app).delete(binary.id)), 404, 'it was replaced');
  t.not((await service.detail(app.id)).data.activeVersionId, rewritten.id, 'and so was the next');
  t.equal((await service.binary(app).delete((await service.detail(app.id)).data.activeVersionId)).res.status, 204);
  t.same((await service.binary(app).list()).data, []);
});

t.test('an archive with progress, as a page of the server uploads it', async (t) => {
  openPage(t, `${server.url}/apps/administration/index.html`);
  const { data: app } = await service.create({
    key: 'progress-key',
    name: 'progress',
    type: 'HOSTED',
    contextPath: 'progress',
  });
  const binary = service.binary(app);
  const archive = await page('by progress');
  const loaded: number[] = [];
  const upload = binary.uploadWithProgressXhr(
    archive,
    (event: any) => {
      loaded.push(event.loaded);
    },
    'progress.zip',
  );
  t.match(await binary.getXMLHttpResponse(upload), { name: 'progress.zip', length: archive.length });
  t.ok((loaded.at(-1) as number) > archive.length);
  t.equal(await (await client.core.fetch('/apps/progress/')).text(), 'by progress');
  t.match(
    await failure(
      binary.getXMLHttpResponse(binary.uploadWithProgressXhr(Buffer.from('no ZIP'), () => undefined, 'no.zip')),
    ),
    { data: { error: /^applications\// } },
  );
});

t.test('versions', async (t) => {
  const { data: app } = await service.create({ key: 'pack-key', name: 'pack', type: 'HOSTED', contextPath: 'pack' });
  const archive = async (text: string): Promise<any> => Object.assign(await page(text), { name: `${text}.zip` });
  const { data: first } = await service.binary(app).uploadApplicationVersion(await archive('v1'), '1.0.0', ['latest']);
  t.match(first, { version: '1.0.0', tags: ['latest'] });
  await service.binary(app).uploadApplicationVersion(await archive('v2'), '2.0.0');
  t.match((await service.listVersions(app)).data, [
    { version: '1.0.0', tags: ['latest'] },
    { version: '2.0.0', tags: [] },
  ]);
  t.match(await service.getAppManifest(app, '2.0.0'), { name: 'v2' });
  t.match((await service.setPackageVersionTag(app, '2.0.0', ['latest', 'new'])).data, {
    version: '2.0.0',
    tags: ['latest', 'new'],
  });
  t.match((await service.clone(app, '1.0.0')).data, { name: 'clonepack' });
  t.match(await service.getAppManifest({ contextPath: 'clonepack' }), { name: 'v1' });
  t.equal((await service.deleteVersionPackage(app, { version: '1.0.0' })).res.status, 204);
  t.equal(await statusOf(service.deleteVersionPackage(app, { tag: 'latest' })), 409);
  t.equal((await service.listVersions(app)).data.length, 1);
  await service.binary(app).uploadApplicationVersion(await archive('v3'), '3.0.0', ['next']);
  t.equal((await service.deleteVersionPackage(app, { tag: 'next' })).res.status, 204);
  t.same(
    (await service.listVersions(app)).data.map(({ version }: any) => version),
    ['2.0.0'],
  );
});

t.test('a microservice', async (t) => {
  const { data: app } = await service.create({
    key: 'micro-key',
    name: 'micro',
    type: 'MICROSERVICE',
    requiredRoles: [],
  });
  t.equal((await service.binary(app).upload(await microserviceZip(), 'micro.zip')).res.status, 201);
  const { data: bootstrap } = await service.getBootstrapUser(app);
  t.match(bootstrap, { tenant: TENANT, name: 'servicebootstrap_micro' });
  const management: any = await Client.authenticate(
    { tenant: 'management', user: 'admin', password: 'mill-Race-8' },
    server.url,
  );
  t.equal(
    (
      await management.core.fetch(`/tenant/tenants/${TENANT}/applications`, {
        method: 'POST',
        body: JSON.stringify({ application: { id: app.id } }),
        headers: { 'content-type': 'application/json' },
      })
    ).status,
    201,
  );
  const subscriptions: any[] = await (Client as any).getMicroserviceSubscriptions(
    { tenant: bootstrap.tenant, user: bootstrap.name, password: bootstrap.password },
    server.url,
  );
  t.match(subscriptions, [{ tenant: TENANT, user: 'service_micro', password: /./ }]);
  const own: any = new Client(new BasicAuth(subscriptions[0]), server.url);
  t.equal((await own.inventory.create({ name: 'by the microservice' })).res.status, 201);
  const fetching: any = new FetchClient(
    new BasicAuth({ tenant: bootstrap.tenant, user: bootstrap.name, password: bootstrap.password }),
    server.url,
  );
  t.match(await (await fetching.fetch('/application/currentApplication/settings')).json(), { colour: 'red' });
  t.same((await service.getStatusDetails(app)).data, [], 'no instance runs');
  t.same(service.getInstanceNames({ c8y_Status: { instances: { 'micro-1': {} } } }), ['micro-1']);
  t.match(await failure(service.getInstanceLog(app, 'micro-1', {})), {
    res: { status: 404 },
    data: { error: String, message: /logs\/micro-1/ },
  });
});

t.test("plug-ins of the vendor's front end: a clear refusal, nothing is changed", async (t) => {
  const { data: app } = await service.create({
    key: 'plugin-key',
    name: 'plugin',
    type: 'HOSTED',
    contextPath: 'plugin',
  });
  const binary = service.binary(app);
  await binary.upload(await page('kept'), 'kept.zip');
  const before = (await binary.list()).data;
  const archive = await page('p');
  for (const ask of [
    () => binary.listPlugins(),
    () => binary.addPlugin('p', archive),
    () => binary.removePlugin('p'),
  ]) {
    t.match(await failure(ask()), { res: { status: 404 }, data: { error: String, message: /plugins/ } });
  }
  t.same((await binary.list()).data, before);
});

t.test('translations of a tenant: an empty archive, then its files', async (t) => {
  const name = 'user-defined-translations';
  const { data: app } = await service.create({ key: `${name}-app-key`, name, type: 'HOSTED', contextPath: name });
  const { data: binary } = await service.binary(app).upload(await zipOf({}), 'translations.zip');
  await service.update({ id: app.id, activeVersionId: binary.id });
  const texts = { de: { Device: 'Gerät' } };
  await service.binary(app).updateFiles([{ path: 'de.json', contents: JSON.stringify(texts) }]);
  t.same(await (await client.core.fetch(`/apps/public/${name}/de.json`)).json(), texts);
  t.equal((await service.delete(app.id)).res.status, 204);
});

t.test('features are those of the server; smart rules of the vendor: a clear refusal', async (t) => {
  const features: any = new FeatureService(client.core);
  const feature = { key: 'f', active: true };
  const known = { key: 'ui.map.isinhierarchyof', phase: 'GENERALLY_AVAILABLE', active: true, strategy: 'DEFAULT' };
  const { data } = await features.list({ pageSize: 1000 });
  t.same(data[0], known);
  t.same(
    data.map(({ key }: { key: string }) => key),
    ['ui.map.isinhierarchyof', 'ui.datapoint-explorer.v2', 'ui.dm-dashboard-manager', 'ui.search.wildcard'],
  );
  t.same((await features.detail(known.key)).data, known);
  for (const ask of [
    () => features.detail('f'),
    () => features.detailByTenant('f'),
    () => features.updateFeature(feature),
    () => features.updateFeatureByTenant(feature, TENANT),
    () => features.removeTenantOverride(feature),
    () => features.removeTenantOverrideByTenant(feature, TENANT),
  ]) {
    t.match(await failure(ask()), { res: { status: 404 }, data: { error: String, message: /features/ } });
  }
  const rules: any = new SmartRulesService(client.core);
  t.equal(await rules.isMicroserviceAvailable(), false);
  t.same(await rules.bulkDeactivateEnabledSources({ id: '1' }, []), { res: null, data: null });
  const rule = { id: '1', c8y_Context: { id: '2' }, enabledSources: ['2'] };
  for (const ask of [
    () => rules.listByContext('1'),
    () => rules.update(rule),
    () => rules.bulkDeactivateEnabledSources(rule, ['2']),
  ]) {
    t.match(await failure(ask()), { res: { status: 404 }, data: { error: String, message: /smartrule/ } });
  }
  const { data: own } = await service.create({
    key: 'smartrule-key',
    name: 'smartrule',
    type: 'MICROSERVICE',
    requiredRoles: [],
  });
  t.equal(
    await new SmartRulesService(client.core).isMicroserviceAvailable(),
    true,
    'somebody may run one of this name',
  );
  t.equal((await service.delete(own.id)).res.status, 204);
});

t.test('every method of these classes was called', async (t) => {
  t.same(leftOut('applications'), []);
});
