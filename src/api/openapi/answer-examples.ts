/** Examples of answers for /openapi.json: what a server answered. */

const BASE = 'https://iot.example.org';

/** By the names of `ANSWER_SCHEMAS`. */
const ENTITIES: Readonly<Record<string, unknown>> = {
  managedObject: {
    self: `${BASE}/inventory/managedObjects/1000`, id: '1000', name: 'Pump 7', type: 'c8y_Pump', c8y_IsDevice: {},
    com_cumulocity_model_Agent: {}, c8y_SupportedOperations: ['c8y_Restart'], owner: 'admin', creationTime: '2024-05-02T10:00:01.219Z',
    lastUpdated: '2024-05-02T10:00:01.219Z',
    childDevices: { references: [], self: `${BASE}/inventory/managedObjects/1000/childDevices` },
    childAssets: { references: [], self: `${BASE}/inventory/managedObjects/1000/childAssets` },
    childAdditions: { references: [], self: `${BASE}/inventory/managedObjects/1000/childAdditions` },
    deviceParents: { references: [], self: `${BASE}/inventory/managedObjects/1000/deviceParents` },
    assetParents: { references: [], self: `${BASE}/inventory/managedObjects/1000/assetParents` },
    additionParents: { references: [], self: `${BASE}/inventory/managedObjects/1000/additionParents` },
  },
  managedObjectReference: {
    managedObject: { id: '1001', name: 'Sensor', self: `${BASE}/inventory/managedObjects/1001` },
    self: `${BASE}/inventory/managedObjects/1000/childDevices/1001`,
  },
  measurement: {
    self: `${BASE}/measurement/measurements/1002`, id: '1002', source: { id: '1000', self: `${BASE}/inventory/managedObjects/1000` },
    time: '2024-05-02T10:00:00.000Z', type: 'c8y_Environment', c8y_Environment: { T: { value: 21.5, unit: 'C' } },
  },
  measurementSeries: {
    series: [{ unit: 'C', name: 'T', type: 'c8y_Environment' }], values: { '2024-05-02T10:00:00.000Z': [{ min: 21.5, max: 21.5 }] },
    truncated: false,
  },
  supportedMeasurements: { c8y_SupportedMeasurements: ['c8y_Environment'] },
  supportedSeries: { c8y_SupportedSeries: ['c8y_Environment.T'] },
  externalId: {
    self: `${BASE}/identity/externalIds/c8y_Serial/4711`, externalId: '4711', type: 'c8y_Serial',
    managedObject: { id: '1000', self: `${BASE}/inventory/managedObjects/1000` },
  },
  event: {
    self: `${BASE}/event/events/1078`, id: '1078',
    source: { id: '1000', self: `${BASE}/inventory/managedObjects/1000`, name: 'Pump 7', type: 'c8y_Pump' },
    time: '2024-05-02T10:00:00.000Z', type: 'c8y_DoorOpened', text: 'Door opened', creationTime: '2024-05-02T10:00:01.363Z',
    lastUpdated: '2024-05-02T10:00:01.363Z',
  },
  eventBinary: { self: `${BASE}/event/events/1078/binaries`, type: 'image/jpeg', source: '1078', length: 7 },
  eventBinaryChunk: { self: `${BASE}/event/events/1078/binaries`, type: 'image/jpeg', source: '1078', range: '0-6/*' },
  alarm: {
    self: `${BASE}/alarm/alarms/1103`, id: '1103',
    source: { id: '1000', self: `${BASE}/inventory/managedObjects/1000`, name: 'Pump 7', type: 'c8y_Pump' },
    time: '2024-05-02T10:00:00.000Z', type: 'c8y_Overheated', text: 'Too hot', severity: 'MAJOR', status: 'ACTIVE', count: 1,
    creationTime: '2024-05-02T10:00:01.395Z', lastUpdated: '2024-05-02T10:00:01.395Z',
  },
  auditRecord: {
    self: `${BASE}/audit/auditRecords/1104`, id: '1104', source: { id: '1000', self: `${BASE}/inventory/managedObjects/1000` },
    time: '2024-05-02T10:00:00.000Z', type: 'Inventory', text: 'Moved', activity: 'Device moved', user: 'ada',
    creationTime: '2024-05-02T10:00:01.441Z',
  },
  operation: {
    self: `${BASE}/devicecontrol/operations/1129`, id: '1129', deviceId: '1000', status: 'PENDING',
    creationTime: '2024-05-02T10:00:01.468Z', description: 'Restart', c8y_Restart: {}, deviceName: 'Pump 7',
  },
  bulkOperation: {
    self: `${BASE}/devicecontrol/bulkoperations/1131`, id: '1131', groupId: '1130', startDate: '2200-01-01T00:00:00.000Z',
    creationRamp: 15, operationPrototype: { c8y_Restart: {} }, status: 'ACTIVE', generalStatus: 'SCHEDULED',
    progress: { pending: 1, failed: 0, executing: 0, successful: 0, all: 1 },
  },
  newDeviceRequest: {
    id: '4712', status: 'WAITING_FOR_CONNECTION', self: `${BASE}/devicecontrol/newDeviceRequests/4712`, owner: 'admin',
    creationTime: '2024-05-02T10:00:01.516Z', tenantId: 't1', customProperties: {}, groupId: null, type: null,
  },
  newDeviceRequestLimit: { isReached: false, deviceCount: 2 },
  newDeviceRequestAcceptance: [{ id: '4712', successful: true }],
  deviceCredentials: {
    id: '4712', self: `${BASE}/devicecontrol/deviceCredentials/4712`, tenantId: 't1', username: 'device_4712',
    password: 'x7Kq-20.characters-Long',
  },
  bulkNewDeviceRequest: {
    numberOfAll: 1, numberOfCreated: 1, numberOfFailed: 0, numberOfSuccessful: 1,
    credentialUpdatedList: [{ bulkNewDeviceStatus: 'CREATED', deviceId: '4713' }], failedCreationList: [],
  },
  user: {
    self: `${BASE}/user/t1/users/ada`, id: 'ada', userName: 'ada', email: 'ada@example.com', firstName: 'Ada', enabled: true,
    shouldResetPassword: false, passwordStrength: 'GREEN', lastPasswordChange: '2024-05-02T10:00:01.698Z',
    twoFactorAuthenticationEnabled: false, customProperties: {}, devicePermissions: {}, applications: [],
    groups: { self: `${BASE}/user/t1/users/ada/groups`, references: [] },
    roles: { self: `${BASE}/user/t1/users/ada/roles`, references: [] },
  },
  totpSecretActivity: { isActive: true, isForced: false },
  userTfaData: { tfaEnabled: false, tfaEnforced: false, strategy: 'TOTP', lastTfaRequestTime: null },
  currentUser: {
    self: `${BASE}/user/t1/users/admin`, id: 'admin', userName: 'admin', enabled: true, shouldResetPassword: false,
    twoFactorAuthenticationEnabled: false, customProperties: {}, devicePermissions: {}, applications: [],
    groups: {
      self: `${BASE}/user/t1/users/admin/groups`,
      references: [
        {
          group: {
            self: `${BASE}/user/t1/groups/1`, id: 1, name: 'admins', description: 'All permissions',
            roles: {
              self: `${BASE}/user/t1/groups/1/roles`,
              references: [
                {
                  role: { id: 'ROLE_ALARM_ADMIN', name: 'ROLE_ALARM_ADMIN', self: `${BASE}/user/roles/ROLE_ALARM_ADMIN` },
                  self: `${BASE}/user/t1/groups/1/roles/ROLE_ALARM_ADMIN`,
                },
              ],
            },
            users: { self: `${BASE}/user/t1/groups/1/users`, references: [] }, devicePermissions: {},
          },
          self: `${BASE}/user/t1/users/admin/groups/1`,
        },
      ],
    },
    roles: {
      self: `${BASE}/user/t1/users/admin/roles`,
      references: [
        {
          role: { id: 'ROLE_ALARM_ADMIN', name: 'ROLE_ALARM_ADMIN', self: `${BASE}/user/roles/ROLE_ALARM_ADMIN` },
          self: `${BASE}/user/t1/users/admin/roles/ROLE_ALARM_ADMIN`,
        },
      ],
    },
    effectiveRoles: [{ id: 'ROLE_ALARM_ADMIN', name: 'ROLE_ALARM_ADMIN', self: `${BASE}/user/roles/ROLE_ALARM_ADMIN` }],
  },
  group: {
    self: `${BASE}/user/t1/groups/1132`, id: 1132, name: 'Operators',
    roles: { self: `${BASE}/user/t1/groups/1132/roles`, references: [] },
    users: { self: `${BASE}/user/t1/groups/1132/users`, references: [] }, devicePermissions: {},
  },
  userReference: {
    user: {
      self: `${BASE}/user/t1/users/ada`, id: 'ada', userName: 'ada', email: 'ada@example.com', firstName: 'Ada', enabled: true,
      shouldResetPassword: false, passwordStrength: 'GREEN', lastPasswordChange: '2024-05-02T10:00:01.698Z',
      twoFactorAuthenticationEnabled: false, customProperties: {}, devicePermissions: {}, applications: [],
      groups: {
        self: `${BASE}/user/t1/users/ada/groups`,
        references: [
          {
            group: {
              self: `${BASE}/user/t1/groups/1132`, id: 1132, name: 'Operators',
              roles: { self: `${BASE}/user/t1/groups/1132/roles`, references: [] },
              users: { self: `${BASE}/user/t1/groups/1132/users`, references: [] }, devicePermissions: {},
            },
            self: `${BASE}/user/t1/users/ada/groups/1132`,
          },
        ],
      },
      roles: { self: `${BASE}/user/t1/users/ada/roles`, references: [] },
    },
    self: `${BASE}/user/t1/groups/1132/users/ada`,
  },
  roleReference: {
    role: { id: 'ROLE_ALARM_READ', name: 'ROLE_ALARM_READ', self: `${BASE}/user/roles/ROLE_ALARM_READ` },
    self: `${BASE}/user/t1/groups/1132/roles/ROLE_ALARM_READ`,
  },
  groupReference: {
    group: {
      self: `${BASE}/user/t1/groups/1132`, id: 1132, name: 'Operators',
      roles: {
        self: `${BASE}/user/t1/groups/1132/roles`,
        references: [
          {
            role: { id: 'ROLE_ALARM_READ', name: 'ROLE_ALARM_READ', self: `${BASE}/user/roles/ROLE_ALARM_READ` },
            self: `${BASE}/user/t1/groups/1132/roles/ROLE_ALARM_READ`,
          },
        ],
      },
      users: { self: `${BASE}/user/t1/groups/1132/users`, references: [] }, devicePermissions: {},
    },
    self: `${BASE}/user/t1/users/ada/groups/1132`,
  },
  role: { id: 'ROLE_ALARM_READ', name: 'ROLE_ALARM_READ', self: `${BASE}/user/roles/ROLE_ALARM_READ` },
  inventoryRole: {
    id: 1133, name: 'Alarm reader', description: '', permissions: [{ id: 1, type: '*', scope: 'ALARM', permission: 'READ' }],
    self: `${BASE}/user/inventoryroles/1133`,
  },
  inventoryAssignment: {
    id: 1134, self: `${BASE}/user/t1/users/ada/roles/inventory/1134`, managedObject: '1130',
    roles: [
      {
        id: 1133, name: 'Alarm reader', description: '', permissions: [{ id: 1, type: '*', scope: 'ALARM', permission: 'READ' }],
        self: `${BASE}/user/inventoryroles/1133`,
      },
    ],
  },
  devicePermissions: { users: [], groups: [], self: `${BASE}/user/devicePermissions/1000` },
  authConfig: {
    id: 'BASIC', self: `${BASE}/tenant/loginOptions/BASIC`, type: 'BASIC', _type: 'BASIC', visibleOnLoginPage: true,
    userManagementSource: 'INTERNAL', initRequest: `${BASE}/tenant/oauth?tenant_id=t1`,
    authenticationRestrictions: { forbiddenClients: [], forbiddenUserAgents: [], trustedUserAgents: [] },
  },
  currentTenant: {
    self: `${BASE}/tenant/currentTenant`, name: 't1', domainName: '', allowCreateTenants: false, customProperties: {},
    applications: { self: `${BASE}/tenant/tenants/t1/applications`, references: [] },
  },
  tfaSettings: {
    enabledOnSystemLevel: true, enforcedOnSystemLevel: false, enabledOnTenantLevel: false, totpEnforcedOnTenantLevel: false,
    enforcedUsersGroup: '', strategy: 'TOTP',
  },
  option: { self: `${BASE}/tenant/options/configuration/theme`, category: 'configuration', key: 'theme', value: 'dark' },
  tenant: {
    self: `${BASE}/tenant/tenants/acme`, id: 'acme', status: 'ACTIVE', allowCreateTenants: false, domain: 'acme-pumps',
    company: 'ACME Ltd.', adminName: 'ada', adminEmail: 'ada@example.com', parent: 'management',
    creationTime: '2024-05-02T10:00:01.939Z', customProperties: {},
    applications: { self: `${BASE}/tenant/tenants/acme/applications`, references: [] },
    ownedApplications: { self: `${BASE}/application/applicationsByOwner/acme`, references: [] },
  },
  application: {
    self: `${BASE}/application/applications/1135`, id: '1135', key: 'hello-key', name: 'hello', type: 'MICROSERVICE',
    availability: 'PRIVATE', owner: { self: `${BASE}/tenant/tenants/management`, tenant: { id: 'management' } }, roles: [],
    requiredRoles: ['ROLE_INVENTORY_READ'],
  },
  applicationReference: {
    self: `${BASE}/tenant/tenants/acme/applications/1135`,
    application: {
      self: `${BASE}/application/applications/1135`, id: '1135', key: 'hello-key', name: 'hello', type: 'MICROSERVICE',
      availability: 'PRIVATE', owner: { self: `${BASE}/tenant/tenants/management`, tenant: { id: 'management' } }, roles: [],
      requiredRoles: ['ROLE_INVENTORY_READ'],
    },
  },
  applicationUser: { tenant: 'acme', name: 'service_hello', password: 'x7Kq-20.characters-Long' },
  applicationBinary: {
    self: `${BASE}/application/applications/1136/binaries/1137`, id: '1137', binaryId: '1137', name: 'web.zip', length: 251,
    created: '2024-05-02T10:00:01.229Z', contextPath: 'web', description: '',
    downloadUrl: `${BASE}/application/applications/1136/binaries/1137`,
  },
  applicationVersion: { version: '1.0.0', binaryId: '1138', tag: ['latest'], tags: ['latest'] },
  tenantUsageStatistics: {
    self: `${BASE}/tenant/statistics?dateFrom=2024-05-02&dateTo=2026-11-21`, day: '2024-05-02T10:00:01.000Z', alarmsCreatedCount: 0,
    alarmsUpdatedCount: 0, eventsCreatedCount: 0, eventsUpdatedCount: 0, measurementsCreatedCount: 0, inventoriesCreatedCount: 0,
    inventoriesUpdatedCount: 0, totalResourceCreateAndUpdateCount: 0, deviceCount: 0, deviceEndpointCount: 0, deviceWithChildrenCount: 0,
    deviceRequestCount: 15, requestCount: 15, storageSize: 3708, resources: { cpu: 0, memory: 0, usedBy: [] },
    subscribedApplications: [],
  },
  tenantUsageStatisticsSummary: {
    self: `${BASE}/tenant/statistics/summary`, alarmsCreatedCount: 0, alarmsUpdatedCount: 0, eventsCreatedCount: 0,
    eventsUpdatedCount: 0, measurementsCreatedCount: 0, inventoriesCreatedCount: 0, inventoriesUpdatedCount: 0,
    totalResourceCreateAndUpdateCount: 0, deviceCount: 0, deviceEndpointCount: 0, deviceWithChildrenCount: 0, deviceRequestCount: 16,
    requestCount: 16, storageSize: 3708, resources: { cpu: 0, memory: 0, usedBy: [] }, subscribedApplications: [],
  },
  allTenantsSummary: [
    {
      tenantId: 'acme', parentTenantId: 'management', tenantDomain: 'acme-pumps', tenantCompany: 'ACME Ltd.', tenantCustomProperties: {},
      alarmsCreatedCount: 0, alarmsUpdatedCount: 0, eventsCreatedCount: 0, eventsUpdatedCount: 0, measurementsCreatedCount: 0,
      inventoriesCreatedCount: 0, inventoriesUpdatedCount: 0, totalResourceCreateAndUpdateCount: 0, deviceCount: 0,
      deviceEndpointCount: 0, deviceWithChildrenCount: 0, deviceRequestCount: 0, requestCount: 0, storageSize: 0,
      resources: { cpu: 0, memory: 0, usedBy: [] }, subscribedApplications: ['hello'],
    },
  ],
  tenantStatisticsFile: {
    self: `${BASE}/tenant/statistics/files/1141`, id: '1141', instanceName: 'iot.example.org', generationDate: '2024-06-01T00:10:00.000Z',
    dateFrom: '2024-05-01T00:00:00.000Z', dateTo: '2024-05-31T23:59:59.999Z', type: 'TEST',
  },
  deviceStatistics: { deviceId: '1000', count: 42, deviceType: 'c8y_Pump', deviceParents: ['1001'] },
  retentionRule: {
    id: '1139', self: `${BASE}/retention/retentions/1139`, dataType: 'EVENT', fragmentType: '*', type: '*', source: '*', maximumAge: 365,
    editable: true,
  },
  retentionRun: {
    id: '1140', self: `${BASE}/retention/runs/1140`, status: 'RUNNING', trigger: 'REQUEST', dryRun: false, user: 'admin',
    creationTime: '2024-05-02T10:00:01.553Z', total: 0,
    results: [
      {
        ruleId: '1', dataType: 'ALARM', type: '*', source: '*', fragmentType: '*', olderThan: '2024-05-02T10:00:01.553Z', count: 0,
        done: false,
      },
    ],
  },
  subscription: {
    id: '1142', self: `${BASE}/notification2/subscriptions/1142`,
    source: { id: '1000', self: `${BASE}/inventory/managedObjects/1000`, name: 'Pump 1', type: 'c8y_Pump' },
    context: 'mo', subscription: 'alerts', nonPersistent: false, subscriptionFilter: { apis: ['alarms', 'measurements'] },
  },
  managedObjectUser: { self: `${BASE}/inventory/managedObjects/1000/user`, userName: 'device_4711', enabled: true },
  trustedCertificate: {
    self: `${BASE}/tenant/tenants/t1/trusted-certificates/f20b1e9c8f1b9c9b7a1d1d1c5e6f7a8b9c0d1e2f`,
    fingerprint: 'f20b1e9c8f1b9c9b7a1d1d1c5e6f7a8b9c0d1e2f', name: 'Factory', status: 'ENABLED', autoRegistrationEnabled: true,
    certInPemFormat: '-----BEGIN CERTIFICATE-----…', notBefore: '2024-01-01T00:00:00.000Z', notAfter: '2034-01-01T00:00:00.000Z',
    issuer: 'CN=Factory', subject: 'CN=Factory', serialNumber: '4711', algorithmName: 'SHA256withRSA', version: 3,
  },
  error: {
    error: 'inventory/Not Found', message: 'Finding device data from database failed : No managedObject for id \'1\'!',
    info: `${BASE}/openapi`,
  },
};

/** Collections: name, path, member with the items, name of the item, whether it comes in pages. */
const COLLECTIONS: readonly (readonly [string, string, string, string, boolean])[] = [
  ['managedObjectReferenceCollection', '/inventory/managedObjects/1000/childDevices', 'references', 'managedObjectReference', true],
  ['measurementCollection', '/measurement/measurements', 'measurements', 'measurement', true],
  ['managedObjectCollection', '/inventory/managedObjects', 'managedObjects', 'managedObject', true],
  ['externalIdCollection', '/identity/globalIds/1000/externalIds', 'externalIds', 'externalId', false],
  ['eventCollection', '/event/events', 'events', 'event', true],
  ['alarmCollection', '/alarm/alarms', 'alarms', 'alarm', true],
  ['auditRecordCollection', '/audit/auditRecords', 'auditRecords', 'auditRecord', true],
  ['operationCollection', '/devicecontrol/operations', 'operations', 'operation', true],
  ['bulkOperationCollection', '/devicecontrol/bulkoperations', 'bulkOperations', 'bulkOperation', true],
  ['newDeviceRequestCollection', '/devicecontrol/newDeviceRequests', 'newDeviceRequests', 'newDeviceRequest', true],
  ['userCollection', '/user/t1/users', 'users', 'user', true],
  ['userReferenceCollection', '/user/t1/groups/1132/users', 'references', 'userReference', true],
  ['groupCollection', '/user/t1/groups', 'groups', 'group', true],
  ['groupReferenceCollection', '/user/t1/users/ada/groups', 'references', 'groupReference', true],
  ['roleReferenceCollection', '/user/t1/groups/1132/roles', 'references', 'roleReference', true],
  ['roleCollection', '/user/roles', 'roles', 'role', true],
  ['inventoryRoleCollection', '/user/inventoryroles', 'roles', 'inventoryRole', true],
  ['inventoryAssignmentCollection', '/user/t1/users/ada/roles/inventory', 'inventoryAssignments', 'inventoryAssignment', false],
  ['loginOptionCollection', '/tenant/loginOptions', 'loginOptions', 'authConfig', false],
  ['optionCollection', '/tenant/options', 'options', 'option', true],
  ['tenantCollection', '/tenant/tenants', 'tenants', 'tenant', true],
  ['applicationReferenceCollection', '/tenant/tenants/acme/applications', 'references', 'applicationReference', true],
  ['applicationCollection', '/application/applications', 'applications', 'application', true],
  ['applicationUserCollection', '/application/currentApplication/subscriptions', 'users', 'applicationUser', false],
  ['applicationBinaries', '/application/applications/1136/binaries', 'attachments', 'applicationBinary', true],
  ['applicationVersionCollection', '/application/applications/1136/versions', 'applicationVersions', 'applicationVersion', false],
  ['tenantUsageStatisticsCollection', '/tenant/statistics', 'usageStatistics', 'tenantUsageStatistics', true],
  ['tenantStatisticsFileCollection', '/tenant/statistics/files', 'statisticsFiles', 'tenantStatisticsFile', true],
  ['deviceStatisticsCollection', '/tenant/statistics/device/t1/daily/2024-05-02', 'statistics', 'deviceStatistics', false],
  ['retentionRuleCollection', '/retention/retentions', 'retentionRules', 'retentionRule', true],
  ['subscriptionCollection', '/notification2/subscriptions', 'subscriptions', 'subscription', true],
  ['retentionRunCollection', '/retention/runs', 'retentionRuns', 'retentionRun', true],
  ['trustedCertificateCollection', '/tenant/tenants/t1/trusted-certificates', 'certificates', 'trustedCertificate', true],
];

export const ANSWER_EXAMPLES: Readonly<Record<string, unknown>> = {
  ...ENTITIES,
  ...Object.fromEntries(COLLECTIONS.map(([name, path, member, item, hasPages]) => [name, {
    self: `${BASE}${path}${hasPages ? '?pageSize=5&currentPage=1' : ''}`,
    ...(hasPages ? { statistics: { currentPage: 1, pageSize: 5 } } : {}),
    [member]: [ENTITIES[item]],
  }])),
};
