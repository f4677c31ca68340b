/** Kinds of commands, with the shape of the body of each. */

/**
 * Version of what the journal holds. A version of Millrace that knows a lower one would set commands of unknown kinds
 * aside, so it does not start: raise it with each kind that is added, and with each change that older versions misread.
 */
export const JOURNAL_FORMAT = 1;

/** What a command asks for, and the shape of its body. Numbers are stored in the journal: never reuse one. */
export const COMMAND = {
  /** Binary body, see ingest/measurements/record.ts. Key: source. */
  MEASUREMENT: 1,
  /** `EventCreate`. Key: source. */
  EVENT_CREATE: 2,
  EVENT_UPDATE: 3,
  EVENT_DELETE: 4,
  ALARM_CREATE: 5,
  ALARM_UPDATE: 6,
  /** `AlarmOfTypeUpdate`: of the open alarm of a type (SmartREST 305, 306). */
  ALARM_OF_TYPE_UPDATE: 7,
  MANAGED_OBJECT_CREATE: 8,
  MANAGED_OBJECT_UPDATE: 9,
  MANAGED_OBJECT_DELETE: 10,
  /** `ChildAdd` or `ChildLinks`. Key: parent. Sends PARENT_ADD to the children. */
  CHILD_ADD: 11,
  /** `ChildLink` or `ChildLinks`. */
  CHILD_REMOVE: 12,
  /** `ParentAdd`. Key: child. */
  PARENT_ADD: 13,
  PARENT_REMOVE: 14,
  /** Key: the external ID. */
  EXTERNAL_ID_BIND: 15,
  EXTERNAL_ID_UNBIND: 16,
  /** Key: the external ID. Finds or creates the managed object of a device, `DeviceEnsure`. */
  DEVICE_ENSURE: 17,
  OPERATION_CREATE: 18,
  OPERATION_UPDATE: 19,
  /** `DataDelete`: DELETE of a collection by filters. Key: tenant. */
  DATA_DELETE: 20,
  /** Key: the tenant. */
  USER_PUT: 21,
  USER_DELETE: 22,
  /** Key: the MQTT session, `SessionChange`. */
  SESSION_SAVE: 23,
  SESSION_REMOVE: 24,
  SESSION_MESSAGE_ADD: 25,
  SESSION_MESSAGE_REMOVE: 26,
  SESSION_RECEIVE: 27,
  SESSION_RELEASE: 28,
  /** Key: device. Remembers external ID of the object so that its deletion unbinds them. */
  EXTERNAL_ID_NOTE: 29,
  EXTERNAL_ID_FORGET: 30,
  /** `EntityDelete`, sent for each entity that a DATA_DELETE selects. Key: source. */
  ALARM_DELETE: 31,
  OPERATION_DELETE: 32,
  /** `SessionExpire`, sent for sessions without a connection. */
  SESSION_EXPIRE: 33,
  /** `SessionShard`: in which shards receipts of the session may be. */
  SESSION_RECEIVES_IN: 34,
  /**
   * `SessionReceipt`: in the group of a QoS 2 message, where its shard is not the session's. Key: of that shard
   * (`textKeyIn`), as for the next two.
   */
  SESSION_RECEIPT: 35,
  /** `SessionReceipts`: answered with the receipts of the shard, `StoredReceipt[]`. */
  SESSION_RECEIPTS: 36,
  /** `SessionReceipts`: of one packet, or of all. */
  SESSION_RECEIPTS_REMOVE: 37,
  /**
   * `RecordsChange`: records of a tenant, compare and set. Key: `t` (tenant 0 for what belongs to the whole server).
   */
  RECORDS_CHANGE: 40,
  /** `AuditEntry` with an id, as posted by a client. Key: the source's id or `t`. */
  AUDIT_CREATE: 41,
  /** `DeviceCredentialsIssue`: ends the request of a new device and makes its user. Tenant 0, key `t`. */
  DEVICE_CREDENTIALS_ISSUE: 44,
  /** `DocumentsRemove`: of a tenant that is being deleted. Key: the actor that owns them. */
  DOCUMENTS_REMOVE: 60,
  /** `EventBinaryChange`. Key: source. */
  EVENT_BINARY_CHANGE: 50,
  /** `AvailabilitySet`: what the monitor has found. Key: device. */
  AVAILABILITY_SET: 70,
  /** `DeviceProfileSet`: what a device says about its profile (SmartREST 121). Key: device. */
  DEVICE_PROFILE_SET: 90,
  /** `SoftwareListEnsure`: answered with the id of the object that has the device's list of software. Key: device. */
  SOFTWARE_LIST_ENSURE: 91,
  /** `SoftwareChange`. Key: the object that has the list. */
  SOFTWARE_CHANGE: 92,
  /** The next links of an object that is gone, sent by its own deletion. Key: the object. */
  LINKS_REMOVE: 80,
  /** `SourceDelete`: the data of an object that is gone, sent by its deletion. Key: the tenant. */
  SOURCE_DELETE: 81,
} as const;
export type CommandKind = (typeof COMMAND)[keyof typeof COMMAND];

/** Commands after which gateways forget what they remember of a managed object. */
export const CHANGES_OBJECT: ReadonlySet<CommandKind> = new Set<CommandKind>([
  COMMAND.MANAGED_OBJECT_UPDATE,
  COMMAND.MANAGED_OBJECT_DELETE,
  COMMAND.EXTERNAL_ID_FORGET,
]);
