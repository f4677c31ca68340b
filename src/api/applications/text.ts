/** JSON text of applications, and what of them may be sent (docs/spec/applications.md#fields). */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { PLATFORM_CATEGORIES } from '../../accounts/options/options.ts';
import {
  APPLICATION_TYPES,
  AVAILABILITIES,
  CONTEXT_PATH,
  KEY_LENGTH_MAX,
  PUBLIC_PATH,
  ROLE_FORM,
} from '../../model/entities/application.ts';
import type { StoredApplication, StoredAttachment } from '../../model/entities/application.ts';
import { PlatformError } from '../../model/errors.ts';
import { joinMembers, mergeMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { INTERNAL_ROLES, ROLES, roleNamed } from '../../model/access/roles.ts';
import type { ApiRequest } from '../request/request.ts';
import { quote, segment } from '../entities/text.ts';
import { manifestFields, requireMicroserviceManifest } from './microservice-manifest.ts';
import { requireRoles } from '../users/text.ts';

/** Longer descriptions and links are refused. */
const TEXT_LENGTH_MAX = 4_096;
const ROLES_MAX = 1_000;
/**
 * Of what an application says of itself: further members and roles. The manifest and the versions have bounds of their
 * own.
 */
const DOCUMENT_BYTES_MAX = 65_536;
const DOCUMENT_LIMIT = 'applications/document-bytes';
const OPEN = { additionalProperties: true } as const;
const optional = (schema: TSchema): TSchema => Type.Optional(Type.Union([schema, Type.Null()]));
const Text = Type.String({ maxLength: TEXT_LENGTH_MAX });
const Name = Type.String({ minLength: 1, maxLength: KEY_LENGTH_MAX, pattern: '^[^\\u0000-\\u001f\\u007f]*$' });
const Roles = Type.Array(Type.String({ pattern: ROLE_FORM }), { maxItems: ROLES_MAX });
/** What may stand in a header. */
const HeaderText = Type.String({ maxLength: TEXT_LENGTH_MAX, pattern: '^[\\u0020-\\u007e]*$' });
/** Where people are led to: no `javascript:`. */
const Address = Type.String({ maxLength: TEXT_LENGTH_MAX, pattern: '^([Hh][Tt][Tt][Pp][Ss]?://|/|$)' });
const Id = Type.Union([Type.String(), Type.Integer()]);
const Manifest = Type.Object(
  { imports: optional(Type.Array(Type.Unknown())), noAppSwitcher: optional(Type.Boolean()) },
  OPEN,
);

const MUTABLE = {
  availability: optional(Type.Enum([...AVAILABILITIES])),
  contextPath: optional(Type.String({ pattern: CONTEXT_PATH })),
  roles: optional(Roles),
  requiredRoles: optional(Roles),
  manifest: optional(Manifest),
  activeVersionId: optional(Id),
  description: optional(Text),
  resourcesUrl: optional(Text),
  externalUrl: optional(Address),
  globalTitle: optional(Text),
  breadcrumbs: optional(Type.Boolean()),
  // The web SDK sends a boolean where no address is set: its default one, or none.
  dynamicOptionsUrl: optional(Type.Union([Text, Type.Boolean()])),
  contentSecurityPolicy: optional(HeaderText),
  config: optional(Type.Object({}, OPEN)),
};
export const ApplicationPost = Type.Object(
  { key: Name, name: Name, type: Type.Enum([...APPLICATION_TYPES]), ...MUTABLE },
  OPEN,
);
export const ApplicationPut = Type.Object(
  {
    key: Type.Optional(Name),
    name: Type.Optional(Name),
    type: Type.Optional(Type.Enum([...APPLICATION_TYPES])),
    ...MUTABLE,
  },
  OPEN,
);

/** Members that the server keeps: ignored when they are sent. */
const SERVER_KEPT = new Set(['id', 'self', 'owner', 'applicationVersions', 'creationTime']);
/** Members with a field of their own in the record. */
const FIELDS = new Set([
  'key',
  'name',
  'type',
  'availability',
  'contextPath',
  'roles',
  'requiredRoles',
  'manifest',
  'activeVersionId',
]);

const area = 'applications';
const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area, name, value, limit });

/**
 * The application with what was sent: members that were not sent stay, null removes. Checks what belongs together; not
 * that values are unique.
 * @throws PlatformError 422, 403 for a required role that the caller lacks.
 */
export function mergedApplication(request: ApiRequest, old: StoredApplication, sent: Members): StoredApplication {
  const doc = splitMembers(old.doc);
  mergeMembers(
    doc,
    [...sent].filter(([name]) => !SERVER_KEPT.has(name) && !FIELDS.has(name)),
  );
  const text = (name: 'key' | 'name'): string => stringMember(sent, name) ?? old[name];
  const type = stringMember(sent, 'type') ?? old.type;
  if (type !== old.type) throw invalid('type', type, `no change (it is ${old.type})`);
  const optionalField = <Value>(name: string, before: Value | undefined): Value | undefined => {
    const value = sent.get(name);
    return value === undefined ? before : value === 'null' ? undefined : (JSON.parse(value) as Value);
  };
  const activeVersionId = optionalField<string | number>('activeVersionId', old.activeVersionId);
  const manifest = sent.get('manifest') ?? old.manifest;
  const next: StoredApplication = {
    ...old,
    key: text('key'),
    name: text('name'),
    availability: optionalField('availability', old.availability) ?? 'PRIVATE',
    contextPath: optionalField('contextPath', old.contextPath),
    roles: optionalField('roles', old.roles)?.map(roleNamed),
    requiredRoles: optionalField('requiredRoles', old.requiredRoles)?.map(roleNamed),
    activeVersionId: activeVersionId === undefined ? undefined : String(activeVersionId),
    manifest: manifest === 'null' ? undefined : manifest,
    doc: joinMembers(doc),
  };
  requireConsistent(request, old, next);
  return next;
}

/** Category of the options that a microservice reads as its settings (docs/spec/microservices.md#settings). */
export const settingsCategory = ({ manifest, contextPath, name }: StoredApplication): string =>
  manifestFields(manifest).settingsCategory ?? contextPath ?? name;

/** @throws PlatformError 422 for a manifest whose defaults would become options of the platform. */
function requireOwnCategory(old: StoredApplication | undefined, next: StoredApplication): void {
  const category = settingsCategory(next);
  const isAsBefore = old !== undefined && old.manifest === next.manifest && settingsCategory(old) === category;
  if (isAsBefore || !PLATFORM_CATEGORIES.has(category)) return;
  throw invalid(
    'settingsCategory',
    category,
    'a category of its own: this one belongs to the platform. Without it the context path or the name is taken',
  );
}

const documentBytes = ({ doc, roles = [], requiredRoles = [] }: StoredApplication): number =>
  Buffer.byteLength(doc + JSON.stringify([roles, requiredRoles]));

/** One that is larger, of an older server, may become smaller. @throws PlatformError 422. */
function requireDocumentBytes(request: ApiRequest, old: StoredApplication | undefined, next: StoredApplication): void {
  const bytes = documentBytes(next);
  if (bytes <= DOCUMENT_BYTES_MAX || (old !== undefined && bytes <= documentBytes(old))) return;
  request.refused(DOCUMENT_LIMIT);
  throw new PlatformError('applications/too-large', { maximum: DOCUMENT_BYTES_MAX, limit: DOCUMENT_LIMIT });
}

/** @throws PlatformError 422, 403. */
export function requireConsistent(
  request: ApiRequest,
  old: StoredApplication | undefined,
  next: StoredApplication,
): void {
  if (next.type === 'HOSTED' && next.contextPath === undefined)
    throw new PlatformError('validation/mandatory-fields', { names: 'contextPath' });
  if (next.type === 'HOSTED' && next.contextPath === PUBLIC_PATH && old?.contextPath !== PUBLIC_PATH)
    throw invalid('contextPath', PUBLIC_PATH, `any other: /apps/${PUBLIC_PATH}/ leads to all web applications`);
  requireDocumentBytes(request, old, next);
  const { roles = [], requiredRoles = [] } = next;
  for (const [name, list] of [
    ['roles', roles],
    ['requiredRoles', requiredRoles],
  ] as const) {
    const internal = list.find((role) => INTERNAL_ROLES.includes(role));
    if (internal !== undefined) throw invalid(name, internal, 'roles that may be given to users');
  }
  const shadowed = roles.find((role) => ROLES.includes(role));
  if (shadowed !== undefined) throw invalid('roles', shadowed, 'roles of its own, not those of the platform');
  // A user gives only what he has. Roles of other microservices mean nothing to the platform.
  requireRoles(
    request,
    requiredRoles.filter((role) => ROLES.includes(role) && old?.requiredRoles?.includes(role) !== true),
  );
  if (next.type !== 'MICROSERVICE' || next.manifest === undefined) return;
  if (next.manifest !== old?.manifest) requireMicroserviceManifest(next.manifest);
  requireOwnCategory(old, next);
}

export const applicationUrl = (request: ApiRequest, id: string): string =>
  `${request.baseUrl}/application/applications/${segment(id)}`;
export const binaryUrl = (request: ApiRequest, application: string, id: string): string =>
  `${applicationUrl(request, application)}/binaries/${segment(id)}`;

const listText = (values: readonly string[]): string => `[${values.map(quote).join(',')}]`;

export function versionText({
  version,
  binaryId,
  tags,
}: {
  readonly version: string;
  readonly binaryId: string;
  readonly tags: readonly string[];
}): string {
  return `{"version":${quote(version)},"binaryId":${quote(binaryId)},"tag":${listText(tags)},"tags":${listText(tags)}}`;
}

export function applicationText(request: ApiRequest, application: StoredApplication): string {
  const {
    id,
    owner,
    key,
    name,
    type,
    availability,
    contextPath,
    roles,
    requiredRoles,
    activeVersionId,
    manifest,
    versions = [],
  } = application;
  const ownerUrl = `${request.baseUrl}/tenant/tenants/${segment(owner)}`;
  const parts: [string, string][] = [
    ['self', quote(applicationUrl(request, id))],
    ['id', quote(id)],
    ['key', quote(key)],
    ['name', quote(name)],
    ['type', quote(type)],
    ['availability', quote(availability)],
    ['owner', `{"self":${quote(ownerUrl)},"tenant":{"id":${quote(owner)}}}`],
  ];
  if (contextPath !== undefined) parts.push(['contextPath', quote(contextPath)]);
  if (roles !== undefined) parts.push(['roles', listText(roles)]);
  if (requiredRoles !== undefined) parts.push(['requiredRoles', listText(requiredRoles)]);
  if (activeVersionId !== undefined) parts.push(['activeVersionId', quote(activeVersionId)]);
  if (manifest !== undefined) parts.push(['manifest', manifest]);
  const doc = splitMembers(application.doc);
  parts.push(...doc);
  if (versions.length > 0) parts.push(['applicationVersions', `[${versions.map(versionText).join(',')}]`]);
  return joinMembers(parts);
}

export function attachmentText(
  request: ApiRequest,
  application: StoredApplication,
  attachment: StoredAttachment,
): string {
  const { id, name, bytes, created } = attachment;
  const self = binaryUrl(request, application.id, id);
  const description = stringMember(splitMembers(application.doc), 'description') ?? '';
  return JSON.stringify({
    self,
    id,
    binaryId: id,
    name,
    length: bytes,
    created,
    contextPath: application.contextPath ?? '',
    description,
    downloadUrl: self,
  });
}
