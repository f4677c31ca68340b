/** Bodies of commands that write MQTT sessions. */
import type { MarkChange } from '../sessions/marks.ts';

/**
 * Bodies of the SESSION commands: `SessionSave` and, for messages and packet ids, `SessionMessage`. Key: `s:<session
 * key>`. `holder` is whose memory the session is in (model/sessions/holder.ts): from any other the command is refused
 * with `mqtt/session-elsewhere`. Nothing is checked without it.
 */
interface OfHolder {
  readonly session: string;
  readonly holder?: string;
}
/**
 * `after`: the holder whose state the new one has read, '' when there was no session; then `holder` has it from now on.
 */
export interface SessionSave extends OfHolder {
  readonly subscriptions: readonly (readonly [string, 0 | 1 | 2])[];
  readonly expirySeconds: number;
  readonly disconnectedAt: number;
  readonly after?: string;
}
export interface SessionMessage extends OfHolder {
  readonly id: number;
  readonly topic: string;
  /** Base64. */
  readonly payload: string;
  readonly qos: 0 | 1 | 2;
  /** The client has received it (QoS 2). */
  readonly isReleased?: boolean;
  /** See model/sessions/marks.ts. */
  readonly mark?: string;
}
export interface SessionMessageRemove extends SessionItem, OfHolder {
  readonly marks?: MarkChange;
}
/** `after` as in SessionSave. */
export interface SessionRemove extends OfHolder {
  readonly after?: string;
}
/**
 * Ends the session if its time is over at `receivedAt`. One that is stored as connected has lost its connection to a
 * crash: `disconnectedAt` becomes `lostAt`, and its time runs from then.
 */
export interface SessionExpire {
  readonly session: string;
  readonly lostAt: number;
  /** Nothing happens when another holder has had it since. Absent when there was no holder. */
  readonly holder?: string;
}
/** `id` is a message's or a packet's. */
export interface SessionItem {
  readonly session: string;
  readonly id: number;
}
/** `shards`: where the packet's receipts are; all of the session's when absent. */
export interface SessionRelease extends SessionItem, OfHolder {
  readonly shards?: readonly number[];
}
export interface SessionShard extends OfHolder {
  readonly shard: number;
}
/**
 * Of packet `id` the shard has part `part` (0, 1, …, most messages have one), which is one of `parts` over all shards.
 */
export interface SessionReceipt extends SessionItem, OfHolder {
  readonly part: number;
  readonly parts: number;
}
export interface SessionReceipts extends OfHolder {
  readonly id?: number;
}
export type StoredReceipt = Pick<SessionReceipt, 'id' | 'part' | 'parts'> & { readonly holder: string };
