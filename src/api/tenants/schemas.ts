/** Schemas of answers about tenants: options, certificates, statistics, logins (docs/spec/README.md). */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { CERTIFICATE_STATUSES } from '../../accounts/certificates/certificates.ts';
import { LOGIN_TYPES } from '../../accounts/login/options.ts';
import {
  Count,
  Fragments,
  Link,
  Text,
  Timestamp,
  collectionOf,
  listOf,
  open,
  optional,
  ref,
} from '../../model/schema/parts.ts';

const Option = open({
  self: optional(Link),
  category: optional(Text),
  key: optional(Text),
  value: optional(Text),
  editable: optional(Type.Boolean()),
});
const Applications = open({ self: Link, references: Type.Array(ref('applicationReference')) });
const tenantMembers = {
  customProperties: optional(Fragments),
  applications: optional(Applications),
  allowCreateTenants: optional(Type.Boolean()),
};

const Tenant = open({
  id: Text,
  self: Link,
  domain: optional(Text),
  company: optional(Text),
  status: Type.Enum(['ACTIVE', 'SUSPENDED']),
  adminName: optional(Text),
  adminEmail: optional(Text),
  adminPass: optional(Text),
  contactName: optional(Text),
  contactPhone: optional(Text),
  parent: optional(Text),
  creationTime: optional(Timestamp),
  ownedApplications: optional(Applications),
  ...tenantMembers,
});

const Certificate = open({
  self: Link,
  fingerprint: Text,
  name: optional(Text),
  status: Type.Enum([...CERTIFICATE_STATUSES]),
  certInPemFormat: Text,
  notBefore: optional(Timestamp),
  notAfter: optional(Timestamp),
  issuer: optional(Text),
  subject: optional(Text),
  serialNumber: optional(Text),
  algorithmName: optional(Text),
  version: optional(Type.Integer()),
  autoRegistrationEnabled: optional(Type.Boolean()),
  tenantCertificateAuthority: optional(Type.Boolean()),
  proofOfPossessionValid: optional(Type.Boolean()),
  proofOfPossessionUnsignedVerificationCode: optional(Text),
  proofOfPossessionVerificationCodeUsableUntil: optional(Timestamp),
});

const Restrictions = open({
  forbiddenClients: Type.Array(Text),
  forbiddenUserAgents: Type.Array(Text),
  trustedUserAgents: Type.Array(Text),
});
const LoginOption = open({
  id: optional(Text),
  self: optional(Link),
  type: Type.Enum([...LOGIN_TYPES]),
  _type: optional(Text),
  userManagementSource: optional(Text),
  initRequest: optional(Link),
  visibleOnLoginPage: optional(Type.Boolean()),
  providerName: optional(Text),
  buttonName: optional(Text),
  onlyManagementTenantAccess: optional(Type.Boolean()),
  authenticationRestrictions: optional(Restrictions),
  grantType: optional(Text),
  loginRedirectDomain: optional(Text),
  tfaStrategy: optional(Text),
  tfaSupported: optional(Type.Boolean()),
  enforceStrength: optional(Type.Boolean()),
  greenMinLength: optional(Type.Integer()),
  strengthValidity: optional(Type.Boolean()),
  sessionConfiguration: optional(
    open({ absoluteTimeoutMillis: Type.Integer(), userAgentValidationRequired: Type.Boolean() }),
  ),
});

const counters = Object.fromEntries(
  [
    'alarmsCreatedCount',
    'alarmsUpdatedCount',
    'eventsCreatedCount',
    'eventsUpdatedCount',
    'measurementsCreatedCount',
    'inventoriesCreatedCount',
    'inventoriesUpdatedCount',
    'totalResourceCreateAndUpdateCount',
    'deviceCount',
    'deviceEndpointCount',
    'deviceWithChildrenCount',
    'deviceRequestCount',
    'requestCount',
    'storageSize',
  ].map((name): [string, TSchema] => [name, Count]),
);
const usage = {
  ...counters,
  resources: open({ cpu: Type.Number(), memory: Type.Number(), usedBy: Type.Array(Fragments) }),
  subscribedApplications: Type.Array(Text),
};

/** Answers by vendor name. */
export const TENANT_ANSWER_SCHEMAS: Readonly<Record<string, TSchema>> = {
  authConfig: LoginOption,
  loginOptionCollection: listOf('loginOptions', ref('authConfig')),
  currentTenant: open({ self: optional(Link), name: Text, domainName: Text, ...tenantMembers }),
  tfaSettings: open({
    enabledOnSystemLevel: Type.Boolean(),
    enforcedOnSystemLevel: Type.Boolean(),
    enabledOnTenantLevel: Type.Boolean(),
    totpEnforcedOnTenantLevel: Type.Boolean(),
    enforcedUsersGroup: Text,
    strategy: Text,
  }),
  option: Option,
  optionsOfCategory: Type.Record(Text, Text),
  optionCollection: collectionOf('options', ref('option')),
  tenant: Tenant,
  tenantCollection: collectionOf('tenants', ref('tenant')),
  trustedCertificate: Certificate,
  trustedCertificateCollection: collectionOf('certificates', ref('trustedCertificate')),
  tenantUsageStatistics: open({ self: Link, day: Timestamp, ...usage }),
  tenantUsageStatisticsCollection: collectionOf('usageStatistics', ref('tenantUsageStatistics')),
  tenantUsageStatisticsSummary: open({ self: Link, ...usage }),
  allTenantsSummary: Type.Array(
    open({
      tenantId: Text,
      parentTenantId: optional(Text),
      tenantDomain: optional(Text),
      tenantCompany: optional(Text),
      tenantCustomProperties: optional(Fragments),
      ...usage,
    }),
  ),
  tenantStatisticsFile: open({
    self: Link,
    id: Text,
    instanceName: Text,
    generationDate: Timestamp,
    dateFrom: Timestamp,
    dateTo: Timestamp,
    type: Type.Enum(['REAL', 'TEST']),
  }),
  tenantStatisticsFileCollection: collectionOf('statisticsFiles', ref('tenantStatisticsFile')),
  deviceStatistics: open({ deviceId: Text, count: Count, deviceType: Text, deviceParents: Type.Array(Text) }),
  deviceStatisticsCollection: collectionOf('statistics', ref('deviceStatistics')),
};
