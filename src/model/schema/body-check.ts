/**
 * Checks JSON bodies against the schemas of the route table (docs/spec/conventions.md#reserved-keys,
 * docs/spec/errors.md#body).
 */
import type { TSchema } from 'typebox';
import { PlatformError } from '../errors.ts';
import { compiledOnce } from './compiled.ts';
import { limitWords } from './limits.ts';

/** @throws PlatformError `validation/mandatory-fields` with all missing names, or `validation/invalid-field`. */
export type BodyCheck = (value: unknown) => void;

interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Members of an object that a body may leave out: sent as null they are as good as left out of a POST. */
export function optionalMembers(schema: TSchema): ReadonlySet<string> {
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, TSchema>>;
    required?: readonly string[];
  };
  return new Set(Object.keys(properties).filter((name) => !required.includes(name)));
}

/** Errors that are looked at: a hostile body can have millions. */
const ERRORS_MAX = 50;

/** @param area first part of the error string, for instance `inventory`. */
export function compileBodyCheck(schema: TSchema, area: string): BodyCheck {
  const validatorOf = compiledOnce(schema);
  return (value) => {
    const validator = validatorOf();
    if (validator.Check(value)) return;
    const errors = (validator.Errors(value) as unknown as SchemaError[]).slice(0, ERRORS_MAX);
    const missing = errors.flatMap((error) => missingNames(error, value));
    if (missing.length > 0)
      throw new PlatformError('validation/mandatory-fields', { names: [...new Set(missing)].sort().join(',') });
    throw invalidField(errors[0], value, area);
  };
}

/**
 * A mandatory member that is null is as good as missing, as one that a PUT cannot remove; `nullable` ones may be null,
 * which removes them.
 */
function missingNames(error: SchemaError, value: unknown): string[] {
  if (error.keyword !== 'required')
    return valueAt(value, error.instancePath) === null ? [error.instancePath.slice(1).replaceAll('/', '.')] : [];
  const prefix = error.instancePath.slice(1).replaceAll('/', '.');
  const names = (error.params['requiredProperties'] ?? []) as string[];
  return names.map((name) => (prefix === '' ? name : `${prefix}.${name}`));
}

/** Members whose values are in no answer and no log. */
const SECRETS: ReadonlySet<string> = new Set([
  'password',
  'newPassword',
  'currentUserPassword',
  'adminPass',
  'adminPassword',
  'token',
  'securityToken',
  'secret',
  'secretKey',
  'privateKey',
  'code',
  'proofOfPossessionSignedVerificationCode',
]);
/** Options whose values are encrypted at rest. */
const SECRET_OPTION_PREFIX = 'credentials.';
const HIDDEN = '…';
const isSecret = (name: string): boolean => SECRETS.has(name) || name.startsWith(SECRET_OPTION_PREFIX);

/** What was sent at `path` as it may be repeated. */
function shown(found: unknown, path: string): string {
  if (found === undefined) return '';
  if (path.split('/').some(isSecret)) return HIDDEN;
  return JSON.stringify(found, (name, value: unknown) => (isSecret(name) ? HIDDEN : value));
}

function invalidField(error: SchemaError | undefined, value: unknown, area: string): PlatformError {
  const path = error?.instancePath ?? '';
  const found = valueAt(value, path);
  const name = path.slice(1).replaceAll('/', '.');
  return new PlatformError('validation/invalid-field', {
    area,
    name: name === '' ? 'body' : name,
    value: shown(found, path),
    limit: limitWords(error),
  });
}

function valueAt(value: unknown, path: string): unknown {
  let current = value;
  for (const name of path.split('/').slice(1)) {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<string, unknown>)[key];
  }
  return current;
}
