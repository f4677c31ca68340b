/**
 * What the cells of document 1's tables of fields and endpoints say, against the rows of fields.ts and endpoints.ts. A
 * cell that is not understood is an error.
 */
import type { Test } from 'tap';
import { FILTERED } from './filters.ts';
import { testTitles } from './held-by.ts';
import type { EndpointRow, FieldRow, FieldType, Use } from './rows.ts';
import type { Line } from './the-document.ts';

/** Names of fields, one for each line of the document. */
export const FIELD_NAMES = (rows: readonly FieldRow[]): string[] =>
  rows.filter(({ isSameLine = false }) => !isSameLine).map(({ field }) => field);

/** Beginnings of the column Type. */
const TYPES: readonly (readonly [RegExp, FieldType])[] = [
  [/^string\b/, 'string'],
  [/^boolean\b/, 'boolean'],
  [/^(integer|long)\b/, 'integer'],
  [/^array\b/, 'array'],
  [/^timestamp\b/, 'timestamp'],
  [
    /^(object\b|operation body|collection of|audit record collection|application reference collection|`\{|any$)/,
    'object',
  ],
  [/^`[A-Z]+`/, 'string'],
];
const USES: readonly (readonly [RegExp, Use])[] = [
  [/^no\b/, 'no'],
  [/^returned$/, 'no'],
  [/^set only when/, 'no'],
  [/^mandatory$/, 'mandatory'],
  [/^optional\b/, 'optional'],
];
const matched = <Value>(table: readonly (readonly [RegExp, Value])[], cell: string): Value | undefined =>
  table.find(([form]) => form.test(cell))?.[1];

/** What words of the notes mean for a row. */
const NOTES: readonly (readonly [words: RegExp, holds: (row: FieldRow, found: RegExpExecArray) => boolean])[] = [
  [/\b(public|private)\b/, ({ visibility }, [, word]) => visibility === word],
  [/\bunique\b/, ({ isUnique }) => isUnique === true],
  [/immutable after creation/, ({ put }) => put === 'no'],
  [/auto-generated when absent \(format `t<number>`\)/, ({ initially }) => String(initially) === String(/^t\d+$/)],
  [/write only/, ({ isWriteOnly }) => isWriteOnly === true],
  [/server generated/, ({ post, put }) => post === 'no' && put === 'no'],
  [/required on create/, ({ post }) => post === 'mandatory'],
  [/changeable after creation/, ({ put }) => put === 'optional'],
  [/^optional$/, ({ post }) => post === 'optional'],
  [/at least 2 characters/, ({ refused = [] }) => refused.includes('a')],
  [
    /whitespace, slashes, `\+`, `\$`, `:` not allowed/,
    ({ refused = [] }) =>
      [' ', '\t', '/', '\\', '+', '$', ':'].every((letter) => refused.some((one) => String(one).includes(letter))),
  ],
  [
    /lowercase letters, digits, hyphens; starts with a letter; hyphens only in the middle/,
    ({ refused = [] }) => ['Ab', '1ab', '-ab', 'ab-', 'a b', 'a.b'].every((one) => refused.includes(one)),
  ],
  [/default `([A-Z]+)`/, ({ initially }, [, value]) => initially === value],
  [/set to ([A-Z]+)/, ({ initially }, [, value]) => initially === value],
];

/** Values in capitals; one alone is an example. */
function checkValues(t: Test, { cells = [] }: Line, row: FieldRow): void {
  const values = (
    cells
      .slice(1)
      .join(' ')
      .match(/`[A-Z]{3,}`/g) ?? []
  ).map((value) => value.slice(1, -1));
  const all = [...new Set(values)].sort();
  if (all.length < 2) return;
  // What is never sent is seen in the states.
  if (row.post === 'no' && row.put === 'no') t.ok(all.includes(String(row.initially)), 'one of its values');
  else t.same([...(row.oneOf ?? [])].sort(), all, 'its values');
}

/** @param last place of the row of the line above. @returns that of this line. */
export function checkField(t: Test, line: Line, rows: readonly FieldRow[], last: number): number {
  const { cells = [], columns = [] } = line;
  const names = cells[0].replace(/ \(.*/, '').split(/ \/ |, /);
  const examples = /^any$|fragments/.test(`${cells[1]} ${names[0]}`)
    ? (`${cells[0]} ${cells[2]}`.match(/`(c8y|com)_\w+`/g) ?? []).map((name) => name.slice(1, -1))
    : [];
  for (const name of [...names, ...examples]) {
    const row = rows.find(({ field }) => field === name);
    if (row === undefined) {
      t.fail(`${line.heading}: ${name} has a row`);
      continue;
    }
    if (names.includes(name)) checkCells(t, line, row);
  }
  const place = rows.findIndex(({ field }) => field === names[0]);
  t.ok(place > last, `${line.heading}: ${names[0]} is in the order of the document`);
  t.ok(columns.length >= 3 && cells.length <= columns.length, 'the line has its columns');
  return place;
}

function checkCells(t: Test, line: Line, row: FieldRow): void {
  const { cells = [], columns = [] } = line;
  const what = `${line.heading}: ${row.field}`;
  const type = cells[1];
  t.equal(row.type, matched(TYPES, type), `${what}: type ${type}`);
  const max = /\bmax (\d+)/.exec(type)?.[1];
  t.equal(row.lengthMax, max === undefined ? undefined : Number(max), `${what}: its limit`);
  for (const [column, use] of [
    ['POST', row.post],
    ['PUT', row.put],
  ] as const) {
    const cell = cells[columns.findIndex((one) => one.includes(column))];
    if (cell === undefined) continue;
    t.equal(
      column === 'PUT' && row.putBy !== undefined ? 'no' : use,
      matched(USES, cell),
      `${what}: ${column} ${cell}`,
    );
    if (cell.startsWith('set only when status is '))
      t.strictSame(row.putWith, { status: cell.split(' ').pop() }, `${what}: ${cell}`);
  }
  for (const [words, holds] of NOTES) {
    const found = words.exec(cells.slice(1).join(' | ')) ?? words.exec(cells[2] ?? '');
    if (found !== null) t.ok(holds(row, found), `${what}: ${found[0]}`);
  }
  checkValues(t, line, row);
}

/** @param all lines of the table: "same query as GET" means the one above. */
export function checkEndpoint(t: Test, line: Line, row: EndpointRow | undefined, all: readonly Line[]): void {
  const { cells = [], columns = [] } = line;
  const cell = (column: string): string => cells[columns.indexOf(column)] ?? '-';
  const what = `${cell('Method')} ${cell('Path')}`;
  t.equal(row === undefined ? undefined : `${row.method} ${row.path}`, what, 'in the order of the document');
  if (row === undefined) return;
  const response = cell('Response');
  const status = /\b(20\d)\b/.exec(response)?.[1];
  if (status !== undefined) t.equal(row.status, Number(status), `${what}: ${response}`);
  if (response.includes('Location')) t.equal(row.hasLocation, true, `${what}: Location`);
  if (!/^(-|204)/.test(response))
    t.ok(row.answer !== undefined || row.check !== undefined, `${what}: what it answers is looked at: ${response}`);
  const role = cell('Role');
  const roles = role.match(/ROLE_\w+/g) ?? undefined;
  t.strictSame(
    row.roles === undefined ? undefined : [...row.roles].sort(),
    roles === undefined ? undefined : [...roles].sort(),
    `${what}: ${role}`,
  );
  t.equal(row.orOwner ?? false, /\bowner\b/.test(role), `${what}: owner`);
  t.ok(roles !== undefined || ['-', 'service provider'].includes(role), `${what}: ${role} is understood`);
  checkQuery(t, what, line, cell('Request'), all);
}

/** Each query parameter is one whose effect is looked at, and there is no other. */
function checkQuery(t: Test, what: string, line: Line, request: string, all: readonly Line[]): void {
  const { cells = [] } = line;
  const isSame = request === 'same query as GET';
  if (!isSame && !request.startsWith('query')) return;
  const source = isSame
    ? (all.find((one) => one.cells?.[0] === 'GET' && one.cells[1] === cells[1])?.cells?.[2] ?? '')
    : request;
  const filtered = FILTERED.find(({ path }) => path === cells[1]);
  if (filtered === undefined) {
    t.fail(`${what}: filters.ts has it`);
    return;
  }
  if (isSame) t.equal(filtered.isDeletable, true, `${what}: also with DELETE`);
  const known = [
    ...new Set([...filtered.groups.flatMap(({ parameters }) => parameters), ...Object.keys(filtered.elsewhere ?? {})]),
  ];
  t.same(known.sort(), (source.match(/`\w+`/g) ?? []).map((name) => name.slice(1, -1)).sort(), `${what}: ${source}`);
  const titles = testTitles('document-1/rules');
  for (const [parameter, title] of Object.entries(filtered.elsewhere ?? {}))
    t.ok(titles.includes(title), `${parameter}: ${title}`);
}
