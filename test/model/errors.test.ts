/**
 * The table of errors: every row is used, every place of its message is filled, and its parts are what they have to be.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ERRORS, PlatformError, refusedBy } from '../../src/model/errors.ts';
import type { ErrorCode, ErrorEntry } from '../../src/model/errors.ts';
import { errorsPage } from '../../src/model/errors-page.ts';
import { ROOT } from '../helpers/root.ts';

const rows = Object.entries(ERRORS) as [ErrorCode, ErrorEntry][];
const table = readFileSync(join(ROOT, 'src/model/errors.ts'), 'utf8');
const sources = (readdirSync(join(ROOT, 'src'), { recursive: true }) as string[])
  .filter((path) => path.endsWith('.ts') && path !== join('model', 'errors.ts'))
  .map((path) => ({ path, text: readFileSync(join(ROOT, 'src', path), 'utf8') }));
const placesOf = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);

/** docs/spec/errors.md#statuses. */
const STATUSES = [400, 401, 403, 404, 405, 406, 409, 411, 413, 415, 416, 422, 429, 500, 502, 503, 504];

t.test('every row', async (t) => {
  for (const [code, { status, error, message }] of rows) {
    t.ok(STATUSES.includes(status), `${code}: status ${status}`);
    t.match(error, /^(?:[\w-]+|\{area\})\/[\w ]+$|^[\w ]+$/, `${code}: ${error}`);
    t.match(message, /^[A-Za-z{'].*[^ ]$/s, `${code}: ${message}`);
    t.match(code, /^[a-z-]+\/[a-z0-9-]+$/, code);
  }
});

t.test('no row that nobody uses', async (t) => {
  const used = new Set(sources.flatMap(({ text }) => text.match(/'[a-z-]+\/[a-z0-9-]+'/g) ?? []));
  const unused = rows.filter(([code]) => !used.has(`'${code}'`) && table.split(`'${code}'`).length < 3);
  t.same(
    unused.map(([code]) => code),
    [],
  );
});

t.test('every place of a message is filled where an error is made', async (t) => {
  let count = 0;
  const wrong: string[] = [];
  for (const { path, text } of sources)
    for (const [, code = '', details = ''] of text.matchAll(
      /new PlatformError\(\s*'([a-z-]+\/[a-z0-9-]+)'\s*(?:,\s*(\{[^;]*?\})\s*)?\)/g,
    )) {
      count += 1;
      const row = (ERRORS as Readonly<Record<string, ErrorEntry>>)[code];
      if (details.includes('...') || row === undefined) continue;
      for (const name of placesOf(`${row.error} ${row.message}`))
        if (!new RegExp(`\\b${name}\\b`).test(details)) wrong.push(`${name} of ${code} in ${path}`);
    }
  t.same(wrong, []);
  t.ok(count > 100, `${count} places were looked at`);
});

t.test('what a client sent is cut in a message, and cannot fill another place', async (t) => {
  const { message } = new PlatformError('general/invalid-parameter', {
    name: '{limit}',
    value: 'v'.repeat(5_000),
    limit: '$& $1 {name}',
  });
  t.ok(message.length < 400);
  t.match(message, /^The parameter \{limit\} has the value v+…; it takes \$& \$1 \{name\}$/);
});

t.test(
  'what MQTT 5 is told of a store: a quota where something is used up, else that it is away or busy',
  async (t) => {
    for (const limit of ['journal/bytes', 'journal/storage', 'disk/free-bytes'])
      t.equal(refusedBy(limit).mqttReason, 0x97, limit);
    for (const limit of ['journal/unavailable', 'journal/unreachable', 'authentication/checks-waiting'])
      t.equal(refusedBy(limit).mqttReason, 0x89, limit);
    for (const code of ['general/documents-unavailable', 'general/history-unavailable'] as const)
      t.equal(new PlatformError(code, { reason: 'away' }).mqttReason, 0x88, code);
    t.equal(new PlatformError('commands/answer-timeout', { limit: 1 }).mqttReason, 0x88);
  },
);

t.test('docs/reference/errors.md is up to date (npm run docs)', async (t) => {
  t.equal(readFileSync(join(ROOT, 'docs/reference/errors.md'), 'utf8'), errorsPage());
});
