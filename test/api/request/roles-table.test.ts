/**
 * Over the whole route table: without one of a route's roles it answers 403, with each of them something else; without
 * credentials 401.
 */
import t from 'tap';
import { apiRoutes } from '../../../src/api/routes.ts';
import type { Route } from '../../../src/api/request/route.ts';
import { ROLES } from '../../../src/model/access/roles.ts';
import { basic, startApi } from '../helpers/api.ts';

const api = await startApi(t);
const PARAMETERS: Readonly<Record<string, string>> = {
  tenant: 't1',
  id: '1',
  childId: '2',
  userId: 'somebody',
  roleId: 'ROLE_ALARM_READ',
  name: 'somebody',
  tenantId: 't1',
};

/** A path of the route, with something in place of its parameters. */
const pathOf = ({ path }: Route): string => path.replace(/\{(\w+)\}/g, (_all, name: string) => PARAMETERS[name] ?? '1');

async function call(route: Route, authorization: string | undefined): Promise<number> {
  const hasBody = route.method === 'POST' || route.method === 'PUT';
  const { status } = await api.call(route.method, pathOf(route), {
    headers: { authorization },
    ...(hasBody ? { body: route.body?.example ?? {} } : {}),
  });
  return status;
}

const routes = apiRoutes();
const guarded = routes.filter(({ access }) => access === 'roles');

t.test('what needs no login is what has to', async (t) => {
  t.same(
    routes
      .filter(({ access }) => access === 'public')
      .map(({ method, path }) => `${method} ${path}`)
      .sort(),
    [
      'GET /',
      'GET /console',
      'GET /console/{file}',
      'GET /favicon.ico',
      'GET /health',
      'GET /openapi',
      'GET /openapi.json',
      'GET /tenant/loginOptions',
      'GET /user/passwordReset/validate',
      'POST /devicecontrol/deviceAccessToken',
      'POST /notification2/unsubscribe',
      'POST /tenant/oauth',
      'POST /tenant/oauth/token',
      'POST /user/passwordReset',
      'PUT /user/passwordReset',
    ],
  );
});

// One assertion for all: there are thousands.
t.test('without credentials', async (t) => {
  const wrong: string[] = [];
  for (const route of routes) {
    if (route.access === 'public' || route.access === 'optional') continue;
    const status = await call(route, undefined);
    if (status !== 401) wrong.push(`${route.method} ${route.path}: ${status}`);
  }
  t.same(wrong, []);
});

t.test('a route with roles names roles that there are', async (t) => {
  const known = [...ROLES, 'ROLE_SYSTEM', 'ROLE_DEVICE_BOOTSTRAP'];
  t.ok(guarded.length > 100);
  t.same(
    guarded.filter(({ roles = [] }) => roles.length === 0 || roles.some((role) => !known.includes(role))),
    [],
  );
});

t.test('with all other roles: 403', async (t) => {
  const wrong: string[] = [];
  for (const [index, route] of guarded.entries()) {
    const name = `lacks-${index}`;
    api.fake.addUser(
      name,
      ROLES.filter((role) => !route.roles?.includes(role)),
    );
    const status = await call(route, basic(`t1/${name}`));
    if (status !== 403) wrong.push(`${route.method} ${route.path}: ${status}`);
  }
  t.same(wrong, []);
});

t.test('with each of its roles alone: not refused by the table', async (t) => {
  const message = 'Access is denied.';
  const wrong: string[] = [];
  for (const route of guarded) {
    for (const role of route.roles ?? []) {
      const name = `only-${role.toLowerCase()}`;
      api.fake.addUser(name, [role]);
      api.fake.put(
        'user',
        name,
        JSON.stringify({ userName: name, password: 'x', roles: [role], enabled: true, doc: '{}' }),
      );
      // A handler may still refuse by what is asked for: a body that is no JSON does not get so far.
      const hasBody = route.body !== undefined && route.body.form !== 'bytes' && route.body.isOptional !== true;
      const path = pathOf(route).replace('/t1/users/somebody', `/t1/users/${name}`);
      const { status, text } = await api.call(route.method, path, {
        headers: { authorization: basic(`t1/${name}`) },
        ...(hasBody ? { body: '[' } : {}),
      });
      const isRefused = status === 403 && text.includes(message);
      if ((hasBody && isRefused) || (!hasBody && route.method === 'GET' && status === 401))
        wrong.push(`${route.method} ${route.path} with ${role}: ${status}`);
    }
  }
  t.same(wrong, []);
});
