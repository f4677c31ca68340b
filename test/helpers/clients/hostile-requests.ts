/**
 * Hostile requests for a route: mutations of its example, and what breaks parsers, stores and filters. Everything
 * follows from a seed.
 */
import type { Route } from '../../../src/api/request/route.ts';

/** mulberry32. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }
  chance(probability: number): boolean {
    return this.next() < probability;
  }
  of<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)];
  }
}

const LONG = 'n'.repeat(1_048_000);
const DEEP = 10_000;

/** Texts for names, ids and values. */
export const TEXTS: readonly string[] = [
  '',
  ' ',
  '*',
  '0',
  '-1',
  '1',
  '251',
  '1e3',
  '0x10',
  '9007199254740993',
  '18446744073709551616',
  '1'.repeat(400),
  'NaN',
  'null',
  'undefined',
  'true',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'a\udc00',
  '\uffff',
  '\u202e',
  '😀',
  '../../etc/passwd',
  '..',
  '.',
  '/',
  '\\',
  '%',
  '%00',
  "' OR 1=1 --",
  "'; DROP TABLE events; --",
  "') OR ('1'='1",
  '{tenant:UInt32}',
  '{p0:String}',
  "x' union all select doc from system.tables --",
  '$gt',
  '$filter=1 eq 1',
  "name eq '*' or tenant eq 3",
  '(((((((((((',
  "$filter=has(' or 1",
  'a,b,,c',
  ',',
  ';',
  '\r\nX-Injected: 1',
  '<script>alert(1)</script>',
  '2024-13-45T99:99:99',
  '0000-00-00',
  '+275760-09-13T00:00:00.001Z',
  '-271821-04-20',
  '1969-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59.999+23:59',
  'x'.repeat(2_000),
  'ROLE_SYSTEM',
  'admin',
  'management',
];

const NUMBERS = [
  '0',
  '-0',
  '-1',
  '1.5',
  '1e400',
  '-1e400',
  '9007199254740993',
  '1e-400',
  '123456789012345678901234567890',
  '2147483648',
  '4294967296',
];

/** JSON texts to put in place of any value. */
const VALUES: readonly string[] = [
  ...TEXTS.map((text) => JSON.stringify(text)),
  ...NUMBERS,
  'null',
  'true',
  'false',
  '[]',
  '{}',
  '[[]]',
  '[null]',
  '{"id":null}',
  '{"id":{}}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"":{"":{}}}',
  '"\\ud800"',
  '{"\\ud800":1}',
  '{"a":1,"a":2}',
];

/** Whole bodies that are no JSON, or hard to read. */
const BODIES: readonly (string | Buffer)[] = [
  '',
  ' ',
  'null',
  '1',
  '"x"',
  '[]',
  '{',
  '{"a"',
  '{"a":}',
  '{"a":1,}',
  "{'a':1}",
  '\ufeff{}',
  '{"a":01}',
  '{"a":NaN}',
  '{}{}',
  'a=b&c=d',
  '{"__proto__":null}',
  '['.repeat(DEEP) + ']'.repeat(DEEP),
  `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`,
  `{"x":${'['.repeat(DEEP)}${']'.repeat(DEEP)}}`,
  '['.repeat(DEEP),
  Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
  Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.alloc(64),
];

export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A percent-encoded text, sometimes broken. */
function encoded(random: Random, text: string): string {
  if (random.chance(0.04))
    return random.of(['%', '%zz', '%ff', '%c3%28', '%00', '%2f..%2f', '%ed%a0%80', ';a=b', '..;']);
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'));
}

/** Replaces one value of the JSON text's tree, or adds a member. */
function mutated(random: Random, example: unknown, ids: readonly string[]): string {
  const value = (): string =>
    random.chance(0.3)
      ? JSON.stringify(random.of(ids))
      : random.chance(0.01)
        ? JSON.stringify(LONG)
        : random.of(VALUES);
  const rate = random.of([0, 0.03, 0.1, 0.4, 0.8]);
  const write = (node: unknown): string => {
    if (random.chance(rate * 0.4)) return value();
    if (Array.isArray(node)) return `[${node.map(write).join(',')}]`;
    if (typeof node !== 'object' || node === null)
      return random.chance(rate) ? value() : (JSON.stringify(node) ?? 'null');
    const members = Object.entries(node)
      .filter(() => !random.chance(rate * 0.3))
      .map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`);
    while (random.chance(rate))
      members.push(`${JSON.stringify(random.chance(0.01) ? LONG : random.of(TEXTS))}:${value()}`);
    return `{${members.join(',')}}`;
  };
  return write(example);
}

function bodyOf(random: Random, route: Route, ids: readonly string[]): string | Buffer {
  if (random.chance(0.1)) return random.of(BODIES);
  const text = mutated(random, route.body?.example ?? { name: 'x', id: '1' }, ids);
  return random.chance(0.05) ? text.slice(0, random.below(text.length)) : text;
}

const HEADERS: readonly (readonly [name: string, values: readonly string[]])[] = [
  [
    'accept',
    [
      '*/*',
      'application/json',
      'text/csv',
      'application/x-ndjson',
      'application/vnd.apache.parquet',
      'text/html',
      'application/vnd.com.nsn.cumulocity.x+json',
      ',;q=',
      'a'.repeat(3_000),
    ],
  ],
  [
    'content-type',
    [
      'application/json',
      'text/plain',
      'multipart/form-data',
      'multipart/form-data; boundary=x',
      'application/json;charset=utf-16',
      ';',
      'application/octet-stream',
      'application/vnd.com.nsn.platform.measurementCollection+json',
    ],
  ],
  ['x-platform-processing-mode', ['PERSISTENT', 'TRANSIENT', 'CEP', 'QUIESCENT', 'x', '__proto__']],
  ['x-http-method', ['PUT', 'DELETE', 'PATCH', '__proto__']],
  ['x-forwarded-host', ['evil.example', 'a b', '"><script>', 'h:1:2', 't2.example.com']],
  ['x-forwarded-proto', ['https', 'javascript', 'https,http']],
  ['x-forwarded-prefix', ['/a', '//evil', '/..', 'x']],
  ['forwarded', ['host=evil;proto=https', 'for="[::1]";host="a b"', ';;,,=']],
  ['range', ['bytes=0-', 'bytes=5-2', 'bytes=-1', 'bytes=a', 'bytes=0-1,3-4', 'bytes=99999999999999999999-']],
  ['content-range', ['bytes 0-1/2', 'bytes */*', 'bytes 5-1/0', 'x']],
  ['x-platform-system-of-units', ['imperial', 'metric', 'x']],
  ['origin', ['https://evil.example', 'null', 'x\ty']],
  ['cookie', ['authorization=x.y.z', '=', 'authorization=']],
  ['content-disposition', ['attachment; filename="../../x"', "attachment; filename*=UTF-8''%ff", 'x']],
  ['x-platform-application-key', ['x', '__proto__']],
  ['x-id', ['x', '__proto__']],
];

/** @param ids of another tenant, and own ones: they come in every position. */
export function hostileRequest(random: Random, route: Route, ids: readonly string[]): HostileRequest {
  const text = (): string => (random.chance(0.6) ? random.of(ids) : random.of(TEXTS));
  const path = route.path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encoded(random, name === 'tenant' && random.chance(0.7) ? 't1' : text()),
  );
  const query: string[] = [];
  for (const [name, { schema }] of Object.entries(route.query ?? {})) {
    if (!random.chance(0.35)) continue;
    const usual =
      schema.type === 'boolean'
        ? random.of(['true', 'false'])
        : schema.type === 'integer'
          ? random.of(['1', '5', '2000', '2001', '-1', '99999999999'])
          : text();
    query.push(`${name}=${encoded(random, random.chance(0.6) ? usual : text())}`);
  }
  if (random.chance(0.1)) query.push(`${encoded(random, text())}=${encoded(random, text())}`);
  const headers: Record<string, string> = {};
  for (const [name, values] of HEADERS) if (random.chance(0.03)) headers[name] = random.of(values);
  const { method } = route;
  const hasBody = route.body !== undefined || (method !== 'GET' && random.chance(0.1));
  const target = `${path}${query.length === 0 ? '' : `?${query.join('&')}`}`;
  if (!hasBody) return { method, path: target, headers };
  return {
    method,
    path: target,
    headers: { 'content-type': 'application/json', ...headers },
    body: bodyOf(random, route, ids),
  };
}
