/** Schemas of answers that no request body shares: roots, tenants, options, certificates, statistics, logins. Components of /openapi.json. */
import Type from 'typebox';
import type { TSchema } from 'typebox';

const OPEN = { additionalProperties: true } as const;
const Text = Type.String();
const Link = Type.String({ format: 'uri' });
const optional = (schema: TSchema): TSchema => Type.Optional(schema);
const open = (members: Record<string, TSchema>): TSchema => Type.Object(members, OPEN);
const listOf = (name: string, item: TSchema): TSchema => open({ self: optional(Link), [name]: Type.Array(item) });

/** Collections as `{self, <name>: []}`, templates as texts with `{name}` places. */
const Root = open({ self: Link });
const ROOTS = ['measurement', 'inventory', 'event', 'alarm', 'identity', 'devicecontrol', 'user', 'tenant', 'application', 'audit'];

const Option = open({ self: optional(Link), category: optional(Text), key: optional(Text), value: optional(Text), editable: optional(Type.Boolean()) });
const Tenant = open({ id: Text, self: Link, domain: optional(Text), company: optional(Text), status: Type.Enum(['ACTIVE', 'SUSPENDED']),
  adminName: optional(Text),
  adminEmail: optional(Text), parent: optional(Text), creationTime: optional(Text) });
const Certificate = open({ self: Link, fingerprint: Text, name: optional(Text), status: Type.Enum(['ENABLED', 'DISABLED']), certInPemFormat: Text,
  notBefore: optional(Text), notAfter: optional(Text), issuer: optional(Text), subject: optional(Text), serialNumber: optional(Text) });
const LoginOption = open({ id: optional(Text), self: optional(Link), type: Text });
const Numbers = open({});
const Reference = open({ self: Link, application: optional(open({})) });

export const FURTHER_ANSWER_SCHEMAS: Readonly<Record<string, TSchema>> = {
  platformApi: open({ self: Link, ...Object.fromEntries(['alarm', 'audit', 'deviceControl', 'event', 'identity', 'inventory', 'measurement', 'tenant', 'user']
    .map((name) => [name, Root])) }),
  ...Object.fromEntries(ROOTS.map((name) => [`${name}Api`, Root])),
  measurementSeries: open({ values: Type.Record(Text, Type.Array(Type.Unknown())), series: Type.Array(open({ type: Text, name: Text, unit: optional(Text) })),
    truncated: Type.Boolean() }),
  supportedMeasurements: open({ c8y_SupportedMeasurements: Type.Array(Text) }),
  supportedSeries: open({ c8y_SupportedSeries: Type.Array(Text) }),
  eventBinary: open({ self: Link, name: optional(Text), type: Text, source: Text, length: Type.Integer() }),
  userTfaData: open({ tfaEnabled: Type.Boolean(), tfaEnforced: Type.Boolean(), strategy: Text }),
  totpSecretActivity: open({ isActive: Type.Boolean(), isForced: Type.Boolean() }),
  devicePermissions: open({ users: Type.Array(open({})), groups: Type.Array(open({})) }),
  authConfig: LoginOption,
  loginOptionCollection: listOf('loginOptions', LoginOption),
  currentTenant: open({ name: Text, domainName: Text }),
  tfaSettings: open({}),
  option: Option,
  optionCollection: listOf('options', Option),
  tenant: Tenant,
  tenantCollection: listOf('tenants', Tenant),
  applicationReference: Reference,
  applicationReferenceCollection: listOf('references', Reference),
  trustedCertificate: Certificate,
  trustedCertificateCollection: listOf('certificates', Certificate),
  tenantUsageStatisticsCollection: listOf('usageStatistics', Numbers),
  tenantUsageStatisticsSummary: Numbers,
  allTenantsSummary: Type.Array(Numbers),
  deviceStatisticsCollection: listOf('statistics', Numbers),
};
