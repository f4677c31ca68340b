/**
 * Manifests of archives: `platform.json` or `cumulocity.json` of a microservice (docs/spec/microservices.md#manifest)
 * and of a web application.
 */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { compiledOnce } from '../../model/schema/compiled.ts';
import { CONTEXT_PATH, ROLE_FORM } from '../../model/entities/application.ts';
import { PlatformError } from '../../model/errors.ts';
import { compact } from '../../model/documents/json-document.ts';
import { INTERNAL_ROLES } from '../../model/access/roles.ts';

/** Both spellings of the file. */
export const MANIFEST_FILES = ['platform.json', 'cumulocity.json'] as const;
export const MANIFEST_BYTES_MAX = 1_048_576;
/** Wrong fields that are named; a hostile manifest can have millions. */
const PROBLEMS_MAX = 20;

const OPEN = { additionalProperties: true } as const;
const optional = (schema: TSchema): TSchema => Type.Optional(schema);
const open = (members: Record<string, TSchema>): TSchema => Type.Object(members, OPEN);

const Text = Type.String({ maxLength: 1_000 });
/** Of a category or a key of tenant options. */
const OptionName = Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' });
const Role = Type.String({ pattern: ROLE_FORM });
const Port = Type.Integer({ minimum: 1, maximum: 65_535 });
const Seconds = Type.Integer({ minimum: 0, maximum: 86_400 });
const Threshold = Type.Integer({ minimum: 1, maximum: 1_000 });
const Cpu = Type.String({ pattern: '^(\\d+(\\.\\d+)?|\\d+m)$' });
const Memory = Type.String({ pattern: '^\\d+(\\.\\d+)?([EPTGMK]i?)?$' });
const Resources = open({ cpu: optional(Cpu), memory: optional(Memory) });
const Probe = open({
  httpGet: optional(
    open({
      path: optional(Text),
      port: optional(Port),
      host: optional(Text),
      scheme: optional(Type.Enum(['HTTP', 'HTTPS'])),
      headers: optional(Type.Array(open({ name: Text, value: Text }))),
    }),
  ),
  exec: optional(open({ command: Type.Array(Text) })),
  tcpSocket: optional(open({ host: optional(Text), port: Port })),
  initialDelaySeconds: optional(Seconds),
  periodSeconds: optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
  timeoutSeconds: optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
  successThreshold: optional(Threshold),
  failureThreshold: optional(Threshold),
});
const Setting = open({
  key: OptionName,
  defaultValue: optional(Type.Union([Type.String({ maxLength: 65_536 }), Type.Null()])),
  editable: optional(Type.Boolean()),
  overwriteOnUpdate: optional(Type.Boolean()),
  inheritFromOwner: optional(Type.Boolean()),
  valueSchema: optional(open({ type: optional(Type.String()) })),
});

const MicroserviceManifest = open({
  apiVersion: optional(Type.Union([Type.String(), Type.Integer()])),
  name: optional(Type.String({ pattern: '^[a-z0-9-]{1,23}$' })),
  version: optional(
    Type.String({ pattern: '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(-[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?$' }),
  ),
  contextPath: optional(Type.String({ pattern: CONTEXT_PATH })),
  provider: optional(
    open({ name: Type.String({ minLength: 1, maxLength: 1_000 }), domain: optional(Text), support: optional(Text) }),
  ),
  isolation: optional(Type.Enum(['MULTI_TENANT', 'PER_TENANT'])),
  scale: optional(Type.Enum(['NONE', 'AUTO'])),
  replicas: optional(Type.Integer({ minimum: 1, maximum: 5 })),
  billingMode: optional(Type.Enum(['RESOURCES', 'SUBSCRIPTION'])),
  resources: optional(Resources),
  requestedResources: optional(Resources),
  requiredRoles: optional(Type.Array(Role, { maxItems: 1_000 })),
  roles: optional(Type.Array(Role, { maxItems: 1_000 })),
  settings: optional(Type.Array(Setting, { maxItems: 1_000 })),
  settingsCategory: optional(OptionName),
  livenessProbe: optional(Probe),
  readinessProbe: optional(Probe),
  extensions: optional(Type.Array(open({ type: Type.String() }), { maxItems: 1_000 })),
});

/** A setting of a manifest, with its defaults in place. */
export interface ManifestSetting {
  readonly key: string;
  readonly defaultValue: string | undefined;
  readonly editable: boolean;
  readonly overwriteOnUpdate: boolean;
  readonly inheritFromOwner: boolean;
}

interface ManifestFields {
  readonly name?: string;
  readonly contextPath?: string;
  readonly settingsCategory?: string;
  readonly requiredRoles?: readonly string[];
  readonly roles?: readonly string[];
  readonly settings?: readonly {
    readonly key: string;
    readonly defaultValue?: string | null;
    readonly editable?: boolean;
    readonly overwriteOnUpdate?: boolean;
    readonly inheritFromOwner?: boolean;
  }[];
}

const bad = (reason: string): PlatformError => new PlatformError('applications/manifest', { reason });
const validatorOf = compiledOnce(MicroserviceManifest);

/** Compact text of a manifest that is one JSON object. @throws PlatformError `applications/manifest`. */
export function manifestText(content: Buffer): string {
  let value: unknown;
  // JSON has no byte order mark, but editors write it.
  const text = content.toString('utf8').replace(/^\uFEFF/, '');
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw bad(`it is not readable JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('it is not a JSON object');
  return compact(text);
}

/** @throws PlatformError `applications/manifest` that names every wrong field. */
export function requireMicroserviceManifest(text: string): void {
  const manifest = JSON.parse(text) as ManifestFields;
  if (!validatorOf().Check(manifest)) {
    const problems = problemsOf(manifest);
    const [first] = problems;
    throw new PlatformError('applications/manifest-fields', {
      fields: [...problems.keys()].slice(0, PROBLEMS_MAX).join(', '),
      first: first.join(' '),
    });
  }
  const internal = [...(manifest.requiredRoles ?? []), ...(manifest.roles ?? [])].find((role) =>
    INTERNAL_ROLES.includes(role),
  );
  if (internal !== undefined) throw bad(`no microservice has the role ${internal}`);
}

/** One for each wrong field, the most exact one. */
function problemsOf(manifest: ManifestFields): Map<string, string> {
  const found = new Map<string, string>();
  for (const { instancePath, keyword, message, params } of validatorOf()
    .Errors(manifest)
    .slice(0, PROBLEMS_MAX * 5)) {
    const path = instancePath.slice(1).replaceAll('/', '.');
    const missing =
      keyword === 'required' ? ((params as { requiredProperties?: string[] }).requiredProperties ?? []) : [];
    for (const name of missing) found.set(path === '' ? name : `${path}.${name}`, 'is missing');
    if (missing.length > 0) continue;
    if (!found.has(path)) {
      const { allowedValues = [] } = params as { allowedValues?: unknown[] };
      found.set(path, keyword === 'enum' ? `takes one of ${allowedValues.join(', ')}` : message);
    }
  }
  return found;
}

export const manifestFields = (text: string | undefined): ManifestFields =>
  text === undefined ? {} : (JSON.parse(text) as ManifestFields);

/** docs/spec/microservices.md#manifest: `editable:false, overwriteOnUpdate:true, inheritFromOwner:true` unless said. */
export function manifestSettings(text: string | undefined): ManifestSetting[] {
  const { settings } = manifestFields(text);
  return (settings ?? []).map(({ key, defaultValue, editable, overwriteOnUpdate, inheritFromOwner }) => ({
    key,
    defaultValue: defaultValue ?? undefined,
    editable: editable ?? false,
    overwriteOnUpdate: overwriteOnUpdate ?? true,
    inheritFromOwner: inheritFromOwner ?? true,
  }));
}
