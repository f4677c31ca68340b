import t from 'tap';
import { parseMembers } from '../../../src/model/documents/json-document.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import {
  collectionDocument,
  collectionOf,
  requestOf,
  sentXId,
  TEMPLATES_MAX,
  TEXT_LENGTH_MAX,
  VALUES_MAX,
  type TemplateCollection,
} from '../../../src/smartrest/custom/collection.ts';
import { requireRoomForCollection, X_ID_TYPE } from '../../../src/smartrest/custom/collection-shares.ts';
import { TemplateError } from '../../../src/smartrest/custom/definition.ts';
import { PathBudget } from '../../../src/smartrest/custom/path-values.ts';
import type { CustomRequest } from '../../../src/smartrest/custom/request-template.ts';
import { SingleRows } from '../../../src/smartrest/custom/single-row.ts';
import { CsvRows } from '../../../src/smartrest/rows/csv.ts';
import { requireTemplates } from '../../../src/smartrest/one/collection.ts';
import { SmartRestError } from '../../../src/smartrest/rows/error.ts';
import { rounds } from '../../helpers/rounds.ts';
import { Random } from '../random.ts';

const NOW = Date.UTC(2026, 0, 2);
const PLATFORM = 'com_platform_model_smartrest_csv_CsvSmartRestTemplate';

function fieldsOf(body: string): string[][] {
  const rows: string[][] = [];
  for (const csv = new CsvRows(Buffer.from(body)); csv.next(); ) rows.push(csv.fields());
  return rows;
}

const made = (...rows: readonly string[]): TemplateCollection =>
  collectionOf(parseMembers(collectionDocument('x', fieldsOf(rows.join('\n')))))!;

function faultOf(...rows: readonly string[]): string {
  try {
    made(...rows);
    return 'none';
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return error.message;
  }
}

function read(template: string, row: string): unknown {
  const [fields] = fieldsOf(row);
  try {
    const { doc, ...request } = requestOf(made(template), 'x', fields[0]).read(fields, NOW) as { doc?: string };
    return doc === undefined ? request : { ...request, doc: JSON.parse(doc) };
  } catch (error) {
    if (!(error instanceof SmartRestError)) throw error;
    return error.toRow();
  }
}

function readOr(collection: TemplateCollection, fields: readonly string[]): CustomRequest | string {
  try {
    return requestOf(collection, 'x', fields[0]).read(fields, NOW);
  } catch (error) {
    if (!(error instanceof SmartRestError)) throw error;
    return error.toRow();
  }
}

t.test('what rows ask for (docs/spec/smartrest.md#request-templates)', async (t) => {
  const time = '2026-01-02T00:00:00.000Z';
  const cases: readonly (readonly [string, string, unknown])[] = [
    [
      '10,1,POST,EVENT,,my_E,,',
      '1,Hello,2024-05-02T10:00:00Z',
      { kind: 'create', area: 'events', doc: { type: 'my_E', text: 'Hello', time: '2024-05-02T10:00:00Z' } },
    ],
    ['10,1,POST,EVENT,,,,', '1,a,b', { kind: 'create', area: 'events', doc: { type: 'a', text: 'b', time } }],
    [
      '10,1,POST,ALARM,,my_A,Hot,,,,my_Code,UNSIGNED,',
      '1,ACTIVE,MAJOR,,+007',
      {
        kind: 'create',
        area: 'alarms',
        doc: { type: 'my_A', text: 'Hot', status: 'ACTIVE', severity: 'MAJOR', time, my_Code: 7 },
      },
    ],
    [
      '10,1,POST,MEASUREMENT,,my_M,,my_M.T.value,NUMBER,,my_M.T.unit,,C',
      '1,,2.50',
      {
        kind: 'measurement',
        type: 'my_M',
        time: NOW,
        values: [{ fragment: 'my_M', series: 'T', value: 2.5, text: '2.50', unit: 'C' }],
      },
    ],
    [
      '10,1,POST,MEASUREMENT,,my_M,,my_M.T.value,NUMBER,,note,,',
      '1,,1,x',
      { kind: 'create', area: 'measurements', doc: { type: 'my_M', time, my_M: { T: { value: 1 } }, note: 'x' } },
    ],
    [
      '10,1,POST,INVENTORY,,my_Serial,name,,,my_Flag,FLAG,',
      '1,box,Box',
      { kind: 'createObject', name: { type: 'my_Serial', externalId: 'box' }, doc: { name: 'Box', my_Flag: {} } },
    ],
    ['10,1,POST,INVENTORY,,my_Serial,name,,Box', '1', { kind: 'createObject', doc: { name: 'Box' } }],
    ['10,1,POST,INVENTORY,,,name,,', '1,,,Box', { kind: 'createObject', doc: { name: 'Box' } }],
    ['10,1,GET,INVENTORY,,true', '1,7', { kind: 'readObject', object: { id: '7' } }],
    [
      '10,1,GET,INVENTORY,,false,my_Serial',
      '1,box',
      { kind: 'readObject', object: { type: 'my_Serial', externalId: 'box' } },
    ],
    [
      '10,1,PUT,INVENTORY,,false,,a.b,,,a.c,DATE,',
      '1,my_Serial,box,x',
      {
        kind: 'updateObject',
        object: { type: 'my_Serial', externalId: 'box' },
        doc: { a: { b: 'x', c: time } },
      },
    ],
    [
      '10,1,PUT,ALARM,,,status,ALARMSTATUS,,severity,SEVERITY,',
      '1,my_A,CLEARED,MINOR',
      { kind: 'alarmOfType', type: 'my_A', doc: { status: 'CLEARED', severity: 'MINOR' } },
    ],
    [
      "10,1,PUT,OPERATION,,my_Op,status,OPERATIONSTATUS,FAILED,$.x['y.z'].n,INTEGER,",
      '1,-0042',
      { kind: 'openOperation', fragment: 'my_Op', doc: { status: 'FAILED', x: { 'y.z': { n: -42 } } } },
    ],
    ['10,1,POST,EVENT,,my_E,,', '1', '45,1,The value text is missing; it takes a text'],
    [
      '10,1,PUT,ALARM,,a,status,ALARMSTATUS,',
      '1,GONE',
      '45,1,"The value status is GONE; it takes one of ACTIVE, ACKNOWLEDGED, CLEARED"',
    ],
    [
      '10,1,PUT,ALARM,,a,n,UNSIGNED,',
      '1,-1',
      '45,1,"The value n is -1; it takes a whole number from 0, of up to 30 digits"',
    ],
    ['10,1,GET,INVENTORY,,true', '1,7,8', '45,1,"Wrong number of values: 1 takes 1, got 2"'],
    ['10,1,POST,INVENTORY,,,name,,x', '1,,box', '45,1,The type of the external ID box is missing'],
    ['10,1,GET,INVENTORY,,true', '2,7', '40,2,Unknown template 2 of the collection x'],
  ];
  for (const [template, row, wanted] of cases) t.same(read(template, row), wanted, `${template} | ${row}`);
});

t.test('collections that are refused', async (t) => {
  const cases: readonly (readonly [readonly string[], RegExp | string])[] = [
    [['10,1,GET,INVENTORY,,true', '12,1'], 'Row 2: 12 is not a template; rows begin with 10 or 11'],
    [['10,1,DELETE,INVENTORY'], 'Row 1: the method is DELETE; it takes GET, PUT, POST'],
    [['10,1,GET,THINGS'], /^Row 1: the API is THINGS; it takes INVENTORY/],
    [['10,1,GET,ALARM'], /^Row 1: GET ALARM is not supported; it takes GET INVENTORY/],
    [['10,1,GET,INVENTORY,yes,true'], 'Row 1: response is yes; it takes true or false'],
    [['10,1,GET,INVENTORY'], 'Row 1: byId is ; it takes true or false'],
    [['10,1,GET,INVENTORY,,true,a,,'], 'Request template 1: GET takes no custom values'],
    [['10,1,GET,INVENTORY,,true', '11,1,,,a'], 'The message id 1 is there twice'],
    [['10,,GET,INVENTORY,,true'], 'A template has no message id'],
    [['11,"a,b",,,a'], /^The message id a,b has a comma/],
    [['11,1,a'], 'Response template 1 has no pattern'],
    [['11,1,,,a[?(@.b)]'], /^Response template 1: Using Filters/],
    [['11,1,a..b,,c..d'], /^Response template 1: Invalid JsonPath: .* has '\.\.' more than once/],
    [['10,1,PUT,ALARM,,a,b,TEXT,'], /^Request template 1: the value b has the type TEXT; it takes STRING, DATE/],
    [['10,1,PUT,ALARM,,a,b,NUMBER,x'], 'Request template 1: the value b is x; it takes a decimal number'],
    [['10,1,POST,ALARM,,a,b,c,d'], /^Request template 1: the value status is c; it takes one of ACTIVE/],
    [['10,1,PUT,ALARM,,a,b,FLAG,x'], /^Request template 1: the value b is a FLAG and x/],
    [['10,1,PUT,ALARM,,a,b,,', ',,'], /^Row 2: {2}is not a template/],
    [['10,1,PUT,ALARM,,a,b,,1,b.c,,1'], /^Request template 1: b\.c is set more than once/],
    [['10,1,PUT,ALARM,,a,b.c,,1,b,,1'], /^Request template 1: b is set more than once/],
    [['10,1,POST,EVENT,,a,b,,text,,1'], /^Request template 1: text is set more than once/],
    [['10,1,PUT,ALARM,,a,b[*],,1'], /^Request template 1: A value cannot be put at b\[\*\]/],
    [['10,1,PUT,ALARM,,a,b[0],,1'], /^Request template 1: A value cannot be put at b\[0\]/],
    [['10,1,PUT,ALARM,,a,type,,1'], 'Request template 1: the member type cannot be set'],
    [['10,1,POST,EVENT,,a,b,,id,,1'], 'Request template 1: the member id cannot be set'],
    [["10,1,PUT,ALARM,,a,['a.b'],,1"], /^Request template 1: the member a\.b is not taken/],
    [
      Array.from({ length: TEMPLATES_MAX + 1 }, (_, id) => `11,${id},,,a`),
      `There are ${TEMPLATES_MAX + 1} templates; ${TEMPLATES_MAX} are allowed (smartrest/collection-templates)`,
    ],
    [
      [`11,1,,${',a'.repeat(VALUES_MAX + 1)}`],
      `Template 1 has ${VALUES_MAX + 1} values or patterns; ${VALUES_MAX} are allowed (smartrest/collection-values)`,
    ],
    [
      [`10,1,POST,EVENT,,a,${'x'.repeat(TEXT_LENGTH_MAX)}`],
      /characters; 262144 are allowed \(smartrest\/collection-char/,
    ],
  ];
  for (const [rows, wanted] of cases) t.match(faultOf(...rows), wanted, rows[0].slice(0, 60));
  t.equal(faultOf(), 'There are no templates');
});

t.test('collections as they are stored', async (t) => {
  const stored = (templates: unknown, name = PLATFORM): Map<string, string> =>
    new Map([
      [name, JSON.stringify(templates)],
      ['__externalId', '"x"'],
    ]);
  const requestTemplates = [
    { msgId: 1, method: 'POST', api: 'EVENT', response: true, mandatoryValues: { type: 'a', text: 'b' } },
    { msgId: '2', method: 'PUT', api: 'ALARM', mandatoryValues: ['a'], customValues: [{ path: 'b', value: 5 }] },
  ];
  const collection = collectionOf(stored({ requestTemplates }, PLATFORM.replace('platform', 'cumulocity')))!;
  t.equal(requestOf(collection, 'x', '1').hasResponse, true);
  t.match(requestOf(collection, 'x', '2').read(['2'], NOW), { type: 'a', doc: '{"b":"5"}' });
  t.equal(sentXId(stored({})), 'x');
  t.equal(sentXId(new Map([['__externalId', '"x"']])), undefined);
  t.equal(collectionOf(new Map([[PLATFORM, 'null']])), undefined, 'a change that removes the templates');
  t.equal(
    collectionOf(stored({ requestTemplates: [], responseTemplates: [] }))?.requests.size,
    0,
    'to be filled later',
  );
  for (const faulty of [
    1,
    [],
    { requestTemplates: {} },
    { requestTemplates: [1] },
    { requestTemplates: [{ msgId: {}, method: 'GET', api: 'INVENTORY', byId: true }] },
    { responseTemplates: [{ msgId: '1', pattern: 'a' }] },
    { responseTemplates: [{ msgId: '1', pattern: [['a']] }] },
    { requestTemplates: [{ msgId: '1', method: 'PUT', api: 'ALARM', mandatoryValues: ['a', 'b'] }] },
    { requestTemplates: [{ ...requestTemplates[1], customValues: ['b'] }] },
    { requestTemplates: [{ ...requestTemplates[1], customValues: [{ value: '5' }] }] },
    JSON.parse('{"requestTemplates":[{"__proto__":{"msgId":"1","method":"GET"}}]}'),
  ])
    t.throws(() => requireTemplates(stored(faulty)), { code: 'smartrest/bad-collection' }, JSON.stringify(faulty));
  const one = (text: string): void => requireTemplates(new Map([['c8y_SmartRestTemplate', text]]));
  one('{"rows":"10,100,GET,/platform,,,,,"}');
  one('null');
  t.throws(() => one('{"rows":"10,100,GET,/platform,,,,,\\n10,101,GET,/x,,,&&,FOO,"}'), {
    message: /c8y_SmartRestTemplate\.rows: 41,2,Bad value type: FOO/,
  });
  for (const faulty of ['1', '[]', '{}', '{"rows":1}', `{"rows":"${'x'.repeat(140_000)}"}`])
    t.throws(() => one(faulty), { code: 'smartrest/bad-collection' }, faulty.slice(0, 20));
});

t.test('a file whose mandatory values are objects', async (t) => {
  const requestTemplates = [
    {
      msgId: '1',
      method: 'POST',
      api: 'EVENT',
      mandatoryValues: [
        { path: '$.type', type: 'STRING', value: 'my_E' },
        { path: '$.text', type: 'STRING', value: null },
        { path: '$.time', type: 'DATE' },
      ],
    },
    ...[[{ path: 'externalIdType', value: 'my_Serial' }], ['my_Serial'], { externalIdType: 'my_Serial' }].map(
      (mandatoryValues, index) => ({
        msgId: `2${index}`,
        method: 'POST',
        api: 'INVENTORY',
        externalIdType: '',
        mandatoryValues,
      }),
    ),
  ];
  const collection = collectionOf(new Map([[PLATFORM, JSON.stringify({ requestTemplates })]]))!;
  t.same(requestOf(collection, 'x', '1').read(['1', 'Hi'], NOW), {
    kind: 'create',
    area: 'events',
    doc: '{"type":"my_E","text":"Hi","time":"2026-01-02T00:00:00.000Z"}',
  });
  for (const id of ['20', '21', '22'])
    t.match(requestOf(collection, 'x', id).read([id, 'box'], NOW), { name: { type: 'my_Serial', externalId: 'box' } });
});

/** Pieces of templates and rows, put together at random. */
const PIECES = [
  ...[
    '10',
    '11',
    '1',
    'a',
    'b.c',
    '$.a',
    'x',
    '..',
    '[*]',
    '[?(',
    "['",
    "']",
    '__proto__',
    'constructor',
    '"',
    '""',
    '\n',
  ],
  ...['GET', 'POST', 'PUT', 'INVENTORY', 'MEASUREMENT', 'ALARM', 'EVENT', 'OPERATION', 'true', 'false', 'FLAG', 'DATE'],
  ...['NUMBER', 'INTEGER', '1', '-1.5e9', 'ü', '\0', ...Array.from({ length: 30 }, () => ',')],
];

t.test('whatever is sent, there is a collection or a fault in words', async (t) => {
  const random = new Random();
  let taken = 0;
  for (let round = 0; round < rounds(4_000, 20_000); round += 1) {
    const start = random.pick([
      '10,1,POST,EVENT,,',
      '10,1,PUT,ALARM,,a,',
      '10,1,POST,MEASUREMENT,true,',
      '11,1,',
      '10,',
      '',
    ]);
    const body = start + Array.from({ length: random.below(20) }, () => random.pick(PIECES)).join('');
    try {
      const collection = made(...body.split('\n'));
      taken += 1;
      for (const response of collection.responses) response.rowsOf({ a: [{ b: { c: 1 } }], b: 'x' }, new PathBudget());
      for (const template of collection.requests.values()) {
        const row = ['1', ...Array.from({ length: random.below(8) }, () => random.pick(PIECES))];
        const request = template.read(row, NOW);
        if ('doc' in request) JSON.parse(request.doc);
      }
    } catch (error) {
      if (error instanceof TemplateError || error instanceof SmartRestError || error instanceof PlatformError) continue;
      t.fail(`seed ${random.seed}: ${JSON.stringify(body)}: ${(error as Error).stack}`);
      return;
    }
  }
  t.ok(taken > 20, `seed ${random.seed}: ${taken} were taken`);
  t.equal(({} as { msgId?: unknown }).msgId, undefined);
});

t.test('the hot path reads rows as the general path does', async (t) => {
  const random = new Random();
  const collection = made(
    '10,m,POST,MEASUREMENT,,my_M,,my_M.T.value,NUMBER,,my_M.T.unit,,°C',
    '10,mi,POST,MEASUREMENT,,other,,my_M.T.value,INTEGER,',
    '10,ü,POST,MEASUREMENT,,my_M,,my_M.T.value,UNSIGNED,',
    '10,two,POST,MEASUREMENT,,my_M,,my_M.T.value,NUMBER,,my_M.U.value,NUMBER,',
    '10,told,POST,MEASUREMENT,true,my_M,,my_M.T.value,NUMBER,',
  );
  t.same(
    [...collection.requests.values()].map(({ single }) => single !== undefined),
    [true, true, true, false, false],
  );
  const rows = new SingleRows(collection);
  const pieces = [
    'm',
    'mi',
    'ü',
    'two',
    ',',
    ',',
    ',',
    '1',
    '-1',
    '+2.5',
    '1e3',
    '007',
    '2024-05-02T10:00:00Z',
    '\n',
    '\r\n',
  ];
  pieces.push('"', ' ', 'x', '.', '-', '\0', '2024', '9007199254740993');
  let read = 0;
  for (let round = 0; round < rounds(8_000, 40_000); round += 1) {
    const body =
      random.pick(['m,', 'mi,', 'ü,', 'm,,', 'mi,,', '']) +
      Array.from({ length: random.below(5) }, () => random.pick(pieces)).join('');
    const payload = Buffer.from(`##${body}##`);
    if (!rows.read(payload, 2, payload.length - 2)) continue;
    read += 1;
    const [fields, ...others] = fieldsOf(body);
    const request = readOr(collection, fields);
    const { bytes } = rows;
    const text = bytes.texts.toString();
    const found = {
      kind: 'measurement',
      type: bytes.typeLength === 0 ? 'my_M' : bytes.type.toString(),
      time: Number.isNaN(rows.time) ? NOW : rows.time,
      values: [{ fragment: 'my_M', series: 'T', value: rows.value, unit: text.slice(5) }],
    };
    const wanted =
      typeof request === 'object' && request.kind === 'measurement'
        ? { ...request, values: request.values.map(({ text: _, ...value }) => value) }
        : request;
    if (others.length > 0 || JSON.stringify(wanted) !== JSON.stringify(found)) {
      t.same(found, wanted, `seed ${random.seed}: ${JSON.stringify(body)}`);
      return;
    }
  }
  t.ok(read > 60, `seed ${random.seed}: ${read} were read`);
  t.equal(rows.read(Buffer.from('m,,1'), 0, 4), true);
  t.equal(rows.read(Buffer.from('told,,1'), 0, 7), false, 'one with a response is for the general path');
});

t.test('a user makes a part of the collections of a tenant, a device a small one', async (t) => {
  const counted: string[] = [];
  const refusals = { count: (limit: string) => void counted.push(limit) };
  const made = (count: number, by?: string): { value: string }[] =>
    Array.from({ length: count }, () => ({ value: JSON.stringify({ managedObject: '1', by }) }));
  const check = (others: readonly { value: string }[], userName: string): void =>
    requireRoomForCollection(X_ID_TYPE, { others, by: { userName } }, refusals);
  check([...made(499, 'ada'), ...made(500)], 'ada');
  check([...made(49, 'device_1'), ...made(500)], 'device_1');
  const full = { code: 'smartrest/too-many-collections-of-user' };
  t.throws(() => check(made(500, 'ada'), 'ada'), { ...full, message: /at most 500/ });
  t.throws(() => check(made(50, 'device_1'), 'device_1'), { ...full, message: /at most 50 / });
  t.throws(() => check(made(1_000), 'bob'), { code: 'smartrest/too-many-collections' });
  t.same(counted, [
    'smartrest/custom-collections-of-user',
    'smartrest/custom-collections-of-user',
    'smartrest/custom-collections',
  ]);
});
