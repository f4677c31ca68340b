/** Collections of the document store, records of a tenant among them. */

/** Collections of records that the tenant's actor keeps: rarely changed, small, read by id or listed whole. */
export type RecordCollection =
  | 'option'
  | 'application'
  | 'subscription'
  | 'group'
  | 'inventoryRole'
  | 'inventoryAssignment'
  | 'retentionRule'
  | 'certificate'
  | 'deviceRequest'
  | 'bulkRegistration'
  | 'bulkOperation'
  | 'passwordToken'
  | 'loginOption'
  | 'tenant'
  | 'user'
  | 'tokenRevocation'
  | 'job'
  | 'groupMember'
  | 'userAlias'
  | 'signingKey'
  | 'totp'
  | 'revocation'
  | 'statisticsFile'
  | 'notificationSubscription'
  | 'remoteAccess'
  | 'topicSubscriber'
  | 'scoringModel'
  | 'scoringResource'
  | 'scoringBinding'
  | 'scoring';

/**
 * What is behind each id.
 * managedObject: id -> text of all members but links; externalId: `<type>\n<externalId>` -> {"managedObject":"1"};
 * externalIdsOf: `<moId>\n<type>\n<externalId>` -> ''; children: `<parent>\n<kind>\n<child>` -> LINKED or the maker
 * (actors/handlers/inventory/child-links.ts); parents: `<child>\n<kind>\n<parent>` -> ''; eventBinary: id of the event
 * -> `EventBinary` (model/entities/event-binary.ts); binary: id of a managed object -> `BinaryRecord`; availability:
 * the same -> `AvailabilityState`; alarm, event, operation: id -> text; openAlarm: `<source>\n<type>` and
 * openAlarmLink: id of an alarm -> see actors/handlers/alarms/open-alarms.ts; openOperation: `<device>\n<operation id>`
 * -> see model/entities/operation.ts; softwareList: id of a device -> id of the child addition that has its list of
 * software; parameterState: id of a device -> see model/entities/parameter-state.ts; user: userName -> {"userName","password"(hash),"roles":[],"enabled"}; session:
 * key -> SessionState; sessionMessage: `<key>\n<id 16 digits>`; topicMessage:
 * see model/entities/notifications/topic.ts.
 */
export type Collection =
  | 'managedObject'
  | 'binary'
  | 'availability'
  | 'externalId'
  | 'externalIdsOf'
  | 'children'
  | 'parents'
  | 'alarm'
  | 'event'
  | 'operation'
  | 'eventBinary'
  | 'openAlarm'
  | 'openAlarmLink'
  | 'openOperation'
  | 'softwareList'
  | 'parameterState'
  | 'session'
  | 'sessionMessage'
  | 'topicMessage'
  | 'pending'
  | 'meta'
  | RecordCollection;
