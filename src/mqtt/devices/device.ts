/** A connected device as the parts of the application see it that plan its messages and bring it operations. */
import type { DeviceConnection } from '../sessions/application.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import type { TunnelState } from './tunnel.ts';
import type { DeviceReplies } from './replies.ts';

/**
 * By which right an object was opened: as its owner or with the roles for all that is written, by something above it, by
 * a role that is not for all of it, or not at all.
 */
export type OpeningRight = 'lasting' | 'linked' | 'limited' | 'none';

export interface Device {
  readonly tenantNumber: number;
  readonly serial: string;
  /** Managed object; 0 until it is known. */
  readonly source: number;
  /** By which right it was opened. */
  right: OpeningRight;
  readonly connection: DeviceConnection;
  readonly acknowledgements: Acknowledgements;
  readonly replies: DeviceReplies;
  /** X-ID of the default template collection, the third part of the client ID; empty: none. */
  readonly defaultXId: string;
  /** On which topics operations are received, bits of RECEIVE. */
  readonly operationTopics: number;
  /** Of SmartREST 1.0. */
  readonly tunnel: TunnelState;
  /**
   * @param bit CUSTOM or SMARTREST1_OPERATIONS of RECEIVE. @returns X-IDs of its subscriptions, undefined for one to
   * several.
   */
  receivedXIds(bit: number): readonly (string | undefined)[];
  /** Whether it receives operations, or did. */
  readonly hasReceived: boolean;
  /** A 100 made the object: the same message, offered again, is not a repetition. */
  createdBy100: boolean;
  /**
   * Ids of objects that were made first for the message that is offered again, by their external IDs: its own rows make
   * them (custom-messages.ts).
   */
  madeFirst: ReadonlyMap<string, string> | undefined;
  /** The managed object of the device is known (again). */
  opened(source: number, right: OpeningRight): void;
  /** The managed object is deleted: the next message finds or creates it again. */
  forgetSource(): void;
  /** The managed object, or the serial of one that is still to come, is not the user's: the connection ends. */
  refuseSource(): void;
}
