/**
 * A client generated from /openapi.json by foreign programs: its types are generated, a program that uses them is
 * compiled, and then does its work.
 */
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import t from 'tap';
import ts from 'typescript';
import { PASSWORD, TENANT, startServer } from '../../helpers/running/server.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { ROOT } from '../../helpers/root.ts';

const server = await startServer(t);
const folder = scratchDirectory(t);
const SCENARIO = join(folder, 'scenario.mts');

/** The compiler's complaints about the program. */
function complaints(): string[] {
  const program = ts.createProgram([SCENARIO], {
    strict: true,
    skipLibCheck: true,
    noUncheckedIndexedAccess: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
  });
  const { diagnostics } = program.emit();
  return [...ts.getPreEmitDiagnostics(program), ...diagnostics].map(
    ({ messageText, file, start }) =>
      `${file?.fileName}:${file?.getLineAndCharacterOfPosition(start ?? 0).line}: ${ts.flattenDiagnosticMessageText(messageText, ' ').slice(0, 400)}`,
  );
}

t.test('types for every route are generated, and fit the program', async (t) => {
  const document = await server.rest.read('/openapi.json');
  const text = astToString(await openapiTS(document));
  for (const path of Object.keys(document.paths)) t.ok(text.includes(`"${path}"`), path);
  writeFileSync(join(folder, 'api.ts'), text);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  copyFileSync(join(ROOT, 'test/e2e/clients/generated-client/scenario.mts'), SCENARIO);
  t.same(complaints(), []);
});

t.test('the program does its work', async (t) => {
  const { scenario } = await import(join(folder, 'scenario.mjs'));
  const result = await scenario(server.url, `Basic ${Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64')}`);
  t.match(result, {
    location: `${server.url}/inventory/managedObjects/${result.device}`,
    alarm: { status: 'CLEARED' },
    operations: ['Restart'],
    refused: { status: 422, error: /^alarm\// },
    after: 204,
  });
  t.same(
    result.values.map(({ T }: any) => T),
    [21, 22, 23].map((value) => ({ value, unit: 'C' })),
  );
});
