/**
 * Topics of devices (docs/spec/mqtt.md#topics): what a PUBLISH means, and which topic filters a device may subscribe
 * to.
 */
import { LRUCache } from 'lru-cache';
import { PROCESSING_MODE, type ProcessingMode } from '../model/commands/processing-mode.ts';
import { upTo } from '../pacing/lru-bound.ts';
import { JSON_PUBLISH_FILTERS, parseJsonTopic, type JsonTopic } from './json-topics.ts';

/** What is published on a topic. Callers keep the answers by topic: this is not made for the hot path. */
export type PublishTopic =
  | JsonTopic
  /** `s/us[/<child>]`: rows of static templates. */
  | { readonly kind: 'static'; readonly mode: ProcessingMode; readonly child?: string }
  /** `s/ud[/<child>]`: rows of the default template collection of the client ID. */
  | { readonly kind: 'default'; readonly mode: ProcessingMode; readonly child?: string }
  /** `s/uc/<xid>[/<child>]`: rows of custom templates. */
  | { readonly kind: 'custom'; readonly mode: ProcessingMode; readonly xid: string; readonly child?: string }
  /** `s/ul/<xid>`: SmartREST 1.0 rows. */
  | { readonly kind: 'smartRest1'; readonly mode: ProcessingMode; readonly xid: string }
  /** `s/ut/<xid>`: creation or check of a template collection. */
  | { readonly kind: 'templates'; readonly xid: string }
  /** `s/ucr`: request for device credentials. */
  | { readonly kind: 'credentials' }
  /** `s/uat`: request for a token. */
  | { readonly kind: 'token' }
  /** Nothing: the device is told so (docs/spec/mqtt.md#acknowledgement). */
  | { readonly kind: 'unknown' };

const MODES: ReadonlyMap<string, ProcessingMode> = new Map([
  ['s', PROCESSING_MODE.PERSISTENT],
  ['t', PROCESSING_MODE.TRANSIENT],
  ['q', PROCESSING_MODE.QUIESCENT],
  ['c', PROCESSING_MODE.CEP],
]);

/** @param topic a topic name as text or its UTF-8 bytes (copied). */
export function classifyPublish(topic: string | Uint8Array): PublishTopic {
  const name =
    typeof topic === 'string' ? topic : Buffer.from(topic.buffer, topic.byteOffset, topic.byteLength).toString('utf8');
  return parseRowTopic(name) ?? parseJsonTopic(name) ?? { kind: 'unknown' };
}

function parseRowTopic(topic: string): PublishTopic | undefined {
  const levels = topic.split('/');
  const mode = MODES.get(levels[0]);
  if (mode === undefined || levels.length < 2 || levels.includes('')) return undefined;
  const [, direction, first, second] = levels;
  const count = levels.length;
  const isPersistent = mode === PROCESSING_MODE.PERSISTENT;
  switch (direction) {
    case 'us':
      return count > 3 ? undefined : { kind: 'static', mode, ...childOf(first) };
    case 'ud':
      return count > 3 ? undefined : { kind: 'default', mode, ...childOf(first) };
    case 'uc':
      return count < 3 || count > 4 ? undefined : { kind: 'custom', mode, xid: first, ...childOf(second) };
    case 'ul':
      return count === 3 ? { kind: 'smartRest1', mode, xid: first } : undefined;
    case 'ut':
      return count === 3 && isPersistent ? { kind: 'templates', xid: first } : undefined;
    case 'ucr':
      return count === 2 && isPersistent ? { kind: 'credentials' } : undefined;
    case 'uat':
      return count === 2 && isPersistent ? { kind: 'token' } : undefined;
    default:
      return undefined;
  }
}

const childOf = (level: string | undefined): { child?: string } => (level === undefined ? {} : { child: level });

/** What a subscription receives; bits of the answer of `receivedBy`. */
export const RECEIVE = {
  /** `s/ds` */
  STATIC: 1,
  /** `s/dc/<xid>` */
  CUSTOM: 2,
  /** `s/dd` */
  DEFAULT: 4,
  /** `s/dt` */
  TEMPLATES: 8,
  /** `s/dl`, `s/dl/<xid>` */
  SMARTREST1_RESPONSES: 16,
  /** `s/ol/<xid>` */
  SMARTREST1_OPERATIONS: 32,
  /** `s/dcr` */
  CREDENTIALS: 64,
  /** `s/dat` */
  TOKEN: 128,
  /** `s/e` */
  ERRORS: 256,
  /** `devicecontrol/notifications` */
  JSON_OPERATIONS: 512,
  /** `error` */
  JSON_ERRORS: 1024,
  /** `s/ol` */
  SMARTREST1_DEFAULT: 2048,
} as const;

/** Subscriptions to operations as rows of collections. */
export const RECEIVES_ROWS_OF_COLLECTIONS =
  RECEIVE.CUSTOM | RECEIVE.DEFAULT | RECEIVE.SMARTREST1_OPERATIONS | RECEIVE.SMARTREST1_DEFAULT;

/** Subscriptions that make pending operations flow and count as a connection for operations (7.6). */
export const RECEIVES_OPERATIONS = RECEIVES_ROWS_OF_COLLECTIONS | RECEIVE.STATIC | RECEIVE.JSON_OPERATIONS;

/**
 * @param topicFilter one that receives CUSTOM or SMARTREST1_OPERATIONS. @returns the X-ID whose rows it receives,
 * undefined for those of several.
 */
export function xidOfFilter(topicFilter: string): string | undefined {
  const level = topicFilter.split('/')[2] ?? '#';
  return level === '#' || level === '+' ? undefined : level;
}

const RECEIVE_FILTERS = levelsOf([
  ['s/ds', RECEIVE.STATIC],
  ['s/dc/+', RECEIVE.CUSTOM],
  ['s/dd', RECEIVE.DEFAULT],
  ['s/dt', RECEIVE.TEMPLATES],
  ['s/dl', RECEIVE.SMARTREST1_RESPONSES],
  ['s/dl/+', RECEIVE.SMARTREST1_RESPONSES],
  ['s/ol', RECEIVE.SMARTREST1_DEFAULT],
  ['s/ol/+', RECEIVE.SMARTREST1_OPERATIONS],
  ['s/dcr', RECEIVE.CREDENTIALS],
  ['s/dat', RECEIVE.TOKEN],
  ['s/e', RECEIVE.ERRORS],
  ['devicecontrol/notifications', RECEIVE.JSON_OPERATIONS],
  ['error', RECEIVE.JSON_ERRORS],
]);

const PUBLISH_FILTERS = [...rowPublishFilters(), ...JSON_PUBLISH_FILTERS].map((filter) => filter.split('/'));

/** Filters whose answer is remembered: devices of one kind subscribe to the same. */
const REMEMBERED_MAX = 1_000;
const remembered = new LRUCache<string, number>(upTo(REMEMBERED_MAX));

/**
 * Decides on a topic filter (docs/spec/mqtt.md#topics).
 * @returns the bits of RECEIVE that it can match; 0 = refuse it, because it matches no receive topic or also a publish
 * topic, or
 *   is not a valid filter.
 */
export function receivedBy(topicFilter: string): number {
  const known = remembered.get(topicFilter);
  if (known !== undefined) return known;
  const receives = decide(topicFilter);
  remembered.set(topicFilter, receives);
  return receives;
}

function decide(topicFilter: string): number {
  const levels = topicFilter.split('/');
  if (!isValidFilter(levels)) return 0;
  let receives = 0;
  for (const [filter, bit] of RECEIVE_FILTERS) {
    if (haveCommonTopic(levels, filter)) receives |= bit;
  }
  if (receives === 0) return 0;
  return PUBLISH_FILTERS.some((filter) => haveCommonTopic(levels, filter)) ? 0 : receives;
}

function levelsOf(filters: readonly (readonly [string, number])[]): (readonly [readonly string[], number])[] {
  return filters.map(([filter, bit]) => [filter.split('/'), bit]);
}

function isValidFilter(levels: readonly string[]): boolean {
  return levels.every(
    (level, index) => level === '+' || (level === '#' ? index === levels.length - 1 : !/[+#\0]/.test(level)),
  );
}

/** Whether some topic matches both filters. */
function haveCommonTopic(one: readonly string[], other: readonly string[]): boolean {
  for (let index = 0; ; index += 1) {
    const left = one[index];
    const right = other[index];
    // A filter that ends in `/#` matches its parent level as well (MQTT 4.7.1-2).
    if (left === '#' || right === '#') return true;
    if (left === undefined || right === undefined) return left === right;
    if (left !== right && left !== '+' && right !== '+') return false;
  }
}

function rowPublishFilters(): string[] {
  const filters = ['s/ut/+', 's/ucr', 's/uat'];
  for (const mode of MODES.keys()) {
    filters.push(
      `${mode}/us`,
      `${mode}/us/+`,
      `${mode}/ud`,
      `${mode}/ud/+`,
      `${mode}/uc/+`,
      `${mode}/uc/+/+`,
      `${mode}/ul/+`,
    );
  }
  return filters;
}
