/** The root resources: links and URI templates (docs/spec/conventions.md#root-resources). */
import type { ApiRequest } from '../request/request.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Access } from '../request/route-rules.ts';
import type { Answer } from '../request/answer.ts';

/** A root: collections by name with the array they hold, and templates by name. */
interface Root {
  readonly path: string;
  readonly area: string;
  readonly mediaType: string;
  readonly access: Access;
  readonly roles?: readonly string[];
  /** name -> [path, name of the array or '' for `{self}` alone, its value] */
  readonly collections: Readonly<Record<string, readonly [path: string, array: string, value?: null]>>;
  /** name -> path and query with `{name}` places */
  readonly templates: Readonly<Record<string, string>>;
}

/** Templates `<prefix><names>` over query parameters: one for each combination given as a list of words. */
function combined(
  prefix: string,
  path: string,
  words: Readonly<Record<string, readonly string[]>>,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => {
      const parameters = name.split('And').flatMap((word) => words[word]);
      return [`${prefix}${name}`, `${path}?${parameters.map((parameter) => `${parameter}={${parameter}}`).join('&')}`];
    }),
  );
}

const RANGE = ['dateFrom', 'dateTo'] as const;
const MEASUREMENT_WORDS = {
  Source: ['source'],
  Type: ['type'],
  Date: RANGE,
  FragmentType: ['fragmentType'],
  ValueFragmentType: ['valueFragmentType'],
  ValueFragmentSeries: ['valueFragmentSeries'],
};
const EVENT_WORDS = { Source: ['source'], Type: ['type'], Time: RANGE, Date: RANGE, FragmentType: ['fragmentType'] };
const ALARM_WORDS = { Source: ['source'], Status: ['status'], Time: RANGE };
const OPERATION_WORDS = { Status: ['status'], AgentId: ['agentId'], DeviceId: ['deviceId'] };

const ROOTS: readonly Root[] = [
  {
    path: '/measurement',
    area: 'measurement',
    mediaType: 'measurementApi',
    access: 'user',
    collections: { measurements: ['/measurement/measurements', 'measurements'] },
    templates: combined('measurementsFor', '/measurement/measurements', MEASUREMENT_WORDS, [
      'Source',
      'SourceAndType',
      'Type',
      'ValueFragmentType',
      'Date',
      'SourceAndDate',
      'DateAndFragmentType',
      'SourceAndValueFragmentTypeAndValueFragmentSeries',
      'FragmentType',
      'SourceAndFragmentType',
      'SourceAndDateAndFragmentType',
      'DateAndType',
      'FragmentTypeAndType',
      'SourceAndDateAndType',
      'SourceAndFragmentTypeAndType',
      'DateAndFragmentTypeAndType',
      'SourceAndDateAndFragmentTypeAndType',
    ]),
  },
  {
    path: '/inventory',
    area: 'inventory',
    mediaType: 'inventoryApi',
    access: 'user',
    collections: { managedObjects: ['/inventory/managedObjects', 'references'] },
    templates: {
      managedObjectsForType: '/inventory/managedObjects?type={type}',
      managedObjectsForFragmentType: '/inventory/managedObjects?fragmentType={fragmentType}',
      managedObjectsForListOfIds: '/inventory/managedObjects?ids={ids}',
    },
  },
  {
    path: '/event',
    area: 'event',
    mediaType: 'eventApi',
    access: 'roles',
    roles: ['ROLE_EVENT_READ'],
    collections: { events: ['/event/events', 'events'] },
    templates: combined('eventsFor', '/event/events', EVENT_WORDS, [
      'Type',
      'Source',
      'Time',
      'FragmentType',
      'SourceAndType',
      'SourceAndTime',
      'SourceAndFragmentType',
      'DateAndFragmentType',
      'FragmentTypeAndType',
      'TimeAndType',
      'SourceAndDateAndFragmentType',
      'SourceAndDateAndFragmentTypeAndType',
      'SourceAndFragmentTypeAndType',
      'SourceAndTimeAndType',
      'DateAndFragmentTypeAndType',
    ]),
  },
  {
    path: '/alarm',
    area: 'alarm',
    mediaType: 'alarmApi',
    access: 'roles',
    roles: ['ROLE_ALARM_READ'],
    collections: { alarms: ['/alarm/alarms', 'alarms'] },
    templates: combined('alarmsFor', '/alarm/alarms', ALARM_WORDS, [
      'Status',
      'Source',
      'SourceAndStatus',
      'Time',
      'StatusAndTime',
      'SourceAndTime',
      'SourceAndStatusAndTime',
    ]),
  },
  {
    path: '/identity',
    area: 'identity',
    mediaType: 'identityApi',
    access: 'roles',
    roles: ['ROLE_IDENTITY_READ', 'ROLE_DEVICE'],
    collections: {},
    templates: {
      externalId: '/identity/externalIds/{type}/{externalId}',
      externalIdsOfGlobalId: '/identity/globalIds/{globalId}/externalIds',
    },
  },
  {
    path: '/devicecontrol',
    area: 'devicecontrol',
    mediaType: 'devicecontrolApi',
    access: 'roles',
    roles: ['ROLE_DEVICE_CONTROL_READ'],
    collections: {
      operations: ['/devicecontrol/operations', 'operations'],
      newDeviceRequests: ['/devicecontrol/newDeviceRequests', 'newDeviceRequests'],
      bulkOperations: ['/devicecontrol/bulkoperations', 'bulkOperations'],
    },
    templates: combined('operationsBy', '/devicecontrol/operations', OPERATION_WORDS, [
      'Status',
      'AgentId',
      'AgentIdAndStatus',
      'DeviceId',
      'DeviceIdAndStatus',
    ]),
  },
  {
    path: '/user',
    area: 'user',
    mediaType: 'userApi',
    access: 'user',
    collections: {},
    templates: {
      users: '/user/{realm}/users',
      userByName: '/user/{realm}/userByName/{userName}',
      currentUser: '/user/currentUser',
      groups: '/user/{realm}/groups',
      groupByName: '/user/{realm}/groupByName/{groupName}',
      roles: '/user/roles',
    },
  },
  {
    path: '/tenant',
    area: 'tenant',
    mediaType: 'tenantApi',
    access: 'user',
    collections: { tenants: ['/tenant/tenants', 'tenants'], options: ['/tenant/options', 'options'] },
    templates: {
      tenantApplications: '/tenant/tenants/{tenantId}/applications',
      tenantApplicationForId: '/tenant/tenants/{tenantId}/applications/{applicationId}',
      tenantForId: '/tenant/tenants/{tenantId}',
      tenantOptionsForCategory: '/tenant/options/{category}',
      tenantOptionForCategoryAndKey: '/tenant/options/{category}/{key}',
      tenantSystemOptions: '/tenant/system/options',
      tenantSystemOptionsForCategoryAndKey: '/tenant/system/options/{category}/{key}',
    },
  },
  {
    path: '/application',
    area: 'applications',
    mediaType: 'applicationApi',
    access: 'user',
    collections: { applications: ['/application/applications', 'applications'] },
    templates: {
      applicationById: '/application/applications/{id}',
      applicationsByName: '/application/applicationsByName/{name}',
      applicationsByTenant: '/application/applicationsByTenant/{tenant}',
      applicationsByOwner: '/application/applicationsByOwner/{tenant}',
      applicationsByUser: '/application/applicationsByUser/{username}',
    },
  },
  {
    path: '/audit',
    area: 'audit',
    mediaType: 'auditApi',
    access: 'user',
    collections: { auditRecords: ['/audit/auditRecords', 'auditRecords'] },
    templates: combined(
      'auditRecordsFor',
      '/audit/auditRecords',
      { Type: ['type'], User: ['user'], Application: ['application'] },
      [
        'Application',
        'Type',
        'User',
        'TypeAndApplication',
        'TypeAndUser',
        'TypeAndUserAndApplication',
        'UserAndApplication',
      ],
    ),
  },
  {
    path: '/notification2',
    area: 'reliable-notification',
    mediaType: 'notification2Api',
    access: 'user',
    collections: { notificationSubscriptions: ['/notification2/subscriptions', 'subscriptions', null] },
    templates: combined(
      'notificationSubscriptionsBy',
      '/notification2/subscriptions',
      { Source: ['source'], Context: ['context'] },
      ['Source', 'SourceAndContext', 'Context'],
    ),
  },
];

/** Of the examples in /openapi.json. */
const EXAMPLE_URL = 'https://iot.example.org';

/** Names of the roots in the platform resource. */
const PLATFORM_NAMES: Readonly<Record<string, string>> = {
  alarm: '/alarm',
  audit: '/audit',
  deviceControl: '/devicecontrol',
  event: '/event',
  identity: '/identity',
  inventory: '/inventory',
  measurement: '/measurement',
  tenant: '/tenant',
  user: '/user',
};

function rootValue(root: Root, baseUrl: string): object {
  const collections = Object.entries(root.collections).map(([name, [path, array, value = []]]) => [
    name,
    array === '' ? { self: `${baseUrl}${path}` } : { self: `${baseUrl}${path}`, [array]: value },
  ]);
  const templates = Object.entries(root.templates).map(([name, path]) => [name, `${baseUrl}${path}`]);
  return { self: `${baseUrl}${root.path}`, ...Object.fromEntries(collections), ...Object.fromEntries(templates) };
}

function platformValue(baseUrl: string): object {
  const roots = Object.entries(PLATFORM_NAMES).map(([name, path]) => {
    const root = ROOTS.find((candidate) => candidate.path === path) as Root;
    return [name, rootValue(root, baseUrl)];
  });
  return { self: `${baseUrl}/platform`, ...Object.fromEntries(roots) };
}

const platform = (request: ApiRequest): Answer => found('platformApi', JSON.stringify(platformValue(request.baseUrl)));

export function rootRoutes(): Route[] {
  const rootRoute = (root: Root): Route => ({
    method: 'GET',
    path: root.path,
    area: root.area,
    access: root.access,
    ...(root.roles === undefined ? {} : { roles: root.roles }),
    summary: `Links and URI templates of ${root.path}`,
    answers: [
      {
        status: 200,
        description: 'The root resource',
        mediaType: root.mediaType,
        example: rootValue(root, EXAMPLE_URL),
      },
    ],
    handle: (request) => found(root.mediaType, JSON.stringify(rootValue(root, request.baseUrl))),
  });
  return [
    {
      method: 'GET',
      path: '/platform',
      area: 'platform',
      access: 'user',
      summary: 'Root resources of all areas',
      answers: [
        {
          status: 200,
          description: 'The platform resource',
          mediaType: 'platformApi',
          example: platformValue(EXAMPLE_URL),
        },
      ],
      handle: platform,
    },
    ...ROOTS.map(rootRoute),
  ];
}
