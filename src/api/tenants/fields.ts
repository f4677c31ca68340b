/** Fields of a tenant as clients send them (docs/spec/tenants.md#fields): types, lengths, forms. */
import Type from 'typebox';
import type { TenantFields } from '../../accounts/tenants/subtenants.ts';
import { TENANT_STATUSES } from '../../accounts/tenants/tenants.ts';
import { PlatformError } from '../../model/errors.ts';
import { stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { PASSWORD_RULE, isAllowedPassword } from '../../model/access/password.ts';
import { nullable } from '../../model/schema/parts.ts';

const AREA = 'tenants';
const ID_LENGTH_MAX = 32;
const DOMAIN_LENGTH_MIN = 2;
const DOMAIN_LENGTH_MAX = 256;
const COMPANY_LENGTH_MAX = 256;
const ADMIN_NAME_LENGTH_MAX = 50;
const ADMIN_EMAIL_LENGTH_MAX = 254;
const CONTACT_NAME_LENGTH_MAX = 30;
const CONTACT_PHONE_LENGTH_MAX = 20;
const CUSTOM_PROPERTIES_BYTES_MAX = 16_384;

interface TextRule {
  readonly maximum: number;
  readonly pattern?: RegExp;
  readonly words: string;
  readonly minimum?: number;
}

const TEXTS: Readonly<Record<string, TextRule>> = {
  id: {
    maximum: ID_LENGTH_MAX,
    pattern: /^[a-z][a-z0-9_-]*$/,
    words: `lower-case letters, digits, - and _, a letter first, at most ${ID_LENGTH_MAX}`,
  },
  // Underscores are deprecated but accepted.
  domain: {
    minimum: DOMAIN_LENGTH_MIN,
    maximum: DOMAIN_LENGTH_MAX,
    pattern: /^[a-z](?:[a-z0-9_-]*[a-z0-9_])?$/,
    words: `${DOMAIN_LENGTH_MIN} to ${DOMAIN_LENGTH_MAX} lower-case letters, digits and hyphens, a letter first, hyphens only in the middle`,
  },
  company: { minimum: 1, maximum: COMPANY_LENGTH_MAX, words: `1 to ${COMPANY_LENGTH_MAX} characters` },
  adminName: {
    minimum: 1,
    maximum: ADMIN_NAME_LENGTH_MAX,
    pattern: /^(?!\.{1,2}$)[^\s/\\+$:\p{Cs}]*$/u,
    words: `1 to ${ADMIN_NAME_LENGTH_MAX} characters without whitespace, slashes, +, $, : and lone surrogates; not . or ..`,
  },
  adminEmail: {
    maximum: ADMIN_EMAIL_LENGTH_MAX,
    pattern: /^[^\s@]+@[^\s@]+$/,
    words: `an e-mail address of at most ${ADMIN_EMAIL_LENGTH_MAX} characters`,
  },
  contactName: { maximum: CONTACT_NAME_LENGTH_MAX, words: `at most ${CONTACT_NAME_LENGTH_MAX} characters` },
  contactPhone: { maximum: CONTACT_PHONE_LENGTH_MAX, words: `at most ${CONTACT_PHONE_LENGTH_MAX} characters` },
};

const text = (maxLength: number) => Type.Optional(Type.Union([Type.String({ maxLength }), Type.Null()]));
const MEMBERS = {
  adminName: text(ADMIN_NAME_LENGTH_MAX),
  adminEmail: text(ADMIN_EMAIL_LENGTH_MAX),
  adminPass: Type.Optional(nullable(Type.String())),
  adminPassword: Type.Optional(nullable(Type.String())),
  sendPasswordResetEmail: Type.Optional(nullable(Type.Boolean())),
  allowCreateTenants: Type.Optional(nullable(Type.Boolean())),
  storageLimitPerDevice: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()])),
  contactName: text(CONTACT_NAME_LENGTH_MAX),
  contactPhone: text(CONTACT_PHONE_LENGTH_MAX),
  customProperties: Type.Optional(Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()])),
};
const OPEN = { additionalProperties: true } as const;
export const TenantPost = Type.Object(
  {
    company: Type.String({ maxLength: COMPANY_LENGTH_MAX }),
    domain: Type.String({ maxLength: DOMAIN_LENGTH_MAX }),
    id: Type.Optional(Type.String({ maxLength: ID_LENGTH_MAX })),
    ...MEMBERS,
  },
  OPEN,
);
export const TenantPut = Type.Object(
  {
    company: Type.Optional(Type.String()),
    domain: Type.Optional(Type.String()),
    id: Type.Optional(Type.String()),
    status: Type.Optional(Type.Enum([...TENANT_STATUSES])),
    ...MEMBERS,
  },
  OPEN,
);

/** @returns the value of a text. @throws PlatformError 422. */
export function checkedText(members: Members, name: string): string | undefined {
  const value = stringMember(members, name);
  if (value === undefined) return undefined;
  const rule = TEXTS[name];
  const isRight =
    value.length <= rule.maximum &&
    value.length >= (rule.minimum ?? 0) &&
    rule.pattern?.test(value) !== false &&
    !/[\p{Cc}]/u.test(value);
  if (!isRight) throw new PlatformError('validation/invalid-field', { area: AREA, name, value, limit: rule.words });
  return value;
}

/** What the body says about the record (null is undefined: the field is removed), without id and administrator's password. @throws PlatformError 422. */
export function sentFields(members: Members): TenantFields {
  const fields: Record<string, unknown> = {};
  for (const name of ['domain', 'company', 'adminName', 'adminEmail', 'contactName', 'contactPhone']) {
    if (members.has(name)) fields[name] = checkedText(members, name);
  }
  for (const name of ['allowCreateTenants', 'storageLimitPerDevice', 'status']) {
    const value = members.get(name);
    if (value !== undefined) fields[name] = value === 'null' ? undefined : JSON.parse(value);
  }
  const custom = members.get('customProperties');
  if (custom !== undefined) {
    if (Buffer.byteLength(custom) > CUSTOM_PROPERTIES_BYTES_MAX) {
      const limit = `an object of at most ${CUSTOM_PROPERTIES_BYTES_MAX} bytes`;
      throw new PlatformError('validation/invalid-field', { area: AREA, name: 'customProperties', value: '…', limit });
    }
    fields['customProperties'] = custom === 'null' ? undefined : custom;
  }
  return fields as TenantFields;
}

/** Of either spelling. @throws PlatformError 422 when it breaks the rule for passwords. */
export function sentPassword(members: Members): string | undefined {
  const [name, other] = ['adminPass', 'adminPassword'];
  const password = stringMember(members, name);
  const sent = password ?? stringMember(members, other);
  if (sent !== undefined && !isAllowedPassword(sent)) {
    throw new PlatformError('validation/invalid-field', {
      area: AREA,
      name: password === undefined ? other : name,
      value: '…',
      limit: PASSWORD_RULE,
    });
  }
  return sent;
}

/**
 * A link to set the password, in place of a password, wants an address (docs/spec/tenants.md#administrators).
 * @throws PlatformError 422.
 */
export function requireAddressForLink(members: Members): void {
  const has = (name: string): boolean => (members.get(name) ?? 'null') !== 'null';
  const hasPassword = has('adminPass') || has('adminPassword');
  if (members.get('sendPasswordResetEmail') === 'true' && !hasPassword && !has('adminEmail'))
    throw new PlatformError('validation/mandatory-fields', { names: 'adminEmail' });
}
