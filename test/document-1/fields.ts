/** Document 1, "Resources and their fields": the rows of its tables, in their order. */
import { TIME } from './world.ts';
import type { World } from './world.ts';
import type { FieldRow, Resource } from './rows.ts';

const generated = (field: string, type: FieldRow['type'] = 'string', more: Partial<FieldRow> = {}): FieldRow =>
  ({ field, type, post: 'no', put: 'no', values: type === 'string' ? ['4711', '4712'] : [TIME, TIME], ...more });
const links = (field: string): FieldRow => ({ field, type: 'object', post: 'no', put: 'no', values: [{ references: [{ managedObject: { id: '1' } }] }, { references: [{ managedObject: { id: '1' } }] }] });
const fragment = (field: string, one: unknown, other: unknown): FieldRow =>
  ({ field, type: Array.isArray(one) ? 'array' : 'object', post: 'optional', put: 'optional', values: [one, other], isAny: true });
const device = (world: World): object => ({ deviceId: world.device });

const APPLICATION: Resource = {
  heading: 'Application', path: '/application/applications', body: (world) => world.applicationBody(), one: ({ id }) => `/application/applications/${id}`,
  rows: [
    generated('id'),
    { field: 'key', type: 'string', post: 'mandatory', put: 'optional', values: (world) => [world.name('key'), world.name('key')] },
    { field: 'name', type: 'string', post: 'mandatory', put: 'optional', values: (world) => [world.name('name'), world.name('name')] },
    { field: 'type', type: 'string', post: 'mandatory', put: 'no', values: ['MICROSERVICE', 'EXTERNAL'], oneOf: ['MICROSERVICE', 'EXTERNAL'] },
    { field: 'availability', type: 'string', post: 'optional', put: 'optional', values: ['MARKET', 'PRIVATE'], oneOf: ['MARKET', 'PRIVATE'] },
    { field: 'activeVersionId', type: 'string', post: 'no', put: 'optional', isSometimes: true, heldBy: [['e2e/application-binaries', 'another archive is taken into use']] },
    { field: 'manifest', type: 'object', post: 'optional', put: 'optional', values: [{ imports: [], noAppSwitcher: true }, { imports: ['a'], noAppSwitcher: false }],
      heldBy: [['e2e/application-binaries', 'manifests']] },
    { field: 'owner', type: 'object', post: 'no', put: 'no', values: [{ tenant: { id: 'other' } }, { tenant: { id: 'other' } }] },
    { field: 'requiredRoles', type: 'array', post: 'optional', put: 'optional', values: [['ROLE_INVENTORY_ADMIN'], ['ROLE_ALARM_READ']], refused: [[1]] },
    { field: 'roles', type: 'array', post: 'optional', put: 'optional', values: [['ROLE_MILL_READ'], ['ROLE_MILL_ADMIN']], refused: [[1]] },
    generated('self'),
  ],
};

const TENANT: Resource = {
  heading: 'Tenant', path: '/tenant/tenants', by: (world) => world.management, body: (world) => world.tenantBody(), one: ({ id }) => `/tenant/tenants/${id}`,
  rows: [
    generated('self'),
    { field: 'id', type: 'string', post: 'optional', put: 'no', values: (world) => [world.name('given'), world.name('given')], lengthMax: 32,
      heldBy: [['e2e/tenants', 'an id is generated when there is none'], ['e2e/tenants', 'an id or a domain is given once']] },
    { field: 'status', type: 'string', post: 'no', put: 'optional', values: ['SUSPENDED', 'SUSPENDED'], heldBy: [['e2e/tenants', 'suspension ends all access at once']] },
    { field: 'adminName', type: 'string', post: 'optional', put: 'no', values: ['boss', 'boss2'], lengthMax: 50, refused: ['a b', 'a/b', 'a\\b', 'a+b', 'a$b', 'a:b', 'a\tb'] },
    { field: 'adminEmail', type: 'string', post: 'optional', put: 'optional', values: ['one@example.com', 'two@example.com'], refused: [`${'a'.repeat(253)}@b`],
      heldBy: [['e2e/tenants', 'values of ']] },
    { field: 'adminPass', type: 'string', post: 'optional', put: 'optional', values: ['Analytical-1', 'Analytical-2'], isWriteOnly: true, lengthMax: 32 },
    { field: 'adminPassword', type: 'string', post: 'optional', put: 'optional', values: ['Analytical-1', 'Analytical-2'], isWriteOnly: true, lengthMax: 32, insteadOf: 'adminPass' },
    { field: 'allowCreateTenants', type: 'boolean', post: 'optional', put: 'optional', values: [true, false] },
    { field: 'storageLimitPerDevice', type: 'integer', post: 'optional', put: 'optional', values: [1000, 2000] },
    { field: 'sendPasswordResetEmail', type: 'boolean', post: 'optional', put: 'optional', values: [false, false], isWriteOnly: true },
    { field: 'domain', type: 'string', post: 'mandatory', put: 'optional', values: (world) => [world.name('domain'), world.name('domain')], refused: ['Ab', '1ab', '-ab', 'ab-', 'a', 'a b', 'a'.repeat(257)],
      heldBy: [['e2e/tenants', 'an id or a domain is given once'], ['e2e/tenants', 'the host name says the tenant']] },
    { field: 'company', type: 'string', post: 'mandatory', put: 'optional', values: ['One', 'Two'], lengthMax: 256 },
    { field: 'contactName', type: 'string', post: 'optional', put: 'optional', values: ['One', 'Two'], lengthMax: 30 },
    { field: 'contactPhone', type: 'string', post: 'optional', put: 'optional', values: ['1', '2'], lengthMax: 20 },
    { field: 'applications', type: 'object', post: 'no', put: 'no', values: [{ references: [{ application: { id: '1' } }] }, { references: [{ application: { id: '1' } }] }] },
    { field: 'ownedApplications', type: 'object', post: 'no', put: 'no', values: [{ references: [{ application: { id: '1' } }] }, { references: [{ application: { id: '1' } }] }],
      heldBy: [['document-1/rules', 'ownedApplications: MARKET only']] },
    { field: 'customProperties', type: 'object', post: 'optional', put: 'optional', values: [{ language: 'en' }, { language: 'de' }] },
    { field: 'parent', type: 'string', post: 'no', put: 'no', values: ['other', 'other'] },
  ],
};

const OPTION: Resource = {
  heading: 'Option', path: '/tenant/options', body: (world) => ({ category: world.name('category'), key: 'key', value: 'value' }), status: 200,
  one: ({ category, key }) => `/tenant/options/${category}/${key}`,
  rows: [
    { field: 'category', type: 'string', post: 'mandatory', put: 'no', values: ['taken', 'other'] },
    { field: 'key', type: 'string', post: 'mandatory', put: 'no', values: ['taken', 'other'] },
    { field: 'value', type: 'string', post: 'mandatory', put: 'mandatory', values: ['one', 'two'], isAny: true },
    generated('self'),
  ],
};

const MANAGED_OBJECT: Resource = {
  heading: 'Managed object', path: '/inventory/managedObjects', body: () => ({}), one: ({ id }) => `/inventory/managedObjects/${id}`,
  rows: [
    generated('id'),
    generated('self'),
    { field: 'name', type: 'string', post: 'optional', put: 'optional', values: ['One', 'Two'] },
    { field: 'type', type: 'string', post: 'optional', put: 'optional', values: ['c8y_One', 'c8y_Two'] },
    { field: 'owner', type: 'string', post: 'optional', put: 'optional', values: ['owner', 'admin'] },
    generated('lastUpdated', 'timestamp'),
    links('assetParents'),
    links('childAssets'),
    links('childDevices'),
    links('deviceParents'),
    fragment('any other fragment', { a: [1, { b: {} }] }, { a: 2 }),
    fragment('c8y_IsDevice', {}, { a: 1 }),
    fragment('com_platform_model_Agent', {}, { a: 1 }),
    fragment('c8y_SupportedOperations', ['c8y_Restart'], ['c8y_Restart', 'c8y_Command']),
    fragment('c8y_Position', { lat: 51.2, lng: 6.8, alt: 67 }, { lat: 51.3, lng: 6.9, alt: 68.5 }),
    fragment('c8y_Hardware', { model: 'm', revision: 'r', serialNumber: 's' }, { model: 'm2' }),
    fragment('c8y_Mobile', { imei: '861145013087177', cellId: '4904-A496', iccid: '89490200000876620613' }, { imei: '1' }),
    fragment('c8y_Firmware', { name: 'raspberrypi-bootloader', version: '1.20140107-1' }, { name: 'x', version: '2' }),
    fragment('c8y_Software', { jail: 'jail_1.deb', sudo: 'sudo.deb' }, {}),
    fragment('c8y_Configuration', { config: 'a=1\nb=2' }, { config: '' }),
  ],
};

const OPERATION: Resource = {
  heading: 'Operation', path: '/devicecontrol/operations', body: device, one: ({ id }) => `/devicecontrol/operations/${id}`, always: { status: 'EXECUTING' },
  rows: [
    generated('id'),
    generated('self'),
    generated('creationTime', 'timestamp'),
    { field: 'deviceId', type: 'string', post: 'mandatory', put: 'no', values: async (world) => [world.device, await world.ownedDevice()], isAny: true },
    generated('deviceName'),
    { field: 'deviceExternalIDs', type: 'object', post: 'no', put: 'no', values: [{ externalIds: [] }, { externalIds: [] }], isSometimes: true,
      heldBy: [['document-1/rules', 'deviceExternalIDs: type and externalId of the device']] },
    generated('bulkOperationId', 'string', { isSometimes: true }),
    { field: 'status', type: 'string', post: 'no', put: 'mandatory', values: ['FAILED', 'EXECUTING'], oneOf: ['PENDING', 'EXECUTING', 'SUCCESSFUL', 'FAILED'] },
    { field: 'failureReason', type: 'string', post: 'no', put: 'no', values: ['why', 'why'], isSometimes: true, heldBy: [['document-1/states', 'failureReason: with FAILED only']] },
    { field: 'description', type: 'string', post: 'optional', put: 'optional', values: ['One', 'Two'] },
    fragment('c8y_Restart', {}, { a: 1 }),
    { ...fragment('deliveryType', 'SMS', 'SMS'), type: 'string' },
    fragment('c8y_CommunicationMode', { mode: 'SMS' }, { mode: 'IP' }),
  ],
};

const BULK_OPERATION: Resource = {
  heading: 'Bulk operation', path: '/devicecontrol/bulkoperations', body: (world) => world.bulkBody(), one: ({ id }) => `/devicecontrol/bulkoperations/${id}`,
  rows: [
    generated('id'),
    generated('self'),
    { field: 'groupId', type: 'string', post: 'optional', put: 'no', values: async (world) => [await world.group(), await world.group()], isAny: true,
      heldBy: [['e2e/bulk-operations', 'what is refused']] },
    { field: 'failedParentId', type: 'string', post: 'no', put: 'no', values: ['1', '1'], isSometimes: true, heldBy: [['e2e/bulk-operations', 'what is refused']] },
    { field: 'startDate', type: 'timestamp', post: 'mandatory', put: 'optional', values: ['2200-01-01T00:00:00.000Z', '2201-01-01T00:00:00.000Z'], refused: ['soon'] },
    { field: 'creationRamp', type: 'integer', post: 'mandatory', put: 'optional', values: [15, 16], refused: [-1] },
    { field: 'operationPrototype', type: 'object', post: 'mandatory', put: 'optional', values: [{ c8y_Restart: {} }, { c8y_Command: { text: 'x' } }] },
    { field: 'status', type: 'string', post: 'no', put: 'no', values: ['COMPLETED', 'COMPLETED'] },
    { field: 'progress', type: 'object', post: 'no', put: 'no', values: [{ all: 7 }, { all: 7 }], heldBy: [['e2e/bulk-operations', 'progress and general status']] },
  ],
};

const ALARM: Resource = {
  heading: 'Alarm', path: '/alarm/alarms', body: (world) => world.alarmBody(), one: ({ id }) => `/alarm/alarms/${id}`,
  rows: [
    generated('id'),
    generated('self'),
    generated('creationTime', 'timestamp'),
    { field: 'type', type: 'string', post: 'mandatory', put: 'no', values: (world) => [world.name('type'), world.name('type')] },
    { field: 'time', type: 'timestamp', post: 'mandatory', put: 'no', values: [TIME, '2024-05-03T10:00:00.000Z'], refused: ['today'] },
    { field: 'text', type: 'string', post: 'mandatory', put: 'optional', values: ['One', 'Two'], heldBy: [['e2e/alarms', 'alarm status: repeats and moves']] },
    { field: 'source', type: 'object', post: 'mandatory', put: 'no', values: async (world) => [{ id: world.device }, { id: await world.ownedDevice() }] },
    { field: 'status', type: 'string', post: 'optional', put: 'optional', values: ['ACKNOWLEDGED', 'CLEARED'], oneOf: ['ACTIVE', 'ACKNOWLEDGED', 'CLEARED'], refused: ['active'] },
    { field: 'severity', type: 'string', post: 'mandatory', put: 'optional', values: ['CRITICAL', 'MINOR'], oneOf: ['CRITICAL', 'MAJOR', 'MINOR', 'WARNING'], refused: ['major'] },
    { field: 'count', type: 'integer', post: 'no', put: 'no', values: [7, 8] },
    generated('firstOccurenceTime', 'timestamp', { isSometimes: true, heldBy: [['e2e/alarms', 'alarm status: repeats and moves']] }),
    { field: 'history', type: 'object', post: 'no', put: 'no', values: [{ auditRecords: [] }, { auditRecords: [] }], heldBy: [['e2e/alarms', 'history: who changed what']] },
    fragment('other fragments', { a: 1 }, { a: { b: [] } }),
  ],
};

const EVENT: Resource = {
  heading: 'Event', path: '/event/events', body: (world) => world.eventBody(), one: ({ id }) => `/event/events/${id}`,
  rows: [
    generated('id'),
    generated('self'),
    generated('creationTime', 'timestamp'),
    { field: 'type', type: 'string', post: 'mandatory', put: 'no', values: ['One', 'Two'] },
    { field: 'time', type: 'timestamp', post: 'mandatory', put: 'no', values: [TIME, '2024-05-03T10:00:00.000Z'], refused: ['today'] },
    { field: 'text', type: 'string', post: 'mandatory', put: 'optional', values: ['One', 'Two'] },
    { field: 'source', type: 'object', post: 'mandatory', put: 'no', values: async (world) => [{ id: world.device }, { id: await world.ownedDevice() }] },
    fragment('other fragments', { a: 1 }, { a: { b: [] } }),
  ],
};

const EXTERNAL_ID: Resource = {
  heading: 'External ID', path: '/identity/globalIds/<device>/externalIds', body: (world) => ({ type: 'c8y_Serial', externalId: world.name('serial') }),
  one: ({ type, externalId }) => `/identity/externalIds/${encodeURIComponent(type)}/${encodeURIComponent(externalId)}`, hasPut: false,
  rows: [
    { field: 'externalId', type: 'string', post: 'mandatory', put: 'no', values: (world) => [world.name('external'), ''] },
    { field: 'type', type: 'string', post: 'mandatory', put: 'no', values: ['c8y_MAC', ''] },
    { field: 'managedObject', type: 'object', post: 'no', put: 'no', values: [{ id: '1' }, {}] },
    generated('self'),
  ],
};

export const RESOURCES: readonly Resource[] = [APPLICATION, TENANT, OPTION, MANAGED_OBJECT, OPERATION, BULK_OPERATION, ALARM, EVENT, EXTERNAL_ID];
