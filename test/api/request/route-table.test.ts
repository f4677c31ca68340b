/** What every route has to say about itself, so that /openapi.json is of use: roles, schemas, examples, words. */
import t from 'tap';
import { apiRoutes } from '../../../src/api/routes.ts';
import type { Route } from '../../../src/api/request/route.ts';
import { ANSWER_SCHEMAS } from '../../../src/api/openapi/answer-schemas.ts';

const routes = apiRoutes();
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;
const lacking = (condition: (route: Route) => boolean): string[] =>
  routes.filter((route) => !condition(route)).map(nameOf);

t.test('words', async (t) => {
  t.same(
    lacking(({ summary }) => /^[A-Z].{5,}[^.]$/.test(summary)),
    [],
    'summaries are short sentences without a full stop',
  );
  t.same(
    lacking(({ answers }) => answers.length > 0 && answers.every(({ description }) => description !== '')),
    [],
    'every answer is described',
  );
  t.same(
    lacking(({ query = {} }) => Object.values(query).every(({ description }) => description.length > 3)),
    [],
    'every parameter is described',
  );
});

t.test('roles', async (t) => {
  t.same(
    lacking(({ access, roles = [] }) => !['roles', 'owner'].includes(access) || roles.length > 0),
    [],
  );
});

t.test('a JSON body has a schema and an example', async (t) => {
  const isJson = ({ body }: Route): boolean =>
    body !== undefined && (body.form ?? 'json') === 'json' && body.isOptional !== true;
  t.same(
    lacking((route) => !isJson(route) || route.body?.schema !== undefined),
    [],
    'schemas',
  );
  t.same(
    lacking((route) => !isJson(route) || route.body?.example !== undefined),
    [],
    'examples',
  );
});

t.test('an entity in an answer has a schema', async (t) => {
  t.same(
    lacking(({ answers }) =>
      answers.every(({ mediaType }) => mediaType === undefined || Object.hasOwn(ANSWER_SCHEMAS, mediaType)),
    ),
    [],
  );
});

t.test('a GET answers with something', async (t) => {
  const isEmpty = ({ path }: Route): boolean =>
    path === '/' || path === '/user/passwordReset/validate' || path.startsWith('/service/');
  t.same(
    lacking(
      (route) =>
        route.method !== 'GET' ||
        isEmpty(route) ||
        route.answers.some(({ mediaType, contentTypes }) => mediaType !== undefined || contentTypes !== undefined),
    ),
    [],
  );
});
