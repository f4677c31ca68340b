/** What a parameter means: the same in lists, in DELETE and in retention. */
import t from 'tap';
import { HistoryFilter } from '../../src/history/filter.ts';
import { OF_VALUES, PARAMETERS, WrongParameter, addParameters, deletionValues } from '../../src/history/parameters.ts';
import type { SelectedTable } from '../../src/history/parameters.ts';

const T = Date.UTC(2024, 4, 2);

/** The conditions with their values in place, without the tenant's. */
function conditions(table: SelectedTable, values: Parameters<typeof addParameters>[2]): string {
  const { where, params } = addParameters(new HistoryFilter(2), table, values);
  return where
    .replaceAll('tenant = {tenant:UInt32} AND ', '')
    .replace(/\{(\w+):[\w()]+\}/g, (_, name) => JSON.stringify(params[name]));
}

const ms = (time: number): string => `fromUnixTimestamp64Milli(${time}, 'UTC')`;
const IN_DOCUMENT = `(JSONExtractString(doc, "c8y_X") = "v" OR JSONExtractRaw(doc, "c8y_X") = "v")`;
const RANGE: Readonly<Record<string, readonly [string | number, string]>> = {
  dateFrom: [T, `time >= ${ms(T)}`],
  dateTo: [T, `time <= ${ms(T)}`],
  before: [T, `time < ${ms(T)}`],
};
const CHANGES: typeof RANGE = {
  createdFrom: [T, `creation_time >= ${ms(T)}`],
  createdTo: [T, `creation_time <= ${ms(T)}`],
  lastUpdatedFrom: [T, `last_updated >= ${ms(T)}`],
  lastUpdatedTo: [T, `last_updated <= ${ms(T)}`],
};
type Case = readonly [value: string | number | readonly string[], condition: string];
const SOURCES: Readonly<Record<string, Case>> = {
  source: ['5', 'source = 5'],
  sources: [['5', '6'], 'source IN [5,6]'],
};
const FRAGMENT: Case = ['c8y_X', 'has(fragments, "c8y_X")'];

const CASES: Readonly<Record<SelectedTable, Readonly<Record<string, Case>>>> = {
  measurements: {
    ...SOURCES,
    ...RANGE,
    id: ['7', 'id = 7'],
    ids: [['7', '8'], 'id IN [7,8]'],
    type: ['a', 'type = "a"'],
    valueFragmentType: ['c8y_X', 'fragment = "c8y_X"'],
    valueFragmentSeries: ['T', 'series = "T"'],
    fragmentType: [
      'c8y_X',
      `(fragment = "c8y_X" OR (doc != '' AND JSONHas(doc, "c8y_X")) OR (tail != '' AND JSONHas(concat('{', tail, '}'), "c8y_X")))`,
    ],
  },
  events: {
    ...SOURCES,
    ...RANGE,
    ...CHANGES,
    type: ['a', 'type = "a"'],
    fragmentType: FRAGMENT,
    fragmentValue: ['v', IN_DOCUMENT],
  },
  alarms: {
    ...SOURCES,
    ...RANGE,
    ...CHANGES,
    status: [['ACTIVE'], 'status IN ["ACTIVE"]'],
    severity: [['MAJOR', 'MINOR'], 'severity IN ["MAJOR","MINOR"]'],
    type: [['a', 'b'], 'type IN ["a","b"]'],
    resolved: ['true', "status = 'CLEARED'"],
    fragmentType: FRAGMENT,
  },
  operations: {
    ...SOURCES,
    deviceId: ['5', 'source = 5'],
    status: ['PENDING', 'status = "PENDING"'],
    fragmentType: FRAGMENT,
    bulkOperationId: ['3', 'bulk = 3'],
    dateFrom: [T, `creation_time >= ${ms(T)}`],
    dateTo: [T, `creation_time <= ${ms(T)}`],
    before: [T, `creation_time < ${ms(T)}`],
    type: ['a', `JSONExtractString(doc, 'type') = "a"`],
  },
  audits: {
    ...RANGE,
    application: ['k', 'application = "k"'],
    source: ['5', 'source = "5"'],
    type: [['a', 'b'], 'type IN ["a","b"]'],
    user: ['u', 'user = "u"'],
    fragmentType: ['c8y_X', 'JSONHas(doc, "c8y_X")'],
  },
  managed_objects: {
    ids: [['5', '6'], 'id IN [5,6]'],
    type: ['a', 'type = "a"'],
    fragmentType: FRAGMENT,
    owner: ['u', 'owner = "u"'],
  },
};

t.test('each parameter of each table', async (t) => {
  for (const table of Object.keys(PARAMETERS) as SelectedTable[]) {
    t.same(Object.keys(CASES[table]).sort(), Object.keys(PARAMETERS[table]).sort(), `${table}: all of them`);
    for (const [name, [value, condition]] of Object.entries(CASES[table])) {
      const others = name === 'fragmentValue' ? { fragmentType: 'c8y_X' } : {};
      const wanted = name === 'fragmentValue' ? `${FRAGMENT[1]} AND ${condition}` : condition;
      t.equal(conditions(table, { [name]: value, ...others }), wanted, `${table} by ${name}`);
    }
  }
  const isIt = CASES.measurements['fragmentType'][1];
  t.equal(
    conditions('measurements', { source: '5', valueFragmentType: 'g', fragmentType: 'c8y_X' }),
    `source = 5 AND fragment = "g" AND (source, time, id) IN (SELECT source, time, id FROM measurements WHERE source = 5 AND ${isIt})`,
    'another row of the measurement may have the fragment',
  );
  t.equal(conditions('alarms', { resolved: 'false' }), "status != 'CLEARED'");
  t.equal(conditions('managed_objects', { fragmentType: 'name' }), 'JSONHas(doc, "name")', 'a column of its own');
  t.equal(conditions('events', { source: 'x' }), '0', 'what is not an id selects nothing');
  t.equal(conditions('operations', { type: undefined, status: [] }), 'tenant = {tenant:UInt32}'.replace(/\{.*\}/, '2'));
  t.ok(OF_VALUES.every((name) => name in PARAMETERS.measurements));
});

t.test('a DELETE carries the values as texts', async (t) => {
  t.same(deletionValues('alarms', { type: 'a,b', dateFrom: '2024-05-02T00:00:00.000Z', resolved: 'true' }), {
    type: ['a', 'b'],
    dateFrom: T,
    resolved: 'true',
  });
  t.same(deletionValues('events', { type: 'a,b', sources: '1,2' }), { type: 'a,b', sources: ['1', '2'] });
});

t.test('what is not known is refused: without the condition more would be selected', async (t) => {
  const isRefused = (run: () => unknown): void => {
    try {
      run();
      t.fail('it is taken');
    } catch (error) {
      t.ok(error instanceof WrongParameter, String(error));
    }
  };
  isRefused(() => addParameters(new HistoryFilter(2), 'events', { severity: ['MAJOR'] }));
  isRefused(() => deletionValues('events', { severity: 'MAJOR' }));
  isRefused(() => deletionValues('events', { constructor: 'x' }));
  isRefused(() => deletionValues('events', { dateFrom: 'yesterday' }));
});

t.test('conditions apart are not added, and say nothing about the rows of the whole', async (t) => {
  const filter = new HistoryFilter(2).id('source', '5');
  const inner = filter.apart((part) => addParameters(part, 'events', { source: '6', type: 'a' }));
  t.equal(inner, 'source = {p1:UInt64} AND type = {p2:String}');
  t.equal(filter.where, 'tenant = {tenant:UInt32} AND source = {p0:UInt64}');
  t.match(filter.statement(['events'], 'S'), {
    params: { p0: 5, p1: 6, p2: 'a' },
    tables: ['events'],
    tenant: 2,
    source: 5,
  });
});
