/**
 * Which methods of `@c8y/client` the tests of a file have called, and how each ended. Importing it puts a recorder
 * around every method of every class of the library; what the library does stays as it is. CLASSES says which file
 * calls all public methods of a class, REFUSED which of them this server refuses.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import * as library from '@c8y/client';

/** By file of test/e2e, without `.test.ts`. */
export const CLASSES: Readonly<Record<string, readonly string[]>> = {
  applications: ['ApplicationService', 'ApplicationBinaryService', 'FeatureService', 'SmartRulesService'],
  data: ['AlarmService', 'AuditService', 'EventBinaryService', 'EventService', 'MeasurementService'],
  devices: ['DeviceRegistrationBulkService', 'DeviceRegistrationService', 'OperationBulkService', 'OperationService'],
  inventory: [
    'IdentityService',
    'InventoryBinaryService',
    'InventoryService',
    'Paging',
    'QueriesUtil',
    'SmartGroupsService',
  ],
  login: [
    'BasicAuth',
    'BearerAuth',
    'BearerAuthFromSessionStorage',
    'Client',
    'CookieAuth',
    'FetchClient',
    'MicroserviceClientRequestAuth',
    'NodeJSCookieAuth',
    'Realtime',
  ],
  tenants: [
    'CrlService',
    'SystemOptionsService',
    'TenantLoginOptionsService',
    'TenantOptionsService',
    'TenantSecurityOptionsService',
    'TenantService',
    'TrustedCertificateService',
  ],
  users: ['InventoryRoleService', 'UserGroupService', 'UserInventoryRoleService', 'UserRoleService', 'UserService'],
};

const NO_CONTAINERS =
  'images of microservices are stored, not run (docs/internals/applications.md): there is no instance that writes a log';
const PLUGINS =
  "plug-ins inside of an archive belong to the vendor's web front end: in none of the documents; `updateFiles` changes files of an archive";
const TOGGLES = "switches of the vendor's own features: in none of the documents";
const SMART_RULES = 'a microservice of the vendor; it answers where somebody runs one with this context path';
const AUTHORITY = 'docs/spec/device-registration.md#mqtt: certificate authorities of tenants are out of scope';
const SUPPORT =
  'operators of the vendor who log in to tenants: system option support-user/enabled is true (docs/spec/options.md#system-options), no page has the resource';

/**
 * Methods that ask for what is not here: the status that the tests of the file see, with a body that names the error,
 * and why.
 */
export const REFUSED: Readonly<Record<string, { readonly status: number; readonly reason: string }>> = {
  'ApplicationBinaryService.addPlugin': { status: 404, reason: PLUGINS },
  'ApplicationBinaryService.listPlugins': { status: 404, reason: PLUGINS },
  'ApplicationBinaryService.removePlugin': { status: 404, reason: PLUGINS },
  'ApplicationService.getInstanceLog': { status: 404, reason: NO_CONTAINERS },
  'FeatureService.detailByTenant': { status: 404, reason: TOGGLES },
  'FeatureService.removeTenantOverride': { status: 404, reason: TOGGLES },
  'FeatureService.removeTenantOverrideByTenant': { status: 404, reason: TOGGLES },
  'FeatureService.updateFeature': { status: 404, reason: TOGGLES },
  'FeatureService.updateFeatureByTenant': { status: 404, reason: TOGGLES },
  'SmartRulesService.listByContext': { status: 404, reason: SMART_RULES },
  'SmartRulesService.update': { status: 404, reason: SMART_RULES },
  'TenantService.disableSupportUser': { status: 404, reason: SUPPORT },
  'TenantService.enableSupportUser': { status: 404, reason: SUPPORT },
  'TrustedCertificateService.generateCertificateAuthority': { status: 404, reason: AUTHORITY },
  'TrustedCertificateService.renewCertificateAuthority': { status: 404, reason: AUTHORITY },
  'UserService.verifyTFACode': {
    status: 404,
    reason: 'codes by SMS are not sent (docs/internals/users.md); codes of apps are checked by `verifyTotpCode`',
  },
};

type Class = { readonly name: string; readonly prototype: object };
type Method = (this: unknown, ...values: unknown[]) => unknown;

/**
 * The classes that the library exports. Service is what the others have in common: what a class does not have itself is
 * hidden by it.
 */
export const LIBRARY_CLASSES: readonly Class[] = Object.values(library as unknown as Record<string, unknown>).filter(
  (value): value is Class => typeof value === 'function' && /^class\b/.test(String(value)) && value.name !== 'Service',
);

const succeeded = new Set<string>();
/** Status by method. */
const refused = new Map<string, Set<number>>();

/** A Response, an error `{ res, data }` or what a method gives: `{ res, data }` mostly. */
const statusOf = (value: any): number | undefined =>
  value?.res?.status ?? (typeof value?.status === 'number' ? value.status : undefined);

function noteRefusal(name: string, status: number): void {
  const known = refused.get(name);
  if (known === undefined) refused.set(name, new Set([status]));
  else known.add(status);
}

function note(name: string, value: unknown): void {
  const status = statusOf(value) ?? 200;
  if (status < 400) succeeded.add(name);
  else noteRefusal(name, status);
}

function recorded(owner: Class, method: string, original: Method): Method {
  return function record(this: unknown, ...values: unknown[]): unknown {
    const of =
      typeof this === 'function' ? this.name : (this as { constructor?: Class } | undefined)?.constructor?.name;
    const name = `${of ?? owner.name}.${method}`;
    const result = Reflect.apply(original, this, values);
    if (!(result instanceof Promise)) {
      note(name, result);
      return result;
    }
    return result.then(
      (value: unknown) => {
        note(name, value);
        return value;
      },
      (error: unknown) => {
        noteRefusal(name, statusOf(error) ?? 0);
        throw error;
      },
    );
  };
}

for (const one of LIBRARY_CLASSES) {
  for (const holder of [one, one.prototype]) {
    for (const [method, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
      if (method === 'constructor' || method === 'prototype' || typeof descriptor.value !== 'function') continue;
      Object.defineProperty(holder, method, {
        ...descriptor,
        value: recorded(one, method, descriptor.value as Method),
      });
    }
  }
}

const TYPES = join(dirname(createRequire(import.meta.url).resolve('@c8y/client/package.json')), 'lib', 'src');
const declarations = new Map(
  readdirSync(TYPES, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.d.ts'))
    .map((name) => readFileSync(join(TYPES, name), 'utf8'))
    .flatMap((text) => [...text.matchAll(/^export declare class (\w+)/gm)].map(([, name]) => [name, text] as const)),
);

/**
 * What the library declares as public, also what the class has from another one. @throws Error for a class without a
 * declaration.
 */
export function publicMethods(name: string): string[] {
  const text = declarations.get(name);
  if (text === undefined) throw new Error(`no declaration of ${name}`);
  const body = text.slice(text.indexOf(`class ${name}`));
  const own = [...body.matchAll(/^ {4}(?:static )?(\w+)(?:<[^\n(]*>)?\(/gm)]
    .map(([, method]) => method)
    .filter((method) => method !== 'constructor');
  const parent = /^class \w+(?:<[^{]*?>)? extends (\w+)/.exec(body)?.[1];
  return [...new Set([...own, ...(parent === undefined || parent === 'Service' ? [] : publicMethods(parent))])];
}

/**
 * Methods of the class at run time that are neither public nor said to be the library's own; there are none as long as
 * publicMethods reads all.
 */
export function undeclaredMethods(name: string): string[] {
  const { prototype } = LIBRARY_CLASSES.find((one) => one.name === name) ?? { prototype: {} };
  const known = new Set(['constructor', ...publicMethods(name)]);
  const isHidden = (method: string): boolean =>
    new RegExp(`^ {4}(?:private|protected) (?:static )?${method}\\b`, 'm').test(declarations.get(name) ?? '');
  return Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([method, { value }]) => typeof value === 'function' && !known.has(method) && !isHidden(method))
    .map(([method]) => method);
}

/**
 * What the tests of the file have left out so far: methods of its classes that did not succeed, refusals that are not
 * those of REFUSED, and methods of REFUSED that succeed. Nothing is as it should be.
 */
export function leftOut(file: string): string[] {
  return CLASSES[file]
    .flatMap((one) => publicMethods(one).map((method) => `${one}.${method}`))
    .flatMap((name) => {
      const refusal = REFUSED[name];
      if (refusal === undefined) return succeeded.has(name) ? [] : [`${name} was not called with success`];
      const seen = [...(refused.get(name) ?? [])];
      if (succeeded.has(name)) return [`${name} succeeds, but is said to be refused`];
      return seen.length === 1 && seen[0] === refusal.status
        ? []
        : [`${name} is said to be refused with ${refusal.status}, seen: ${seen.join(', ') || 'nothing'}`];
    });
}
