/** What is wrong with a field is said in sentences: "it takes" and what it takes. */
import t from 'tap';
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { compileBodyCheck } from '../../../src/model/schema/body-check.ts';
import { compileQueryCheck, parseQuery } from '../../../src/api/request/schema/query-values.ts';
import { apiRoutes } from '../../../src/api/routes.ts';
import { KEYWORDS_WITH_WORDS } from '../../../src/model/schema/limits.ts';
import type { PlatformError } from '../../../src/model/errors.ts';

function messageOf(check: () => void): string {
  try {
    check();
  } catch (error) {
    return (error as PlatformError).message;
  }
  return '';
}

t.test('one sentence for each keyword', async (t) => {
  const rows: [schema: TSchema, value: unknown, limit: string][] = [
    [Type.String({ maxLength: 20 }), 'x'.repeat(21), 'at most 20 characters'],
    [Type.String({ maxLength: 1 }), 'xx', 'at most 1 character'],
    [Type.String({ minLength: 1 }), '', 'a text that is not empty'],
    [Type.String({ minLength: 2 }), 'x', 'at least 2 characters'],
    [Type.Optional(Type.Union([Type.String({ maxLength: 3 }), Type.Null()])), 'long', 'at most 3 characters'],
    [Type.String({ pattern: '^a+$' }), 'b', 'a text of the form ^a+$'],
    [Type.String({ format: 'email' }), 'b', 'a text of the format email'],
    [Type.Integer({ minimum: 3 }), 2, 'at least 3'],
    [Type.Integer({ maximum: 3 }), 4, 'at most 3'],
    [Type.Number({ exclusiveMinimum: 0 }), 0, 'more than 0'],
    [Type.Number({ exclusiveMaximum: 1 }), 1, 'less than 1'],
    [Type.Number({ multipleOf: 5 }), 6, 'a multiple of 5'],
    [Type.Array(Type.Integer(), { maxItems: 1 }), [1, 2], 'at most 1 entry'],
    [Type.Array(Type.Integer(), { minItems: 2 }), [1], 'at least 2 entries'],
    [Type.Array(Type.Integer(), { uniqueItems: true }), [1, 1], 'entries that are all different'],
    [Type.Object({}, { maxProperties: 1 }), { a: 1, b: 2 }, 'at most 1 member'],
    [Type.Object({}, { minProperties: 2 }), { a: 1 }, 'at least 2 members'],
    [Type.Enum(['A', 'B']), 'C', 'one of A, B'],
    [Type.Literal('A'), 'C', '"A" alone'],
    [Type.String(), 7, 'a value of type string'],
  ];
  for (const [schema, value, limit] of rows) {
    const message = messageOf(() => compileBodyCheck(Type.Object({ field: schema }), 'test')({ field: value }));
    t.equal(message, `The field field has the value ${JSON.stringify(value)}; it takes ${limit}`);
  }
  const closed = compileBodyCheck(Type.Object({}, { additionalProperties: false }), 'test');
  t.equal(
    messageOf(() => closed({ a: 1 })),
    'The field a has the value 1; it takes no value: this member does not exist',
  );
});

t.test('parameters too', async (t) => {
  const check = compileQueryCheck({
    ids: { schema: Type.String({ pattern: '^\\d+$' }), description: '', isList: true },
    short: { schema: Type.String({ maxLength: 2 }), description: '' },
    some: { schema: Type.Integer({ maximum: 5 }), description: '' },
  });
  for (const [query, limit] of [
    ['ids=1,x', 'a text of the form ^\\d+$'],
    ['short=xyz', 'at most 2 characters'],
    ['some=6', 'an integer up to 5'],
  ] as const) {
    t.ok(
      messageOf(() => check(parseQuery(query))).endsWith(`; it takes ${limit}`),
      messageOf(() => check(parseQuery(query))),
    );
  }
});

/** Keywords that restrict a value, in a schema and all below it. */
function keywordsOf(schema: unknown, found: Set<string> = new Set()): Set<string> {
  if (Array.isArray(schema)) {
    for (const one of schema) keywordsOf(one, found);
  } else if (typeof schema === 'object' && schema !== null) {
    for (const [name, value] of Object.entries(schema)) {
      if (name === 'properties' || name === 'patternProperties')
        for (const one of Object.values(value as object)) keywordsOf(one, found);
      else if (['items', 'anyOf', 'allOf', 'oneOf', 'additionalProperties'].includes(name)) keywordsOf(value, found);
      else if (!['description', 'required', 'default', 'title', 'examples', '~kind', '~optional'].includes(name))
        found.add(name);
    }
  }
  return found;
}

t.test('the routes ask for nothing that has no words', async (t) => {
  const used = apiRoutes().flatMap(({ body }) => [...keywordsOf(body?.schema)]);
  t.same(
    [...new Set(used)].filter((name) => !KEYWORDS_WITH_WORDS.has(name)),
    [],
  );
});
