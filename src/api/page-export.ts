/**
 * Lists of records (users, groups, tenants, applications, …) as CSV, JSON lines or Parquet, like those of entities
 * (export.ts): the pages of the list one after the other, each made when the client has taken what was before it.
 * Columns are the members that the schema of the answer names; all others are one JSON object in `fragments`.
 */
import type { TSchema } from 'typebox';
import { joinMembers, splitElements, splitMembers, stringMember } from '../model/documents/json-document.ts';
import { ANSWER_SCHEMAS } from './openapi/answer-schemas.ts';
import type { ApiRequest } from './request/request.ts';
import { EXPORT_KINDS, EXPORT_PARAMETERS, EXPORT_TYPES, exportFormat, exportRows } from './export/export.ts';
import type { ExportFormat, ExportShape } from './export/export.ts';
import type { ExportRow } from '../history/batches.ts';
import { pageOfSize } from './request/paging.ts';
import type { ParquetColumn } from './export/parquet.ts';
import { ANSWERED } from './request/answer.ts';
import type { Route } from './request/route.ts';
import type { Answer } from './request/answer.ts';
import type { RouteAnswer } from './request/route-rules.ts';

/** The array of a collection, and the columns of its items. */
interface ListShape {
  /** Undefined: the answer is the array. */
  readonly name: string | undefined;
  readonly columns: readonly ParquetColumn[];
  readonly pageSize: number;
}

/** Items of a page: many, since most lists of records are read whole for each. */
export const RECORDS_PAGE_SIZE = 10_000;
/** Few of those that may be large each: whole managed objects, users with their groups. */
const OBJECTS_PAGE_SIZE = 100;
/** Fewer of applications, which have their manifests, and of tenants, which have theirs. */
const APPLICATIONS_PAGE_SIZE = 20;
const pageSizeOf = (schemaName: string): number => {
  if (/^(application(Reference)?|tenant)Collection$/.test(schemaName)) return APPLICATIONS_PAGE_SIZE;
  return /^(managedObject|user|group|inventoryRole|bulkOperation)/.test(schemaName)
    ? OBJECTS_PAGE_SIZE
    : RECORDS_PAGE_SIZE;
};

interface JsonSchema {
  readonly type?: string;
  readonly $ref?: string;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly allOf?: readonly JsonSchema[];
}

const FRAGMENTS = 'fragments';

/** The route, whose list can be asked for as an export too. Others are given back as they are. */
export function withExport(route: Route): Route {
  const { answers, handle, query = {} } = route;
  const answer: RouteAnswer | undefined = answers[0];
  const shape =
    route.method === 'GET' && answer?.mediaType !== undefined
      ? listShape(answer.schema ?? answer.mediaType)
      : undefined;
  if (shape === undefined || answer?.contentTypes !== undefined || route.produces !== undefined) return route;
  const hasPages = 'pageSize' in query;
  return {
    ...route,
    query: { ...query, ...EXPORT_PARAMETERS },
    produces: ['vendor', 'json', ...EXPORT_KINDS],
    answers: [{ ...answer, contentTypes: EXPORT_TYPES }, ...answers.slice(1)],
    handle(request) {
      const format = exportFormat(request);
      return format === undefined
        ? handle(request)
        : exportPages(request, format, { shape, handle, isWhole: !hasPages || request.query.has('pageSize') });
    },
  };
}

interface PagedList {
  readonly shape: ListShape;
  readonly handle: Route['handle'];
  /** Whether one call gives all that is asked for. */
  readonly isWhole: boolean;
}

function exportPages(request: ApiRequest, format: ExportFormat, list: PagedList): Promise<typeof ANSWERED> {
  return exportRows(request, format, shapeOf(list.shape), pagesOf(request, list));
}

async function* pagesOf(request: ApiRequest, list: PagedList): AsyncGenerator<readonly ExportRow[]> {
  for (let current = 1; ; current += 1) {
    const { items, hasNext } = await readPage(request, list, current);
    yield items;
    if (list.isWhole || !hasNext) return;
  }
}

interface ListPage {
  readonly items: readonly ExportRow[];
  readonly hasNext: boolean;
}

/** Pages may be short, of what may not be read, and are not the last for that: the link to the next one decides. */
async function readPage(
  request: ApiRequest,
  { shape, handle, isWhole }: PagedList,
  current: number,
): Promise<ListPage> {
  if (!isWhole) request.page = pageOfSize(shape.pageSize, current);
  const answer: Answer | typeof ANSWERED = await handle(request);
  if (answer === ANSWERED) throw new Error('a list answers with a text');
  if (shape.name === undefined) return { items: splitElements(answer.text).map((item) => [item]), hasNext: false };
  const members = splitMembers(answer.text);
  return { items: splitElements(members.get(shape.name) ?? '[]').map((item) => [item]), hasNext: members.has('next') };
}

function shapeOf({ columns }: ListShape): ExportShape {
  const known = new Set(['self', ...columns.map(({ name }) => name)]);
  // A member of that name has no column of its own.
  known.delete(FRAGMENTS);
  return {
    columns,
    texts: async (rows) => rows.map(([item]) => item),
    values: async (rows) =>
      rows.map(([item]) => {
        const members = splitMembers(item);
        return columns.map(({ name, type }) => {
          if (name === FRAGMENTS) return joinMembers([...members].filter(([member]) => !known.has(member)));
          const text = members.get(name);
          if (type === 'integer') return Number(text);
          return text === undefined || text === 'null' ? '' : (stringMember(members, name) ?? text);
        });
      }),
  };
}

/** Names of answers that are collections; others may hold arrays too. */
const COLLECTION = /(Collection|Binaries)$/;

/** @returns undefined for what is neither a collection nor an array. */
function listShape(schemaName: string): ListShape | undefined {
  const collection = schemaOf(schemaName);
  if (collection?.type === 'array')
    return { name: undefined, columns: columnsOf(collection.items), pageSize: RECORDS_PAGE_SIZE };
  if (!COLLECTION.test(schemaName)) return undefined;
  const found = Object.entries(collection?.properties ?? {}).find(
    ([, { type, items }]) => type === 'array' && items?.$ref !== undefined,
  );
  if (found === undefined) return undefined;
  const [name, { items }] = found;
  return { name, columns: columnsOf(schemaOf(items?.$ref?.split('/').at(-1) ?? '')), pageSize: pageSizeOf(schemaName) };
}

/** The members that the schema of an item names, and one for all others. */
function columnsOf(item: JsonSchema | undefined): readonly ParquetColumn[] {
  const members = new Map<string, JsonSchema>();
  const required = new Set<string>();
  for (const part of [item, ...(item?.allOf ?? [])]) {
    for (const [member, schema] of Object.entries(part?.properties ?? {}))
      if (member !== 'self') members.set(member, schema);
    for (const member of part?.required ?? []) required.add(member);
  }
  const typeOf = (member: string, { type }: JsonSchema): ParquetColumn['type'] =>
    type === 'integer' && required.has(member) ? 'integer' : 'string';
  const columns = [...members].map(
    ([member, schema]): ParquetColumn => ({ name: member, type: typeOf(member, schema) }),
  );
  return [...columns, { name: FRAGMENTS, type: 'string' }];
}

const schemaOf = (name: string): JsonSchema | undefined => {
  const schema: TSchema | undefined = Object.hasOwn(ANSWER_SCHEMAS, name) ? ANSWER_SCHEMAS[name] : undefined;
  return schema as JsonSchema | undefined;
};
