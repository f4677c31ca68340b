/** Schemas of request and answer bodies (typebox): what is checked at the gateway, and what /openapi.json shows. */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { ALARM_SEVERITIES, ALARM_STATUSES } from '../model/alarm.ts';
import { OPERATION_STATUSES } from '../model/operation.ts';

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
export const AlarmStatusChange = Type.Object({ status: Type.Enum([...ALARM_STATUSES]) });

export const Operation = Type.Object({ deviceId: Id, description: Type.Optional(Type.String()) }, OPEN);
export const OperationUpdate = Type.Object(
  { status: Type.Enum([...OPERATION_STATUSES]), failureReason: Type.Optional(Type.String()), description: Type.Optional(Type.String()) },
  OPEN,
);

export const ExternalId = Type.Object({ externalId: Type.String({ minLength: 1 }), type: Type.String({ minLength: 1 }) }, OPEN);

const ChildObject = Type.Object({ id: Type.Optional(Id), self: Type.Optional(Type.String()) }, OPEN);
export const ChildReference = Type.Object(
  { managedObject: Type.Optional(ChildObject), references: Type.Optional(Type.Array(Type.Object({ managedObject: ChildObject }, OPEN))) },
  OPEN,
);

const RoleReference = Type.Object(
  { role: Type.Object({ id: Type.Optional(Type.String()), self: Type.Optional(Type.String()) }, OPEN) },
  OPEN,
);
const Roles = Type.Union([Type.Array(Type.String()), Type.Object({ references: Type.Array(RoleReference) }, OPEN)]);
const userMembers = {
  password: Type.Optional(Type.String({ minLength: 6, maxLength: 32 })),
  enabled: Type.Optional(Type.Boolean()),
  roles: Type.Optional(Roles),
  firstName: Type.Optional(nullable(Type.String())),
  lastName: Type.Optional(nullable(Type.String())),
  email: Type.Optional(nullable(Type.String())),
  phone: Type.Optional(nullable(Type.String())),
  customProperties: Type.Optional(nullable(Type.Object({}, OPEN))),
};
export const User = Type.Object(
  { userName: Type.String({ minLength: 1, maxLength: 1000, pattern: '^[^\\s/+$:]+$' }), ...userMembers },
  OPEN,
);
export const UserUpdate = Type.Object(userMembers, OPEN);

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
  managedObjectReference: Reference,
  managedObjectReferenceCollection: collectionOf('references', Reference),
  event: entity(Event),
  eventCollection: collectionOf('events', entity(Event)),
  alarm: entity(Alarm),
  alarmCollection: collectionOf('alarms', entity(Alarm)),
  operation: entity(Operation),
  operationCollection: collectionOf('operations', entity(Operation)),
  externalId: Type.Object({ externalId: Type.String(), type: Type.String(), self: Link, managedObject: Any }, OPEN),
  externalIdCollection: Type.Object({ self: Link, externalIds: Type.Array(Any) }, OPEN),
  user: Type.Object({ id: Type.String(), self: Link, userName: Type.String(), enabled: Type.Boolean() }, OPEN),
  userCollection: collectionOf('users', Any),
  currentUser: Type.Object({ id: Type.String(), self: Link, userName: Type.String(), effectiveRoles: Type.Array(Any) }, OPEN),
};
