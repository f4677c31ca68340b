/**
 * Document 1 (1-core-rest.md), line by line in its order: how each line begins, and the rows of rules.ts and states.ts
 * that hold it. Lines that say nothing of what the server does have none. The rows of its tables of fields and
 * endpoints are in fields.ts and endpoints.ts, under the same headings; document.test.ts compares.
 */

/** Of the whole text: when the document changes, it is to be compared again. */
export const DOCUMENT_SHA256 = '17aaae733fa335014f7792d58d1cc2711341ab450abcfe2a503e51001599fca9';

/** Rows of the tables of fields (fields.ts), and of endpoints (endpoints.ts), by heading. */
export const FIELD_ROWS: Readonly<Record<string, number>> = {
  Application: 11,
  Tenant: 17,
  'Managed object': 8,
  Operation: 11,
  'Bulk operation': 9,
  Alarm: 13,
  Event: 8,
  'External ID': 4,
};
export const ENDPOINT_ROWS: Readonly<Record<string, number>> = {
  'Applications and microservices': 12,
  'Tenants, subscriptions, options': 10,
  'Inventory and assets': 9,
  'Operations and bulk operations': 11,
  Alarms: 6,
  'Events and binaries': 11,
  Identity: 5,
};

type Lines = readonly (readonly [start: string, ...rows: string[]])[];

const PAGES = '7 pages: items, self, next, prev, statistics; totalPages on demand';
const FURTHER_PAGES = 'collections of applications, options and bulk operations: self, next, prev, statistics';
const TENANT_PAGES = 'tenants and references: self, next, prev, statistics';
const types = (names: string): string[] =>
  names.split(' ').map((name) => `2 media type ${name}, in any letter case, with ver and charset`);
const bodies = (names: string): string[] =>
  names.split(' ').map((name) => `2 bodies of media type ${name}, in any letter case, with ver and charset`);
const MEDIA_TYPES = [
  ...types(
    'application applicationReferenceCollection tenant tenantCollection currenttenant option optionCollection managedobject managedobjectcollection measurementcollection operation',
  ),
  ...types(
    'operationCollection devicecontrolApi bulkOperation bulkOperationCollection alarmApi alarm alarmCollection eventApi event eventCollection identityApi externalId externalIdCollection user',
  ),
  ...bodies(
    'application applicationreference tenant option managedobject managedobjectreference operation bulkOperation alarm event externalId user',
  ),
  'media types of references, users of applications and device credentials',
  '2 media type error',
];
const REGISTRATION = 'Registration 1 to 6';
const ROOTS = 'templates that are filled in lead to lists';

const FIELD_LINES: Readonly<Record<string, Lines>> = {
  Application: [
    ['Both role fields take permission strings (form `ROLE_<AREA>_<LEVEL>`).', 'Application: requiredRoles, roles'],
    ['Application collection: `applications` (array), `self`, `next`, `statistics`.', FURTHER_PAGES],
    [
      'Service user / bootstrap user (`user` media type): `tenant`, `name`, `password`',
      'service user: tenant, name, password',
    ],
  ],
  'Application reference': [
    [
      '`application` object with `id` (required on subscribe) or `self`; responses add',
      'application reference: by id or self',
      TENANT_PAGES,
    ],
  ],
  Tenant: [
    [
      'On create, `company` and `domain` are required; every other field is optional. Tenant collection',
      'Tenant: company and domain are required, the others are not',
      TENANT_PAGES,
    ],
    [
      'Current tenant (`currenttenant`): `name` (the tenant ID), `domainName`, `allowCreateTenants`',
      'current tenant: name, domainName, allowCreateTenants, customProperties',
    ],
    ['Usage statistics and trusted-certificate records (trusted certificates are under a tenant): fields not shown.'],
  ],
  Option: [
    [
      'Category-key-value tuple: `category`, `key`, `value` (strings), `self`. Some categories accept',
      'option: new keys or predefined ones',
      'option: the management tenant marks any of any tenant',
    ],
    [
      'access.control | allow.origin | `*` | yes | comma separated domains allowed for CORS; wildcards allowed',
      'option access.control/allow.origin: default *, predefined keys only',
    ],
    [
      'alarm.type.mapping | <alarm_type> | - | no | mapping of an alarm type',
      'option alarm.type.mapping/<alarm_type>: new keys, no default',
    ],
    ['Option collection: `options`, `self`, `statistics`, `prev`, `next`.', FURTHER_PAGES],
  ],
  'Managed object': [
    [
      'Managed object reference body: `managedObject` with `self` or `id`. Managed object collection',
      'managed object reference: by id or self',
      PAGES,
      'managed object: parents and children are references',
      'managed object: lastUpdated',
    ],
  ],
  'Measurement (read form)': [
    [
      '`id`, `self`, `source` (`id`, `self`), `time`, `type`, and a fragment named like',
      'measurement, read form',
      PAGES,
    ],
  ],
  Operation: [
    [
      'Delivery by SMS: the device managed object carries fragment `c8y_CommunicationMode` with `mode`',
      'SMS: the device or the operation has the marker',
    ],
    [
      'Operation collection: `operations`, `self`, `statistics`, `prev`, `next`. Device control API resource',
      PAGES,
      '/devicecontrol: self, collections, templates',
      ROOTS,
      'Operation: deviceName, bulkOperationId',
      'Operation: deviceExternalIDs',
    ],
  ],
  'Bulk operation': [['Collection: `bulkOperations`, `self`, `statistics`, `prev`, `next`.', FURTHER_PAGES]],
  Alarm: [
    [
      'Alarm collection: `alarms`, `self`, `statistics`, `prev`, `next`. Alarm API resource',
      PAGES,
      '/alarm: self, collections, templates',
      ROOTS,
      'alarm: count, firstOccurenceTime',
    ],
    ['Audit record: `id`, `self`, `type` (`com_platform_model_alarm_AlarmRaised` or', 'audit record'],
  ],
  Event: [
    [
      'Event collection: `events`, `self`, `statistics`, `prev`, `next`. Event API resource',
      PAGES,
      '/event: self, collections, templates',
      ROOTS,
    ],
    [
      'Event binary: `self`, `type` (content type), `name` (multipart only), `source` (event id)',
      'event binary: name of forms only; c8y_IsBinary, c8y_IsIncompleteBinary',
    ],
  ],
  'External ID': [
    [
      'Collection: `externalIds`, `self`, `prev`, `next`. Identity API resource',
      'external IDs: externalIds, self, next, prev',
      '/identity: self, collections, templates',
      ROOTS,
    ],
  ],
  'Device credentials': [
    [
      'Request: `id` (device identifier string). Response: `id`, `self`, `tenantId`',
      'device credentials: id, self, tenantId, username, password',
    ],
  ],
  'Error body': [
    [
      '`error` (string, form `<area>/<Name>`), `message` (string), `info` (link string)',
      'error body: error, message, info',
    ],
  ],
};

const STATE_LINES: Readonly<Record<string, Lines>> = {
  'Operation status': [
    [
      '(none) | POST /devicecontrol/operations | valid body | PENDING | 201, Location header',
      '(none), POST: PENDING, 201, Location',
    ],
    ['PENDING | agent sets status via PUT | agent starts executing | EXECUTING |', 'PENDING, PUT: EXECUTING'],
    ['EXECUTING | agent sets status via PUT | success | SUCCESSFUL |', 'EXECUTING, PUT: SUCCESSFUL'],
    [
      'EXECUTING | agent sets status via PUT | error | FAILED | `failureReason` is set with the PUT',
      'EXECUTING, PUT: FAILED with failureReason',
      'failureReason: with FAILED only',
    ],
    [
      'After a restart an agent queries its EXECUTING operations and completes them, then',
      'after a restart: EXECUTING ones are found, PENDING ones after the subscription',
    ],
  ],
  'Bulk operation status': [
    ['(none) | POST /devicecontrol/bulkoperations | valid body | ACTIVE |', '(none), POST: ACTIVE'],
    ['ACTIVE | all operations created | - | COMPLETED |', 'ACTIVE, all operations created: COMPLETED'],
    [
      'ACTIVE | DELETE of the bulk operation | - | cancelled (listed as `DELETED`; hidden from the collection unless `withDeleted=true`) | 204',
      'ACTIVE, DELETE: DELETED, hidden unless withDeleted',
    ],
    [
      'ACTIVE (started) | PUT | any update | the started one is cancelled and a new one is scheduled |',
      'ACTIVE (started), PUT: cancelled, and a new one',
    ],
  ],
  'Alarm status': [
    ['(none) | POST /alarm/alarms | no status given | ACTIVE |', '(none), POST without status: ACTIVE'],
    ['(none) | POST /alarm/alarms | status given | the given status |', '(none), POST with status: that'],
    [
      'ACTIVE or ACKNOWLEDGED | POST with same source and type | duplicate | unchanged | `count` increases by 1; other changes ignored; history not updated',
      'ACTIVE or ACKNOWLEDGED, POST of the same source and type: count + 1, nothing else',
    ],
    [
      'any | PUT with `status` | changes data | the given status (ACTIVE, ACKNOWLEDGED or CLEARED) | audit record appended; realtime UPDATE sent',
      'any, PUT with status: that, an audit record, a notification',
    ],
    ['Restrictions on which status moves are allowed: not shown.'],
  ],
  'Tenant status': [
    [
      'States: `ACTIVE`, `SUSPENDED`. Administrators in enterprise tenants may suspend active subtenants.',
      'ACTIVE, SUSPENDED: by who is above it',
    ],
  ],
};

const ENDPOINT_LINES: Readonly<Record<string, Lines>> = {
  Endpoints: [
    [
      "Roles are shown where given. 'owner' means the owner of the source object.",
      '6 roles, and the owner of the source',
    ],
  ],
  'Applications and microservices': [
    [
      'The bootstrap user reaches exactly the six endpoints from currentTenant to',
      'Applications: the bootstrap user reaches six endpoints and PUT currentApplication',
      'Applications: a service user has requiredRoles',
      "Applications: settings are a flat map of the owner's options",
    ],
  ],
  'Tenants, subscriptions, options': [
    [
      'Option resource path `/tenant/options/<option_category>/<option_key>` exists (viewable and',
      'option resource: viewable and modifiable',
    ],
    ['Rules:'],
    [
      '1. Updating `adminPass` or `adminEmail` of a tenant updates the admin user; updating `adminName` has no effect.',
      'Tenants 1: adminPass and adminEmail change the user, adminName does nothing',
    ],
    [
      '2. DELETE of a tenant is only available in the management tenant and cannot be reverted.',
      'Tenants 2: DELETE by the management tenant only',
    ],
    [
      '3. PUT or DELETE by the owner tenant on a non-editable option answers 403.',
      'Tenants 3: a non-editable option: 403',
    ],
    ['4. Subscribing answers 201 with a tenant-shaped body', 'Tenants 4: subscribing answers 201'],
    [
      '5. A tenant is reachable by its domain (username alone suffices) or by tenant ID',
      'Tenants 5: by domain, or by tenant id before the user name',
    ],
  ],
  'Inventory and assets': [
    ['Inventory operations beyond these (other queries, binaries, asset parent reads): not shown.'],
    ['Rules:'],
    [
      '1. After POST of a managed object the returned `childAssets`, `childDevices` links',
      'Inventory 1, 2: the links of the answer take children',
    ],
    [
      "2. A device is linked to an asset by POSTing the device to the asset's `childDevices`.",
      'Inventory 1, 2: the links of the answer take children',
    ],
    [
      '3. An agent must not update the name of a device it registered; users may edit it.',
      'Inventory 3: users may edit the name, an agent that registers again does not',
    ],
    [
      '4. To create, read or update operations for a device, the device is in the `childDevices` hierarchy',
      'Inventory 4: operations need an agent above the device',
    ],
    [
      '5. Assets from external systems are synchronised by linking identifiers',
      'Inventory 5: external systems: identity, then create or update',
    ],
  ],
  'Device credentials and registration flow': [
    ['1. `POST /devicecredentials`-style request: `POST /devicecontrol/deviceCredentials`', REGISTRATION],
    ['2. `GET /identity/externalIds/<type>/<external_id>`: 200 when registered', REGISTRATION],
    ['3. `POST /inventory/managedObjects` to create the device', REGISTRATION],
    ['4. `POST /identity/globalIds/<id>/externalIds` to register (201).', REGISTRATION],
    ['5. For a registered device, `PUT /inventory/managedObjects/<id>` updates changed fragments.', REGISTRATION],
    ['6. Child devices are linked as above; child devices normally have no agent fragment.', REGISTRATION],
  ],
  'Operations and bulk operations': [
    [
      'Rules: a bulk operation takes `groupId` (devices of a static or dynamic group get',
      'Bulk operations: groupId or failedParentId, not both',
    ],
  ],
  Alarms: [
    ['Rules:'],
    ['1. `id` and `creationTime` are generated by the server.', "Alarms 1: id and creationTime are the server's"],
    [
      '2. Suppression: when the source device is in maintenance mode, the alarm is not created',
      'Alarms 2: suppressed in maintenance',
    ],
    [
      '3. De-duplication: see the alarm status table (same source and type, ACTIVE or ACKNOWLEDGED;',
      'Alarms 3: de-duplication',
    ],
    [
      '4. Every PUT that changes data appends an audit record',
      'Alarms 4: a PUT that changes is audited with user, one that does not is not',
      'alarms: nothing for a PUT that changes nothing',
    ],
    [
      '5. An alarm with severity CRITICAL makes its source device count as unavailable',
      'Alarms 5: CRITICAL makes the source unavailable while it is active',
    ],
  ],
  'Events and binaries': [
    ['Rules:'],
    [
      '1. In range queries (`dateFrom`/`dateTo`) the latest events come first; `revert=true`',
      'Events 1: latest first, revert=true: oldest first',
    ],
    ['2. Each event has at most one binary. POST of a binary: 201', 'Events 2: one binary: 201, 404, 409'],
    ['3. Chunked upload: header `Content-Range: <start>-<stop>/<length>`', 'Events 3: chunks'],
  ],
  Identity: [['The managed object must exist before its mapping is registered.', 'Identity: the object first']],
};

export const LINES: Readonly<Record<string, Lines>> = {
  'Platform REST Interface: Applications, Tenants, Inventory, Operations, Alarms, Events, Identity': [
    ['This document covers the core REST resources of the IoT platform'],
  ],
  'What the service does': [
    ['The service is an IoT platform. All external communication is REST over HTTP(S)'],
    ['- applications (including microservices) and their tenant subscriptions;'],
    ['- tenants, tenant options and administrator data;'],
    ['- the inventory of managed objects (devices and assets, linkable to each other as children);'],
    ['- external identifiers mapped to managed objects;'],
    ['- measurements, alarms and events (an event can carry one binary);'],
    ['- operations sent to devices, and bulk operations over device groups.'],
    [
      '`GET {base_url}/platform` returns links to all basic interfaces.',
      'GET /platform: links to all interfaces; of the inventory templates',
      '/devicecontrol: self, collections, templates',
      '/alarm: self, collections, templates',
      '/event: self, collections, templates',
      '/identity: self, collections, templates',
    ],
  ],
  Conventions: [
    [
      '1. All paths are relative to `{base_url}`. Bodies are JSON.',
      '1 paths are relative to the base URL, bodies are JSON',
    ],
    ['2. Vendor media types have the form `application/vnd.com.nsn.platform.<name>+json`', ...MEDIA_TYPES],
    [
      '3. On every PUT and POST an Accept header must be sent; without it the response body is empty.',
      '3 POST and PUT without Accept: an empty body',
    ],
    [
      '4. Timestamps are strings in ISO 8601 with milliseconds and an offset or `Z`',
      '4 timestamps with offset or Z, plain dates',
    ],
    [
      '5. Identifiers are strings. Each resource carries `self`, a link to itself.',
      '5 identifiers are strings, self leads to the resource',
    ],
    [
      '6. Managed objects, operations, alarms, events and measurements accept extra top-level properties',
      '6 custom fragments are stored and returned unchanged',
    ],
    ['7. A collection response is a page: the array of items, `self`, optional `next` and `prev`', PAGES],
    [
      '8. DELETE on a collection accepts the same query parameters as GET on it',
      '8 DELETE on a collection: the parameters of GET, 204 without body',
    ],
  ],
  ...FIELD_LINES,
  ...STATE_LINES,
  ...ENDPOINT_LINES,
  Authentication: [
    [
      '1. Every request, including device requests, is authenticated with HTTP Basic',
      '1 Basic, with the tenant before the name or without',
    ],
    [
      '2. A tenant ID must not be used as a subdomain; doing so answers 403.',
      '2 a tenant id as subdomain: 403; with the tenant in the name it is irrelevant',
    ],
    ['3. User aliases are not supported for devices.', '3 no aliases for devices'],
    [
      '4. Device credentials are obtained with the credentials flow above using bootstrap credentials',
      '4 device credentials',
    ],
    [
      '5. A microservice bootstrap user (from `bootstrapUser`) reaches only the application endpoints',
      '5 the bootstrap user of a microservice',
    ],
    [
      "6. Authorisation is by roles as listed per endpoint; 'owner' of the source object",
      '6 roles, and the owner of the source',
    ],
    [
      '7. A request without credentials answers 401 with error `general/internalError`.',
      '7 no credentials: 401 general/internalError',
    ],
    ['8. Roles for the inventory endpoints and the measurement query: not shown.'],
  ],
  Events: [
    [
      'Real-time notifications are delivered over the Bayeux-based protocol described in document 2',
      'Events: delivered at /cep/realtime and /devicecontrol/notifications',
    ],
    [
      'operations for an agent | URL `/devicecontrol/notifications`, channel `/<agent_id>` | ROLE_DEVICE_CONTROL_READ | a new operation is created for the agent',
      'operations for an agent: /devicecontrol/notifications, /<agent_id>',
    ],
    [
      'operations for a device | `/operations/<device_id>` or `/operations/*` | ROLE_DEVICE_CONTROL_READ | operation is created, updated or deleted',
      'operations for a device: /operations/<device_id>',
      '/operations/*',
    ],
    [
      'alarms | `/alarms/<device_id>` or `/alarms/*` | ROLE_ALARMS_READ | alarm is created, updated or deleted (not when a PUT changes nothing)',
      'alarms: /alarms/<device_id>',
      '/alarms/*',
      'alarms: nothing for a PUT that changes nothing',
    ],
    [
      'events | `/events/<device_id>` or `/events/*` | ROLE_EVENT_READ | event is created, updated or deleted',
      'events: /events/<device_id>',
      '/events/*',
    ],
    [
      'Message shape: an array of objects with `channel`, `successful` (boolean), `error` (string)',
      'Events, message shape',
      'alarm updates: firstOccurrence and count',
    ],
  ],
  Errors: [
    ['1. Error responses use the error body above with the matching HTTP status.', 'error body: error, message, info'],
    [
      '2. Statuses in use: 200, 201, 204 (success); 401 (no credentials); 403 (tenant ID used as subdomain',
      '200, 201, 204',
      '401 no credentials',
      '403 tenant ID as subdomain',
      '403 PUT and DELETE on a non-editable option',
      '404 unknown resource',
      '404 not yet accepted',
      '404 identity/Not Found',
      '404 missing event binary',
      '409 event binary exists',
    ],
    ['3. The complete list of error codes per endpoint: not shown.'],
  ],
  Limits: [
    ['Event binary size | 50 MB', 'event binary: 50 MB'],
    ['Event binary chunk size | 5 MB', 'event binary chunk: 5 MB'],
    ['tenant id | 32 characters', 'id: 32 characters'],
    ['company, domain | 256 characters', 'company: 256 characters', 'domain: 256 characters'],
    ['adminName | 50 characters', 'adminName: 50 characters'],
    ['adminPass | 32 characters', 'adminPass: 32 characters'],
    ['adminEmail | 254 characters', 'adminEmail: 254 characters'],
    ['contactName | 30 characters', 'contactName: 30 characters'],
    ['contactPhone | 20 characters', 'contactPhone: 20 characters'],
    ['tenant domain | at least 2 characters', 'domain: at least 2 characters'],
    [
      'Operations queried by agent in the device flow show `pageSize` 2000; other collections show `pageSize` 5.',
      'pageSize 5 where nothing is said, 2000 for agents',
    ],
  ],
  Versioning: [
    [
      'Media types carry an optional `ver` parameter (responses show `ver=0.9`',
      'ver is optional, answers show ver=0.9',
    ],
  ],
};
