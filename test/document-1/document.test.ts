/**
 * Document 1 against the tables of this folder. Each line of the document has its place in lines.ts, each row of its
 * tables of fields and endpoints its row in fields.ts and endpoints.ts, and what these say is what the cells say.
 * Without the document the number of rows is what was found in it.
 */
import { createHash } from 'node:crypto';
import t from 'tap';
import type { Test } from 'tap';
import { ENDPOINTS } from './endpoints.ts';
import { FIELD_NAMES, checkEndpoint, checkField } from './cells.ts';
import { RESOURCES } from './fields.ts';
import { FILTERED } from './filters.ts';
import { testTitles } from './held-by.ts';
import { DOCUMENT_SHA256, ENDPOINT_ROWS, FIELD_ROWS, LINES } from './lines.ts';
import { documentText, linesOf } from './the-document.ts';
import type { Line } from './the-document.ts';

const text = documentText();
const lines = text === undefined ? undefined : linesOf(text);
const isOf =
  (column: string) =>
  ({ columns }: Line): boolean =>
    columns?.[0] === column;
/** Rows of other tables, and what is in no table. */
const isElsewhere = (line: Line): boolean => !isOf('Field')(line) && !isOf('Method')(line);
const NAMES = testTitles('document-1/rules');

/** What document and transcript do not have in common. */
function compare(found: readonly Line[]): string[] {
  const wanted = Object.entries(LINES).flatMap(([heading, all]) => all.map(([start]) => `${heading}: ${start}`));
  const rest = [...wanted];
  const extra = found
    .map(({ heading, text: line }) => `${heading}: ${line}`)
    .filter((line) => {
      const place = rest.findIndex((one) => line.startsWith(one));
      if (place >= 0) rest.splice(place, 1);
      return place < 0;
    });
  return [
    ...extra.map((line) => `not in lines.ts: ${line.slice(0, 160)}`),
    ...rest.map((line) => `not in the document: ${line}`),
  ];
}

t.test('rows have names of their own', async (t) => {
  t.same(
    NAMES.filter((name, index) => NAMES.indexOf(name) !== index),
    [],
  );
});

t.test('each line names rows that are there, and each row is named', async (t) => {
  const named = Object.values(LINES).flatMap((all) => all.flatMap(([, ...rows]) => rows));
  t.same(
    named.filter((name) => !NAMES.includes(name)),
    [],
  );
  const beside = [
    ...FILTERED.flatMap(({ path, groups }) =>
      groups.map(({ parameters }) => `${path}: ${parameters.join(', ')} select`),
    ),
    '/inventory/managedObjects: ids selects',
  ];
  const ofFields = RESOURCES.flatMap(({ rows }) => rows.flatMap(({ heldBy = [] }) => heldBy.map(([, title]) => title)));
  // What fields and endpoints do, beyond their rows.
  const further = [
    'Application: activeVersionId',
    'Tenant: sendPasswordResetEmail',
    'Tenant: parent',
    'Inventory: DELETE also deletes registration, measurements, alarms, events, operations',
    'Inventory: DELETE of a child removes only the reference',
  ];
  t.same(
    NAMES.filter(
      (name) =>
        !named.includes(name) &&
        !beside.some((one) => name.startsWith(one)) &&
        !ofFields.includes(name) &&
        !further.includes(name),
    ),
    [],
  );
  t.same(
    Object.entries(LINES)
      .flatMap(([heading, all]) =>
        all.filter(([start]) => start.length < 20 && start !== 'Rules:').map(([start]) => `${heading}: ${start}`),
      )
      .filter((one) => !/\|/.test(one)),
    [],
  );
});

t.test('the tables have as many rows as the document had', async (t) => {
  const names = (heading: string): readonly string[] =>
    FIELD_NAMES(RESOURCES.find((one) => one.heading === heading)?.rows ?? []);
  for (const [heading, count] of Object.entries(FIELD_ROWS)) t.equal(names(heading).length, count, heading);
  t.same(Object.fromEntries(ENDPOINTS.map(({ heading, rows }) => [heading, rows.length])), ENDPOINT_ROWS);
});

t.test('the comparison finds what is missing', async (t) => {
  const all = Object.entries(LINES).flatMap(([heading, ofHeading]) =>
    ofHeading.map(([start]): Line => ({ heading, text: start })),
  );
  t.same(compare(all), []);
  t.match(compare(all.slice(1)), [/^not in the document: Platform/]);
  t.match(compare([...all, { heading: 'Limits', text: 'tenant name | 7 characters' }]), [
    /^not in lines.ts: Limits: tenant name/,
  ]);
  t.match(compare([...all, all[5]]), [/^not in lines.ts/], 'a line twice');
  const table = '### Alarm\n| Field | Type |\n|---|---|\n| id | string |\n\ntext\n| Other | a |\n|---|---|\n| x | y |';
  t.same(
    linesOf(table).map(({ heading, text: line, columns }) => [heading, line, columns?.[0]]),
    [
      ['Alarm', 'id | string', 'Field'],
      ['Alarm', 'text', undefined],
      ['Alarm', 'x | y', 'Other'],
    ],
  );
});

if (lines === undefined) t.comment('the document does not lie beside the repository: MILLRACE_DOCUMENTS says where');
else {
  t.test('the document', async (t) => {
    t.equal(
      createHash('sha256')
        .update(text ?? '')
        .digest('hex'),
      DOCUMENT_SHA256,
      'is the one that was compared',
    );
    t.same(compare(lines.filter(isElsewhere)), []);
    const order = (all: readonly string[]): string[] => all.filter((heading, index) => all.indexOf(heading) === index);
    t.same(order(lines.map(({ heading }) => heading)), order(Object.keys(LINES)), 'its headings in their order');
  });

  const tables = (column: string): Map<string, Line[]> => {
    const found = new Map<string, Line[]>();
    for (const line of lines.filter(isOf(column))) found.set(line.heading, [...(found.get(line.heading) ?? []), line]);
    return found;
  };
  const check = (
    what: string,
    found: Map<string, Line[]>,
    counts: Readonly<Record<string, number>>,
    one: (t: Test, heading: string, rows: readonly Line[]) => void,
  ): void => {
    t.test(what, async (t) => {
      t.same(Object.fromEntries([...found].map(([heading, rows]) => [heading, rows.length])), counts);
      for (const [heading, rows] of found) await t.test(heading, async (t) => one(t, heading, rows));
    });
  };
  check('its tables of fields', tables('Field'), FIELD_ROWS, (t, heading, rows) => {
    const resource = RESOURCES.find((one) => one.heading === heading);
    let last = -1;
    for (const line of rows) last = checkField(t, line, resource?.rows ?? [], last);
  });
  check('its tables of endpoints', tables('Method'), ENDPOINT_ROWS, (t, heading, rows) => {
    const table = ENDPOINTS.find((one) => one.heading === heading);
    for (const [index, line] of rows.entries()) checkEndpoint(t, line, table?.rows[index], rows);
  });
}
