import t from 'tap';
import { Router, allowedMethods } from '../../../src/api/request/router.ts';
import type { Route } from '../../../src/api/request/route.ts';
import type { Method } from '../../../src/api/request/route-rules.ts';
import { apiRoutes } from '../../../src/api/routes.ts';

const route = (method: Method, path: string): Route => ({
  method,
  path,
  area: 'x',
  access: 'user',
  summary: '',
  answers: [],
  handle: () => ({ status: 200, text: '' }),
});

t.test('fixed paths before parameters, decoding after splitting, slashes at the end ignored', async (t) => {
  const router = new Router([
    route('GET', '/a'),
    route('GET', '/a/{id}'),
    route('PUT', '/a/{id}'),
    route('GET', '/a/count'),
    route('GET', '/a/{id}/b/{childId}'),
  ]);
  const check = (path: string, want: string | undefined, params: object = {}): void => {
    const match = router.find(path, 'GET');
    t.equal(match?.entry.path, want, path);
    if (match !== undefined) t.strictSame({ ...match.params }, params, `${path}: parameters`);
  };
  check('/a', '/a');
  check('/a//', '/a');
  check('/a/count', '/a/count');
  check('/a/7/', '/a/{id}', { id: '7' });
  check('/a/x%2Fy%20z', '/a/{id}', { id: 'x/y z' });
  check('/a/1/b/2', '/a/{id}/b/{childId}', { id: '1', childId: '2' });
  check('/a/count/b/2', '/a/{id}/b/{childId}', { id: 'count', childId: '2' });
  check('/a/__proto__', '/a/{id}', { id: '__proto__' });
  check('/a//b/2', undefined);
  check('/', undefined);
  check('/b', undefined);
  check(`/${'a/'.repeat(5000)}`, undefined);
  t.throws(() => router.find('/a/%zz', 'GET'), { code: 'general/bad-path' });
  t.equal(allowedMethods(router.find('/a/1', 'GET')?.entry as never), 'GET, PUT, HEAD, OPTIONS');
});

t.test('an entity that is called like a fixed path has the methods that the path has not', async (t) => {
  const router = new Router([
    route('GET', '/a/{id}'),
    route('DELETE', '/a/{id}'),
    route('GET', '/a/limit'),
    route('PUT', '/{x}/limit/b'),
    route('GET', '/a/{id}/b'),
  ]);
  const cases: [method: string, path: string, want: string | undefined, params?: object][] = [
    ['GET', '/a/limit', '/a/limit', {}],
    ['DELETE', '/a/limit', '/a/{id}', { id: 'limit' }],
    ['DELETE', '/a/limit/', '/a/{id}', { id: 'limit' }],
    ['POST', '/a/limit', '/a/limit', {}],
    ['POST', '/a/other', '/a/{id}', { id: 'other' }],
    ['GET', '/a/limit/b', '/a/{id}/b', { id: 'limit' }],
    ['PUT', '/a/limit/b', '/{x}/limit/b', { x: 'a' }],
    ['POST', '/a/limit/b', '/a/{id}/b', { id: 'limit' }],
    ['GET', '/b', undefined],
  ];
  for (const [method, path, want, params] of cases) {
    const match = router.find(path, method);
    t.equal(match?.entry.path, want, `${method} ${path}`);
    if (match !== undefined) t.strictSame({ ...match.params }, params, `${method} ${path}`);
  }
});

/** URLs that two paths of the table could mean, of which none is the more fixed one: which of them it is. */
const PAIRS: readonly (readonly [method: string, url: string, path: string])[] = [
  ...['devicePermissions', 'inventoryroles'].flatMap((name) =>
    ['users', 'groups'].map((id) => ['GET', `/user/${name}/${id}`, `/user/${name}/{id}`] as const),
  ),
  ...['users', 'groups'].map((name) => ['GET', `/user/roles/${name}`, '/user/roles/{name}'] as const),
  ...['users', 'groups', 'userByName', 'groupByName'].map(
    (tenant) => ['POST', `/user/logout/${tenant}/allUsers`, '/user/logout/{tenant}/allUsers'] as const,
  ),
];

t.test('paths of the documents that could mean the same URL: no tenant has the name that decides', async (t) => {
  const router = new Router(apiRoutes());
  for (const [method, url, path] of PAIRS) t.equal(router.find(url, method)?.entry.path, path, url);
  for (const [method, url, path] of [
    ['DELETE', '/devicecontrol/newDeviceRequests/limit', '/devicecontrol/newDeviceRequests/{id}'],
    ['PUT', '/devicecontrol/newDeviceRequests/acceptAll', '/devicecontrol/newDeviceRequests/{id}'],
    ['GET', '/devicecontrol/newDeviceRequests/limit', '/devicecontrol/newDeviceRequests/limit'],
    ['DELETE', '/user/t1/users/newsletterEmails', '/user/{tenant}/users/{userId}'],
    ['GET', '/inventory/managedObjects/count', '/inventory/managedObjects/count'],
  ]) {
    t.equal(router.find(url, method)?.entry.path, path, `${method} ${url}`);
  }
  // A new pair has to be looked at.
  const isParameter = (part: string): boolean => part.startsWith('{');
  const paths = [...new Set(router.routes.filter(({ takesRest }) => takesRest !== true).map(({ path }) => path))].map(
    (path) => path.split('/'),
  );
  const ambiguous = paths.flatMap((one, index) =>
    paths
      .slice(index + 1)
      .filter(
        (other) =>
          one.length === other.length &&
          one.every((part, at) => part === other[at] || isParameter(part) || isParameter(other[at])) &&
          one.some((part, at) => isParameter(part) && !isParameter(other[at])) &&
          one.some((part, at) => !isParameter(part) && isParameter(other[at])),
      ),
  );
  t.equal(ambiguous.length, PAIRS.length, 'as many as are listed here');
});

t.test('a last parameter that takes the rest', async (t) => {
  const router = new Router([
    route('GET', '/a/{id}'),
    { ...route('GET', '/a/{id}/{file}'), takesRest: true },
    route('GET', '/a/{id}/b'),
    route('GET', '/a/x/y/z'),
  ]);
  const cases: [path: string, want: string | undefined, params?: object][] = [
    ['/a/1', '/a/{id}', { id: '1' }],
    ['/a/1/', '/a/{id}', { id: '1' }],
    ['/a/1/b', '/a/{id}/b', { id: '1' }],
    ['/a/1/c', '/a/{id}/{file}', { id: '1', file: 'c' }],
    ['/a/1/c/d%20e/f', '/a/{id}/{file}', { id: '1', file: 'c/d e/f' }],
    ['/a/1/b/c', '/a/{id}/{file}', { id: '1', file: 'b/c' }],
    ['/a/x/y/z', '/a/x/y/z', {}],
    ['/a/x/y/q', '/a/{id}/{file}', { id: 'x', file: 'y/q' }],
    ['/b/1/c', undefined],
    ['/a//c', undefined],
  ];
  for (const [path, want, params] of cases) {
    const match = router.find(path, 'GET');
    t.equal(match?.entry.path, want, path);
    if (match !== undefined) t.strictSame({ ...match.params }, params, path);
  }
});

t.test('the table itself', async (t) => {
  t.throws(() => new Router([route('GET', '/a'), route('GET', '/a')]), /two routes/);
  t.throws(() => new Router([route('GET', '/a/{id}'), route('GET', '/a/{name}/b')]), /is called/);
  for (const { access, roles, method, path } of new Router(apiRoutes()).routes) {
    if (access === 'roles' || access === 'owner') t.ok((roles?.length ?? 0) > 0, `${method} ${path} names its roles`);
  }
});
