/**
 * Schemas of request bodies (typebox): what is checked at the gateway, and what /openapi.json shows. Those of answers:
 * api/openapi/answer-schemas.ts.
 */
import Type from 'typebox';
import { ALARM_SEVERITIES, ALARM_STATUSES } from './alarm.ts';
import { OPERATION_STATUSES } from './operation.ts';
import { Binary, Id, OPEN, Timestamp, nullable } from '../schema/parts.ts';

const Source = Type.Object({ id: Id }, OPEN);
const text = Type.Optional(nullable(Type.String()));
/** Members that are of one type in every entity (docs/spec/conventions.md#reserved-keys). */
const RESERVED = {
  id: Type.Optional(nullable(Id)),
  self: text,
  source: Type.Optional(nullable(Type.Union([Type.Object({}, OPEN), Id]))),
  type: text,
  time: text,
  text,
  status: text,
  severity: text,
  count: Type.Optional(nullable(Type.Number())),
  creationTime: text,
  lastUpdated: text,
  owner: text,
  name: text,
};

export const Measurement = Type.Object(
  { source: Source, time: Timestamp, type: Type.String() },
  { ...OPEN, description: 'Fragments hold series: {"c8y_Env":{"T":{"value":21.5,"unit":"C"}}}' },
);
export const MeasurementPost = Type.Union([Measurement, Type.Object({ measurements: Type.Array(Measurement) })]);

export const ManagedObject = Type.Object(RESERVED, OPEN);

export const ManagedObjectUser = Type.Object({ enabled: Type.Optional(Type.Boolean()) }, OPEN);

export const Event = Type.Object(
  { ...RESERVED, source: Source, time: Timestamp, type: Type.String({ minLength: 1 }), text: Type.String() },
  OPEN,
);
export const EventUpdate = Type.Object({ ...RESERVED, text: Type.Optional(Type.String()) }, OPEN);

export const Alarm = Type.Object(
  {
    ...RESERVED,
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
    ...RESERVED,
    text: Type.Optional(Type.String()),
    severity: Type.Optional(Type.Enum([...ALARM_SEVERITIES])),
    status: Type.Optional(Type.Enum([...ALARM_STATUSES])),
  },
  OPEN,
);
export const AlarmStatusChange = Type.Object(
  { status: Type.Enum([...ALARM_STATUSES]) },
  { additionalProperties: false },
);

const AuditChange = Type.Object(
  {
    attribute: Type.String(),
    changeType: Type.Optional(nullable(Type.Enum(['ADDED', 'REPLACED', 'REMOVED']))),
    type: text,
    newValue: Type.Optional(Type.Unknown()),
    previousValue: Type.Optional(Type.Unknown()),
  },
  OPEN,
);
export const AuditRecord = Type.Object(
  {
    ...RESERVED,
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

export const Operation = Type.Object({ ...RESERVED, deviceId: Id, description: text }, OPEN);
export const OperationUpdate = Type.Object(
  { ...RESERVED, status: Type.Enum([...OPERATION_STATUSES]), failureReason: text, description: text },
  OPEN,
);

/** Seconds; a year and more is a mistake. */
const CreationRamp = Type.Number({
  minimum: 0,
  maximum: 31_536_000,
  description: 'Seconds between the creation of two operations; fractions are taken',
});
const Prototype = Type.Object(
  { ...RESERVED, description: text },
  { ...OPEN, description: 'The operation without deviceId' },
);
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

const DeviceId = Type.Union([Type.String({ minLength: 1, maxLength: 1000 }), Type.Integer()], {
  description: 'Identifier of the device',
});
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

export const ExternalId = Type.Object(
  { externalId: Type.String({ minLength: 1 }), type: Type.String({ minLength: 1 }) },
  OPEN,
);

const ChildObject = Type.Object({ id: Type.Optional(Id), self: Type.Optional(Type.String()) }, OPEN);
export const ChildReference = Type.Object(
  {
    ...RESERVED,
    managedObject: Type.Optional(ChildObject),
    references: Type.Optional(Type.Array(Type.Object({ managedObject: ChildObject }, OPEN))),
  },
  OPEN,
);

/** Forms of uploads (multipart/form-data). */
export const FileForm = Type.Object(
  {
    object: Type.Optional(Type.String({ description: 'JSON with name and type of the file, and fragments' })),
    file: Binary,
  },
  OPEN,
);
export const CsvForm = Type.Object({ file: Type.String({ description: 'A CSV file' }) }, OPEN);
