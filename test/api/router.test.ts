import t from 'tap';
import { Router, allowedMethods } from '../../src/api/router.ts';
import type { Method, Route } from '../../src/api/route.ts';
import { apiRoutes } from '../../src/api/routes.ts';

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
    const match = router.find(path);
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
  t.throws(() => router.find('/a/%zz'), { code: 'general/bad-path' });
  t.equal(allowedMethods(router.find('/a/1')?.entry as never), 'GET, PUT, HEAD, OPTIONS');
});

t.test('a last parameter that takes the rest', async (t) => {
  const router = new Router([route('GET', '/a/{id}'), { ...route('GET', '/a/{id}/{file}'), takesRest: true }, route('GET', '/a/{id}/b'), route('GET', '/a/x/y/z')]);
  const cases: [path: string, want: string | undefined, params?: object][] = [
    ['/a/1', '/a/{id}', { id: '1' }], ['/a/1/', '/a/{id}', { id: '1' }], ['/a/1/b', '/a/{id}/b', { id: '1' }], ['/a/1/c', '/a/{id}/{file}', { id: '1', file: 'c' }],
    ['/a/1/c/d%20e/f', '/a/{id}/{file}', { id: '1', file: 'c/d e/f' }], ['/a/1/b/c', '/a/{id}/{file}', { id: '1', file: 'b/c' }],
    ['/a/x/y/z', '/a/x/y/z', {}], ['/a/x/y/q', '/a/{id}/{file}', { id: 'x', file: 'y/q' }], ['/b/1/c', undefined], ['/a//c', undefined],
  ];
  for (const [path, want, params] of cases) {
    const match = router.find(path);
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
