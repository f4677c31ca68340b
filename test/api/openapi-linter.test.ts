/** A foreign validator finds nothing in the description of the API. */
import { Validator } from '@seriousme/openapi-schema-validator';
import t from 'tap';
import { openApiDocument } from '../../src/api/openapi.ts';
import { apiRoutes } from '../../src/api/routes.ts';

type SpecData = Exclude<Parameters<Validator['validate']>[0], string>;

t.test('/openapi.json is OpenAPI 3.1', async (t) => {
  const document = openApiDocument(apiRoutes(), 'https://iot.example.org', '1.2.3');
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document) as unknown as SpecData);
  t.same(result.errors ?? [], []);
  t.ok(result.valid);
  t.equal(validator.version, '3.1');
  t.notOk((await new Validator().validate({ ...document, paths: { '/x': { get: { responses: 5 } } } } as unknown as SpecData)).valid, 'it would find something');
});
