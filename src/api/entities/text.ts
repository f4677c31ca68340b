/** JSON text of entities: the stored document with links put around it, never parsed and written again. */
import { joinMembers, memberText, splitMembers, stringOf } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { idText } from '../../model/entities/entity-id.ts';
import { textsWithin } from '../request/page-budget.ts';
import type { ApiRequest } from '../request/request.ts';

/** What texts of entities take from a request. */
export type ViewRequest = Pick<ApiRequest, 'platform' | 'tenant' | 'baseUrl' | 'query' | 'refusals'>;

/** Members that the gateway writes itself, whatever is stored. */
const HEAD: ReadonlySet<string> = new Set(['id', 'self']);

export const quote = (text: string): string => JSON.stringify(text);

/** A segment of a path in a link. */
export const segment = (text: string): string => encodeURIComponent(text.toWellFormed());

/**
 * @param replaced members that take the place of stored ones; those that are not stored come at the end.
 * @returns `{"self":…,"id":…,` and the other members in their own order.
 */
export function entityText(
  self: string,
  id: string,
  members: Members,
  replaced: ReadonlyMap<string, string> = new Map(),
): string {
  const parts: [string, string][] = [
    ['self', quote(self)],
    ['id', quote(id)],
  ];
  for (const [name, value] of members) {
    if (!HEAD.has(name)) parts.push([name, replaced.get(name) ?? value]);
  }
  for (const [name, value] of replaced) if (!members.has(name)) parts.push([name, value]);
  return joinMembers(parts);
}

/** How actors begin a document: with its id, and data with the id of its source. */
const HEAD_OF_ENTITY = /^\{"id":"\d+"/;
const HEAD_OF_DATA = /^\{"id":"\d+","source":\{"id":"(\d+)"\}/;

/**
 * As `entityText`, from the stored text without its members.
 * @param added `,"name":value` of members that are not stored. @param others find names that a document may have whose
 * members are looked at.
 * @returns undefined for a document that has one, or another head.
 */
export function textOfStored(self: string, id: string, doc: string, added: string, others: RegExp): string | undefined {
  const head = HEAD_OF_ENTITY.exec(doc);
  if (head === null || others.test(doc)) return undefined;
  return `{"self":${quote(self)},"id":${quote(id)}${doc.slice(head[0].length, -1)}${added}}`;
}

/**
 * Texts of events or alarms with links and names of their sources. @param documents as stored. @param replaced as in
 * `entityText`. @throws PlatformError `general/page-too-large`.
 */
export async function dataTexts(
  request: ViewRequest,
  documents: readonly { readonly entityId: string; readonly doc: string }[],
  urlOf: (id: string) => string,
  replaced?: ReadonlyMap<string, string>,
): Promise<string[]> {
  const all = documents.map(({ entityId, doc }) => {
    const head = replaced === undefined && !doc.includes('"self":') ? HEAD_OF_DATA.exec(doc) : null;
    if (head !== null) return { entityId, source: head[1], rest: doc.slice(head[0].length) };
    const members = splitMembers(doc);
    return { entityId, source: sourceIdOf(members), members };
  });
  const sources = await namedSources(
    request,
    all.map(({ source }) => source),
  );
  return textsWithin(request, all, ({ entityId, source, rest, members }) => {
    const named = sources.get(source) ?? '{}';
    if (rest !== undefined) return `{"self":${quote(urlOf(entityId))},"id":${quote(entityId)},"source":${named}${rest}`;
    return entityText(urlOf(entityId), entityId, members, new Map([['source', named], ...(replaced ?? [])]));
  });
}

/** In descriptions of answers to a POST (docs/spec/conventions.md#processing-modes). */
export const UNSTORED = 'what the processing mode does not store has the id null and no links';

/** An entity that was not stored: without links, its id is null. @param replaced as in `entityText`. */
export function unstoredText(members: Members, replaced: ReadonlyMap<string, string> = new Map()): string {
  const parts = [...members]
    .filter(([name]) => !HEAD.has(name))
    .map(([name, value]) => [name, replaced.get(name) ?? value] as const);
  return joinMembers([['id', 'null'], ...parts]);
}

export const managedObjectUrl = (request: Pick<ViewRequest, 'baseUrl'>, id: string): string =>
  `${request.baseUrl}/inventory/managedObjects/${segment(id)}`;

/** `{"id":…,"self":…}` */
export function sourceText(request: Pick<ViewRequest, 'baseUrl'>, id: string): string {
  return `{"id":${quote(id)},"self":${quote(managedObjectUrl(request, id))}}`;
}

/** Value of `source.id` in a stored document: text, or a number that a client sent instead. */
export function sourceIdOf(members: Members): string {
  const source = members.get('source');
  if (source === undefined || !source.startsWith('{')) return '';
  return idText(splitMembers(source).get('id'));
}

/** Name and type of managed objects for the `source` of their data; one read for a page. */
export async function namedSources(request: ViewRequest, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const distinct = [...new Set(ids)];
  const documents = await request.platform.documents.getMany('managedObject', request.tenant, distinct);
  return new Map(
    distinct.map((id, index) => {
      const text = documents[index];
      const name = text === undefined ? undefined : stringOf(memberText(text, 'name'));
      const type = text === undefined ? undefined : stringOf(memberText(text, 'type'));
      const tail = `${name === undefined ? '' : `,"name":${quote(name)}`}${type === undefined ? '' : `,"type":${quote(type)}`}`;
      return [id, `${sourceText(request, id).slice(0, -1)}${tail}}`];
    }),
  );
}
