/** What the screens of devices compute, without a browser: columns, the file of the list, changes of JSON. */
import t from 'tap';
import { workOnMany } from '../../web/core/api/many.ts';
import { preferencesOf } from '../../web/core/preferences.ts';
import { openAlarms } from '../../web/parts/badge.tsx';
import {
  USUAL_COLUMNS,
  chosenColumns,
  fileValue,
  isPath,
  pathsOf,
  pathText,
} from '../../web/screens/devices/columns.tsx';
import {
  changeBody,
  editableText,
  keptMember,
  membersOf,
  namedLine,
  rebased,
} from '../../web/screens/devices/device/raw-change.ts';
import { deviceQuery, inOwnText } from '../../web/screens/devices/list.tsx';
import { rowsFile } from '../../web/parts/list/list-file.tsx';
import type { ManagedObject } from '../../web/core/server/managed-object.ts';
import type { Column } from '../../web/parts/list/column.ts';
import { searchDevices } from '../../web/screens/search/palette.tsx';
import { untilTurn } from '../helpers/until.ts';

const PUMP = { id: '7', name: 'Pump', c8y_Hardware: { model: 'P,1' }, list: [1, 2], c8y_Notes: null };

t.test('columns come from the address, else from the person, and any path is one', async (t) => {
  t.same(chosenColumns([], []), USUAL_COLUMNS);
  t.same(chosenColumns([], ['owner']), ['owner']);
  t.same(chosenColumns(['a.b', 'a.b', "x' or", 'type'], ['owner']), ['a.b', 'type']);
  t.equal(
    chosenColumns(
      Array.from({ length: 50 }, (_, index) => `c${index}`),
      [],
    ).length,
    20,
  );
  t.notOk(['', 'a..b', 'a b', 'a,b', 'x'.repeat(201)].some(isPath));
  t.same(preferencesOf({ deviceColumns: ['type', 7] }).deviceColumns, ['type']);
  t.same(pathsOf([PUMP, { id: '8', 'a b': 1, deep: { er: 1 } }], 10), [
    'c8y_Hardware.model',
    'c8y_Notes',
    'deep.er',
    'id',
    'list',
    'name',
  ]);
  t.same(
    ['name', 'c8y_Hardware.model', 'c8y_Hardware', 'list', 'c8y_Notes', 'name.length', 'constructor.name'].map((path) =>
      pathText(PUMP, path),
    ),
    ['Pump', 'P,1', '{"model":"P,1"}', '[1,2]', '', '', ''],
  );
  t.same(openAlarms({ critical: 0, minor: '2', warning: 1, other: 3 }), [
    { severity: 'MINOR', count: 2 },
    { severity: 'WARNING', count: 1 },
  ]);
});

t.test('the file of a list has each row once, and ends at its bound', async (t) => {
  const pages = [
    [PUMP, { id: '8', name: '=1+1' }],
    // As many have come meanwhile.
    [PUMP, { id: '8' }],
    [{ id: '8' }, { id: '9', name: 'Last', c8y_Hardware: { model: -5 } }],
  ];
  const [name, model] = ['name', 'c8y_Hardware.model'].map((path) => ({
    id: path,
    title: path,
    cell: () => 'not of files',
    text: (device: ManagedObject) => fileValue(device, path),
  }));
  const cell = () => 'a button';
  const columns: Column<ManagedObject>[] = [name, model, { id: 'actions', title: 'More', cell }];
  const counts: number[] = [];
  const load = (page: number) => Promise.resolve(pages[page - 1] ?? []);
  const keyOf = ({ id }: ManagedObject) => id;
  const file = await rowsFile(load, columns, keyOf, (count) => counts.push(count));
  t.same(file, {
    lines: ['name,c8y_Hardware.model\r\n', 'Pump,"P,1"\r\n', "'=1+1,\r\n", 'Last,-5\r\n'],
    isCut: false,
  });
  t.same(counts, [2, 2, 3]);
  t.equal(
    (
      await rowsFile(
        () => Promise.resolve([PUMP]),
        columns,
        keyOf,
        () => undefined,
      )
    ).isCut,
    true,
    'without an end',
  );
  const cut = await rowsFile(load, columns, keyOf, () => undefined, 2);
  t.same([cut.lines.length, cut.isCut], [3, true]);
});

t.test('work on many goes on behind a failure', async (t) => {
  const { done, failed } = await workOnMany([1, 2, 3, 4, 5, 6], async (item) => {
    if (item === 2) throw new Error('no');
    return item * 2;
  });
  t.same(
    done.map(({ result }) => result),
    [2, 6, 8, 10, 12],
  );
  t.same(
    failed.map(({ item }) => item),
    [2],
  );
});

t.test('JSON is changed by member, and keeps every digit', async (t) => {
  const text =
    '{"id":"7","c8y_N":{"v":1.10000000000000000001e5},"a\\"}:,":[{"b":2},"}"],"name":"x","c8y_Connection":{}}';
  t.same([...membersOf(text)].slice(1, 4), [
    ['c8y_N', '{"v":1.10000000000000000001e5}'],
    ['a"}:,', '[{"b":2},"}"]'],
    ['name', '"x"'],
  ]);
  t.same([...membersOf('{}')], []);
  const base = editableText(text);
  t.notMatch(base, /"id"|c8y_Connection/);
  t.match(base, /1\.10000000000000000001e5/);
  t.equal(keptMember('{"name":"a","self":"x"}'), 'self');
  t.equal(changeBody(base, base.replace(/\s+/g, ' ')), '{}', 'white space is not a change');
  const mine = base.replace('"x"', '"y"').replace('1.10000000000000000001', '2.20000000000000000002');
  t.same(
    [...membersOf(changeBody(base, mine))],
    [
      ['c8y_N', '{\n    "v": 2.20000000000000000002e5\n  }'],
      ['name', '"y"'],
    ],
  );
  t.equal(changeBody('{"a":1,"b":2}', '{"b":2}').replace(/\s/g, ''), '{"a":null}');
  const { text: merged, both } = rebased('{"a":1,"b":2,"c":3}', '{"a":1,"b":5}', '{"a":9,"b":7,"c":3,"d":4}');
  t.same([JSON.parse(merged), both], [{ a: 9, b: 5, d: 4 }, ['b']]);
  t.equal(namedLine('{\n  "name": "x",\n  "type": 5\n}', 'The field type has the value 5; it takes a text'), 3);
  t.equal(namedLine('{\n  "name": "x"\n}', 'no such thing'), undefined);
});

t.test('filters of the list become one query', async (t) => {
  const none = { name: '', type: '', q: '', status: '', group: '', sort: '' } as const;
  t.equal(deviceQuery(none), '$filter=has(c8y_IsDevice)');
  t.equal(
    deviceQuery({ ...none, name: "O'", status: 'UNAVAILABLE', group: '7', q: 'a eq 1 or b eq 2', sort: '-name' }),
    "$filter=name eq 'O''*' and c8y_Availability.status eq 'UNAVAILABLE' and bygroupid(7) and (a eq 1 or b eq 2) $orderby=name desc",
  );
  const wrong = deviceQuery({ ...none, q: "name eqq 'x'" });
  const told = `an operator is missing at position ${wrong.indexOf('eqq') + 1}`;
  t.equal(inOwnText(told, wrong.indexOf("name eqq 'x'")), 'an operator is missing at position 6');
  t.equal(deviceQuery({ ...none, group: '7) or (x' }), '$filter=has(c8y_IsDevice)', 'a group is an id');
});

t.test('each way of a search shows what it has found, texts last', async (t) => {
  const answers: { readonly path: string; readonly give: (value: unknown) => void }[] = [];
  const { fetch, document } = globalThis;
  t.teardown(() => Object.assign(globalThis, { fetch, document }));
  Object.assign(globalThis, { document: { cookie: '' } });
  globalThis.fetch = ((request: Request) =>
    new Promise((resolve) =>
      answers.push({
        path: decodeURIComponent(request.url),
        give: (value) => resolve(value === undefined ? new Response('{}', { status: 404 }) : Response.json(value)),
      }),
    )) as typeof globalThis.fetch;
  const answer = (part: string, value?: unknown): void => answers.find(({ path }) => path.includes(part))?.give(value);
  const shown: string[][] = [];
  const search = searchDevices('pump', new AbortController().signal, (found) => shown.push(found.map(({ id }) => id)));
  await untilTurn('requests', () => answers.length === 2);
  answer('pump*', { managedObjects: [{ id: '7' }] });
  await untilTurn('a part', () => shown.length === 1);
  t.same(shown, [['7']], 'a slow way keeps none back');
  answer('c8y_Serial');
  await untilTurn('the request for texts', () => answers.length === 3);
  answer('text=pump', { managedObjects: [{ id: '7' }, { id: '8' }] });
  t.same(
    (await search).map(({ id }) => id),
    ['7', '8'],
  );
});
