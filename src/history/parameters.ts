/**
 * What the parameters of lists, of DELETE and of retention mean as conditions, table by table
 * (docs/spec/conventions.md#deleting-collections): all three select the same.
 */
import { NOT_FRAGMENTS } from '../model/entities/fragments.ts';
import { parseTime } from '../model/documents/iso-time.ts';
import type { HistoryTable } from '../ports/history-reader.ts';
import type { HistoryFilter } from './filter.ts';

type Value = string | number | readonly string[];
/** By parameter: texts, lists of texts, and times in ms since 1970. Empty lists and undefined select everything. */
export type ParameterValues = Readonly<Record<string, Value | undefined>>;

interface Parameter {
  /** How a DELETE carries it: lists comma separated, times as ISO 8601. */
  readonly kind: 'text' | 'list' | 'time';
  readonly add: (filter: HistoryFilter, value: Value, all: ParameterValues) => void;
}
type Parameters = Readonly<Record<string, Parameter>>;

const textIn =
  (column: string): Parameter['add'] =>
  (filter, value) =>
    void (typeof value === 'object' ? filter.textIn(column, value) : filter.text(column, String(value)));
const text = (column: string): Parameter => ({ kind: 'text', add: textIn(column) });
const list = (column: string): Parameter => ({ kind: 'list', add: textIn(column) });
const id = (column: string): Parameter => ({
  kind: 'text',
  add: (filter, value) => void filter.id(column, String(value)),
});
const ids = (column: string): Parameter => ({
  kind: 'list',
  add: (filter, value) => void filter.idIn(column, value as readonly string[]),
});
const time = (build: (filter: HistoryFilter, ms: number) => void): Parameter => ({
  kind: 'time',
  add: (filter, value) => build(filter, Number(value)),
});
/** Both ends inclusive. */
const range = (name: string, column: string): Parameters => ({
  [`${name}From`]: time((filter, ms) => filter.time(column, ms, undefined)),
  [`${name}To`]: time((filter, ms) => filter.time(column, undefined, ms)),
});
/** Of retention: without the end itself. */
const before = (column: string): Parameters => ({
  before: time((filter, ms) =>
    filter.add(`${column} < fromUnixTimestamp64Milli(${filter.bind('Int64', ms)}, 'UTC')`, column),
  ),
});
const fragment: Parameter = { kind: 'text', add: (filter, value) => void filter.fragment(String(value)) };
const custom = (sqlOf: (filter: HistoryFilter, value: string, all: ParameterValues) => string): Parameter => ({
  kind: 'text',
  add: (filter, value, all) => void filter.add(sqlOf(filter, String(value), all)),
});

/** Columns of measurements that are the same in all rows of one. */
const MEASUREMENT_COLUMNS_OF_ALL = ['source', 'time', 'id', 'type'];

const SOURCES: Parameters = { source: id('source'), sources: ids('source') };

const TABLES = {
  measurements: {
    ...SOURCES,
    id: id('id'),
    ids: ids('id'),
    type: text('type'),
    ...range('date', 'time'),
    ...before('time'),
    valueFragmentType: text('fragment'),
    valueFragmentSeries: text('series'),
    // Any property counts, with values or without (docs/spec/measurements.md#filters).
    fragmentType: custom((filter, value, { valueFragmentType, valueFragmentSeries }) => {
      const name = filter.bind('String', value);
      const others = `(doc != '' AND JSONHas(doc, ${name})) OR (tail != '' AND JSONHas(concat('{', tail, '}'), ${name}))`;
      const isIt = `(fragment = ${name} OR ${others})`;
      if (valueFragmentType === undefined && valueFragmentSeries === undefined) return isIt;
      // Another row of the measurement than the one with the value may have it.
      const all = filter.whereOn(MEASUREMENT_COLUMNS_OF_ALL);
      return `(source, time, id) IN (SELECT source, time, id FROM measurements WHERE ${all} AND ${isIt})`;
    }),
  },
  events: {
    ...SOURCES,
    type: text('type'),
    fragmentType: fragment,
    ...range('date', 'time'),
    ...range('created', 'creation_time'),
    ...range('lastUpdated', 'last_updated'),
    ...before('time'),
    // With fragmentType: a text, or the JSON of another value (docs/spec/events.md#lists).
    fragmentValue: custom((filter, value, { fragmentType }) => {
      const [name, wanted] = [filter.bind('String', fragmentType), filter.bind('String', value)];
      return `(JSONExtractString(doc, ${name}) = ${wanted} OR JSONExtractRaw(doc, ${name}) = ${wanted})`;
    }),
  },
  alarms: {
    ...SOURCES,
    ...range('date', 'time'),
    ...range('created', 'creation_time'),
    ...range('lastUpdated', 'last_updated'),
    ...before('time'),
    status: list('status'),
    severity: list('severity'),
    // Only alarms take lists of types (docs/spec/alarms.md#lists).
    type: list('type'),
    resolved: {
      kind: 'text',
      add: (filter, value) => filter.add(`status ${value === 'true' ? '=' : '!='} 'CLEARED'`, 'status'),
    },
    fragmentType: fragment,
  },
  operations: {
    deviceId: id('source'),
    ...SOURCES,
    status: list('status'),
    fragmentType: fragment,
    bulkOperationId: id('bulk'),
    ...range('date', 'creation_time'),
    ...before('creation_time'),
    // Operations have a type only as a fragment.
    type: custom((filter, value) => `JSONExtractString(doc, 'type') = ${filter.bind('String', value)}`),
  },
  audits: {
    application: text('application'),
    // Any id: records are not only about managed objects.
    source: text('source'),
    type: list('type'),
    user: text('user'),
    ...range('date', 'time'),
    ...before('time'),
    fragmentType: custom((filter, value) => `JSONHas(doc, ${filter.bind('String', value)})`),
  },
  managed_objects: {
    ids: ids('id'),
    type: text('type'),
    // Members with columns of their own are not among the fragments of the row.
    fragmentType: {
      kind: 'text',
      add: (filter, value) =>
        NOT_FRAGMENTS.has(String(value))
          ? filter.add(`JSONHas(doc, ${filter.bind('String', value)})`)
          : filter.fragment(String(value)),
    },
    owner: text('owner'),
  },
} satisfies Partial<Record<HistoryTable, Parameters>>;
export type SelectedTable = keyof typeof TABLES;
/** Parameters by table and name, in the order of their conditions. */
export const PARAMETERS: Readonly<Record<SelectedTable, Parameters>> = TABLES;

/** Parameters of measurements about one value: a measurement is selected with all its values. */
export const OF_VALUES: readonly string[] = ['valueFragmentType', 'valueFragmentSeries', 'fragmentType'];
/** Parameters whose answer a change of the entity may change. */
const CHANGING: readonly string[] = [
  'status',
  'severity',
  'resolved',
  'fragmentType',
  'fragmentValue',
  'lastUpdatedFrom',
  'lastUpdatedTo',
];
export const isAboutChanges = (names: readonly string[]): boolean => names.some((name) => CHANGING.includes(name));

/** A parameter that the table does not have, or a value that it does not take. */
export class WrongParameter extends Error {}

/** Adds a condition for each value. @throws WrongParameter, since an omitted condition would select more. */
export function addParameters(filter: HistoryFilter, table: SelectedTable, values: ParameterValues): HistoryFilter {
  const unknown = Object.keys(values).find((name) => !Object.hasOwn(PARAMETERS[table], name));
  if (unknown !== undefined) throw new WrongParameter(`${table} are not selected by ${unknown}`);
  for (const [name, { add }] of Object.entries(PARAMETERS[table])) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value !== undefined) add(filter, value, values);
  }
  return filter;
}

/** The values that a DELETE carries as texts. @throws WrongParameter. */
export function deletionValues(table: SelectedTable, texts: Readonly<Record<string, string>>): ParameterValues {
  return Object.fromEntries(
    Object.entries(texts).map(([name, sent]) => {
      const kind = Object.hasOwn(PARAMETERS[table], name) ? PARAMETERS[table][name].kind : undefined;
      if (kind === undefined) throw new WrongParameter(`a DELETE by ${name} reached the history store`);
      if (kind === 'list') return [name, sent.split(',')];
      if (kind === 'text') return [name, sent];
      const ms = parseTime(sent);
      if (ms === undefined) throw new WrongParameter(`a DELETE with ${name}=${sent} reached the history store`);
      return [name, ms];
    }),
  );
}
