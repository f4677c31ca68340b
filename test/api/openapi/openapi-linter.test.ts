/**
 * Foreign programs find nothing in the description of the API: a validator, and a linter with the rules that it
 * recommends.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import t from 'tap';
import { openApiDocument } from '../../../src/api/openapi/openapi.ts';
import { apiRoutes } from '../../../src/api/routes.ts';

/** Of `@redocly/openapi-core`, whose own types take a sixth of the time that the types of everything take. */
interface Linter {
  readonly createConfig: (config: { extends: readonly string[] }) => Promise<object>;
  readonly lintFromString: (input: {
    source: string;
    absoluteRef: string;
    config: object;
  }) => Promise<{ ruleId: string; message: string; location: { pointer?: string }[] }[]>;
}
const LINTER: string = '@redocly/openapi-core';
const { createConfig, lintFromString } = (await import(LINTER)) as Linter;

type SpecData = Exclude<Parameters<Validator['validate']>[0], string>;

const document: object = {
  ...openApiDocument(apiRoutes(), '1.2.3'),
  servers: [{ url: 'https://iot.example.org' }],
};

/** The paths of the documents: where both fit, the one without a parameter counts (`api/request/router.ts`). */
const AMBIGUOUS = ['/user/roles/{name}', '/user/inventoryroles/{id}', '/user/devicePermissions/{id}'].map(
  (path) => `Paths should resolve unambiguously. Found two ambiguous paths: \`/user/{tenant}/users\` and \`${path}\`.`,
);

async function lint(value: object): Promise<{ ruleId: string; message: string; at: string | undefined }[]> {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: JSON.stringify(value), absoluteRef: '/openapi.json', config });
  return problems.map(({ ruleId, message, location: [place] }) => ({ ruleId, message, at: place?.pointer }));
}

t.test('/openapi.json is OpenAPI 3.1', async (t) => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document) as unknown as SpecData);
  t.same(result.errors ?? [], []);
  t.ok(result.valid);
  t.equal(validator.version, '3.1');
  t.notOk(
    (await new Validator().validate({ ...document, paths: { '/x': { get: { responses: 5 } } } } as unknown as SpecData))
      .valid,
    'it would find something',
  );
});

t.test('the linter finds nothing, neither errors nor warnings', async (t) => {
  const problems = await lint(document);
  t.same(
    problems.filter(({ message }) => !AMBIGUOUS.includes(message)),
    [],
  );
  t.same(
    problems
      .filter(({ message }) => AMBIGUOUS.includes(message))
      .map(({ message }) => message)
      .sort(),
    [...AMBIGUOUS].sort(),
    'what is excepted is there',
  );
  const { '/event/events/{id}': item } = (document as { paths: Record<string, object> }).paths;
  const rules = (
    await lint({ ...document, components: {}, paths: { '/event/events/{id}': { ...item, parameters: [] } } })
  ).map(({ ruleId }) => ruleId);
  t.ok(rules.includes('path-parameters-defined'), `it would find something: ${[...new Set(rules)].join()}`);
});
