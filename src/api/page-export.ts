/**
 * Lists of records (users, groups, tenants, applications, …) as CSV, JSON lines or Parquet, like those of entities (export.ts): the pages of the list one
 * after the other, each made when the client has taken what was before it. Columns are the members that the schema of the answer names; all
 * others are one JSON object in `fragments`.
 */
import type { TSchema } from 'typebox';
import { joinMembers, splitElements, splitMembers, stringMember } from '../model/json-document.ts';
import { ANSWER_SCHEMAS } from './answer-schemas.ts';
import type { ApiRequest } from './api-request.ts';
import { EXPORT_KINDS, EXPORT_PARAMETERS, EXPORT_TYPES, exportFormat, exportParts } from './export.ts';
import type { ExportFormat, ExportRow, ExportShape } from './export.ts';
import { PAGE_SIZE_MAX } from './paging.ts';
import type { ParquetColumn } from './parquet.ts';
import { ANSWERED } from './route.ts';
import type { Answer, Route, RouteAnswer } from './route.ts';

/** The array of a collection, and the columns of its items. */
interface ListShape {
  readonly name: string;
  readonly columns: readonly ParquetColumn[];
}

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
  const shape = route.method === 'GET' && answer?.mediaType !== undefined ? listShape(answer.schema ?? answer.mediaType) : undefined;
  if (shape === undefined || answer?.contentTypes !== undefined || route.produces !== undefined) return route;
  const hasPages = 'pageSize' in query;
  return {
    ...route, query: { ...query, ...EXPORT_PARAMETERS }, produces: ['vendor', 'json', ...EXPORT_KINDS],
    answers: [{ ...answer, contentTypes: EXPORT_TYPES }, ...answers.slice(1)],
    handle(request) {
      const format = exportFormat(request);
      return format === undefined ? handle(request) : exportPages(request, format, { shape, handle, isWhole: !hasPages || request.query.has('pageSize') });
    },
  };
}

interface PagedList {
  readonly shape: ListShape;
  readonly handle: Route['handle'];
  /** Whether one call gives all that is asked for. */
  readonly isWhole: boolean;
}

/** The first page is read before anything is sent: what it refuses is an answer of its own. */
async function exportPages(request: ApiRequest, format: ExportFormat, list: PagedList): Promise<typeof ANSWERED> {
  const first = await itemsOf(request, list, 1);
  const parts = async function* (): AsyncGenerator<readonly ExportRow[]> {
    yield first;
    let count = first.length;
    for (let page = 2; !list.isWhole && count >= PAGE_SIZE_MAX; page += 1) {
      const items = await itemsOf(request, list, page);
      yield items;
      count = items.length;
    }
  };
  exportParts(request, format, shapeOf(list.shape), parts());
  return ANSWERED;
}

async function itemsOf(request: ApiRequest, { shape, handle, isWhole }: PagedList, current: number): Promise<readonly ExportRow[]> {
  if (!isWhole) request.page = { size: PAGE_SIZE_MAX, current, offset: (current - 1) * PAGE_SIZE_MAX, wantsTotal: false };
  const answer: Answer | typeof ANSWERED = await handle(request);
  if (answer === ANSWERED) throw new Error('a list answers with a text');
  return splitElements(splitMembers(answer.text).get(shape.name) ?? '[]').map((item) => [item]);
}

function shapeOf({ columns }: ListShape): ExportShape {
  const known = new Set(['self', ...columns.map(({ name }) => name)]);
  return {
    columns,
    texts: async (rows) => rows.map(([item]) => item),
    values: async (rows) => rows.map(([item]) => {
      const members = splitMembers(item);
      return columns.map(({ name, type }) => {
        if (name === FRAGMENTS) return joinMembers([...members].filter(([member]) => !known.has(member)));
        return type === 'integer' ? Number(members.get(name)) : stringMember(members, name) ?? members.get(name) ?? '';
      });
    }),
  };
}

/** Names of answers that are collections; others may hold arrays too. */
const COLLECTION = /(Collection|Binaries)$/;

/** @returns undefined for what is no collection. */
function listShape(schemaName: string): ListShape | undefined {
  if (!COLLECTION.test(schemaName)) return undefined;
  const collection = schemaOf(schemaName);
  const found = Object.entries(collection?.properties ?? {}).find(([, { type, items }]) => type === 'array' && items?.$ref !== undefined);
  if (found === undefined) return undefined;
  const [name, { items }] = found;
  const item = schemaOf(items?.$ref?.split('/').at(-1) ?? '');
  const members = new Map<string, JsonSchema>();
  const required = new Set<string>();
  for (const part of [item, ...item?.allOf ?? []]) {
    for (const [member, schema] of Object.entries(part?.properties ?? {})) if (member !== 'self') members.set(member, schema);
    for (const member of part?.required ?? []) required.add(member);
  }
  const typeOf = (member: string, { type }: JsonSchema): ParquetColumn['type'] => (type === 'integer' && required.has(member) ? 'integer' : 'string');
  const columns = [...members].map(([member, schema]): ParquetColumn => ({ name: member, type: typeOf(member, schema) }));
  return { name, columns: [...columns, { name: FRAGMENTS, type: 'string' }] };
}

const schemaOf = (name: string): JsonSchema | undefined => {
  const schema: TSchema | undefined = Object.hasOwn(ANSWER_SCHEMAS, name) ? ANSWER_SCHEMAS[name] : undefined;
  return schema as JsonSchema | undefined;
};
