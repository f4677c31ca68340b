/** Query parameters of a request: decoding, duplicates, and the conversions that their schemas ask for. */
import type { TSchema } from 'typebox';
import { compiledOnce } from '../../../model/schema/compiled.ts';
import { PlatformError } from '../../../model/errors.ts';
import { limitWords } from '../../../model/schema/limits.ts';
import { parseQueryTime } from './timestamps.ts';

/** A declared parameter: its schema (string, integer or boolean; format `date-time` for times) and what it means. */
export interface QueryParameter {
  readonly schema: TSchema & { readonly type?: string; readonly format?: string };
  readonly description: string;
  readonly isRequired?: boolean;
  /** Repeated, or a comma list. */
  readonly isList?: boolean;
  /** A word that is taken beside what fits the schema. */
  readonly alsoTakes?: string;
}
export type QueryParameters = Readonly<Record<string, QueryParameter>>;

/** Parameters of one request; more are refused before anything is decoded. */
const PARAMETERS_MAX = 200;

const EMPTY: readonly string[] = [];

/** Decoded parameters by name. Of a repeated one `text` gives the first, `list` all of them with comma lists split. */
export class QueryValues {
  private readonly values: ReadonlyMap<string, readonly string[]>;

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.values = values;
  }

  /** @returns undefined when absent or empty. */
  text(name: string): string | undefined {
    const value = this.values.get(name)?.[0];
    return value === '' ? undefined : value;
  }

  list(name: string): string[] {
    return (this.values.get(name) ?? EMPTY)
      .flatMap((value) => value.split(','))
      .map((value) => value.trim())
      .filter((value) => value !== '');
  }

  /** Of more digits than a number has it is the largest one. */
  integer(name: string): number | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : integerOf(value);
  }

  isTrue(name: string): boolean {
    return this.text(name)?.toLowerCase() === 'true';
  }

  isFalse(name: string): boolean {
    return this.text(name)?.toLowerCase() === 'false';
  }

  /** Milliseconds since 1970. */
  time(name: string): number | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : parseQueryTime(value.trim());
  }

  has(name: string): boolean {
    return this.text(name) !== undefined;
  }

  get isEmpty(): boolean {
    return this.values.size === 0;
  }

  /** Of all that were given, decoded. */
  get names(): Iterable<string> {
    return this.values.keys();
  }

  /** As `has`, also when it is empty. */
  isGiven(name: string): boolean {
    return this.values.has(name);
  }
}

const NO_VALUES = new QueryValues(new Map());

/** @throws PlatformError `general/bad-path` for a broken percent encoding. */
export function parseQuery(queryText: string): QueryValues {
  if (queryText === '') return NO_VALUES;
  const values = new Map<string, string[]>();
  const pairs = queryText.split('&');
  if (pairs.length > PARAMETERS_MAX)
    throw new PlatformError('general/bad-path', { reason: `more than ${PARAMETERS_MAX} parameters` });
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1));
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return new QueryValues(values);
}

/** Checks the declared parameters of a route. Made once for a route. */
export type QueryCheck = (values: QueryValues) => void;

/**
 * @returns a check that throws PlatformError `general/invalid-parameter`, or `validation/mandatory-fields` for absent
 * ones.
 */
export function compileQueryCheck(parameters: QueryParameters): QueryCheck {
  const checks = Object.entries(parameters).map(([name, parameter]) => ({
    name,
    parameter,
    check: checkOf(parameter),
  }));
  const required = checks.filter((entry) => entry.parameter.isRequired === true).map((entry) => entry.name);
  return (values) => {
    const missing = required.filter((name) => !values.has(name));
    if (missing.length > 0) throw new PlatformError('validation/mandatory-fields', { names: missing.sort().join(',') });
    for (const { name, parameter, check } of checks) {
      if (!values.has(name)) continue;
      const texts = parameter.isList === true ? values.list(name) : [values.text(name) as string];
      const wrong = texts.find((text) => text !== parameter.alsoTakes && !check(text));
      if (wrong !== undefined)
        throw new PlatformError('general/invalid-parameter', { name, value: wrong, limit: limitOf(parameter) });
    }
  };
}

const integerOf = (text: string): number =>
  Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(text)));

function checkOf(parameter: QueryParameter): (text: string) => boolean {
  const { schema } = parameter;
  if (schema.format === 'date-time') return (text) => parseQueryTime(text.trim()) !== undefined;
  if (schema.type === 'boolean') return (text) => /^(true|false)$/i.test(text);
  const validator = compiledOnce(schema);
  if (schema.type === 'integer') return (text) => /^-?\d+$/.test(text) && validator().Check(integerOf(text));
  return (text) => validator().Check(text);
}

function limitOf(parameter: QueryParameter): string {
  const { schema } = parameter as {
    schema: {
      type?: string;
      format?: string;
      minimum?: number;
      maximum?: number;
      enum?: string[];
      pattern?: string;
      minLength?: number;
      maxLength?: number;
    };
  };
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  if (schema.format === 'date-time') return 'an ISO 8601 timestamp or date';
  if (schema.type === 'boolean') return 'true or false';
  if (schema.type !== 'integer') {
    const { pattern, minLength, maxLength } = schema;
    if (pattern !== undefined) return limitWords({ keyword: 'pattern', params: { pattern } });
    if (maxLength !== undefined) return limitWords({ keyword: 'maxLength', params: { limit: maxLength } });
    return minLength === undefined ? 'a text' : limitWords({ keyword: 'minLength', params: { limit: minLength } });
  }
  if (schema.minimum !== undefined && schema.maximum !== undefined)
    return `an integer from ${schema.minimum} to ${schema.maximum}`;
  if (schema.maximum !== undefined) return `an integer up to ${schema.maximum}`;
  return schema.minimum === undefined ? 'an integer' : `an integer from ${schema.minimum}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.includes('+') ? text.replaceAll('+', ' ') : text);
  } catch {
    throw new PlatformError('general/bad-path', { reason: `broken percent encoding in ${text}` });
  }
}
