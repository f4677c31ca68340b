/** Schemas of answers by vendor name: components of /openapi.json. What a member of one refers to is another. */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { ALARM_SEVERITIES, ALARM_STATUSES } from '../../model/entities/alarm.ts';
import { DEVICE_REQUEST_STATUSES } from '../../model/entities/device-request.ts';
import { OPERATION_STATUSES } from '../../model/entities/operation.ts';
import { APPLICATION_ANSWER_SCHEMAS } from '../applications/schemas.ts';
import { NOTIFICATION_ANSWER_SCHEMAS } from '../realtime/notification-subscriptions.ts';
import { RETENTION_ANSWER_SCHEMAS } from '../retention/schemas.ts';
import {
  Count,
  Fragments,
  Link,
  Text,
  Timestamp,
  collectionOf,
  entity,
  listOf,
  nullable,
  open,
  optional,
  ref,
  written,
} from '../../model/schema/parts.ts';
import { SERIES_FUNCTIONS } from '../../history/measurements/series.ts';
import * as bodies from '../../model/entities/body-schemas.ts';
import { TENANT_ANSWER_SCHEMAS } from '../tenants/schemas.ts';
import { USER_ANSWER_SCHEMAS } from '../users/schemas.ts';

/** Collections as `{self, <name>: []}`, templates as texts with `{name}` places. */
const Root = open({ self: Link });
const ROOTS = [
  'measurement',
  'inventory',
  'event',
  'alarm',
  'identity',
  'devicecontrol',
  'user',
  'tenant',
  'application',
  'audit',
  'notification2',
];
const PLATFORM_ROOTS = [
  'alarm',
  'audit',
  'deviceControl',
  'event',
  'identity',
  'inventory',
  'measurement',
  'tenant',
  'user',
];

/** What a source, a child or a parent is shown as. */
const Source = open({ id: Text, self: optional(Link), name: optional(nullable(Text)), type: optional(nullable(Text)) });
const created = { creationTime: Timestamp, lastUpdated: optional(Timestamp) };
const References = open({ references: Type.Array(ref('managedObjectReference')), self: Link });

const LINKED_MEMBERS = {
  name: optional(Text),
  type: optional(Text),
  owner: optional(Text),
  childDevices: optional(References),
  childAssets: optional(References),
  childAdditions: optional(References),
  deviceParents: optional(References),
  assetParents: optional(References),
  additionParents: optional(References),
};
const ManagedObject = open(
  { ...LINKED_MEMBERS, creationTime: Timestamp, lastUpdated: Timestamp },
  'Fragments are further members',
);
/** Of a heartbeat nothing but id and self is said. */
const WrittenManagedObject = open(
  { ...LINKED_MEMBERS, creationTime: optional(Timestamp), lastUpdated: optional(Timestamp) },
  'Fragments are further members',
);

const SERIES = 'Fragments hold series: {"c8y_Env":{"T":{"value":21.5,"unit":"C"}}}';
const Measurement = open({ source: Source, time: Timestamp, type: Text }, SERIES);
/** Of each value or interval what `aggregationFunction` asks for, min and max without it. */
const SeriesValue = nullable(
  open(Object.fromEntries(SERIES_FUNCTIONS.map((name) => [name, optional(nullable(Type.Number()))]))),
);
const Event = open({ source: Source, time: Timestamp, type: Text, text: Text, ...created });
const Status = Type.Enum([...ALARM_STATUSES]);
const ALARM_MEMBERS = {
  source: Source,
  time: Timestamp,
  type: Text,
  text: Text,
  severity: Type.Enum([...ALARM_SEVERITIES]),
  count: optional(Count),
  firstOccurrenceTime: optional(Timestamp),
  lastUpdated: optional(Timestamp),
};
const Alarm = open({ ...ALARM_MEMBERS, status: Status, creationTime: Timestamp });
/** A suppressed one has what was sent. */
const WrittenAlarm = open({ ...ALARM_MEMBERS, status: optional(Status), creationTime: optional(Timestamp) });
/** Those of the server about things without an id have no source. */
const AuditRecord = open({
  ...bodies.AuditRecord.properties,
  source: optional(Source),
  time: Timestamp,
  creationTime: Timestamp,
});
const Operation = open({
  deviceId: Text,
  status: Type.Enum([...OPERATION_STATUSES]),
  creationTime: Timestamp,
  description: optional(Text),
  failureReason: optional(Text),
  deviceName: optional(Text),
  bulkOperationId: optional(Text),
});
const Progress = open({ pending: Count, failed: Count, executing: Count, successful: Count, all: Count });
const BulkOperation = open({
  groupId: optional(nullable(Text)),
  failedParentId: optional(nullable(Text)),
  startDate: Timestamp,
  creationRamp: Type.Number(),
  operationPrototype: Fragments,
  status: Text,
  generalStatus: Text,
  progress: Progress,
  note: optional(nullable(Text)),
});
const NewDeviceRequest = open({
  status: Type.Enum([...DEVICE_REQUEST_STATUSES]),
  tenantId: Text,
  creationTime: Timestamp,
  owner: optional(Text),
  groupId: optional(nullable(Text)),
  type: optional(nullable(Text)),
  customProperties: optional(nullable(Fragments)),
});
const BulkLine = open({
  bulkNewDeviceStatus: optional(Text),
  deviceId: optional(Text),
  failureReason: optional(Text),
  line: optional(Text),
});

/** By vendor name, as the routes name them. */
export const ANSWER_SCHEMAS: Readonly<Record<string, TSchema>> = {
  error: open({ error: Text, message: Text, info: optional(Link) }),
  platformApi: open({ self: Link, ...Object.fromEntries(PLATFORM_ROOTS.map((name) => [name, Root])) }),
  ...Object.fromEntries(ROOTS.map((name) => [`${name}Api`, Root])),
  measurement: entity(Measurement),
  writtenMeasurement: written(Measurement),
  writtenMeasurementCollection: open({ measurements: Type.Array(ref('writtenMeasurement')) }),
  writtenMeasurements: open(
    {
      id: optional(nullable(Text)),
      self: optional(Link),
      source: optional(Source),
      time: optional(Timestamp),
      type: optional(Text),
      measurements: optional(Type.Array(ref('writtenMeasurement'))),
    },
    'A measurement, or of a collection its measurements',
  ),
  measurementCollection: collectionOf('measurements', ref('measurement')),
  measurementSeries: open({
    values: Type.Record(Text, Type.Array(SeriesValue)),
    series: Type.Array(open({ type: Text, name: Text, unit: optional(Text) })),
    truncated: Type.Boolean(),
  }),
  supportedMeasurements: open({ c8y_SupportedMeasurements: Type.Array(Text) }),
  supportedSeries: open({ c8y_SupportedSeries: Type.Array(Text) }),
  managedObject: entity(ManagedObject),
  writtenManagedObject: written(WrittenManagedObject),
  managedObjectCollection: collectionOf('managedObjects', ref('managedObject')),
  managedObjectUser: open({ self: Link, userName: Text, enabled: Type.Boolean() }),
  managedObjectReference: open({ managedObject: Source, self: Link }),
  managedObjectReferenceCollection: collectionOf('references', ref('managedObjectReference')),
  addedChildren: open(
    {
      managedObject: optional(Source),
      references: optional(Type.Array(ref('managedObjectReference'))),
      id: optional(nullable(Text)),
      self: optional(Link),
    },
    'The reference, of several their references, or the object that was made',
  ),
  externalId: open({ externalId: Text, type: Text, self: Link, managedObject: Source }),
  externalIdCollection: listOf('externalIds', ref('externalId')),
  event: entity(Event),
  writtenEvent: written(Event),
  eventCollection: collectionOf('events', ref('event')),
  eventBinary: open({ self: Link, name: optional(Text), type: Text, source: Text, length: Count }),
  eventBinaryChunk: open({ self: Link, name: optional(Text), type: Text, source: Text, range: Text }),
  alarm: entity(Alarm),
  writtenAlarm: written(WrittenAlarm),
  alarmCollection: collectionOf('alarms', ref('alarm')),
  auditRecord: entity(AuditRecord),
  auditRecordCollection: collectionOf('auditRecords', ref('auditRecord')),
  operation: entity(Operation),
  writtenOperation: written(Operation),
  operationCollection: collectionOf('operations', ref('operation')),
  bulkOperation: entity(BulkOperation),
  bulkOperationCollection: collectionOf('bulkOperations', ref('bulkOperation')),
  newDeviceRequest: entity(NewDeviceRequest),
  newDeviceRequestCollection: collectionOf('newDeviceRequests', ref('newDeviceRequest')),
  newDeviceRequestAcceptance: Type.Array(Type.Object({ id: Text, successful: Type.Boolean(), error: optional(Text) })),
  newDeviceRequestLimit: Type.Object({ isReached: Type.Boolean(), limit: optional(Count), deviceCount: Count }),
  bulkNewDeviceRequest: Type.Object({
    numberOfAll: Count,
    numberOfCreated: Count,
    numberOfFailed: Count,
    numberOfSuccessful: Count,
    credentialUpdatedList: Type.Array(BulkLine),
    failedCreationList: Type.Array(BulkLine),
  }),
  deviceCredentials: entity(Type.Object({ tenantId: Text, username: Text, password: Text })),
  ...APPLICATION_ANSWER_SCHEMAS,
  ...USER_ANSWER_SCHEMAS,
  ...TENANT_ANSWER_SCHEMAS,
  ...RETENTION_ANSWER_SCHEMAS,
  ...NOTIFICATION_ANSWER_SCHEMAS,
};
