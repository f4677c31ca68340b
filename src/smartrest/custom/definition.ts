/**
 * Collections of custom templates as they are sent in rows and as they are stored
 * (docs/spec/smartrest.md#template-collections). What is wrong with one is worded here, and in what compiles it.
 */
import { isJsonObject, toList, type JsonObject } from '../rows/json-values.ts';
import { shorten } from '../rows/error.ts';

const METHODS = ['GET', 'PUT', 'POST'] as const;
const APIS = ['INVENTORY', 'MEASUREMENT', 'ALARM', 'EVENT', 'OPERATION'] as const;
export type Method = (typeof METHODS)[number];
export type Api = (typeof APIS)[number];

export interface CustomValueDefinition {
  readonly path: string;
  /** Empty: STRING. */
  readonly type: string;
  /** Empty: the client sends it. */
  readonly value: string;
}

/** As it is stored; a value that is empty is sent by the client. */
export interface RequestDefinition {
  readonly msgId: string;
  readonly method: Method;
  readonly api: Api;
  readonly response: boolean;
  /** Of GET and PUT INVENTORY. */
  readonly byId?: boolean;
  /** Of INVENTORY. */
  readonly externalIdType?: string;
  /** In the order of `MANDATORY`. */
  readonly mandatoryValues: readonly string[];
  readonly customValues: readonly CustomValueDefinition[];
}

export interface ResponseDefinition {
  readonly msgId: string;
  readonly base: string;
  readonly condition: string;
  readonly pattern: readonly string[];
}

export interface CollectionDefinition {
  readonly requestTemplates: readonly RequestDefinition[];
  readonly responseTemplates: readonly ResponseDefinition[];
}

/** A collection that is not taken; the message names the template, the value and what it takes. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** Names of the values that POST and PUT have before the custom ones, by method and API. */
export const MANDATORY: Readonly<Partial<Record<`${Method} ${Api}`, readonly string[]>>> = {
  'GET INVENTORY': [],
  'PUT INVENTORY': [],
  'POST INVENTORY': [],
  'POST MEASUREMENT': ['type', 'time'],
  'POST EVENT': ['type', 'text', 'time'],
  'POST ALARM': ['type', 'text', 'status', 'severity', 'time'],
  'PUT ALARM': ['type'],
  'PUT OPERATION': ['fragment'],
};

const CUSTOM_VALUE_COLUMNS = 3;

/** @param rows fields of the rows of one message, in its order. @throws TemplateError. */
export function definitionOfRows(rows: readonly (readonly string[])[]): CollectionDefinition {
  const requestTemplates: RequestDefinition[] = [];
  const responseTemplates: ResponseDefinition[] = [];
  for (const [index, fields] of rows.entries()) {
    const where = `Row ${index + 1}`;
    if (fields[0] === '10') requestTemplates.push(requestOfRow(fields, where));
    else if (fields[0] === '11') responseTemplates.push(responseOfRow(fields));
    else throw new TemplateError(`${where}: ${shorten(fields[0] ?? '')} is not a template; rows begin with 10 or 11`);
  }
  return { requestTemplates, responseTemplates };
}

function requestOfRow(fields: readonly string[], where: string): RequestDefinition {
  const at = (index: number): string => fields[index] ?? '';
  const method = oneOf(at(2), METHODS, `${where}: the method`);
  const api = oneOf(at(3), APIS, `${where}: the API`);
  const names = mandatoryNames(method, api, where);
  let next = 5;
  const isFound = api === 'INVENTORY' && method !== 'POST';
  const byId = isFound ? truth(at(next++), `${where}: byId`) : undefined;
  const externalIdType = api === 'INVENTORY' && byId !== true ? at(next++) : undefined;
  const mandatoryValues = names.map(() => at(next++));
  const customValues: CustomValueDefinition[] = [];
  for (; next < fields.length; next += CUSTOM_VALUE_COLUMNS)
    customValues.push({ path: at(next), type: at(next + 1), value: at(next + 2) });
  return {
    msgId: at(1),
    method,
    api,
    response: at(4) === '' ? method === 'GET' : truth(at(4), `${where}: response`),
    ...(byId === undefined ? {} : { byId }),
    ...(externalIdType === undefined ? {} : { externalIdType }),
    mandatoryValues,
    customValues,
  };
}

const responseOfRow = ([
  ,
  msgId = '',
  base = '',
  condition = '',
  ...pattern
]: readonly string[]): ResponseDefinition => ({
  msgId,
  base,
  condition,
  pattern,
});

/** @param fragment as stored, of which nothing is known. @throws TemplateError. */
export function definitionOfFragment(fragment: unknown): CollectionDefinition {
  if (!isJsonObject(fragment)) throw new TemplateError('The templates are not an object');
  const list = (name: string): readonly unknown[] => {
    const value = memberOf(fragment, name);
    if (value !== undefined && !Array.isArray(value)) throw new TemplateError(`${name} is not a list`);
    return toList(value);
  };
  return {
    requestTemplates: list('requestTemplates').map((value, index) =>
      requestOfObject(value, `Request template ${index + 1}`),
    ),
    responseTemplates: list('responseTemplates').map((value, index) =>
      responseOfObject(value, `Response template ${index + 1}`),
    ),
  };
}

function requestOfObject(value: unknown, where: string): RequestDefinition {
  if (!isJsonObject(value)) throw new TemplateError(`${where} is not an object`);
  const text = (name: string): string => textOf(value, name, where);
  const method = oneOf(text('method'), METHODS, `${where}: the method`);
  const api = oneOf(text('api'), APIS, `${where}: the API`);
  const isFound = api === 'INVENTORY' && method !== 'POST';
  const isNew = api === 'INVENTORY' && method === 'POST';
  const byId = isFound ? truth(text('byId'), `${where}: byId`) : undefined;
  const names = isNew ? ['externalIdType'] : mandatoryNames(method, api, where);
  const mandatoryValues = mandatoryOf(memberOf(value, 'mandatoryValues'), names, where);
  const externalIdType = text('externalIdType') || (isNew ? mandatoryValues[0] : '');
  return {
    msgId: text('msgId'),
    method,
    api,
    response: text('response') === '' ? method === 'GET' : truth(text('response'), `${where}: response`),
    ...(byId === undefined ? {} : { byId }),
    ...(api === 'INVENTORY' && byId !== true ? { externalIdType } : {}),
    mandatoryValues: isNew ? [] : mandatoryValues,
    customValues: listOf(value, 'customValues', where).map((custom) => {
      if (!isJsonObject(custom)) throw new TemplateError(`${where}: a custom value is not an object`);
      return {
        path: textOf(custom, 'path', where),
        type: textOf(custom, 'type', where),
        value: textOf(custom, 'value', where),
      };
    }),
  };
}

/** A list in the order of the names, or an object with them. An element may be an object with `value`. */
function mandatoryOf(value: unknown, names: readonly string[], where: string): string[] {
  if (isJsonObject(value)) return names.map((name) => textOf(value, name, where));
  const list = toList(value);
  if (list.length > names.length)
    throw new TemplateError(`${where} has ${list.length} mandatory values; it takes ${names.join(', ') || 'none'}`);
  return names.map((_, index) => {
    const element = list[index];
    return isJsonObject(element) ? textOf(element, 'value', where) : scalarText(element, where, 'a mandatory value');
  });
}

function responseOfObject(value: unknown, where: string): ResponseDefinition {
  if (!isJsonObject(value)) throw new TemplateError(`${where} is not an object`);
  return {
    msgId: textOf(value, 'msgId', where),
    base: textOf(value, 'base', where),
    condition: textOf(value, 'condition', where),
    pattern: listOf(value, 'pattern', where).map((path) => scalarText(path, where, 'a pattern')),
  };
}

const memberOf = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) && object[name] !== null ? object[name] : undefined;

function listOf(object: JsonObject, name: string, where: string): readonly unknown[] {
  const value = memberOf(object, name);
  if (value !== undefined && !Array.isArray(value)) throw new TemplateError(`${where}: ${name} is not a list`);
  return toList(value);
}

const textOf = (object: JsonObject, name: string, where: string): string =>
  scalarText(memberOf(object, name), where, name);

function scalarText(value: unknown, where: string, name: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'object') throw new TemplateError(`${where}: ${name} is not a text`);
  return String(value);
}

function mandatoryNames(method: Method, api: Api, where: string): readonly string[] {
  const names = MANDATORY[`${method} ${api}`];
  if (names !== undefined) return names;
  const pairs = Object.keys(MANDATORY).join(', ');
  throw new TemplateError(`${where}: ${method} ${api} is not supported; it takes ${pairs}`);
}

function oneOf<Name extends string>(value: string, names: readonly Name[], what: string): Name {
  const found = names.find((name) => name === value);
  if (found === undefined) throw new TemplateError(`${what} is ${shorten(value)}; it takes ${names.join(', ')}`);
  return found;
}

function truth(value: string, what: string): boolean {
  if (value !== 'true' && value !== 'false')
    throw new TemplateError(`${what} is ${shorten(value)}; it takes true or false`);
  return value === 'true';
}
