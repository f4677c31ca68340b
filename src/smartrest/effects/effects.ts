/**
 * What a row of a static template asks for. The device link carries it out: it knows the managed object behind the
 * topic, adds `source` and ids, and makes commands of it. All JSON texts are objects without `id` and `source`.
 */
import type { AlarmSeverity } from '../../model/entities/alarm.ts';
import type { DocumentText, SoftwareStep } from '../../model/commands/entities.ts';
import type { OperationStatus } from '../../model/entities/operation.ts';

/** Whom a row is about. */
export interface RowContext {
  /** External ID (`c8y_Serial`) of the object that the topic names: the connected device or `s/us/<child>`. */
  readonly serial: string;
  /** The topic names a child or service of the connected device. */
  readonly isChild: boolean;
  /** When the message arrived, ms since 1970: the default of every time. */
  readonly now: number;
}

/**
 * 100. An existing object keeps name and type and the row is answered with `existingDeviceError`
 * (docs/spec/mqtt.md#new-devices).
 */
export interface EnsureDevice {
  readonly kind: 'ensureDevice';
  readonly externalId: string;
  readonly isChild: boolean;
  readonly name: string;
  readonly type: string;
  readonly doc: DocumentText;
}
/** 101, below the topic's object in `childDevices`. An existing one: as for 100. */
export interface EnsureChild {
  readonly kind: 'ensureChild';
  readonly externalId: string;
  readonly name: string;
  readonly type: string;
  readonly isChildDevice: boolean;
  readonly doc: DocumentText;
}
/** 102, below the topic's object in `childAdditions`; `doc` is merged into an existing one. */
export interface EnsureService {
  readonly kind: 'service';
  readonly externalId: string;
  readonly serviceType: string;
  readonly name: string;
  readonly status: string;
  readonly doc: DocumentText;
}
/** Merges `doc` into the topic's object; null removes. */
export interface ManagedObjectChange {
  readonly kind: 'managedObject';
  readonly doc: DocumentText;
  readonly onlyWhenAbsent?: boolean;
}
export interface MeasuredValue {
  readonly fragment: string;
  readonly series: string;
  readonly value: number;
  /** The number as JSON text, as sent where JSON allows it. */
  readonly text: string;
  readonly unit: string;
}
export interface NewMeasurement {
  readonly kind: 'measurement';
  readonly type: string;
  readonly time: number;
  readonly values: readonly MeasuredValue[];
}
export interface RaiseAlarm {
  readonly kind: 'alarm';
  readonly type: string;
  readonly severity: AlarmSeverity;
  readonly text: string;
  readonly time: number;
  readonly doc: DocumentText;
}
/** Merges `doc` into the ACTIVE or ACKNOWLEDGED alarm of the type. */
export interface AlarmOfTypeChange {
  readonly kind: 'alarmOfType';
  readonly type: string;
  readonly doc: DocumentText;
}
export interface NewEvent {
  readonly kind: 'event';
  readonly type: string;
  readonly text: string;
  readonly time: number;
  readonly doc: DocumentText;
  /** 402: `{"c8y_Position":…}`, to be merged into the topic's object. */
  readonly position?: DocumentText;
  /** Of an event that rows behind it may mean: its id, chosen before. */
  readonly id?: string;
  /** 408: nothing is made of it when its values are known. */
  readonly unlessKnown?: boolean;
}
/** 407: merges `doc` into the newest event of the type. */
export interface EventOfTypeChange {
  readonly kind: 'eventOfType';
  readonly type: string;
  readonly doc: DocumentText;
}
/** 140 to 142: changes of the list of software of the topic's object. */
export interface SoftwareRows {
  readonly kind: 'software';
  readonly steps: readonly SoftwareStep[];
}
/** 121: `c8y_Profile` of the topic's object. Without an id: of the oldest EXECUTING operation with a profile. */
export interface ProfileChange {
  readonly kind: 'profile';
  readonly isExecuted: boolean;
  readonly profileId?: string;
}
/**
 * By `id`, else the oldest in `fromStatus` with `fragment`; `all` of them for 507, of every fragment when it is absent.
 */
export interface OperationChange {
  readonly kind: 'operation';
  readonly id?: string;
  readonly fragment?: string;
  readonly fromStatus?: OperationStatus;
  readonly all?: boolean;
  readonly doc: DocumentText;
  /**
   * 503 and 506: what the device answered, may be empty. `operationResult` says what becomes of it once the operation
   * is known.
   */
  readonly parameters?: readonly string[];
}
/** A row on `s/ds`: `106,<child>,…`, `124,<id>`, `601,<version>`, `603,<id>,…`, or the pending operations as if new. */
export interface Reply {
  readonly kind: 'reply';
  readonly what: 'children' | 'managedObjectId' | 'pendingOperations' | 'version' | 'templates';
}
/** 125: counts as a sign of life, as every message does. */
export interface Heartbeat {
  readonly kind: 'heartbeat';
}

export type Effect =
  | EnsureDevice
  | EnsureChild
  | EnsureService
  | ManagedObjectChange
  | NewMeasurement
  | RaiseAlarm
  | AlarmOfTypeChange
  | NewEvent
  | EventOfTypeChange
  | ProfileChange
  | SoftwareRows
  | OperationChange
  | Reply
  | Heartbeat;
