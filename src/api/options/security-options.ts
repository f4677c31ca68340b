/**
 * Rules for passwords of a tenant (`/tenant/security-options`, which TenantSecurityOptionsService of `@c8y/client`
 * reads): options of the category `password` with values that are checked.
 */
import Type from 'typebox';
import { PlatformError } from '../../model/errors.ts';
import { GREEN_LENGTH_MIN, PASSWORD_LENGTH_MAX } from '../../model/access/password.ts';
import type { ApiRequest } from '../request/request.ts';
import { segment } from '../entities/text.ts';
import { storeOption } from './options.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { tenantOption } from '../../accounts/options/values.ts';

const CATEGORY = 'password';
/** 100 years. */
const DAYS_MAX = 36_500;

interface Rule {
  readonly otherwise: string;
  readonly words: string;
  isRight(value: string): boolean;
}
const number = (minimum: number, maximum: number, otherwise: number): Rule => ({
  otherwise: String(otherwise),
  words: `a whole number from ${minimum} to ${maximum}`,
  isRight: (value) => /^\d{1,5}$/.test(value) && Number(value) >= minimum && Number(value) <= maximum,
});

const RULES: ReadonlyMap<string, Rule> = new Map([
  // Only green passwords are taken.
  [
    'strength.validity',
    { otherwise: 'false', words: 'true or false', isRight: (value) => value === 'true' || value === 'false' },
  ],
  // Days after which a new password is asked for; 0 for never.
  ['limit.validity', number(0, DAYS_MAX, 0)],
  ['green.min-length', number(GREEN_LENGTH_MIN, PASSWORD_LENGTH_MAX, GREEN_LENGTH_MIN)],
]);

/** @throws PlatformError 404. */
function ruleAsked(request: ApiRequest): { readonly key: string; readonly rule: Rule } {
  const { category, key } = request.params;
  const rule = category === CATEGORY ? RULES.get(key) : undefined;
  if (rule === undefined) throw new PlatformError('options/not-found', { category, key });
  return { key, rule };
}

async function get(request: ApiRequest): Promise<Answer> {
  const { key, rule } = ruleAsked(request);
  const value = (await tenantOption(request.platform, request.tenant, CATEGORY, key)) ?? rule.otherwise;
  const self = `${request.baseUrl}/tenant/security-options/${CATEGORY}/${segment(key)}`;
  return found('option', JSON.stringify({ self, category: CATEGORY, key, value }));
}

/** @throws PlatformError 403 for one that is not editable, 422. */
async function put(request: ApiRequest): Promise<Answer> {
  const { key, rule } = ruleAsked(request);
  const value = String((JSON.parse(request.bodyText()) as { value: unknown }).value);
  if (!rule.isRight(value))
    throw new PlatformError('validation/invalid-field', {
      area: 'options',
      name: key,
      value: value.slice(0, 100),
      limit: rule.words,
    });
  await storeOption(request, { category: CATEGORY, key, value });
  return get(request);
}

export function securityOptionRoutes(): Route[] {
  const path = '/tenant/security-options/{category}/{key}';
  const answers = [{ status: 200, description: 'The option', mediaType: 'option' }];
  const Body = Type.Object(
    { value: Type.Union([Type.String(), Type.Number(), Type.Boolean()]) },
    { additionalProperties: true },
  );
  return [
    {
      method: 'GET',
      path,
      area: 'options',
      access: 'roles',
      roles: ['ROLE_OPTION_MANAGEMENT_READ', 'ROLE_TENANT_ADMIN'],
      summary: 'A rule for passwords: strength.validity, limit.validity or green.min-length of the category password',
      answers,
      handle: get,
    },
    {
      method: 'PUT',
      path,
      area: 'options',
      access: 'roles',
      roles: ['ROLE_OPTION_MANAGEMENT_ADMIN', 'ROLE_TENANT_ADMIN'],
      summary: 'Change a rule for passwords',
      body: { schema: Body, mediaTypes: ['option'], example: { value: 'true' } },
      answers,
      handle: put,
    },
  ];
}
