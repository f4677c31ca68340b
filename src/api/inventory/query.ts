/** Queries of the inventory's language as part of a list (docs/spec/queries.md). */
import { childrenCondition, lookUpHierarchy } from '../../history/inventory-query/hierarchy.ts';
import { parseInventoryQuery } from '../../history/inventory-query/parser.ts';
import { QueryCompiler } from '../../history/inventory-query/sql.ts';
import type { ChildKind } from '../../model/commands/links.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { linkedIds } from '../lists/hierarchy.ts';
import type { HistoryFilter } from '../lists/filter.ts';

/**
 * Characters of SQL of one query: the engine takes about 8 ms for 1,000 before it reads a row, and refuses a whole
 * statement above 262,144.
 */
const SQL_LENGTH_MAX = 131_072;
const SQL_LENGTH_LIMIT = 'inventory/query-length';
/** Parents of one object that a filter by child looks at. */
const PARENTS_MAX = 2000;

/** Parameters that ask for the parents of an object. */
export const CHILD_FILTERS: Readonly<Record<string, ChildKind>> = {
  childAssetId: 'childAssets',
  childDeviceId: 'childDevices',
  childAdditionId: 'childAdditions',
};

/** Ids of the parents of the object that the parameter `name` of CHILD_FILTERS names. */
export async function parentsOfChild(request: ApiRequest, name: string): Promise<string[]> {
  const child = request.query.text(name) ?? '';
  return isEntityId(child) ? linkedIds(request, 'parents', child, CHILD_FILTERS[name], PARENTS_MAX) : [];
}

/**
 * Everything that some property of an object holds as text, as it is spelled there, with its name's colon or without
 * one.
 */
const TEXTS_OF_DOCUMENT = `extractAllGroupsVertical(doc, '"((?:[^"\\\\\\\\]|\\\\\\\\.)*)"(:?)')`;

/**
 * Adds the conditions of `query`.
 * @returns its order, SQL. @throws PlatformError `inventory/invalid-query`.
 */
export async function addInventoryQuery(request: ApiRequest, filter: HistoryFilter, query: string): Promise<string> {
  const { platform, tenant, history } = request;
  const parsed = parseInventoryQuery(query);
  const conditions = await lookUpHierarchy(parsed.filter, { tenant, documents: platform.documents, history }, filter);
  const compiler = new QueryCompiler(filter, { conditions });
  const condition = parsed.filter === undefined ? '1' : compiler.condition(parsed.filter);
  const order = compiler.order(parsed.order);
  requireShort(request, condition.length + order.length);
  if (parsed.filter !== undefined) filter.add(condition);
  return order;
}

/** @throws PlatformError `inventory/invalid-query` for what the engine would work on too long before it reads a row. */
function requireShort({ platform }: ApiRequest, length: number): void {
  if (length <= SQL_LENGTH_MAX) return;
  platform.refusals.count(SQL_LENGTH_LIMIT);
  const limit = `${SQL_LENGTH_MAX} (${SQL_LENGTH_LIMIT})`;
  const reason = `its conditions and orders make ${length} characters of SQL, more than ${limit}; use fewer of them or shorter paths`;
  throw new PlatformError('inventory/invalid-query', { reason });
}

/** Adds that objects are children of `parent`. */
export async function addChildrenOf(
  request: ApiRequest,
  filter: HistoryFilter,
  parent: string,
  kind: ChildKind,
): Promise<void> {
  const { platform, tenant, history } = request;
  filter.add(
    await childrenCondition([Number(parent)], [kind], { tenant, documents: platform.documents, history }, filter),
  );
}

/** One of them as it is meant: documents are as they were sent, and JSON has several spellings of most characters. */
const MEANT_TEXT = `if(position(t[1], '\\\\') = 0, t[1], JSONExtractString(concat('"', t[1], '"')))`;

/** Parts of a document, one of which is there when it has the text in any spelling. */
function spellings(wanted: string): string[] {
  const parts = [wanted, JSON.stringify(wanted).slice(1, -1), '\\u'];
  return [...new Set(wanted.includes('/') ? [...parts, '\\/'] : parts)];
}

/** The Python library `c8y_api` puts the text in quotes, as queries have it. */
const unquoted = (sent: string): string => (/^'.+'$/s.test(sent) ? sent.slice(1, -1).replaceAll("''", "'") : sent);

/**
 * Adds that some property is equal to the text or, when it is a text, starts with it. @param sent with or without
 * single quotes around it.
 */
export function addTextSearch(filter: HistoryFilter, sent: string): void {
  const wanted = unquoted(sent);
  const start = filter.bind('String', wanted);
  // Looking for its spellings alone comes first: few documents have one at all.
  const isThere = `multiSearchAny(doc, ${filter.bind('Array(String)', spellings(wanted))})`;
  const conditions = [
    `(${isThere} AND arrayExists(t -> t[2] = '' AND startsWith(${MEANT_TEXT}, ${start}), ${TEXTS_OF_DOCUMENT}))`,
  ];
  if (/^-?\d+(\.\d+)?$|^true$|^false$/.test(wanted)) {
    const places = [':', '[', ','].flatMap((before) => [',', '}', ']'].map((after) => `${before}${wanted}${after}`));
    conditions.push(`multiSearchAny(doc, ${filter.bind('Array(String)', places)})`);
  }
  filter.add(`(${conditions.join(' OR ')})`);
}
