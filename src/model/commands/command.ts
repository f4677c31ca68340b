/**
 * Commands: every write is one (design, "log first, one writer per device"). A gateway validates its input and makes a
 * command; the journal stores it; the actor named by its key decides what it does.
 */
import type { ErrorCode } from '../errors.ts';
import type { ProcessingMode } from './processing-mode.ts';
import type { MarkChange } from '../sessions/marks.ts';

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
  /** `SessionReceipt`: in the group of a QoS 2 message, where its shard is not the session's. Key: of that shard (`textKeyIn`), as for the next two. */
  SESSION_RECEIPT: 35,
  /** `SessionReceipts`: answered with the receipts of the shard, `StoredReceipt[]`. */
  SESSION_RECEIPTS: 36,
  /** `SessionReceipts`: of one packet, or of all. */
  SESSION_RECEIPTS_REMOVE: 37,
  /** `RecordsChange`: records of a tenant, compare and set. Key: `t` (tenant 0 for what belongs to the whole server). */
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
  /** The next links of an object that is gone, sent by its own deletion. Key: the object. */
  LINKS_REMOVE: 80,
  /** `SourceDelete`: the data of an object that is gone, sent by its deletion. Key: the tenant. */
  SOURCE_DELETE: 81,
} as const;
export type CommandKind = (typeof COMMAND)[keyof typeof COMMAND];

/** The actor that handles a command: a managed object's id (number) or a text key (`x:<type>\n<externalId>`, `t`, `s:<session>`). */
export type ActorKey = number | string;

/** A command whose body is JSON (all but MEASUREMENT). */
export interface Command<Body extends object = object> {
  readonly kind: CommandKind;
  /** The tenant's number. */
  readonly tenant: number;
  readonly key: ActorKey;
  readonly mode: ProcessingMode;
  /** When the gateway received it, ms since 1970; becomes creationTime and lastUpdated. */
  readonly receivedAt: number;
  readonly body: Body;
  /** Who waits for the answer, for the shares of commands under way; '' when absent. Not stored. */
  readonly user?: string;
}

/** Who asked for a command over REST, for the audit log. */
export interface AskedBy { readonly user: string; readonly application?: string }
/** In the body of a command of `AUDITED_KINDS`; absent from what devices send, whose data is not administration. */
export interface Asked { readonly askedBy?: AskedBy }
/** Commands whose effect the actors write into the audit log when their body says who asked (actors/runtime/command-audit.ts). */
export const AUDITED_KINDS = [
  COMMAND.MANAGED_OBJECT_CREATE, COMMAND.MANAGED_OBJECT_UPDATE, COMMAND.MANAGED_OBJECT_DELETE, COMMAND.CHILD_ADD, COMMAND.CHILD_REMOVE,
  COMMAND.EXTERNAL_ID_BIND, COMMAND.EXTERNAL_ID_UNBIND, COMMAND.EVENT_UPDATE, COMMAND.EVENT_DELETE, COMMAND.EVENT_BINARY_CHANGE, COMMAND.DATA_DELETE,
] as const;

/** Raw JSON text of an entity as the client sent it (top level compacted), without server-kept members. */
export type DocumentText = string;

export interface EventCreate { readonly id: string; readonly type: string; readonly time: number; readonly doc: DocumentText;
  /** Merged into the source (SmartREST 402: its position). */
  readonly managedObjectDoc?: DocumentText }
/** `doc` holds the members to merge (null removes). */
export interface EntityUpdate { readonly id: string; readonly doc: DocumentText }
export interface AlarmCreate { readonly id: string; readonly type: string; readonly time: number; readonly severity: string;
  readonly status: string; readonly doc: DocumentText; readonly user: string;
  /** Key of the application that asked for it, for the audit log. */
  readonly application?: string }
export interface AlarmUpdate extends EntityUpdate { readonly user: string; readonly application?: string }
/**
 * The binary of an event, compare and set: `expected` and `value` are texts of the collection `eventBinary` (undefined: none). The event gets
 * the fragments of `marks` (null removes one).
 */
export interface EventBinaryChange { readonly id: string; readonly expected: string | undefined; readonly value: string | undefined;
  readonly marks: DocumentText }
export interface AlarmOfTypeUpdate { readonly type: string; readonly doc: DocumentText; readonly user: string }
export interface ManagedObjectCreate { readonly id: string; readonly owner: string; readonly doc: DocumentText;
  /** Links the new object below this parent as part of its creation. `isRequired`: without the link the object goes again. */
  readonly parent?: { readonly id: string; readonly kind: ChildKind; readonly isRequired?: boolean };
  /** Content of the object, a `BinaryRecord`. */
  readonly binary?: BinaryRecord }
/** Content in the blobs: key, length in bytes, content type. */
export interface BinaryRecord { readonly key: string; readonly bytes: number; readonly contentType: string }
export interface ManagedObjectUpdate { readonly doc: DocumentText; readonly mayChangeOwner: boolean;
  /** Replaces the content. */
  readonly binary?: BinaryRecord;
  /** Members that are only set when absent (SmartREST 117). */
  readonly onlyWhenAbsent?: boolean }
/** `alarmId` for a device that has fallen silent. */
export interface AvailabilitySet { readonly lastMessage: number; readonly isSilent: boolean; readonly connection?: 'CONNECTED' | 'DISCONNECTED';
  readonly alarmId?: string }
export type ChildKind = 'childDevices' | 'childAssets' | 'childAdditions';
export interface ChildLink { readonly kind: ChildKind; readonly child: string; readonly parent: string }
/**
 * Several links of one parent, decided together. The sender has looked at each child. `maker` is what the links are stored with that are made by it;
 * a removal with it leaves what has another one: links that were there before, and those that somebody else has asked for since.
 */
export interface ChildLinks { readonly kind: ChildKind; readonly children: readonly string[]; readonly parent: string; readonly maker?: string }
/** `isNew`: the child was made for this link, and goes again when the link is refused. */
export interface ChildAdd extends ChildLink { readonly isNew?: boolean }
/** `isWritten`: the child has noted its parent, and looks again whether there is a cycle now that others can see it. */
export interface ParentAdd extends ChildLink { readonly isWritten?: boolean }
export interface ExternalIdBind { readonly type: string; readonly externalId: string; readonly managedObject: string }
/** Of commands that bind: the user for whom the actor asks `isSerialOfOther`; absent for a user who may bind any serial number. */
export interface SerialClaim { readonly claimant?: string }
export type ExternalIdClaim = ExternalIdBind & SerialClaim;
/** Answers `{id, created}`: the managed object bound to the external ID, made from `doc` with `id` when there is none. */
export interface DeviceEnsure { readonly type: string; readonly externalId: string; readonly id: string; readonly owner: string;
  readonly doc: DocumentText; readonly parent?: { readonly id: string; readonly kind: ChildKind };
  /** When it exists: merge `doc` into it (SmartREST 102 repeated) instead of leaving it alone. */
  readonly updateExisting?: boolean;
  /** When it exists: refuse it unless it is `owner`'s. */
  readonly mustOwn?: boolean }
/** `mayUpdate` is the object that the gateway has found the user to have the right to change. */
export type DeviceEnsureChecked = DeviceEnsure & SerialClaim & { readonly mayUpdate?: string };
/** Collections of records that the tenant's actor keeps: rarely changed, small, read by id or listed whole. */
export type RecordCollection = 'option' | 'application' | 'subscription' | 'group' | 'inventoryRole' | 'inventoryAssignment' | 'retentionRule' | 'certificate'
  | 'deviceRequest' | 'bulkRegistration' | 'bulkOperation' | 'passwordToken' | 'loginOption' | 'tenant' | 'user' | 'tokenRevocation' | 'job'
  | 'groupMember' | 'userAlias' | 'signingKey' | 'totp' | 'revocation' | 'statisticsFile'
  | 'notificationSubscription';
/**
 * One record. `expected`: the text that the caller has read (undefined: none was there); another one refuses the whole change with
 * `general/changed-meanwhile`, and the caller reads and tries again. `value` undefined deletes. `expectedDigest`: in the place of a long text
 * (model/commands/record-change.ts).
 */
export interface RecordChange { readonly collection: RecordCollection; readonly id: string; readonly expected: string | undefined;
  readonly expectedDigest?: string;
  readonly value: string | undefined;
  /** Only of the collection `job`: the value, the text of an object, gets the member `seq`, the sequence of the command that stores it. */
  readonly isPositioned?: true }
/** How many records there are, and the UTF-8 bytes of their texts. */
export interface RecordsSum { readonly count: number; readonly bytes: number }
/** A bound on a sum: `error` has the places `limit` and `maximum`. */
export interface SumBound { readonly maximum: number; readonly limit: string; readonly error: ErrorCode }
/**
 * A sum over records, kept in one more record, since adding them up for each change would read them all. A change that makes a sum greater than its
 * bound is refused. `before`: what the caller has added up when there was no such record; it begins with that.
 */
export interface RecordsTotal { readonly collection: RecordCollection; readonly id: string; readonly added: RecordsSum; readonly before?: RecordsSum;
  readonly bounds: Readonly<Record<keyof RecordsSum, SumBound>> }
/** All changes or none. */
export interface RecordsChange { readonly changes: readonly RecordChange[]; readonly audits?: readonly AuditEntry[]; readonly totals?: readonly RecordsTotal[] }

/** Documents of one actor, of a tenant that exists no more. Repeatable. */
export interface DocumentsRemove { readonly collection: Exclude<Collection, 'pending' | 'meta'>; readonly ids: readonly string[] }

/** What is written into the audit log (document 4 section 5.7). `changes` are of the `changes[]` of the entity. */
export interface AuditEntry { readonly type: string; readonly activity: string; readonly text: string; readonly user?: string;
  readonly application?: string; readonly severity?: string; readonly source?: string;
  /** Number of the tenant whose log it is; that of the command without it. */
  readonly tenant?: number;
  readonly changes?: readonly { readonly attribute: string; readonly changeType?: 'ADDED' | 'REPLACED' | 'REMOVED'; readonly type: string;
    readonly previousValue?: unknown; readonly newValue?: unknown }[] }

/** `onlyWhenOver` leaves an alarm that is not cleared and an operation that is not over (retention). */
export interface EntityDelete { readonly id: string; readonly onlyWhenOver?: boolean }
export interface OperationCreate { readonly id: string; readonly doc: DocumentText; readonly user: string; readonly application?: string;
  /** Of a bulk operation: `doc` has its id, and for a device without an agent it is created as FAILED, so that nothing is left out. */
  readonly isOfBulk?: boolean }
/** By `id`, or the oldest in `fromStatus` with `fragment` (SmartREST 501-503), or all of these (507). */
export interface OperationUpdate { readonly id?: string; readonly fragment?: string; readonly fromStatus?: string;
  readonly all?: boolean; readonly doc: DocumentText; readonly user: string; readonly application?: string;
  /** What the device answered (SmartREST 503, 506): its meaning depends on the operation. */
  readonly parameters?: readonly string[];
  /** Merged into the device when an operation was found. */
  readonly managedObjectDoc?: DocumentText }
/** All measurements, events, alarms, operations and subscriptions of a managed object. */
export interface SourceDelete { readonly source: string }
/** `sources` of a filter are ids, comma separated: those of a hierarchy, its root first. */
export interface DataDelete { readonly table: 'measurements' | 'events' | 'alarms' | 'operations';
  readonly filter: Readonly<Record<string, string>> }

/**
 * Bodies of the SESSION commands: `SessionSave` and, for messages and packet ids, `SessionMessage`. Key: `s:<session key>`.
 * `holder` is whose memory the session is in (model/sessions/holder.ts): from any other the command is refused with `mqtt/session-elsewhere`. Nothing is
 * checked without it.
 */
interface OfHolder { readonly session: string; readonly holder?: string }
/** `after`: the holder whose state the new one has read, '' when there was no session; then `holder` has it from now on. */
export interface SessionSave extends OfHolder { readonly subscriptions: readonly (readonly [string, 0 | 1 | 2])[];
  readonly expirySeconds: number; readonly disconnectedAt: number; readonly after?: string }
export interface SessionMessage extends OfHolder { readonly id: number; readonly topic: string;
  /** Base64. */
  readonly payload: string; readonly qos: 0 | 1 | 2;
  /** The client has received it (QoS 2). */
  readonly isReleased?: boolean;
  /** See model/sessions/marks.ts. */
  readonly mark?: string }
export interface SessionMessageRemove extends SessionItem, OfHolder { readonly marks?: MarkChange }
/** `after` as of SessionSave. */
export interface SessionRemove extends OfHolder { readonly after?: string }
/**
 * Ends the session if its time is over at `receivedAt`. One that is stored as connected has lost its connection to a crash:
 * `disconnectedAt` becomes `lostAt`, and its time runs from then.
 */
export interface SessionExpire { readonly session: string; readonly lostAt: number;
  /** Nothing happens when somebody else has had it since; nobody had it when absent. */
  readonly holder?: string }
/** `id` is a message's or a packet's. */
export interface SessionItem { readonly session: string; readonly id: number }
/** `shards`: where the packet's receipts are; all of the session's when absent. */
export interface SessionRelease extends SessionItem, OfHolder { readonly shards?: readonly number[] }
export interface SessionShard extends OfHolder { readonly shard: number }
/** Of packet `id` the shard has part `part` (0, 1, …, most messages have one), which is one of `parts` over all shards. */
export interface SessionReceipt extends SessionItem, OfHolder { readonly part: number; readonly parts: number }
export interface SessionReceipts extends OfHolder { readonly id?: number }
export type StoredReceipt = Pick<SessionReceipt, 'id' | 'part' | 'parts'> & { readonly holder: string };
/**
 * Key: `t`. `password` is the hash of model/access/password.ts, never the password. Roles and groups are set as a whole or by what is added and
 * removed. `mustExist` refuses a user who is gone meanwhile; `by` is who did it, for the audit log.
 */
/** Device permissions for one managed object; no entries take them away. */
export interface ObjectPermissions { readonly object: string; readonly entries: readonly string[] }
export interface UserPut { readonly userName: string; readonly password?: string; readonly passwordStrength?: string;
  readonly roles?: readonly string[]; readonly addRoles?: readonly string[]; readonly removeRoles?: readonly string[];
  readonly addGroups?: readonly number[]; readonly removeGroups?: readonly number[];
  /** Another name to log in with; '' removes it. */
  readonly alias?: string;
  readonly enabled?: boolean; readonly shouldResetPassword?: boolean; readonly doc?: DocumentText;
  /** Of a name as devices have: whether it is a person's all the same. */
  readonly isPerson?: boolean;
  /** Of one object; those of other objects stay as they are. */
  readonly devicePermissions?: ObjectPermissions;
  /** Tokens that were issued before are refused from now on. A new password and `enabled: false` do so too. */
  readonly endsTokens?: boolean; readonly mustBeNew?: boolean; readonly mustExist?: boolean; readonly by?: string;
  /** The hash that `password` replaces for the same password: nothing else changes, and nothing at all when it is not the stored one. */
  readonly renews?: string;
  /** Text of the record of the user's link to set a password, which is used up by it. */
  readonly usesToken?: string }
/** `expected` as of RecordChange: the text of the accepted request. `tenant` is the number of the tenant that gets the user. */
export interface DeviceCredentialsIssue { readonly id: string; readonly expected: string; readonly tenant: number; readonly user: UserPut;
  /** The user's first object joins it. */
  readonly groupId?: string }
export interface UserDelete { readonly userName: string; readonly by?: string;
  /** Sent by the deletion of an object of a device user, who stays when it has rights beyond those of a device that `by` lacks. */
  readonly isWithDevice?: boolean }

/** Sends commands to their actors through the journal. */
export interface CommandPort {
  /**
   * Appends, waits until the command is durable, handled and its state committed.
   * @returns the actor's answer (a JSON value; entities as `{doc: text}`).
   * @throws PlatformError as decided by the actor, `general/busy` when the journal is at its bound.
   */
  request<Answer>(command: Command): Promise<Answer>;
}

/**
 * Blocks of ids reserved in the document store; unique over tenants and kinds, below 2^53. Ids grow with time, but in a cluster each node has
 * blocks of its own: where the order of ids has a meaning over the nodes they are to be taken in order.
 */
export interface IdSource {
  next(): number;
  /** The id that `next` will give. */
  peek(): number;
  /**
   * An id whose documents lie in the shard of the actor `key`: for what that actor writes (alarms, events and operations of a source).
   * Ids in between are left out.
   */
  nextBeside(tenant: number, key: ActorKey): number;
  /**
   * Greater than all ids that were given in order before the call, by whichever node. For what is listed or chosen by its id: records of a tenant.
   * @throws PlatformError `general/documents-unavailable`: in a cluster each call is a round trip to the store.
   */
  nextInOrder(): Promise<number>;
  /** The same beside the actor of each key, ascending in the order of the keys: for operations, the oldest of which has a meaning. */
  nextBesideInOrder(tenant: number, keys: readonly ActorKey[]): Promise<number[]>;
}

/** Current state for reads by id (design 3). Values are JSON text. Committed state only. */
export interface DocumentReader {
  get(collection: Collection, tenant: number, id: string): string | undefined | Promise<string | undefined>;
  getMany(collection: Collection, tenant: number, ids: readonly string[]): (string | undefined)[] | Promise<(string | undefined)[]>;
  /** Ids (with values) in byte order that begin with `prefix`, after `after`, at most `limit`. */
  list(collection: Collection, tenant: number, prefix: string, options: { after?: string; limit: number }):
    { id: string; value: string }[] | Promise<{ id: string; value: string }[]>;
}

/**
 * Collections of the document store.
 * managedObject: id -> text of all members but links; externalId: `<type>\n<externalId>` -> {"managedObject":"1"};
 * externalIdsOf: `<moId>\n<type>\n<externalId>` -> ''; children: `<parent>\n<kind>\n<child>` -> LINKED or the maker (actors/handlers/inventory/child-links.ts);
 * parents: `<child>\n<kind>\n<parent>` -> '';
 * eventBinary: id of the event -> `EventBinary` (model/entities/event-binary.ts);
 * binary: id of a managed object -> `BinaryRecord`; availability: the same -> `AvailabilityState`; alarm, event, operation: id -> text;
 * openAlarm: `<source>\n<type>` and openAlarmLink: id of an alarm -> see actors/handlers/alarms/open-alarms.ts;
 * openOperation: `<device>\n<operation id>` -> see model/entities/operation.ts;
 * user: userName -> {"userName","password"(hash),"roles":[],"enabled"}; session: key -> SessionState; sessionMessage: `<key>\n<id 16 digits>`.
 */
export type Collection = 'managedObject' | 'binary' | 'availability'
  | 'externalId' | 'externalIdsOf' | 'children' | 'parents' | 'alarm' | 'event' | 'operation'
  | 'eventBinary' | 'openAlarm' | 'openAlarmLink' | 'openOperation' | 'session' | 'sessionMessage' | 'pending' | 'meta' | RecordCollection;

/** Who asks for a query: tenants take turns, and so do the users of a tenant. */
export interface QueryAsker {
  /** Number of the tenant. */
  readonly tenant: number;
  readonly user: string;
  /** Aborts when the client has left: the query waits and runs no longer. */
  readonly signal?: AbortSignal;
}

/** A row value of a history query. */
export interface HistoryReader {
  /**
   * Runs a SELECT after everything acknowledged before this call has become visible (read your writes).
   * `sql` has `{name:Type}` places, values are bound. Tables: see src/store/clickhouse/schema.ts.
   * @param asker absent for the server's own queries, which take turns as the tenant of the parameters and have no time limit.
   * @throws PlatformError `general/history-unavailable`, `general/query-too-large`, `general/busy`.
   */
  query<Row>(sql: string, params: Readonly<Record<string, unknown>>, asker?: QueryAsker): Promise<Row[]>;
  /** The same as a stream of text in `format` (CSV, JSONEachRow). */
  stream(sql: string, params: Readonly<Record<string, unknown>>, format: string): Promise<AsyncIterable<Uint8Array>>;
}

/** A notification on the live bus. */
export interface Notification {
  readonly tenant: number;
  readonly area: 'measurements' | 'events' | 'alarms' | 'managedobjects' | 'operations';
  /** Managed object id: the source, the device, or the object itself. */
  readonly source: string;
  readonly action: 'CREATE' | 'UPDATE' | 'DELETE';
  /** True for what was only passed on (TRANSIENT): there is nothing to link to. */
  readonly isUnstored?: boolean;
  /** The entity as JSON text with `source` but without `self` links; for DELETE the id as JSON string. Made when first asked for:
   * call at most once per subscriber batch, keep the text. */
  text(): string;
}

/** The live bus (in process | NATS core). Subscribers are called synchronously and must not throw or block. */
export interface LiveBus {
  /** True when somebody listens to the area in the tenant: publishers skip the work otherwise. */
  hasSubscribers(tenant: number, area: Notification['area']): boolean;
  publish(notification: Notification): void;
  /** @returns a function that ends the subscription. */
  subscribe(tenant: number, area: Notification['area'], listener: (notification: Notification) => void): () => void;
}
