/** Template collections of SmartREST 2.0, compiled (docs/spec/smartrest.md#template-collections). */
import { joinMembers, stringMember, type Members } from '../../model/documents/json-document.ts';
import { isExternalId } from '../../model/entities/external-id.ts';
import { TEMPLATES_2 } from '../../model/entities/managed-object.ts';
import { PlatformError } from '../../model/errors.ts';
import { shorten, SmartRestError } from '../rows/error.ts';
import {
  definitionOfFragment,
  definitionOfRows,
  TemplateError,
  type CollectionDefinition,
  type ResponseDefinition,
} from './definition.ts';
import { X_ID_TYPE } from './collection-shares.ts';
import { JsonPathError } from './json-path.ts';
import { compileRequestTemplate, type RequestTemplate } from './request-template.ts';
import { compileResponseTemplate, type ResponseTemplate } from './response-template.ts';

const OBJECT_TYPE = 'c8y_SmartRest2Template';
const X_ID_MEMBER = '__externalId';

/** It is a level of a topic. */
export const isXId = (text: string): boolean => isExternalId(X_ID_TYPE, text) && !/[/+#]/.test(text);

/** @throws PlatformError `smartrest/bad-x-id`. */
export function requireXId(text: string): void {
  if (!isXId(text)) throw new PlatformError('smartrest/bad-x-id', { xid: shorten(text) });
}

/** Templates of one collection, and columns of one template. */
export const TEMPLATES_MAX = 1_000;
export const VALUES_MAX = 1_000;
/** Characters of the JSON text of one collection. */
export const TEXT_LENGTH_MAX = 256 * 1024;
const TEMPLATES_LIMIT = 'smartrest/collection-templates';
const VALUES_LIMIT = 'smartrest/collection-values';
const TEXT_LIMIT = 'smartrest/collection-characters';

export interface TemplateCollection {
  readonly requests: ReadonlyMap<string, RequestTemplate>;
  readonly responses: readonly ResponseTemplate[];
  /** Whether some measurement of it takes the hot path. */
  readonly hasSingle: boolean;
}

/**
 * @param rows fields of the rows of one message. @returns the document of the managed object that keeps the collection.
 * @throws TemplateError.
 */
export function collectionDocument(xid: string, rows: readonly (readonly string[])[]): string {
  const definition = definitionOfRows(rows);
  if (rows.length === 0) throw new TemplateError('There are no templates');
  compile(definition);
  const text = JSON.stringify(definition);
  requireLength(text);
  return joinMembers([
    ['name', JSON.stringify(xid)],
    ['type', JSON.stringify(OBJECT_TYPE)],
    [TEMPLATES_2[0], text],
    [X_ID_MEMBER, JSON.stringify(xid)],
  ]);
}

const fragmentOf = (members: Members): string | undefined =>
  TEMPLATES_2.map((name) => members.get(name)).find((text) => text !== undefined && text !== 'null');

/** @param members of a managed object. @returns undefined without templates. @throws TemplateError. */
export function collectionOf(members: Members): TemplateCollection | undefined {
  const text = fragmentOf(members);
  if (text === undefined) return undefined;
  requireLength(text);
  return compile(definitionOfFragment(JSON.parse(text)));
}

/** @returns the X-ID under which a new managed object is to be known; undefined when it is not a collection with one. */
export function sentXId(members: Members): string | undefined {
  return fragmentOf(members) === undefined ? undefined : stringMember(members, X_ID_MEMBER);
}

function requireLength(text: string): void {
  if (text.length > TEXT_LENGTH_MAX)
    throw new TemplateError(
      `The templates have ${text.length} characters; ${TEXT_LENGTH_MAX} are allowed (${TEXT_LIMIT})`,
    );
}

function compile({ requestTemplates, responseTemplates }: CollectionDefinition): TemplateCollection {
  const count = requestTemplates.length + responseTemplates.length;
  if (count > TEMPLATES_MAX)
    throw new TemplateError(`There are ${count} templates; ${TEMPLATES_MAX} are allowed (${TEMPLATES_LIMIT})`);
  const ids = new Set<string>();
  for (const { msgId } of [...requestTemplates, ...responseTemplates]) {
    requireMessageId(msgId);
    if (ids.has(msgId)) throw new TemplateError(`The message id ${shorten(msgId)} is there twice`);
    ids.add(msgId);
  }
  for (const { msgId, customValues } of requestTemplates) requireFew(msgId, customValues.length);
  const requests = new Map(
    requestTemplates.map((definition) => [definition.msgId, compileRequestTemplate(definition)] as const),
  );
  return {
    requests,
    responses: responseTemplates.map(compileResponse),
    hasSingle: [...requests.values()].some(({ single }) => single !== undefined),
  };
}

function requireMessageId(msgId: string): void {
  if (msgId === '') throw new TemplateError('A template has no message id');
  if (/[,"\u0000-\u001f]/.test(msgId) || msgId !== msgId.trim())
    throw new TemplateError(
      `The message id ${shorten(msgId)} has a comma, a quote, a control character, or a blank at an end`,
    );
}

function requireFew(msgId: string, count: number): void {
  if (count > VALUES_MAX)
    throw new TemplateError(
      `Template ${shorten(msgId)} has ${count} values or patterns; ${VALUES_MAX} are allowed (${VALUES_LIMIT})`,
    );
}

function compileResponse({ msgId, base, condition, pattern }: ResponseDefinition): ResponseTemplate {
  requireFew(msgId, pattern.length);
  if (pattern.length === 0) throw new TemplateError(`Response template ${shorten(msgId)} has no pattern`);
  try {
    return compileResponseTemplate({ messageId: msgId, base, condition, patterns: pattern }, '2.0');
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    throw new TemplateError(`Response template ${shorten(msgId)}: ${error.message}`);
  }
}

/** @returns the template of a row. @throws SmartRestError 40. */
export function requestOf({ requests }: TemplateCollection, xid: string, messageId: string): RequestTemplate {
  const template = requests.get(messageId);
  if (template === undefined)
    throw new SmartRestError(
      40,
      messageId,
      messageId === ''
        ? 'The message id is missing'
        : `Unknown template ${shorten(messageId)} of the collection ${shorten(xid)}`,
    );
  return template;
}
