/**
 * Request templates of SmartREST 1.0: rows 10, and the requests that rows of values become
 * (docs/spec/smartrest-one.md#request-templates).
 */
import { parseEntityTime } from '../../model/documents/entity-time.ts';
import { parseNumber, toJsonNumber } from '../../model/documents/number-scan.ts';
import { shorten } from '../rows/error.ts';
import { NO_VALUES, RowFault, WRONG_COUNT } from './fault.ts';

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
export type TemplateMethod = (typeof METHODS)[number];

/** A request for the route table of this server. */
export interface FilledRequest {
  readonly method: TemplateMethod;
  /** Path, perhaps with a query, percent-encoded. */
  readonly uri: string;
  /** '' for none. */
  readonly contentType: string;
  /** '' for none: then a POST or PUT answers nothing. */
  readonly accept: string;
  readonly body: string;
}

const TYPES = ['STRING', 'UNSIGNED', 'INTEGER', 'NUMBER', 'DATE', 'NOW'] as const;
type ValueType = (typeof TYPES)[number];

/** How a value is written where it stands. */
type Place = 'uri' | 'string' | 'text';

interface Slot {
  readonly place: Place;
  readonly type: ValueType;
}

const COLUMNS_MAX = 9;
const MESSAGE_ID = /^\d{1,9}$/;
/** What a URI of a template is made of between its placeholders: no blanks, no control characters, no fragment. */
const URI = /^\/[^\s#\p{Cc}]*$/u;
const URI_LENGTH_MAX = 2_000;
/** Placeholders of one template. */
const PLACES_MAX = 1_000;
const INTEGER = /^[+-]?\d{1,300}$/;
const NUMBERS: ReadonlySet<ValueType> = new Set(['UNSIGNED', 'INTEGER', 'NUMBER'] as const);

export class RequestTemplate {
  readonly messageId: string;
  readonly #method: TemplateMethod;
  readonly #contentType: string;
  readonly #accept: string;
  /** Text between the values: one more than these. */
  readonly #uri: readonly string[];
  readonly #body: readonly string[];
  readonly #slots: readonly Slot[];
  /** How many values a row has. */
  readonly #valueCount: number;

  /**
   * @param row all columns of a row 10, which is the first of them.
   * @throws RowFault 41 with the text of the specification that fits.
   */
  constructor(row: readonly string[]) {
    const [, messageId = '', method = '', uri = '', content = '', accept = '', marker = '', types = '', body = ''] =
      row;
    if (!MESSAGE_ID.test(messageId)) throw new RowFault(41, 'Not a valid message identifier for template creation');
    const uriPieces = marker === '' ? [uri] : uri.split(marker);
    if (!isMethod(method) || !isUri(uriPieces) || row.length > COLUMNS_MAX)
      throw new RowFault(41, 'Bad request template definition');
    requireBodyOf(method, content, body);
    const named = types.split(/[\s,]+/).filter((type) => type !== '');
    for (const type of named) if (!isType(type)) throw new RowFault(41, `Bad value type: ${shorten(type)}`);
    if (marker === '' && named.length > 0)
      throw new RowFault(41, 'Values are only supported for templates with placeholder.');
    this.messageId = messageId;
    this.#method = method;
    this.#contentType = content;
    this.#accept = accept;
    this.#uri = uriPieces;
    this.#body = marker === '' ? [body] : body.split(marker);
    const places = [...this.#uri.slice(1).map((): Place => 'uri'), ...placesIn(this.#body, content)];
    if (places.length > PLACES_MAX)
      throw new RowFault(41, `A template has at most ${PLACES_MAX} placeholders, not ${places.length}`);
    // Without types all values are texts.
    if (named.length > 0 && named.length !== places.length) throw new RowFault(41, 'Bad pattern');
    this.#slots = places.map((place, index) => ({ place, type: (named[index] as ValueType | undefined) ?? 'STRING' }));
    this.#valueCount = this.#slots.filter(({ type }) => type !== 'NOW').length;
  }

  /**
   * Puts the values of a row at their places, the URI first.
   * @param values as sent, empty ones at the end too; more of those than there are places do not count.
   * @param now for NOW, ms since 1970. @throws RowFault 45.
   */
  fill(values: readonly string[], now: number): FilledRequest {
    const count = values.findLastIndex((value) => value !== '') + 1;
    if (this.#valueCount === 0 && count > 0) throw new RowFault(45, NO_VALUES);
    if (count > this.#valueCount || values.length < this.#valueCount) throw new RowFault(45, WRONG_COUNT);
    let next = 0;
    const texts = this.#slots.map((slot) =>
      slot.type === 'NOW' ? written(slot, new Date(now).toISOString()) : written(slot, values[next++]),
    );
    const inUri = this.#uri.length - 1;
    return {
      method: this.#method,
      uri: interleaved(this.#uri, texts.slice(0, inUri)),
      contentType: this.#contentType,
      accept: this.#accept,
      body: interleaved(this.#body, texts.slice(inUri)),
    };
  }
}

/** @param pieces the text between placeholders. */
const isUri = (pieces: readonly string[]): boolean => {
  const text = pieces.join('');
  return text.length <= URI_LENGTH_MAX && pieces[0].startsWith('/') && URI.test(text);
};

const isMethod = (text: string): text is TemplateMethod => (METHODS as readonly string[]).includes(text);
const isType = (text: string): text is ValueType => (TYPES as readonly string[]).includes(text);

/** @throws RowFault 41. */
function requireBodyOf(method: TemplateMethod, content: string, body: string): void {
  if (method === 'GET' || method === 'DELETE') {
    if (content !== '') throw new RowFault(41, `No content type supported for ${method} templates.`);
    if (body !== '') throw new RowFault(41, `No template string supported for ${method} templates.`);
  } else {
    if (content === '') throw new RowFault(41, `No content type found for ${method} templates.`);
    if (body === '') throw new RowFault(41, `No template string found for ${method} templates.`);
  }
}

/** @returns where each value of a body stands: in JSON also whether that is within a string. */
function placesIn(pieces: readonly string[], contentType: string): Place[] {
  if (!/json/i.test(contentType)) return pieces.slice(1).map(() => 'text');
  const places: Place[] = [];
  let isInString = false;
  for (const piece of pieces.slice(0, -1)) {
    for (let at = 0; at < piece.length; at += 1) {
      if (isInString && piece[at] === '\\') at += 1;
      else if (piece[at] === '"') isInString = !isInString;
    }
    places.push(isInString ? 'string' : 'text');
  }
  return places;
}

function interleaved(pieces: readonly string[], texts: readonly string[]): string {
  let all = pieces[0];
  for (const [index, text] of texts.entries()) all += text + pieces[index + 1];
  return all;
}

/** @throws RowFault 45 that names type and value. */
function written({ place, type }: Slot, value: string): string {
  if (!isOfType(type, value)) throw new RowFault(45, `Value is not a ${type}: ${shorten(value)}`);
  if (place === 'uri') return encodeURIComponent(value.toWellFormed());
  if (place === 'string') return JSON.stringify(value).slice(1, -1);
  // Serial numbers keep their zeros elsewhere.
  return NUMBERS.has(type) ? toJsonNumber(value) : value;
}

function isOfType(type: ValueType, value: string): boolean {
  switch (type) {
    case 'UNSIGNED':
      return INTEGER.test(value) && !value.startsWith('-');
    case 'INTEGER':
      return INTEGER.test(value);
    case 'NUMBER':
      return parseNumber(value) !== undefined;
    case 'DATE':
      return parseEntityTime(value) !== undefined;
    default:
      return true;
  }
}
