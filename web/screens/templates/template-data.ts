/** Template collections of SmartREST 2.0 as they are stored, edited and passed on (docs/spec/smartrest.md#template-collections). */
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { rowText } from '../../core/text/rows.ts';

export const OBJECT_TYPE = 'c8y_SmartRest2Template';
/** The member with the templates: both spellings are stored; files have the second one. */
const FRAGMENTS = [
  'com_platform_model_smartrest_csv_CsvSmartRestTemplate',
  'com_cumulocity_model_smartrest_csv_CsvSmartRestTemplate',
] as const;
const X_ID = '__externalId';

/** Methods and APIs of requests, with the values that stand in front of the custom ones. */
export const REQUEST_KINDS = {
  'POST MEASUREMENT': ['type', 'time'],
  'POST EVENT': ['type', 'text', 'time'],
  'POST ALARM': ['type', 'text', 'status', 'severity', 'time'],
  'PUT ALARM': ['type'],
  'PUT OPERATION': ['fragment'],
  'POST INVENTORY': [],
  'GET INVENTORY': [],
  'PUT INVENTORY': [],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type RequestKind = keyof typeof REQUEST_KINDS;
export const KINDS = Object.keys(REQUEST_KINDS) as readonly RequestKind[];

/** Types of custom values, with one that a preview shows. */
const EXAMPLES = {
  STRING: '"text"',
  DATE: '"2026-11-21T14:03:00.000Z"',
  NUMBER: '1.5',
  INTEGER: '-1',
  UNSIGNED: '1',
  FLAG: '{}',
  SEVERITY: '"MAJOR"',
  ALARMSTATUS: '"ACTIVE"',
  OPERATIONSTATUS: '"SUCCESSFUL"',
} as const;
export type ValueType = keyof typeof EXAMPLES;
export const VALUE_TYPES = Object.keys(EXAMPLES) as readonly ValueType[];

export interface CustomValue {
  readonly path: string;
  readonly type: ValueType;
  /** Empty: the device sends it. */
  readonly value: string;
}

export interface RequestTemplate {
  readonly msgId: string;
  readonly kind: RequestKind;
  readonly response: boolean;
  /** Of GET and PUT INVENTORY. */
  readonly byId: boolean;
  /** Of INVENTORY that does not go by id; empty: the device sends it. */
  readonly externalIdType: string;
  /** In the order of `REQUEST_KINDS`; empty: the device sends it. */
  readonly mandatoryValues: readonly string[];
  readonly customValues: readonly CustomValue[];
  /** Members that other programs have added. */
  readonly others: Readonly<Record<string, unknown>>;
}

export interface ResponseTemplate {
  readonly msgId: string;
  readonly base: string;
  readonly condition: string;
  readonly pattern: readonly string[];
  readonly others: Readonly<Record<string, unknown>>;
}

export interface Collection {
  readonly name: string;
  readonly xid: string;
  readonly requests: readonly RequestTemplate[];
  readonly responses: readonly ResponseTemplate[];
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string => (value === undefined || value === null ? '' : String(value));
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);
const without = (object: Json, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

const REQUEST_MEMBERS = [
  'msgId',
  'method',
  'api',
  'response',
  'byId',
  'externalIdType',
  'mandatoryValues',
  'customValues',
];
const RESPONSE_MEMBERS = ['msgId', 'base', 'condition', 'pattern'];

export const isFound = ({ kind }: Pick<RequestTemplate, 'kind'>): boolean =>
  kind === 'GET INVENTORY' || kind === 'PUT INVENTORY';
/** Has an external ID, or finds an object by one. */
export const hasExternalId = (request: Pick<RequestTemplate, 'kind' | 'byId'>): boolean =>
  request.kind.endsWith(' INVENTORY') && !(isFound(request) && request.byId);

function requestOf(object: Json): RequestTemplate {
  const method = textOf(object['method']);
  const wanted = `${method} ${textOf(object['api'])}`;
  const kind = KINDS.find((one) => one === wanted) ?? KINDS[0];
  const mandatory = object['mandatoryValues'];
  const mandatoryText = (name: string, index: number): string => {
    const value = Array.isArray(mandatory) ? mandatory[index] : isObject(mandatory) ? mandatory[name] : '';
    return textOf(isObject(value) ? value['value'] : value);
  };
  return {
    msgId: textOf(object['msgId']),
    kind,
    response: textOf(object['response']) === '' ? method === 'GET' : textOf(object['response']) === 'true',
    byId: textOf(object['byId']) === 'true',
    externalIdType:
      textOf(object['externalIdType']) || (kind === 'POST INVENTORY' ? mandatoryText('externalIdType', 0) : ''),
    mandatoryValues: REQUEST_KINDS[kind].map(mandatoryText),
    customValues: listOf(object['customValues']).map((value) => ({
      path: textOf(value['path']),
      type: VALUE_TYPES.find((type) => type === value['type']) ?? 'STRING',
      value: textOf(value['value']),
    })),
    others: without(object, REQUEST_MEMBERS),
  };
}

const responseOf = (object: Json): ResponseTemplate => ({
  msgId: textOf(object['msgId']),
  base: textOf(object['base']),
  condition: textOf(object['condition']),
  pattern: Array.isArray(object['pattern']) ? object['pattern'].map(textOf) : [],
  others: without(object, RESPONSE_MEMBERS),
});

const fragmentName = (object: Json): (typeof FRAGMENTS)[number] | undefined =>
  FRAGMENTS.find((name) => isObject(object[name]));

/** @param object as it is stored, or as a file has it. @returns undefined of one without templates. */
export function collectionOf(object: Json): Collection | undefined {
  const name = fragmentName(object);
  if (name === undefined) return undefined;
  const templates = object[name] as Json;
  return {
    name: textOf(object['name']),
    xid: textOf(object[X_ID]),
    requests: listOf(templates['requestTemplates']).map(requestOf),
    responses: listOf(templates['responseTemplates']).map(responseOf),
  };
}

const storedRequest = (request: RequestTemplate): Json => {
  const [method, api] = request.kind.split(' ');
  return {
    ...request.others,
    msgId: request.msgId,
    method,
    api,
    response: request.response,
    ...(isFound(request) ? { byId: request.byId } : {}),
    ...(hasExternalId(request) ? { externalIdType: request.externalIdType } : {}),
    mandatoryValues: request.mandatoryValues,
    customValues: request.kind === 'GET INVENTORY' ? [] : request.customValues,
  };
};

const storedTemplates = ({ requests, responses }: Collection): Json => ({
  requestTemplates: requests.map(storedRequest),
  responseTemplates: responses.map(({ msgId, base, condition, pattern, others }) => ({
    ...others,
    msgId,
    base,
    condition,
    pattern,
  })),
});

/** The body that makes the collection, or changes it. @param stored what it is now, where it is there. */
export const bodyOf = (collection: Collection, stored?: ManagedObject): Json =>
  stored === undefined
    ? {
        name: collection.name,
        type: OBJECT_TYPE,
        [FRAGMENTS[0]]: storedTemplates(collection),
        [X_ID]: collection.xid,
      }
    : { name: collection.name, [fragmentName(stored) ?? FRAGMENTS[0]]: storedTemplates(collection) };

/** The file that other programs take. */
export const fileText = (collection: Collection): string =>
  `${JSON.stringify(
    {
      name: collection.name,
      type: OBJECT_TYPE,
      [FRAGMENTS[1]]: storedTemplates(collection),
      [X_ID]: collection.xid,
    },
    null,
    2,
  )}\n`;

/** @returns undefined for a text that is not a collection. */
export function readFile(text: string): Collection | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Not JSON: said by the answer.
    return undefined;
  }
  const collection = isObject(value) ? collectionOf(value) : undefined;
  return collection === undefined ? undefined : { ...collection, name: collection.name || collection.xid };
}

/** The row `10,…` that makes the template over MQTT. */
export function requestRow(request: RequestTemplate): string {
  const [method, api] = request.kind.split(' ');
  return rowText([
    '10',
    request.msgId,
    method,
    api,
    String(request.response),
    ...(isFound(request) ? [String(request.byId)] : []),
    ...(hasExternalId(request) ? [request.externalIdType] : []),
    ...request.mandatoryValues,
    ...(request.kind === 'GET INVENTORY'
      ? []
      : request.customValues.flatMap(({ path, type, value }) => [path, type, value])),
  ]);
}

/** The row `11,…` that makes the template over MQTT. */
export const responseRow = ({ msgId, base, condition, pattern }: ResponseTemplate): string =>
  rowText(['11', msgId, base, condition, ...pattern]);

/** Names of the values that the device sends, in their order. */
function sentValues(request: RequestTemplate): readonly string[] {
  const { kind, byId, externalIdType, mandatoryValues, customValues } = request;
  const isOfId = isFound(request) && byId;
  return [
    ...(hasExternalId(request) && externalIdType === '' ? ['externalIdType'] : []),
    ...(kind.endsWith(' INVENTORY') ? [isOfId ? 'id' : 'externalId'] : []),
    ...REQUEST_KINDS[kind].filter((_, index) => (mandatoryValues[index] ?? '') === ''),
    ...(kind === 'GET INVENTORY'
      ? []
      : customValues.filter(({ type, value }) => value === '' && type !== 'FLAG').map(({ path }) => path)),
  ];
}

/** What the device publishes, with `<names>` for values. */
export const sentRow = (request: RequestTemplate): string =>
  [request.msgId, ...sentValues(request).map((name) => `<${name}>`)].join(',');

/** What the device receives, with `<paths>` for values. @param isOperation an operation has its target in front. */
export const receivedRow = ({ msgId, pattern }: ResponseTemplate, isOperation: boolean): string =>
  [msgId, ...(isOperation ? ['<serial>'] : []), ...pattern.map((path) => `<${path}>`)].join(',');

/** The names of a path that leads to one member. */
const pathSteps = (path: string): readonly string[] =>
  [...path.matchAll(/\['([^']*)'\]|\["([^"]*)"\]|([^.[\]$]+)/g)].map(
    ([, single, double, name]) => single ?? double ?? name,
  );

type Tree = Map<string, Tree | string>;

const treeText = (tree: Tree): string =>
  `{${[...tree].map(([name, value]) => `${JSON.stringify(name)}:${typeof value === 'string' ? value : treeText(value)}`).join(',')}}`;

const EXAMPLE_OF_MANDATORY: Readonly<Record<string, string>> = {
  time: EXAMPLES.DATE,
  status: EXAMPLES.ALARMSTATUS,
  severity: EXAMPLES.SEVERITY,
};

/** JSON of a value as it stands in the template; numbers as they are written. */
const fixedJson = (type: ValueType, value: string): string =>
  (type === 'NUMBER' || type === 'INTEGER' || type === 'UNSIGNED') && /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value)
    ? value
    : JSON.stringify(value);

/** The body of the request that a row makes, with examples for what the device sends; undefined of one without. */
export function exampleBody(request: RequestTemplate): string | undefined {
  const { kind, mandatoryValues, customValues } = request;
  if (kind === 'GET INVENTORY') return undefined;
  const tree: Tree = new Map();
  const set = (steps: readonly string[], json: string): void => {
    const last = steps.at(-1);
    if (last === undefined) return;
    let at = tree;
    for (const step of steps.slice(0, -1)) {
      const next = at.get(step);
      const inner: Tree = next instanceof Map ? next : new Map();
      at.set(step, inner);
      at = inner;
    }
    at.set(last, json);
  };
  // The type and the fragment of a PUT say what is changed: they are not part of it.
  if (kind.startsWith('POST '))
    for (const [index, name] of REQUEST_KINDS[kind].entries()) {
      const value = mandatoryValues[index] ?? '';
      set([name], value === '' ? (EXAMPLE_OF_MANDATORY[name] ?? EXAMPLES.STRING) : JSON.stringify(value));
    }
  for (const { path, type, value } of customValues)
    set(pathSteps(path), value === '' ? EXAMPLES[type] : fixedJson(type, value));
  return treeText(tree);
}

/** The message ids that stand in more than one template. */
export function repeatedIds({ requests, responses }: Pick<Collection, 'requests' | 'responses'>): readonly string[] {
  const ids = [...requests, ...responses].map(({ msgId }) => msgId);
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))];
}

/** The message id of the template that the server's refusal is about. */
export const refusedId = ({ requests, responses }: Collection, message: string): string | undefined =>
  [...requests, ...responses]
    .map(({ msgId }) => msgId)
    .find((id) => [`emplate ${id}:`, `emplate ${id} has`, `message id ${id} `].some((part) => message.includes(part)));

export const NEW_REQUEST: RequestTemplate = {
  msgId: '',
  kind: 'POST MEASUREMENT',
  response: false,
  byId: false,
  externalIdType: '',
  mandatoryValues: ['', ''],
  customValues: [],
  others: {},
};
export const NEW_RESPONSE: ResponseTemplate = { msgId: '', base: '', condition: '', pattern: [], others: {} };
