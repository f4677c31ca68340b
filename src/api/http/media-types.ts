/**
 * Media types (docs/spec/conventions.md#media-types): both vendor spellings, any letter case, parameters
 * `ver` and `charset`. Parsed headers are cached by their text: a client sends the same few again and again.
 */

/** What a header asks for or a resource can produce. */
export type MediaKind =
  | 'vendor'
  | 'json'
  | 'json-stream'
  | 'ndjson'
  | 'csv'
  | 'parquet'
  | 'text'
  | 'html'
  | 'any'
  | 'any-text'
  | 'other';

const CONTENT_KINDS: Readonly<Record<Exclude<MediaKind, 'any' | 'any-text'>, true>> = {
  other: true,
  html: true,
  vendor: true,
  json: true,
  text: true,
  csv: true,
  'json-stream': true,
  ndjson: true,
  parquet: true,
};
/** Of routes that give back stored content: its type is not looked at. */
export const ANY_CONTENT = Object.keys(CONTENT_KINDS) as readonly MediaKind[];

/** A parsed Accept header. */
export interface Accept {
  /** False when the header was not sent: POST and PUT then answer without body. */
  readonly isPresent: boolean;
  /** Whether a vendor type in the branded spelling was named: the answer is spelled the same. */
  readonly isBranded: boolean;
  /** What is acceptable, best first. */
  readonly order: readonly MediaKind[];
  /** The beginning of the header as it was sent, for messages. */
  readonly text?: string;
}

/** A parsed Content-Type header. */
export interface ContentType {
  readonly kind: 'none' | 'vendor' | 'json' | 'multipart' | 'form' | 'other';
  /** Vendor name in lower case without `+json`, for instance `managedobjectreference`; '' for others. */
  readonly name: string;
  /** False for a charset that is neither UTF-8 nor US-ASCII. */
  readonly isUtf8: boolean;
  /** In lower case; '' for none. */
  readonly charset: string;
  /** The beginning of the header as it was sent, for messages. */
  readonly text?: string;
}

/** Different header values that are remembered; the caches are emptied when they are full. */
const CACHE_ENTRIES_MAX = 1000;
/** So much of a header is told in messages. */
const TOLD_LENGTH_MAX = 200;
/** Longer headers are parsed but not remembered. */
const CACHED_LENGTH_MAX = 500;

const VENDOR = /^application\/vnd\.com\.nsn\.(platform|cumulocity)\.([a-z0-9_.-]+?)\+json$/;

/** What the range `text/*` takes. */
const TEXT_KINDS: ReadonlySet<MediaKind> = new Set(['csv', 'text', 'html']);

const acceptCache = new Map<string, Accept>();
const contentTypeCache = new Map<string, ContentType>();

export function parseAccept(header: string): Accept {
  return acceptCache.get(header) ?? remember(acceptCache, header, readAccept(header));
}

export function parseContentType(header: string): ContentType {
  return (
    contentTypeCache.get(header) ??
    remember(contentTypeCache, header, { ...readContentType(header), text: header.slice(0, TOLD_LENGTH_MAX) })
  );
}

/**
 * @returns the best kind that can be produced, undefined when there is none (406). `producible` is in order of
 * preference.
 */
export function chooseKind(accept: Accept, producible: readonly MediaKind[]): MediaKind | undefined {
  if (!accept.isPresent) return producible[0];
  for (const kind of accept.order) {
    if (kind === 'any') return producible[0];
    if (kind === 'any-text') {
      const text = producible.find((one) => TEXT_KINDS.has(one));
      if (text !== undefined) return text;
    }
    if (producible.includes(kind)) return kind;
  }
  return undefined;
}

/** The Content-Type of an answer that carries the named entity. */
export function vendorType(name: string, isBranded: boolean): string {
  return `application/vnd.com.nsn.${isBranded ? 'cumulocity' : 'platform'}.${name}+json;charset=UTF-8;ver=0.9`;
}

export const JSON_TYPE = 'application/json;charset=UTF-8';

function remember<Value>(cache: Map<string, Value>, header: string, value: Value): Value {
  if (header.length > CACHED_LENGTH_MAX) return value;
  if (cache.size >= CACHE_ENTRIES_MAX) cache.clear();
  cache.set(header, value);
  return value;
}

function readAccept(header: string): Accept {
  let isBranded = false;
  const ranges: { kind: MediaKind; quality: number }[] = [];
  for (const range of header.split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (type === '') continue;
    const quality = qualityOf(parameters);
    if (quality === 0) continue;
    const kind = kindOf(type);
    if (kind === 'vendor' && VENDOR.exec(type)?.[1] === 'cumulocity') isBranded = true;
    ranges.push({ kind, quality });
  }
  // A stable sort: of equal quality the first named is the best.
  ranges.sort((left, right) => right.quality - left.quality);
  return {
    isPresent: header.trim() !== '',
    isBranded,
    order: ranges.map((range) => range.kind),
    text: header.slice(0, TOLD_LENGTH_MAX),
  };
}

function qualityOf(parameters: readonly string[]): number {
  const parameter = parameters.find((text) => text.startsWith('q='));
  if (parameter === undefined) return 1;
  const quality = Number(parameter.slice(2));
  return Number.isNaN(quality) ? 1 : Math.min(1, Math.max(0, quality));
}

function kindOf(type: string): MediaKind {
  switch (type) {
    case '*/*':
    case '*':
    case 'application/*':
      return 'any';
    case 'application/json':
    case 'text/json':
      return 'json';
    case 'application/json-stream':
      return 'json-stream';
    case 'application/x-ndjson':
    case 'application/jsonl':
      return 'ndjson';
    case 'application/vnd.apache.parquet':
      return 'parquet';
    case 'text/csv':
      return 'csv';
    case 'text/*':
      return 'any-text';
    case 'text/plain':
      return 'text';
    case 'text/html':
      return 'html';
    default:
      return VENDOR.test(type) ? 'vendor' : type.endsWith('+json') ? 'json' : 'other';
  }
}

function readContentType(header: string): ContentType {
  const [type, ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const charset = (parameters.find((text) => text.startsWith('charset=')) ?? '').slice(8).replaceAll('"', '');
  const isUtf8 = charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii' || charset === '';
  if (type === '') return { kind: 'none', name: '', isUtf8, charset };
  const vendor = VENDOR.exec(type);
  if (vendor !== null) return { kind: 'vendor', name: vendor[2], isUtf8, charset };
  if (type === 'application/json' || type === 'text/json' || type.endsWith('+json'))
    return { kind: 'json', name: '', isUtf8, charset };
  if (type.startsWith('multipart/')) return { kind: 'multipart', name: '', isUtf8, charset };
  if (type === 'application/x-www-form-urlencoded') return { kind: 'form', name: '', isUtf8, charset };
  return { kind: 'other', name: '', isUtf8, charset };
}
