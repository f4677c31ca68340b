/**
 * Tenant options (docs/spec/options.md#tenant-options): text values by category and key; secret ones are never shown.
 */
import Type from 'typebox';
import { MANAGEMENT_TENANT } from '../../accounts/tenants/tenants.ts';
import {
  MASK,
  OPTION_NAME_LENGTH_MAX,
  markOption,
  optionNames,
  optionRecords,
  removeOption,
  storeOptions,
} from '../../accounts/options/changes.ts';
import type { NamedOption, Option, OptionParts } from '../../accounts/options/changes.ts';
import {
  ALLOW_ORIGIN,
  OPTION_CHOICES,
  OPTION_DEFAULTS,
  PREDEFINED_KEYS,
  hasValue,
  isSecret,
  optionKey,
  readableValue,
} from '../../accounts/options/options.ts';
import type { StoredOption } from '../../accounts/options/options.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { findApplication } from '../../accounts/applications/applications.ts';
import { quote, segment } from '../entities/text.ts';
import { ORIGIN_ENTRIES_MAX, ORIGIN_ENTRY_LENGTH_MAX, areOriginEntriesBounded } from '../request/origin-rules.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import type { Platform } from '../request/platform.ts';
import { text } from '../request/schema/query-parameters.ts';
import { listRecords, readRecord } from '../../records/records.ts';
import { NO_CONTENT, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';

const READ = ['ROLE_OPTION_MANAGEMENT_READ'];
const ADMIN = ['ROLE_OPTION_MANAGEMENT_ADMIN'];
const VALUE_LENGTH_MAX = 65_536;

/** What options of the platform's tenants are changed with. */
export const optionParts = (platform: Platform): OptionParts => ({
  documents: platform.documents,
  commands: platform.commands,
  refusals: platform.refusals,
  cipher: platform.cipher,
  now: () => platform.now(),
  hasApplication: async (id) => (await findApplication(platform, id)) !== undefined,
});

const shown = ({ key }: NamedOption, option: StoredOption): string => (isSecret(key) ? MASK : (option.value ?? ''));

function optionText(request: ApiRequest, { category, key, value }: Option): string {
  const self = `${request.baseUrl}/tenant/options/${segment(category)}/${segment(key)}`;
  return `{"self":${quote(self)},"category":${quote(category)},"key":${quote(key)},"value":${quote(value)}}`;
}

/** @throws PlatformError 422 for a name or value that is none, or a key that the category does not take. */
function checked(category: string, key: string, value: unknown): Option {
  for (const [name, sent] of [
    ['category', category],
    ['key', key],
  ]) {
    if (sent === '' || sent.length > OPTION_NAME_LENGTH_MAX || /[\p{Cc}\p{Cs}]/u.test(sent)) {
      const limit = `1 to ${OPTION_NAME_LENGTH_MAX} characters without control characters`;
      throw new PlatformError('validation/invalid-field', { area: 'options', name, value: sent, limit });
    }
  }
  const keys = PREDEFINED_KEYS.get(category);
  if (keys !== undefined && !keys.includes(key))
    throw new PlatformError('options/unknown-key', { category, key, keys: keys.join(', ') });
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  if (!isText || String(value).length > VALUE_LENGTH_MAX) {
    const limit = `a text of at most ${VALUE_LENGTH_MAX} characters`;
    throw new PlatformError('validation/invalid-field', {
      area: 'options',
      name: 'value',
      value: isText ? '…' : JSON.stringify(value),
      limit,
    });
  }
  const text = String(value);
  if (category === ALLOW_ORIGIN.category && key === ALLOW_ORIGIN.key && !areOriginEntriesBounded(text)) {
    const limit = `at most ${ORIGIN_ENTRIES_MAX} entries, comma separated, of at most ${ORIGIN_ENTRY_LENGTH_MAX} characters`;
    throw new PlatformError('validation/invalid-field', { area: 'options', name: 'value', value: '…', limit });
  }
  const choices = OPTION_CHOICES.get(optionKey(category, key));
  if (choices !== undefined && text !== '' && !choices.includes(text)) {
    throw new PlatformError('validation/invalid-field', {
      area: 'options',
      name: 'value',
      value: text,
      limit: `one of ${choices.join(', ')}`,
    });
  }
  return { category, key, value: text };
}

/**
 * Stores one option, of your tenant unless another one is named. @throws PlatformError 403 when it is not editable.
 */
export const storeOption = (request: ApiRequest, { category, key, value }: Option, tenant?: number): Promise<void> =>
  store(request, [checked(category, key, value)], tenant);

const store = (request: ApiRequest, options: readonly Option[], tenant: number = request.tenant): Promise<void> =>
  storeOptions(optionParts(request.platform), request.principal, tenant, options);

/** All of the tenant, by category and key; those that were never set with their defaults. */
async function optionsOf(request: ApiRequest, prefix = ''): Promise<Option[]> {
  const records = await optionRecords(request.platform, request.tenant, prefix);
  const rows = records
    .map(({ id, value }) => ({ id, option: JSON.parse(value) as StoredOption }))
    .filter(({ option }) => hasValue(option));
  const stored = rows.map(({ id, option }) => ({ ...optionNames(id), value: shown(optionNames(id), option) }));
  const defaults = OPTION_DEFAULTS.filter(
    ({ category, key }) =>
      optionKey(category, key).startsWith(prefix) && !rows.some(({ id }) => id === optionKey(category, key)),
  );
  return [...stored, ...defaults].sort((a, b) =>
    optionKey(a.category, a.key) < optionKey(b.category, b.key) ? -1 : 1,
  );
}

async function list(request: ApiRequest): Promise<Answer> {
  const page = pageOf(request);
  const options = await optionsOf(request);
  const items = options.slice(page.offset, page.offset + page.size).map((option) => optionText(request, option));
  return found('optionCollection', collectionText(request, page, { name: 'options', items, total: options.length }));
}

async function post(request: ApiRequest): Promise<Answer> {
  const { category, key, value } = JSON.parse(request.bodyText()) as { category: string; key: string; value: unknown };
  const option = checked(category, key, value);
  await store(request, [option]);
  return found('option', optionText(request, { ...option, value: shown(option, option) }));
}

const flatMap = (options: readonly Option[]): string =>
  JSON.stringify(Object.fromEntries(options.map(({ key, value }) => [key, value])));

async function getCategory(request: ApiRequest): Promise<Answer> {
  return found('option', flatMap(await optionsOf(request, `${request.params['category']}\n`)));
}

async function putCategory(request: ApiRequest): Promise<Answer> {
  const { category } = request.params;
  const sent = Object.entries(JSON.parse(request.bodyText()) as Record<string, unknown>);
  await store(
    request,
    sent.map(([key, value]) => checked(category, key, value)),
  );
  return getCategory(request);
}

/**
 * What `@c8y/client` asks for beside the value in force: what the tenant has set, or what holds where it has set
 * nothing.
 */
const EVALUATIONS = ['current', 'inherited'] as const;

/** @param evaluate one of EVALUATIONS; undefined for the value in force. @throws PlatformError 404. */
async function load(request: ApiRequest, evaluate: string | undefined): Promise<Option> {
  const { category, key } = request.params as unknown as NamedOption;
  const text =
    evaluate === 'inherited'
      ? undefined
      : await readRecord(request.platform, request.tenant, 'option', optionKey(category, key));
  const stored = text === undefined ? {} : (JSON.parse(text) as StoredOption);
  if (hasValue(stored)) return { category, key, value: shown({ category, key }, stored) };
  const preset =
    evaluate === 'current'
      ? undefined
      : OPTION_DEFAULTS.find((option) => option.category === category && option.key === key);
  if (preset === undefined) throw new PlatformError('options/not-found', { category, key });
  return preset;
}

async function get(request: ApiRequest): Promise<Answer> {
  return found('option', optionText(request, await load(request, request.query.text('evaluate'))));
}

async function put(request: ApiRequest): Promise<Answer> {
  const { category, key } = request.params;
  const { value } = JSON.parse(request.bodyText()) as { value: unknown };
  await store(request, [checked(category, key, value)]);
  return found('option', optionText(request, await load(request, undefined)));
}

async function remove(request: ApiRequest): Promise<Answer> {
  const { category, key } = request.params;
  await removeOption(optionParts(request.platform), request.principal, request.tenant, { category, key });
  return NO_CONTENT;
}

/**
 * Marks an option of one tenant, or of all tenants, whether it has a value or not. What the management tenant decides
 * holds before the manifest of an application. @throws PlatformError 403 for all but the management tenant.
 */
async function putEditable(request: ApiRequest): Promise<Answer> {
  if (request.principal.tenant !== MANAGEMENT_TENANT) throw new PlatformError('security/forbidden');
  const { editable } = JSON.parse(request.bodyText()) as { editable: boolean | string };
  const { category, key } = checked(request.params['category'], request.params['key'], '');
  const asked = request.query.text('tenant');
  const tenant = asked === undefined ? undefined : request.platform.tenants.byId(asked);
  if (asked !== undefined && tenant === undefined) throw new PlatformError('tenants/not-found', { id: asked });
  const mayChange = String(editable) === 'true';
  await markOption(
    optionParts(request.platform),
    request.principal,
    tenant?.number ?? SERVER_WIDE,
    { category, key },
    mayChange,
  );
  const self = `${request.baseUrl}/tenant/options/${segment(category)}/${segment(key)}`;
  return found('option', JSON.stringify({ self, category, key, editable: mayChange }));
}

/**
 * Options of a category as a microservice reads them. Keys are without the prefix of secret ones.
 * @param isItsOwn whether the category belongs to the microservice: only then it gets secret values, and otherwise the
 * mask, as people do.
 */
export async function serviceOptions(
  request: ApiRequest,
  tenant: number,
  category: string,
  isItsOwn: boolean,
): Promise<Record<string, string>> {
  const { cipher } = request.platform;
  const rows = await listRecords(request.platform, tenant, 'option', `${category}\n`);
  return Object.fromEntries(
    rows.flatMap(({ id, value }) => {
      const { key } = optionNames(id);
      const option = JSON.parse(value) as StoredOption;
      if (!hasValue(option)) return [];
      const plain = isSecret(key) && !isItsOwn ? MASK : (readableValue(cipher, tenant, category, key, option) ?? MASK);
      return [[isSecret(key) ? key.slice(key.indexOf('.') + 1) : key, plain]];
    }),
  );
}

const Value = Type.Union([Type.String(), Type.Number(), Type.Boolean()], {
  description: 'A text; numbers and booleans are taken as their text',
});
const PostBody = Type.Object(
  { category: Type.String(), key: Type.String(), value: Value },
  { additionalProperties: true },
);
const PutBody = Type.Object({ value: Value }, { additionalProperties: true });
const CategoryBody = Type.Record(Type.String(), Value);
const EditableBody = Type.Object(
  { editable: Type.Union([Type.Boolean(), Type.Enum(['true', 'false'])]) },
  { additionalProperties: true },
);

export function optionRoutes(): Route[] {
  const area = 'options';
  const read = { area, access: 'roles', roles: READ } as const;
  const admin = { area, access: 'roles', roles: ADMIN } as const;
  const one = [{ status: 200, description: 'The option', mediaType: 'option' }];
  const flat = [
    {
      status: 200,
      description: 'Values by key',
      mediaType: 'option',
      schema: 'optionsOfCategory',
      example: { temp_high: 'MAJOR' },
    },
  ];
  const [all, category, option] = ['/tenant/options', '/tenant/options/{category}', '/tenant/options/{category}/{key}'];
  return [
    {
      method: 'GET',
      path: all,
      ...read,
      summary: 'List options by category and key',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of options', mediaType: 'optionCollection' }],
      handle: list,
    },
    {
      method: 'POST',
      path: all,
      ...admin,
      summary: 'Set an option',
      body: {
        schema: PostBody,
        mediaTypes: ['option'],
        example: { category: 'access.control', key: 'allow.origin', value: 'https://*.example.com' },
      },
      answers: one,
      handle: post,
    },
    { method: 'GET', path: category, ...read, summary: 'Values of a category', answers: flat, handle: getCategory },
    {
      method: 'PUT',
      path: category,
      ...admin,
      summary: 'Set several options of a category; others stay',
      body: { schema: CategoryBody, mediaTypes: ['option'], example: { temp_high: 'MAJOR', temp_low: 'MINOR' } },
      answers: flat,
      handle: putCategory,
    },
    {
      method: 'GET',
      path: option,
      ...read,
      summary: 'Read an option; secret values are masked',
      query: {
        evaluate: {
          schema: Type.Enum([...EVALUATIONS]),
          description: 'What the tenant has set, or the default; the value in force without it',
        },
      },
      answers: one,
      handle: get,
    },
    {
      method: 'PUT',
      path: option,
      ...admin,
      summary: 'Set an option',
      body: { schema: PutBody, mediaTypes: ['option'], example: { value: '*' } },
      answers: one,
      handle: put,
    },
    {
      method: 'DELETE',
      path: option,
      ...admin,
      summary: 'Remove an option: its default holds again',
      answers: [{ status: 204, description: 'Removed' }],
      handle: remove,
    },
    {
      method: 'PUT',
      path: `${option}/editable`,
      ...admin,
      summary: 'Allow or forbid changes, also of an option without a value (management tenant only)',
      query: { tenant: text('Only of this tenant; of all tenants without it') },
      body: { schema: EditableBody, mediaTypes: ['option'], example: { editable: 'false' } },
      answers: one,
      handle: putEditable,
    },
  ];
}
