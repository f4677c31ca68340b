import Ajv2020 from 'ajv/dist/2020.js';
import t from 'tap';
import type { Route } from '../../../src/api/request/route.ts';
import { startApi } from '../helpers/api.ts';
import { rawRequest } from '../helpers/raw-http.ts';

const METHODS = ['get', 'put', 'post', 'delete'];

const api = await startApi(t);
const reply = await api.call('GET', '/openapi.json', { headers: { authorization: undefined } });
const document = reply.json;
const ajv = new (Ajv2020 as unknown as typeof Ajv2020.default)({
  strict: false,
  validateFormats: false,
  // Each schema is used once or twice: to make its code short takes longer than to run it.
  code: { optimize: false },
});
ajv.addSchema({ $id: 'api', components: document.components });
/** By text: thousands of parameters share a few schemas. */
const compiled = new Map<string, boolean>();
const compiles = (schema: object): boolean => {
  const text = JSON.stringify(schema);
  if (!compiled.has(text)) {
    try {
      ajv.compile(schema);
      compiled.set(text, true);
    } catch {
      // The test names the schema.
      compiled.set(text, false);
    }
  }
  return compiled.get(text) === true;
};

t.test('/openapi.json covers every route', async (t) => {
  t.equal(reply.status, 200);
  const absent = api.server.router.routes.filter(({ method, path }) => !document.paths[path]?.[method.toLowerCase()]);
  t.same(
    absent.map(({ method, path }) => `${method} ${path}`),
    [],
  );
  t.equal(document.servers[0].url, api.url);
});

t.test('bodies and answers say what they are made of', async (t) => {
  const isEmpty = ({ schema }: any): boolean =>
    schema === undefined || Object.keys(schema).length === 0 || JSON.stringify(schema) === '{"type":"object"}';
  const found: string[] = [];
  for (const [path, item] of Object.entries<any>(document.paths)) {
    for (const method of METHODS.filter((name) => item[name] !== undefined)) {
      const { requestBody, responses } = item[method];
      const contents: [string, object][] = [
        ['body', requestBody?.content ?? {}],
        ...Object.entries<any>(responses).map(([status, { content = {} }]): [string, object] => [status, content]),
      ];
      for (const [where, content] of contents) {
        for (const [type, media] of Object.entries<any>(content))
          if (isEmpty(media)) found.push(`${method} ${path} ${where} ${type}`);
      }
      if (requestBody !== undefined && Object.keys(requestBody.content).length === 0)
        found.push(`${method} ${path} has a body of nothing`);
    }
  }
  t.strictSame(found, []);
  t.same(Object.keys(document.components.securitySchemes), ['basic', 'bearer', 'cookie', 'xsrf']);
});

t.test('its schemas are JSON Schema 2020-12, and the examples fulfil them', async (t) => {
  // One assertion for all: there are thousands.
  const wrong = Object.keys(document.components.schemas).filter(
    (name) => !compiles({ $ref: `api#/components/schemas/${name}` }),
  );
  for (const [path, item] of Object.entries<any>(document.paths)) {
    for (const operation of Object.values<any>(item)) {
      for (const parameter of operation.parameters ?? [])
        if (!compiles(parameter.schema)) wrong.push(`${path} ${parameter.name}`);
      const media = operation.requestBody?.content['application/json'];
      if (media?.example !== undefined && !ajv.validate(media.schema, media.example))
        wrong.push(`example of ${path}: ${ajv.errorsText()}`);
    }
  }
  t.same(wrong, []);
});

t.test('every operation has examples, its roles and answers with schemas', async (t) => {
  const wrong: string[] = [];
  // One assertion for all: there are thousands.
  const need = (isRight: unknown, what: string): void => {
    if (!isRight) wrong.push(what);
  };
  /** @returns what is wrong with the example; '' when nothing is. */
  const faultsOf = (reference: string, example: unknown): string => {
    const validate = ajv.getSchema(`api#${reference}`);
    if (validate === undefined) return `there is no ${reference}`;
    return validate(example) ? '' : ajv.errorsText(validate.errors);
  };
  const byRoute = new Map(
    api.server.router.routes.map((route) => [`${route.method.toLowerCase()} ${route.path}`, route]),
  );
  for (const [path, { parameters = [], ...item }] of Object.entries<any>(document.paths)) {
    for (const parameter of parameters) need(typeof parameter.example === 'string', `${path}: ${parameter.name}`);
    for (const [method, operation] of Object.entries<any>(item)) {
      const where = `${method} ${path}`;
      const { description } = operation;
      const { access, roles = [] } = byRoute.get(where) ?? {};
      need(JSON.stringify(operation['x-roles'] ?? []) === JSON.stringify(roles), `${where}: roles`);
      for (const role of roles) need(description.includes(role), `${where}: its description names ${role}`);
      if (roles.length === 0)
        need(
          description.includes(access === 'user' ? 'Any user' : 'No credentials needed'),
          `${where}: who may call it`,
        );
      for (const media of Object.values<any>(operation.requestBody?.content ?? {}))
        need(media.example !== undefined, `${where}: example of the body`);
      for (const [status, { $ref, content = {} }] of Object.entries<any>(operation.responses)) {
        if ($ref !== undefined) continue;
        const plain = content['application/json']?.schema.$ref?.slice(1);
        for (const [type, media] of Object.entries<any>(content)) {
          const example =
            media.example ?? document.components.examples[media.examples?.usual.$ref.split('/').at(-1)]?.value;
          need(example !== undefined, `${where} ${status} ${type}: example`);
          need(typeof media.schema === 'object', `${where} ${status} ${type}: schema`);
          const reference = media.schema.$ref?.slice(1);
          const faults = reference === undefined ? '' : faultsOf(reference, example);
          need(faults === '', `${where} ${status}: the example does not fulfil its schema: ${faults}`);
          const mayBePlain = plain !== undefined && plain !== reference && type.endsWith('+json');
          const plainFaults = mayBePlain ? faultsOf(plain, example) : '';
          need(plainFaults === '', `${where} ${status} ${type}: nor that of plain JSON: ${plainFaults}`);
        }
      }
    }
  }
  t.same(wrong, []);
});

t.test('the page is self-contained', async (t) => {
  const page = await api.call('GET', '/openapi', { headers: { authorization: undefined, accept: 'text/html' } });
  t.match(page.headers.get('content-type'), /^text\/html/);
  t.notMatch(page.text, /<script|src=|@import|url\(/);
  t.same(
    api.server.router.routes.filter(({ path }) => !page.text.includes(path)).map(({ path }) => path),
    [],
  );
});

t.test('strangers share one description, which is made once', async (t) => {
  let made = 0;
  const route: Route = {
    method: 'GET',
    path: '/counts',
    area: 'system',
    access: 'public',
    get summary() {
      made += 1;
      return 'Counts how often it is described';
    },
    answers: [{ status: 204, description: 'Nothing' }],
    handle: () => ({ status: 204, text: '' }),
  };
  const api = await startApi(t, { further: [route] });
  const before = made;
  const hosts = Array.from({ length: 8 }, (_, index) => `h${index}.example.com`);
  const documents = await Promise.all(hosts.map((host) => rawRequest(api.port, 'GET', '/openapi.json', { host })));
  const described = made - before;
  for (const [index, { text, headers }] of documents.entries()) {
    const { servers, openapi, paths } = JSON.parse(text);
    t.same(servers, [{ url: `http://${hosts[index]}` }]);
    t.same([openapi, typeof paths['/counts'].get], ['3.1.0', 'object']);
    t.equal(headers['content-length'], String(Buffer.byteLength(text)));
  }
  const pages = await Promise.all(hosts.map((host) => rawRequest(api.port, 'GET', '/openapi', { host })));
  for (const { text } of pages) t.equal(text, pages[0].text);
  t.match(pages[0].text, 'Counts how often it is described');
  t.same([described, made - before], [1, 2], 'one document and one page');
  const [plain, head] = [await api.call('GET', '/openapi.json'), await api.call('HEAD', '/openapi.json')];
  t.same([head.status, head.text], [200, '']);
  t.equal(head.headers.get('content-length'), String(Buffer.byteLength(plain.text)));
});
