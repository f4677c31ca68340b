/** Bodies of commands that write events, alarms, operations and managed objects. */
import type { ChildKind } from './links.ts';

/** Compact JSON text of an entity as the client sent it, without server-kept members: actors split it and do not parse it again. */
export type DocumentText = string;

export interface EventCreate {
  readonly id: string;
  readonly type: string;
  readonly time: number;
  readonly doc: DocumentText;
  /** Merged into the source (SmartREST 402: its position). */
  readonly managedObjectDoc?: DocumentText;
  /** Nothing is made of it when its parameters are known (SmartREST 408). */
  readonly unlessKnown?: boolean;
}
/** `doc` holds the members to merge (null removes). */
export interface EntityUpdate {
  readonly id: string;
  readonly doc: DocumentText;
}
export interface AlarmCreate {
  readonly id: string;
  readonly type: string;
  readonly time: number;
  readonly severity: string;
  readonly status: string;
  readonly doc: DocumentText;
  readonly user: string;
  /** Key of the application that asked for it, for the audit log. */
  readonly application?: string;
}
export interface AlarmUpdate extends EntityUpdate {
  readonly user: string;
  readonly application?: string;
}
/**
 * The binary of an event, compare and set: `expected` and `value` are texts of the collection `eventBinary` (undefined:
 * none). The event gets the fragments of `marks` (null removes one).
 */
export interface EventBinaryChange {
  readonly id: string;
  readonly expected: string | undefined;
  readonly value: string | undefined;
  readonly marks: DocumentText;
}
export interface AlarmOfTypeUpdate {
  readonly type: string;
  readonly doc: DocumentText;
  readonly user: string;
}
export interface ManagedObjectCreate {
  readonly id: string;
  readonly owner: string;
  readonly doc: DocumentText;
  /**
   * Links the new object below this parent as part of its creation. `isRequired`: without the link the object goes
   * again.
   */
  readonly parent?: { readonly id: string; readonly kind: ChildKind; readonly isRequired?: boolean };
  /** Content of the object, a `BinaryRecord`. */
  readonly binary?: BinaryRecord;
}
/** Content in the blobs: key, length in bytes, content type. */
export interface BinaryRecord {
  readonly key: string;
  readonly bytes: number;
  readonly contentType: string;
}
export interface ManagedObjectUpdate {
  readonly doc: DocumentText;
  readonly mayChangeOwner: boolean;
  /** Templates of a collection change: all devices of the tenant may use it. */
  readonly mayChangeTemplates?: boolean;
  /** Replaces the content. */
  readonly binary?: BinaryRecord;
  /** Members that are only set when absent (SmartREST 117). */
  readonly onlyWhenAbsent?: boolean;
  /** Ends the links by which agents act for the object: below their devices, and as their addition. */
  readonly leavesAgents?: boolean;
}
/** `alarmId` for a device that has fallen silent. */
export interface AvailabilitySet {
  readonly lastMessage: number;
  readonly isSilent: boolean;
  readonly connection?: 'CONNECTED' | 'DISCONNECTED';
  readonly alarmId?: string;
}
export interface OperationCreate {
  readonly id: string;
  readonly doc: DocumentText;
  readonly user: string;
  readonly application?: string;
  /**
   * Of a bulk operation: `doc` has its id, and for a device without an agent it is created as FAILED, so that nothing
   * is left out.
   */
  readonly isOfBulk?: boolean;
}
/** By `id`, or the oldest in `fromStatus` with `fragment` (SmartREST 501-503), or all of these (507). */
export interface OperationUpdate {
  readonly id?: string;
  readonly fragment?: string;
  readonly fromStatus?: string;
  /** Where none is in `fromStatus`: the oldest in this one (custom templates). */
  readonly orFromStatus?: string | undefined;
  readonly all?: boolean;
  readonly doc: DocumentText;
  readonly user: string;
  readonly application?: string;
  /** What the device answered (SmartREST 503, 506): its meaning depends on the operation. */
  readonly parameters?: readonly string[];
}
/** `id` of the object when it has to be made. */
export interface SoftwareListEnsure {
  readonly id: string;
}
export type SoftwareChangeWay = 'set' | 'add' | 'remove';
/** `packages`: JSON text of a list of entries (model/entities/software.ts). */
export interface SoftwareStep {
  readonly how: SoftwareChangeWay;
  readonly packages: string;
}
/** Steps in their order, all or none: the list is written once. */
export interface SoftwareChange {
  readonly steps: readonly SoftwareStep[];
}
/** Without an id: the profile of the oldest EXECUTING operation that has one. */
export interface DeviceProfileSet {
  readonly isExecuted: boolean;
  readonly profileId?: string;
}
