/** Template collections in the console: rows, previews and files are those of the server. */
import t from 'tap';
import { MANDATORY, definitionOfFragment, definitionOfRows } from '../../src/smartrest/custom/definition.ts';
import { VALUE_TYPE_NAMES } from '../../src/smartrest/custom/value-types.ts';
import {
  NEW_REQUEST,
  NEW_RESPONSE,
  REQUEST_KINDS,
  VALUE_TYPES,
  bodyOf,
  collectionOf,
  exampleBody,
  fileText,
  readFile,
  receivedRow,
  refusedId,
  repeatedIds,
  requestRow,
  responseRow,
  sentRow,
} from '../../web/screens/templates/template-data.ts';
import type { Collection, CustomValue, RequestTemplate } from '../../web/screens/templates/template-data.ts';

const value = (path: string, type: CustomValue['type'], fixed = ''): CustomValue => ({ path, type, value: fixed });
const request = (changes: Partial<RequestTemplate>): RequestTemplate => ({ ...NEW_REQUEST, msgId: 'm', ...changes });
const COLLECTION: Collection = {
  name: 'Pumps',
  xid: 'pump',
  requests: [
    request({
      mandatoryValues: ['my_M', ''],
      customValues: [value('my_M.T.value', 'NUMBER'), value('my_M.T.unit', 'STRING', 'C'), value('my_Flag', 'FLAG')],
      others: { name: 'of another program' },
    }),
    request({ msgId: 'g', kind: 'GET INVENTORY', response: true, mandatoryValues: [], customValues: [] }),
    request({ msgId: 'u', kind: 'PUT INVENTORY', byId: true, mandatoryValues: [], customValues: [value('a', 'DATE')] }),
  ],
  responses: [{ ...NEW_RESPONSE, msgId: 'r', base: '$.a', condition: 'b', pattern: ['c', "d['e f']"] }],
};
const FRAGMENT = 'com_platform_model_smartrest_csv_CsvSmartRestTemplate';

t.test('kinds and types are those of the server', async (t) => {
  t.same(REQUEST_KINDS, MANDATORY);
  t.same([...VALUE_TYPES].sort(), [...VALUE_TYPE_NAMES].sort());
});

t.test('rows and stored templates mean the same', async (t) => {
  const stored = definitionOfFragment((bodyOf(COLLECTION) as Record<string, unknown>)[FRAGMENT]);
  // Without quotes in them, so that commas part the values.
  const rows = [...COLLECTION.requests.map(requestRow), ...COLLECTION.responses.map(responseRow)];
  t.same(definitionOfRows(rows.map((row) => row.split(','))), stored);
});

t.test('a file is read as it was written, with members of other programs', async (t) => {
  const text = fileText(COLLECTION);
  t.match(text, /"com_cumulocity_model_smartrest_csv_CsvSmartRestTemplate"/);
  t.same(readFile(text), COLLECTION);
  t.equal(readFile('{"name": "x"}'), undefined);
  t.equal(readFile('no'), undefined);
  const named = {
    [FRAGMENT]: {
      requestTemplates: [
        { msgId: 1, method: 'POST', api: 'EVENT', mandatoryValues: { text: 'Hi' }, customValues: null },
        { msgId: '2', method: 'PUT', api: 'ALARM', mandatoryValues: [{ path: '$.type', value: 'my_A' }] },
        { msgId: '3', method: 'POST', api: 'INVENTORY', mandatoryValues: ['my_Serial'] },
      ],
    },
    __externalId: 'x',
  };
  t.match(collectionOf(named), {
    requests: [
      { msgId: '1', kind: 'POST EVENT', response: false, mandatoryValues: ['', 'Hi', ''] },
      { msgId: '2', kind: 'PUT ALARM', mandatoryValues: ['my_A'] },
      { msgId: '3', kind: 'POST INVENTORY', externalIdType: 'my_Serial', mandatoryValues: [] },
    ],
    responses: [],
  });
  t.same(Object.keys(bodyOf(COLLECTION, { id: '7', [FRAGMENT]: {} })), ['name', FRAGMENT], 'a change leaves the rest');
});

t.test('a preview shows what the device sends and receives', async (t) => {
  const [measurement, get, put] = COLLECTION.requests;
  t.equal(sentRow(measurement), 'm,<time>,<my_M.T.value>');
  t.equal(sentRow(get), 'g,<externalIdType>,<externalId>');
  t.equal(sentRow(put), 'u,<id>,<a>');
  t.equal(receivedRow(COLLECTION.responses[0], true), "r,<serial>,<c>,<d['e f']>");
  t.same(JSON.parse(exampleBody(measurement) ?? ''), {
    type: 'my_M',
    time: '2026-11-21T14:03:00.000Z',
    my_M: { T: { value: 1.5, unit: 'C' } },
    my_Flag: {},
  });
  t.equal(exampleBody(get), undefined);
  const digits = request({
    kind: 'PUT ALARM',
    customValues: [value("$.a['b.c']", 'NUMBER', '1.50000000000000000001')],
  });
  t.equal(exampleBody(digits), '{"a":{"b.c":1.50000000000000000001}}');
  t.same(repeatedIds({ requests: [request({}), request({})], responses: [] }), ['m']);
  t.equal(refusedId(COLLECTION, 'The SmartREST templates are not taken: Request template u: the value a is …'), 'u');
});
