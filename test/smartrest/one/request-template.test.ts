/** Rows 10 of SmartREST 1.0, and what rows of values become by them (docs/spec/smartrest-one.md#request-templates). */
import t from 'tap';
import { RowFault } from '../../../src/smartrest/one/fault.ts';
import { RequestTemplate } from '../../../src/smartrest/one/request-template.ts';
import { readRows } from '../../../src/smartrest/one/rows.ts';

const JSON_TYPE = 'application/vnd.com.nsn.platform.managedObject+json';
const NOW = Date.UTC(2024, 4, 2, 10, 0, 0);

const template = (row: string): RequestTemplate => new RequestTemplate(readRows(Buffer.from(row))[0].fields);
const fill = (row: string, values: string): object => {
  const [{ fields }] = readRows(Buffer.from(`1,${values}`));
  return template(row).fill(values === '' ? [] : fields.slice(1), NOW);
};
const faultOf = (work: () => unknown): string => {
  try {
    work();
    return 'none';
  } catch (error) {
    if (!(error instanceof RowFault)) throw error;
    return `${error.code} ${error.message}`;
  }
};

t.test('values stand at their places, those of the URI first', async (t) => {
  const check = (row: string, values: string, wanted: object): void => {
    t.match(fill(row, values), wanted, `${row} ${values}`);
  };
  const noBody = { contentType: '', accept: '', body: '' };
  check('10,100,GET,/inventory/managedObjects,,,,,', '', {
    method: 'GET',
    uri: '/inventory/managedObjects',
    ...noBody,
  });
  check('10,339,GET,/identity/externalIds/c8y_Serial/%%,,application/json,%%,STRING,', 'a 4/7?1%', {
    uri: '/identity/externalIds/c8y_Serial/a%204%2F7%3F1%25',
    accept: 'application/json',
  });
  check('10,1,DELETE,/a/##/b/##,,,##,UNSIGNED INTEGER', '007,-5', { method: 'DELETE', uri: '/a/007/b/-5' });
  check(`10,300,PUT,/inventory/managedObjects/&&,${JSON_TYPE},,&&,"UNSIGNED,STRING",{"name":"&&"}`, '9,x', {
    method: 'PUT',
    uri: '/inventory/managedObjects/9',
    contentType: JSON_TYPE,
    body: '{"name":"x"}',
  });
  const quoted = `10,2,POST,/a,${JSON_TYPE},,&&,NOW STRING NUMBER NUMBER,"{""time"":""&&"",""t"":""&&"",""v"":&&,""w"":&&}"`;
  check(quoted, '"say ""hi""\n\\",+021.50,1e3', {
    body: '{"time":"2024-05-02T10:00:00.000Z","t":"say \\"hi\\"\\n\\\\","v":21.50,"w":1e3}',
  });
  check(`10,3,POST,/a,${JSON_TYPE},,&&,,"[""x&&"",&&]"`, 'a"b,true', { body: '["xa\\"b",true]' });
  check(`10,8,POST,/a,${JSON_TYPE},,&&,INTEGER UNSIGNED,"[&&,&&]"`, '-012345678901234567890,+09007199254740993', {
    body: '[-12345678901234567890,9007199254740993]',
  });
  check('10,4,POST,/a,text/plain,,&&,,"""&&"""', 'a\\b', { body: '"a\\b"' });
  check('10,5,GET,/a?dateFrom=&&,,,&&,DATE', '2024-05-02T10:00:00+02:00', {
    uri: '/a?dateFrom=2024-05-02T10%3A00%3A00%2B02%3A00',
  });
  check('10,6,GET,/a/&&,,,&&,', '"",,', { uri: '/a/' });
});

t.test('a marker is that in an own row too', async (t) => {
  t.match(
    fill('10,7,GET,/a/&&/&&,,,&&,STRING STRING', '&&,b'),
    { uri: '/a/%26%26/b' },
    'values are not looked at again',
  );
});

t.test('templates that are refused', async (t) => {
  const bad = 'Bad request template definition';
  for (const [row, text] of [
    ['10', 'Not a valid message identifier for template creation'],
    ['10,x,GET,/a', 'Not a valid message identifier for template creation'],
    ['10,-1,GET,/a', 'Not a valid message identifier for template creation'],
    ['10,1', bad],
    ['10,1,PATCH,/a', bad],
    ['10,1,get,/a', bad],
    ['10,1,GET,a', bad],
    ['10,1,GET,http://a/b', bad],
    ['10,1,GET,"/a b"', bad],
    ['10,1,GET,/a#b', bad],
    [`10,1,GET,/${'a'.repeat(2_000)}`, bad],
    ['10,1,GET,/a,,,,,,x', bad],
    ['10,1,GET,/a,text/plain', 'No content type supported for GET templates.'],
    ['10,1,DELETE,/a,text/plain', 'No content type supported for DELETE templates.'],
    ['10,1,GET,/a,,,,,{}', 'No template string supported for GET templates.'],
    ['10,1,DELETE,/a,,,,,{}', 'No template string supported for DELETE templates.'],
    ['10,1,POST,/a', 'No content type found for POST templates.'],
    ['10,1,PUT,/a', 'No content type found for PUT templates.'],
    ['10,1,POST,/a,text/plain', 'No template string found for POST templates.'],
    ['10,1,PUT,/a,text/plain', 'No template string found for PUT templates.'],
    ['10,1,GET,/a/&&,,,&&,TEXT', 'Bad value type: TEXT'],
    ['10,1,GET,/a/&&,,,,STRING', 'Values are only supported for templates with placeholder.'],
    [`10,1,GET,/${'&'.repeat(1_001)},,,&,`, 'A template has at most 1000 placeholders, not 1001'],
    ['10,1,GET,/a/&&,,,&&,STRING STRING', 'Bad pattern'],
    ['10,1,GET,/a/&&/&&,,,&&,STRING', 'Bad pattern'],
  ] as const)
    t.equal(
      faultOf(() => template(row)),
      `41 ${text}`,
      row,
    );
});

t.test('values that are refused', async (t) => {
  const typed = (type: string): string => `10,1,GET,/a/&&,,,&&,${type}`;
  for (const [row, values, text] of [
    ['10,1,GET,/a', 'x', 'No arguments supported'],
    ['10,1,GET,/a?&&,,,&&,NOW', 'x', 'No arguments supported'],
    [typed('STRING'), '', 'Wrong number of arguments'],
    [typed('STRING'), 'a,b', 'Wrong number of arguments'],
    [typed('UNSIGNED'), '-1', 'Value is not a UNSIGNED: -1'],
    [typed('UNSIGNED'), '1.5', 'Value is not a UNSIGNED: 1.5'],
    [typed('INTEGER'), 'a', 'Value is not a INTEGER: a'],
    [typed('NUMBER'), '1.', 'Value is not a NUMBER: 1.'],
    [typed('NUMBER'), 'NaN', 'Value is not a NUMBER: NaN'],
    [typed('DATE'), 'today', 'Value is not a DATE: today'],
    [typed('DATE'), '""', 'Value is not a DATE: '],
    [typed('NUMBER'), `${'9'.repeat(400)}`, `Value is not a NUMBER: ${'9'.repeat(200)}…`],
  ] as const)
    t.equal(
      faultOf(() => fill(row, values)),
      `45 ${text}`,
      `${row} ${values}`,
    );
  t.equal(
    faultOf(() => fill('10,1,GET,/a', ',')),
    'none',
    'empty values too many do not count',
  );
});
