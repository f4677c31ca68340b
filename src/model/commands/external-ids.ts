/** Bodies of commands that bind external IDs, and find or create devices by them. */
import type { DocumentText } from './entities.ts';
import type { ChildKind } from './links.ts';

export interface ExternalIdBind {
  readonly type: string;
  readonly externalId: string;
  readonly managedObject: string;
  /** Of a template collection: the user who makes it, for shares. */
  readonly by?: string;
}
/**
 * Of commands that bind: the user for whom the actor asks `isSerialOfOther`; absent for a user who may bind any serial
 * number.
 */
export interface SerialClaim {
  readonly claimant?: string;
}
export type ExternalIdClaim = ExternalIdBind & SerialClaim;
/**
 * Answers `{id, created}`: the managed object bound to the external ID, made from `doc` with `id` when there is none.
 */
export interface DeviceEnsure {
  readonly type: string;
  readonly externalId: string;
  readonly id: string;
  readonly owner: string;
  readonly doc: DocumentText;
  readonly parent?: { readonly id: string; readonly kind: ChildKind };
  /** As in `ExternalIdBind`. */
  readonly by?: string;
  /** When it exists: merge `doc` into it (SmartREST 102 repeated) instead of leaving it alone. */
  readonly updateExisting?: boolean;
  /** When it exists: refuse it unless it is `owner`'s. */
  readonly mustOwn?: boolean;
}
/** `mayUpdate` is the object that the gateway has found the user to have the right to change. */
export type DeviceEnsureChecked = DeviceEnsure & SerialClaim & { readonly mayUpdate?: string };
