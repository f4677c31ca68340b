/** The whole of `@c8y/client`: each public method of each of its classes is used in a test, or named here with the reason why not. */
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ROOT } from '../helpers/root.ts';
import * as library from '@c8y/client';
import t from 'tap';

const HERE = join(ROOT, 'test/e2e');
const TYPES = join(dirname(createRequire(import.meta.url).resolve('@c8y/client/package.json')), 'lib', 'src');

/** Where tests say another word than the class's name without `Service`. */
const WORDS: Readonly<Record<string, string>> = {
  ApplicationService: '(application|service)', ApplicationBinaryService: 'binary\\(\\w+\\)', BearerAuth: '(one\\.auth|auth)', CookieAuth: 'auth', EventBinaryService: 'binaries',
  InventoryBinaryService: 'inventory\\.binary', FetchClient: '(core|fetcher)',
  SystemOptionsService: 'system', TenantOptionsService: 'options\\.tenant', TenantSecurityOptionsService: 'security', TenantLoginOptionsService: 'options(\\.login)?',
  TrustedCertificateService: 'certificates', UserInventoryRoleService: 'assignments', Client: '(Client|client|other|inBrowser)',
};

const LOCAL = 'asks nobody: a text or a decision of its own';
const BEYOND = 'a resource that neither document 1 nor sections 0 to 6 of document 4 have';
const BROWSER = 'needs XMLHttpRequest; the same request without it is used';
/** By class, or class and method. */
const NOT_USED: Readonly<Record<string, string>> = {
  BearerAuthFromSessionStorage: 'BearerAuth with the storage of a browser', MicroserviceClientRequestAuth: 'takes over the header of a request, which the others send',
  FeatureService: BEYOND, SmartRulesService: BEYOND,
  'ApplicationService.reactivateArchive': 'update with activeVersionId, which is used', 'ApplicationService.getHref': LOCAL, 'ApplicationService.isAvailable': LOCAL,
  'ApplicationService.getStatusDetails': BEYOND, 'ApplicationService.getInstanceNames': BEYOND, 'ApplicationService.getInstanceLog': BEYOND,
  'ApplicationService.updateApplicationConfig': 'update with config', 'ApplicationService.storeAppManifest': 'update with manifest', 'ApplicationService.getManifestOfContextPath': 'a file of /apps, which is served',
  'ApplicationService.updateApplicationAvailability': 'update with availability', 'ApplicationBinaryService.uploadWithProgressXhr': BROWSER, 'ApplicationBinaryService.getXMLHttpResponse': BROWSER,
  'ApplicationBinaryService.listPlugins': LOCAL, 'ApplicationBinaryService.updateFiles': 'the same request in application-binaries.test.ts',
  'ApplicationBinaryService.addPlugin': 'update with config', 'ApplicationBinaryService.removePlugin': 'update with config',
  'InventoryBinaryService.createWithProgress': BROWSER, 'InventoryBinaryService.getXMLHttpResponse': BROWSER, 'InventoryService.assetKPIsList': BEYOND,
  'TenantService.enableSupportUser': BEYOND, 'TenantService.disableSupportUser': BEYOND,
  'UserService.verifyTFACode': BEYOND, 'CrlService.uploadCrlFile': 'the same request, made by fetch, in revoked-certificates.test.ts',
  'TrustedCertificateService.verifySignedVerificationCode': 'the proof of possession has its own test (trusted-certificates.test.ts)',
  'TrustedCertificateService.generateCertificateAuthority': BEYOND, 'TrustedCertificateService.renewCertificateAuthority': BEYOND,
  'Realtime.addHandshakeListener': LOCAL, 'Realtime.addConnectListener': LOCAL, 'Realtime.removeListener': LOCAL, 'Realtime.isDisconnected': LOCAL,
  'Realtime.resubscribe': 'subscribe with what it was given before', ...Object.fromEntries(['BasicAuth', 'BearerAuth', 'CookieAuth'].flatMap((name) =>
    ['updateCredentials', 'getFetchOptions', 'getCometdHandshake'].map((method) => [`${name}.${method}`, 'called by the client with every request']))),
  'BasicAuth.logout': LOCAL, ...Object.fromEntries(['setAuth', 'performLogoutOnCurrentAuthStrategy', 'authIsInstanceOf', 'getUrl', 'getFetchOptions', 'getCometdHandshake']
    .map((method) => [`FetchClient.${method}`, 'called by the client with every request'])),
};

const declarations = new Map(readdirSync(TYPES, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.d.ts'))
  .map((name) => readFileSync(join(TYPES, name), 'utf8')).flatMap((text) => [...text.matchAll(/class (\w+)/g)].map(([, name]) => [name, text] as const)));
const tests = readdirSync(HERE).filter((name) => name.endsWith('.test.ts') && name !== 'c8y-client-methods.test.ts')
  .map((name) => readFileSync(join(HERE, name), 'utf8')).filter((text) => text.includes("from '@c8y/client'")).join('\n');

/** Public methods as they are at run time, without those that the declarations call private or protected. */
function methodsOf(name: string): string[] {
  const { prototype } = (library as unknown as Record<string, { prototype: object }>)[name];
  return Object.entries(Object.getOwnPropertyDescriptors(prototype)).filter(([method, { value }]) => method !== 'constructor' && typeof value === 'function')
    .map(([method]) => method).filter((method) => !new RegExp(`(private|protected)[ \\w]* ${method}\\b`).test(declarations.get(name) ?? ''));
}

const classes = Object.entries(library).filter(([name, value]) => typeof value === 'function' && /Service$|Auth|^Client$|^Realtime$|^FetchClient$/.test(name)).map(([name]) => name);

t.test('each method is used, or there is a reason', async (t) => {
  t.ok(classes.length > 25, `${classes.length} classes`);
  const unknown = new Set(Object.keys(NOT_USED));
  for (const name of classes) {
    unknown.delete(name);
    const word = WORDS[name] ?? name.replace('Service', '').replace(/^./, (first) => first.toLowerCase());
    for (const method of methodsOf(name)) {
      unknown.delete(`${name}.${method}`);
      // Some are called by their names from a table.
      const isUsed = new RegExp(`\\b${word}\\.${method}\\(|'${method}'`).test(tests);
      const reason = NOT_USED[name] ?? NOT_USED[`${name}.${method}`];
      t.ok(isUsed || reason !== undefined, `${name}.${method} is used or excused`);
    }
  }
  t.same([...unknown], [], 'reasons for what there is');
});
