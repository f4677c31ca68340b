/** Document 1, "Resources and their fields": the rows of its tables, in their order. */
import { FUTURE, TIME } from './world.ts';
import type { World } from './world.ts';
import type { FieldRow, Resource } from './rows.ts';

const FORMS: Readonly<Record<string, RegExp>> = { id: /^\d+$/, self: /^http:\/\/.*\/\w/, creationTime: /Z$/, lastUpdated: /Z$/ };
const generated = (field: string, type: FieldRow['type'] = 'string', more: Partial<FieldRow> = {}): FieldRow =>
  ({ field, type, post: 'no', put: 'no', values: type === 'string' ? ['4711', '4712'] : [TIME, TIME], ...(FORMS[field] === undefined ? {} : { initially: FORMS[field] }), ...more });
const links = (field: string, isSameLine = true): FieldRow => ({ field, isSameLine, type: 'object', post: 'no', put: 'no', initially: { references: [], self: /^http/ },
  values: [{ references: [{ managedObject: { id: '1' } }] }, { references: [{ managedObject: { id: '1' } }] }] });
const fragment = (field: string, one: unknown, other: unknown): FieldRow =>
  ({ field, type: Array.isArray(one) ? 'array' : 'object', post: 'optional', put: 'optional', values: [one, other], isAny: true });
const example = (field: string, one: unknown, other: unknown): FieldRow => ({ ...fragment(field, one, other), isSameLine: true });
const device = (world: World): object => ({ deviceId: world.device });

const APPLICATION: Resource = {
  heading: 'Application', path: '/application/applications', body: (world) => world.applicationBody(), one: ({ id }) => `/application/applications/${id}`,
  rows: [
    generated('id'),
    { field: 'key', type: 'string', post: 'mandatory', put: 'optional', values: (world) => [world.name('key'), world.name('key')] },
    { field: 'name', type: 'string', post: 'mandatory', put: 'optional', values: (world) => [world.name('name'), world.name('name')] },
    { field: 'type', type: 'string', post: 'mandatory', put: 'no', values: ['MICROSERVICE', 'EXTERNAL'], oneOf: ['MICROSERVICE', 'EXTERNAL'] },
    { field: 'availability', type: 'string', post: 'optional', put: 'optional', values: ['MARKET', 'PRIVATE'], oneOf: ['MARKET', 'PRIVATE'] },
    // On POST there is no archive yet; which ids a PUT takes is in rules: 'Application: activeVersionId'.
    { field: 'activeVersionId', type: 'string', post: 'no', put: 'no', values: ['4711', '4711'], isSometimes: true, heldBy: [['e2e/applications/application-binaries', 'another archive is taken into use']] },
    { field: 'manifest', type: 'object', post: 'optional', put: 'optional', values: [{ imports: [], noAppSwitcher: true }, { imports: ['a'], noAppSwitcher: false }],
      refused: [{ imports: 'a' }, { noAppSwitcher: 'yes' }], heldBy: [['e2e/applications/application-binaries', 'manifests']] },
    { field: 'owner', type: 'object', post: 'no', put: 'no', values: [{ tenant: { id: 'other' } }, { tenant: { id: 'other' } }],
      initially: { self: /^http.*\/tenant\/tenants\/t1$/, tenant: { id: 't1' } } },
    // Form ROLE_<AREA>_<LEVEL>; what they give: rules, 'Application: requiredRoles, roles'.
    { field: 'requiredRoles', type: 'array', post: 'optional', put: 'optional', values: [['ROLE_INVENTORY_ADMIN'], ['ROLE_ALARM_READ']], refused: [[1], ['INVENTORY_ADMIN'], ['role_mill_read']],
      heldBy: [['e2e/applications/microservices', 'a service user for each subscribed tenant, with exactly the required roles']] },
    { field: 'roles', type: 'array', post: 'optional', put: 'optional', values: [['ROLE_MILL_READ'], ['ROLE_MILL_ADMIN', 'ROLE_MILL_READ']], refused: [[1], ['MILL_READ'], ['role_mill_read']] },
    generated('self'),
  ],
};

const references = { references: [{ application: { id: '1' } }] };
/** Visibility is in visibility.ts; limits once more in limits.ts. */
const TENANT: Resource = {
  heading: 'Tenant', path: '/tenant/tenants', by: (world) => world.management, one: ({ id }) => `/tenant/tenants/${id}`,
  body: (world) => ({ company: 'Mill Ltd.', domain: world.name('domain') }),
  rows: [
    generated('self', 'string', { visibility: 'public' }),
    { field: 'id', type: 'string', visibility: 'public', post: 'optional', put: 'no', values: (world) => [world.name('given'), world.name('given')], lengthMax: 32, isUnique: true, initially: /^t\d+$/ },
    { field: 'status', type: 'string', visibility: 'private', post: 'no', put: 'optional', values: ['SUSPENDED', 'SUSPENDED'], oneOf: ['SUSPENDED', 'ACTIVE'], initially: 'ACTIVE',
      heldBy: [['e2e/tenants/tenants', 'suspension ends all access at once, activation gives it back']] },
    // PUT: rules, 'Tenants 1'.
    { field: 'adminName', type: 'string', visibility: 'private', post: 'optional', put: 'no', values: ['boss', 'boss2'], lengthMax: 50, along: { adminEmail: 'boss@example.com', adminPass: 'Analytical-1' },
      refused: ['a b', 'a/b', 'a\\b', 'a+b', 'a$b', 'a:b', 'a\tb', 'a\nb', ' a', 'a\u00a0b'] },
    { field: 'adminEmail', type: 'string', visibility: 'private', post: 'optional', put: 'optional', values: ['one@example.com', 'two@example.com'], lengthMax: 254,
      ofLength: (length) => `${'a'.repeat(length - 4)}@b.c`, refused: ['nobody'] },
    { field: 'adminPass', type: 'string', visibility: 'private', post: 'optional', put: 'optional', values: ['Analytical-1', 'Analytical-2'], isWriteOnly: true, lengthMax: 32 },
    { field: 'adminPassword', isSameLine: true, type: 'string', visibility: 'private', post: 'optional', put: 'optional', values: ['Analytical-1', 'Analytical-2'], isWriteOnly: true, lengthMax: 32 },
    { field: 'allowCreateTenants', type: 'boolean', visibility: 'private', post: 'optional', put: 'optional', values: [true, true], initially: false,
      heldBy: [['document-1/rules', 'Tenant: allowCreateTenants']] },
    { field: 'storageLimitPerDevice', type: 'integer', visibility: 'private', post: 'optional', put: 'optional', values: [1000, 5_000_000_000], refused: [-1, 1.5] },
    // What it does: rules, 'Tenant: sendPasswordResetEmail'.
    { field: 'sendPasswordResetEmail', type: 'boolean', visibility: 'private', post: 'optional', put: 'optional', values: [true, false], along: { adminEmail: 'boss@example.com' }, isWriteOnly: true },
    { field: 'domain', type: 'string', visibility: 'public', post: 'mandatory', put: 'optional', values: (world) => [`${world.name('do_main')}-1a`, world.name('domain')], isUnique: true, lengthMax: 256,
      refused: ['Ab', 'aB', '1ab', '_ab', '-ab', 'ab-', 'a', '', 'a b', 'a.b', 'a/b', 'äb'], heldBy: [['e2e/tenants/tenants', 'the host name says the tenant when the user name does not']] },
    { field: 'company', type: 'string', visibility: 'public', post: 'mandatory', put: 'optional', values: ['One', 'Two'], lengthMax: 256 },
    { field: 'contactName', type: 'string', visibility: 'public', post: 'optional', put: 'optional', values: ['One', 'Two'], lengthMax: 30 },
    { field: 'contactPhone', type: 'string', visibility: 'public', post: 'optional', put: 'optional', values: ['1', '2'], lengthMax: 20 },
    { field: 'applications', type: 'object', visibility: 'private', post: 'no', put: 'no', values: [references, references], initially: { self: /^http/, references: [] },
      heldBy: [['document-1/rules', 'Tenant: applications, ownedApplications']] },
    { field: 'ownedApplications', type: 'object', visibility: 'public', post: 'no', put: 'no', values: [references, references], initially: { self: /^http/, references: [] },
      heldBy: [['document-1/rules', 'Tenant: applications, ownedApplications']] },
    { field: 'customProperties', type: 'object', post: 'optional', put: 'optional', values: [{ language: 'en' }, { language: 'de', a: { b: [1] } }], initially: {} },
    { field: 'parent', type: 'string', visibility: 'public', post: 'no', put: 'no', values: ['other', 'other'], initially: 'management' },
  ],
};

const OPTION: Resource = {
  heading: 'Option', path: '/tenant/options', body: (world) => ({ category: world.name('category'), key: 'key', value: 'value' }), status: 200,
  one: ({ category, key }) => `/tenant/options/${category}/${key}`,
  rows: [
    { field: 'category', type: 'string', post: 'mandatory', put: 'no', values: ['taken', 'other'] },
    { field: 'key', type: 'string', post: 'mandatory', put: 'no', values: ['taken', 'other'] },
    // Numbers and booleans become texts (document 4 section 6.1).
    { field: 'value', type: 'string', post: 'mandatory', put: 'mandatory', values: ['one', 'two'], isAny: true, refused: [{}, []] },
    generated('self'),
  ],
};

const MANAGED_OBJECT: Resource = {
  heading: 'Managed object', path: '/inventory/managedObjects', body: () => ({}), one: ({ id }) => `/inventory/managedObjects/${id}`, moves: ['lastUpdated'],
  rows: [
    generated('id'),
    generated('self'),
    { field: 'name', type: 'string', post: 'optional', put: 'optional', values: ['One', 'Two'] },
    { field: 'type', type: 'string', post: 'optional', put: 'optional', values: ['c8y_One', 'c8y_Two'] },
    { field: 'owner', type: 'string', post: 'optional', put: 'optional', values: ['owner', 'admin'], initially: 'admin' },
    generated('lastUpdated', 'timestamp'),
    links('assetParents', false),
    links('childAssets'),
    links('childDevices'),
    links('deviceParents'),
    fragment('any other fragment', { a: [1, { b: {} }] }, { a: 2 }),
    example('c8y_IsDevice', {}, { a: 1 }),
    example('com_platform_model_Agent', {}, { a: 1 }),
    example('c8y_SupportedOperations', ['c8y_Restart'], ['c8y_Restart', 'c8y_Command']),
    example('c8y_Position', { lat: 51.2, lng: 6.8, alt: 67 }, { lat: 51.3, lng: 6.9, alt: 68.5 }),
    example('c8y_Hardware', { model: 'm', revision: 'r', serialNumber: 's' }, { model: 'm2' }),
    example('c8y_Mobile', { imei: '861145013087177', cellId: '4904-A496', iccid: '89490200000876620613' }, { imei: '1' }),
    example('c8y_Firmware', { name: 'raspberrypi-bootloader', version: '1.20140107-1' }, { name: 'x', version: '2' }),
    example('c8y_Software', { jail: 'jail_1.deb', sudo: 'sudo.deb' }, {}),
    example('c8y_Configuration', { config: 'a=1\nb=2' }, { config: '' }),
  ],
};

const OPERATION: Resource = {
  heading: 'Operation', path: '/devicecontrol/operations', body: device, one: ({ id }) => `/devicecontrol/operations/${id}`, always: { status: 'EXECUTING' }, moves: ['status'],
  rows: [
    generated('id'),
    generated('self'),
    generated('creationTime', 'timestamp'),
    { field: 'deviceId', type: 'string', post: 'mandatory', put: 'no', values: async (world) => [world.device, await world.ownedDevice()], isAny: true },
    generated('deviceName', 'string', { initially: 'Owned' }),
    { field: 'deviceExternalIDs', type: 'object', post: 'no', put: 'no', values: [{ externalIds: [] }, { externalIds: [] }], isSometimes: true,
      heldBy: [['document-1/rules', 'Operation: deviceExternalIDs']] },
    generated('bulkOperationId', 'string', { isSometimes: true, heldBy: [['e2e/operations/bulk-operations', 'each device of a static group, with its subgroups, gets the operation once']] }),
    { field: 'status', type: 'string', post: 'no', put: 'mandatory', values: ['FAILED', 'EXECUTING'], oneOf: ['PENDING', 'EXECUTING', 'SUCCESSFUL', 'FAILED'], initially: 'PENDING' },
    { field: 'failureReason', type: 'string', post: 'no', put: 'no', values: ['why', 'why'], isSometimes: true, putWith: { status: 'FAILED' } },
    { field: 'description', type: 'string', post: 'optional', put: 'optional', values: ['One', 'Two'] },
    fragment('other fragments', { a: 1 }, { a: { b: [] } }),
    example('c8y_Restart', {}, { a: 1 }),
    { ...example('deliveryType', 'SMS', 'SMS'), type: 'string' },
    example('c8y_CommunicationMode', { mode: 'SMS' }, { mode: 'IP' }),
  ],
};

const BULK_OPERATION: Resource = {
  heading: 'Bulk operation', path: '/devicecontrol/bulkoperations', body: (world) => world.bulkBody(), one: ({ id }) => `/devicecontrol/bulkoperations/${id}`,
  rows: [
    generated('id'),
    generated('self'),
    { field: 'groupId', type: 'string', post: 'optional', put: 'no', values: async (world) => [await world.group(), await world.group()], isAny: true, refused: ['999999999', 'x'] },
    { field: 'failedParentId', type: 'string', post: 'optional', put: 'no', values: async (world) => [await world.failedBulk(), await world.failedBulk()], isAny: true, isSometimes: true,
      along: { groupId: undefined }, refused: ['999999999', 'x'], heldBy: [['e2e/operations/bulk-operations', 'progress and general status follow the operations and always add up']] },
    { field: 'startDate', type: 'timestamp', post: 'mandatory', put: 'optional', values: ['2200-01-01T00:00:00.000Z', '2201-01-01T00:00:00.000Z'], refused: ['soon'] },
    // Fractions are taken (document 4 section 5.2).
    { field: 'creationRamp', type: 'integer', post: 'mandatory', put: 'optional', values: [15, 16], refused: [-1] },
    { field: 'operationPrototype', type: 'object', post: 'mandatory', put: 'optional', values: [{ c8y_Restart: {} }, { c8y_Command: { text: 'x' } }] },
    // COMPLETED and DELETED: states.ts.
    { field: 'status', type: 'string', post: 'no', put: 'no', values: ['COMPLETED', 'COMPLETED'], initially: 'ACTIVE' },
    { field: 'progress', type: 'object', post: 'no', put: 'no', values: [{ all: 7 }, { all: 7 }], initially: { pending: 1, failed: 0, executing: 0, successful: 0, all: 1 },
      heldBy: [['e2e/operations/bulk-operations', 'progress and general status follow the operations and always add up']] },
  ],
};

const ALARM: Resource = {
  heading: 'Alarm', path: '/alarm/alarms', body: (world) => world.alarmBody(), one: ({ id }) => `/alarm/alarms/${id}`, moves: ['history', 'lastUpdated'],
  rows: [
    generated('id'),
    generated('self'),
    generated('creationTime', 'timestamp'),
    { field: 'type', type: 'string', post: 'mandatory', put: 'no', values: (world) => [world.name('type'), world.name('type')] },
    { field: 'time', type: 'timestamp', post: 'mandatory', put: 'no', values: [TIME, '2024-05-03T10:00:00.000Z'], refused: ['today', '2024-02-30T10:00:00.000Z'] },
    { field: 'text', type: 'string', post: 'mandatory', put: 'optional', putBy: '5.3', values: ['One', 'Two'], heldBy: [['e2e/alarms/alarms', 'alarm status: repeats and moves (docs/spec/alarms.md#status)']] },
    { field: 'source', type: 'object', post: 'mandatory', put: 'no', values: async (world) => [{ id: world.device }, { id: await world.ownedDevice() }],
      initially: { id: /^\d+$/, self: /^http.*\/inventory\/managedObjects\/\d+$/ }, refused: [{}, { id: '999999999' }] },
    { field: 'status', type: 'string', post: 'optional', put: 'optional', values: ['ACKNOWLEDGED', 'CLEARED'], oneOf: ['ACTIVE', 'ACKNOWLEDGED', 'CLEARED'], refused: ['active', 'Cleared'], initially: 'ACTIVE' },
    { field: 'severity', type: 'string', post: 'mandatory', put: 'optional', values: ['CRITICAL', 'MINOR'], oneOf: ['CRITICAL', 'MAJOR', 'MINOR', 'WARNING'], refused: ['major', 'Warning', 'INFORMATION'] },
    { field: 'count', type: 'integer', post: 'no', put: 'no', values: [7, 8], initially: 1 },
    generated('firstOccurenceTime', 'timestamp', { isSometimes: true, values: [FUTURE, FUTURE], heldBy: [['e2e/alarms/alarms', 'alarm status: repeats and moves (docs/spec/alarms.md#status)']] }),
    { field: 'history', type: 'object', post: 'no', put: 'no', values: [{ auditRecords: [] }, { auditRecords: [] }],
      initially: { self: /^http/, auditRecords: [{ type: 'com_platform_model_alarm_AlarmRaised' }] },
      heldBy: [['e2e/alarms/alarms', 'history: who changed what (docs/spec/alarms.md#history)']] },
    fragment('other fragments', { a: 1 }, { a: { b: [] } }),
  ],
};

const EVENT: Resource = {
  heading: 'Event', path: '/event/events', body: (world) => world.eventBody(), one: ({ id }) => `/event/events/${id}`, moves: ['lastUpdated'],
  rows: [
    generated('id'),
    generated('self'),
    generated('creationTime', 'timestamp'),
    { field: 'type', type: 'string', post: 'mandatory', put: 'no', values: ['One', 'Two'] },
    { field: 'time', type: 'timestamp', post: 'mandatory', put: 'no', values: [TIME, '2024-05-03T10:00:00.000Z'], refused: ['today', '2024-02-30T10:00:00.000Z'] },
    { field: 'text', type: 'string', post: 'mandatory', put: 'optional', values: ['One', 'Two'] },
    { field: 'source', type: 'object', post: 'mandatory', put: 'no', values: async (world) => [{ id: world.device }, { id: await world.ownedDevice() }],
      initially: { id: /^\d+$/, self: /^http.*\/inventory\/managedObjects\/\d+$/, name: 'Owned', type: 'mill_Device' }, refused: [{}, { id: '999999999' }] },
    fragment('other fragments', { a: 1 }, { a: { b: [] } }),
  ],
};

const EXTERNAL_ID: Resource = {
  heading: 'External ID', path: '/identity/globalIds/<device>/externalIds', body: (world) => ({ type: 'c8y_Serial', externalId: world.name('serial') }),
  one: ({ type, externalId }) => `/identity/externalIds/${encodeURIComponent(type)}/${encodeURIComponent(externalId)}`, hasPut: false,
  rows: [
    { field: 'externalId', type: 'string', post: 'mandatory', put: 'no', values: (world) => [world.name('external'), ''] },
    { field: 'type', type: 'string', post: 'mandatory', put: 'no', values: ['c8y_MAC', ''] },
    { field: 'managedObject', type: 'object', post: 'no', put: 'no', values: [{ id: '1' }, {}], initially: { id: /^\d+$/, self: /^http.*\/inventory\/managedObjects\/\d+$/ } },
    generated('self'),
  ],
};

export const RESOURCES: readonly Resource[] = [APPLICATION, TENANT, OPTION, MANAGED_OBJECT, OPERATION, BULK_OPERATION, ALARM, EVENT, EXTERNAL_ID];
