/** Schemas of request and answer bodies (typebox): what is checked at the gateway, and what /openapi.json shows. */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { ALARM_SEVERITIES, ALARM_STATUSES } from '../model/alarm.ts';
import { DEVICE_REQUEST_STATUSES } from '../model/device-request.ts';
import { OPERATION_STATUSES } from '../model/operation.ts';
import { FURTHER_ANSWER_SCHEMAS } from './answer-schemas.ts';
import { RETENTION_ANSWER_SCHEMAS } from './retention-schemas.ts';
import { USER_ANSWER_SCHEMAS } from './user-schemas.ts';

/** Fragments: any further members. */
const OPEN = { additionalProperties: true } as const;
const nullable = (schema: TSchema): TSchema => Type.Union([schema, Type.Null()]);

const Id = Type.Union([Type.String(), Type.Integer()], { description: 'Identifier; a decimal string, numbers are taken too' });
const Timestamp = Type.String({ description: 'ISO 8601 with milliseconds and offset or Z', examples: ['2024-05-02T10:00:00.000Z'] });
const Source = Type.Object({ id: Id }, OPEN);
const Link = Type.String({ format: 'uri' });
const References = Type.Object({ references: Type.Array(Type.Object({}, OPEN)), self: Link }, OPEN);

export const Measurement = Type.Object(
  { source: Source, time: Timestamp, type: Type.String() },
  { ...OPEN, description: 'Fragments hold series: {"c8y_Env":{"T":{"value":21.5,"unit":"C"}}}' },
);
export const MeasurementPost = Type.Union([Measurement, Type.Object({ measurements: Type.Array(Measurement) })]);

export const ManagedObject = Type.Object(
  {
    name: Type.Optional(nullable(Type.String())),
    type: Type.Optional(nullable(Type.String())),
    owner: Type.Optional(nullable(Type.String())),
  },
  OPEN,
);

export const ManagedObjectUser = Type.Object({ enabled: Type.Optional(Type.Boolean()) }, OPEN);

export const Event = Type.Object({ source: Source, time: Timestamp, type: Type.String({ minLength: 1 }), text: Type.String() }, OPEN);
export const EventUpdate = Type.Object({ text: Type.Optional(Type.String()) }, OPEN);

export const Alarm = Type.Object(
  {
    source: Source,
    time: Timestamp,
    type: Type.String({ minLength: 1 }),
    text: Type.String(),
    severity: Type.Enum([...ALARM_SEVERITIES]),
    status: Type.Optional(Type.Enum([...ALARM_STATUSES])),
  },
  OPEN,
);
export const AlarmUpdate = Type.Object(
  {
    text: Type.Optional(Type.String()),
    severity: Type.Optional(Type.Enum([...ALARM_SEVERITIES])),
    status: Type.Optional(Type.Enum([...ALARM_STATUSES])),
  },
  OPEN,
);
export const AlarmStatusChange = Type.Object({ status: Type.Enum([...ALARM_STATUSES]) }, { additionalProperties: false });

const AuditChange = Type.Object(
  {
    attribute: Type.String(),
    changeType: Type.Optional(Type.Enum(['ADDED', 'REPLACED', 'REMOVED'])),
    type: Type.Optional(Type.String()),
    newValue: Type.Optional(Type.Unknown()),
    previousValue: Type.Optional(Type.Unknown()),
  },
  OPEN,
);
export const AuditRecord = Type.Object(
  {
    activity: Type.String(),
    source: Source,
    text: Type.String(),
    time: Timestamp,
    type: Type.String({ minLength: 1 }),
    severity: Type.Optional(Type.Enum(['CRITICAL', 'MAJOR', 'MINOR', 'WARNING', 'INFORMATION'])),
    user: Type.Optional(Type.String()),
    application: Type.Optional(Type.String()),
    changes: Type.Optional(Type.Array(AuditChange)),
  },
  OPEN,
);
/** Those of the server about what is no resource with an id have no source. */
const ShownAuditRecord = Type.Object({ ...AuditRecord.properties, source: Type.Optional(Source) }, OPEN);

export const Operation = Type.Object({ deviceId: Id, description: Type.Optional(Type.String()) }, OPEN);
export const OperationUpdate = Type.Object(
  { status: Type.Enum([...OPERATION_STATUSES]), failureReason: Type.Optional(Type.String()), description: Type.Optional(Type.String()) },
  OPEN,
);

/** Seconds; a year and more is a mistake. */
const CreationRamp = Type.Number({ minimum: 0, maximum: 31_536_000, description: 'Seconds between the creation of two operations; fractions are taken' });
const Prototype = Type.Object({ description: Type.Optional(Type.String()) }, { ...OPEN, description: 'The operation without deviceId' });
export const BulkOperation = Type.Object(
  {
    groupId: Type.Optional(nullable(Id)),
    failedParentId: Type.Optional(nullable(Id)),
    startDate: Timestamp,
    creationRamp: CreationRamp,
    operationPrototype: Prototype,
    note: Type.Optional(nullable(Type.String())),
  },
  { ...OPEN, description: 'With groupId or failedParentId, not both' },
);
export const BulkOperationUpdate = Type.Object(
  {
    startDate: Type.Optional(Timestamp),
    creationRamp: Type.Optional(CreationRamp),
    operationPrototype: Type.Optional(Prototype),
    note: Type.Optional(nullable(Type.String())),
  },
  OPEN,
);

const DeviceId = Type.Union([Type.String({ minLength: 1, maxLength: 1000 }), Type.Integer()], { description: 'Identifier of the device' });
export const NewDeviceRequest = Type.Object(
  {
    id: DeviceId,
    groupId: Type.Optional(nullable(Id)),
    type: Type.Optional(nullable(Type.String())),
    customProperties: Type.Optional(nullable(Type.Object({}, OPEN))),
  },
  OPEN,
);
export const NewDeviceRequestUpdate = Type.Object(
  { status: Type.Enum(['ACCEPTED']), securityToken: Type.Optional(nullable(Type.String({ maxLength: 1000 }))) },
  OPEN,
);
export const DeviceCredentials = Type.Object(
  { id: DeviceId, securityToken: Type.Optional(nullable(Type.String({ maxLength: 1000 }))) },
  OPEN,
);

export const ExternalId = Type.Object({ externalId: Type.String({ minLength: 1 }), type: Type.String({ minLength: 1 }) }, OPEN);

const ChildObject = Type.Object({ id: Type.Optional(Id), self: Type.Optional(Type.String()) }, OPEN);
export const ChildReference = Type.Object(
  { managedObject: Type.Optional(ChildObject), references: Type.Optional(Type.Array(Type.Object({ managedObject: ChildObject }, OPEN))) },
  OPEN,
);

const Statistics = Type.Object({
  currentPage: Type.Integer(),
  pageSize: Type.Integer(),
  totalPages: Type.Optional(Type.Integer()),
  totalElements: Type.Optional(Type.Integer()),
});
const collectionOf = (name: string, item: TSchema): TSchema =>
  Type.Object(
    { self: Link, next: Type.Optional(Link), prev: Type.Optional(Link), statistics: Type.Optional(Statistics), [name]: Type.Array(item) },
    OPEN,
  );
const entity = (schema: TSchema): TSchema => Type.Intersect([Type.Object({ id: Type.String(), self: Link }, OPEN), schema]);
const Reference = Type.Object({ managedObject: Type.Object({}, OPEN), self: Link }, OPEN);
const Any = Type.Object({}, OPEN);

/** Answers by vendor name: components of /openapi.json. */
export const ANSWER_SCHEMAS: Readonly<Record<string, TSchema>> = {
  error: Type.Object({ error: Type.String(), message: Type.String(), info: Type.Optional(Link) }, OPEN),
  measurement: entity(Measurement),
  measurementCollection: collectionOf('measurements', entity(Measurement)),
  managedObject: Type.Intersect([
    entity(ManagedObject),
    Type.Object(
      {
        creationTime: Timestamp,
        lastUpdated: Timestamp,
        childDevices: References,
        childAssets: References,
        childAdditions: References,
        deviceParents: References,
        assetParents: References,
        additionParents: References,
      },
      OPEN,
    ),
  ]),
  managedObjectCollection: collectionOf('managedObjects', entity(ManagedObject)),
  managedObjectUser: Type.Object({ self: Link, userName: Type.String(), enabled: Type.Boolean() }, OPEN),
  managedObjectReference: Reference,
  managedObjectReferenceCollection: collectionOf('references', Reference),
  event: entity(Event),
  eventCollection: collectionOf('events', entity(Event)),
  alarm: entity(Alarm),
  auditRecord: entity(ShownAuditRecord),
  auditRecordCollection: collectionOf('auditRecords', entity(ShownAuditRecord)),
  alarmCollection: collectionOf('alarms', entity(Alarm)),
  operation: entity(Operation),
  operationCollection: collectionOf('operations', entity(Operation)),
  bulkOperation: entity(Type.Object({ status: Type.String(), generalStatus: Type.String(), progress: Any }, OPEN)),
  bulkOperationCollection: collectionOf('bulkOperations', Any),
  newDeviceRequest: entity(Type.Object({ status: Type.Enum([...DEVICE_REQUEST_STATUSES]), tenantId: Type.String(), creationTime: Timestamp }, OPEN)),
  newDeviceRequestCollection: collectionOf('newDeviceRequests', Any),
  bulkNewDeviceRequest: Type.Object({
    numberOfAll: Type.Integer(),
    numberOfCreated: Type.Integer(),
    numberOfFailed: Type.Integer(),
    numberOfSuccessful: Type.Integer(),
    credentialUpdatedList: Type.Array(Any),
    failedCreationList: Type.Array(Any),
  }),
  newDeviceRequestAcceptance: Type.Array(Type.Object({ id: Type.String(), successful: Type.Boolean(), error: Type.Optional(Type.String()) })),
  newDeviceRequestLimit: Type.Object({ isReached: Type.Boolean(), limit: Type.Optional(Type.Integer()), deviceCount: Type.Integer() }),
  deviceCredentials: entity(Type.Object({ tenantId: Type.String(), username: Type.String(), password: Type.String() })),
  externalId: Type.Object({ externalId: Type.String(), type: Type.String(), self: Link, managedObject: Any }, OPEN),
  externalIdCollection: Type.Object({ self: Link, externalIds: Type.Array(Any) }, OPEN),
  application: entity(Type.Object({ key: Type.String(), name: Type.String(), type: Type.String(), availability: Type.String(), owner: Any }, OPEN)),
  applicationCollection: collectionOf('applications', Any),
  applicationBinary: entity(Type.Object({ name: Type.String(), length: Type.Integer(), created: Timestamp, downloadUrl: Link }, OPEN)),
  applicationBinaries: collectionOf('attachments', Any),
  applicationVersion: Type.Object({ version: Type.String(), binaryId: Type.String(), tags: Type.Array(Type.String()) }, OPEN),
  applicationVersionCollection: Type.Object({ self: Link, applicationVersions: Type.Array(Any) }, OPEN),
  applicationUserCollection: Type.Object(
    { self: Link, users: Type.Array(Type.Object({ tenant: Type.String(), name: Type.String(), password: Type.String() })) }, OPEN,
  ),
  ...USER_ANSWER_SCHEMAS,
  ...RETENTION_ANSWER_SCHEMAS,
  ...FURTHER_ANSWER_SCHEMAS,
};
