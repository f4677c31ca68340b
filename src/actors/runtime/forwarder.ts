/**
 * Port to the topics of Notifications 2.0 (docs/internals/notifications.md): what the actors decided goes there with
 * the commit that makes it state, so that a replay brings each message into a topic once.
 */
import type { RecordNotification } from '../../ports/live-bus.ts';
import type { DocumentChange } from '../../ports/stores/documents.ts';

/** What a group brings to topics. */
export interface ForwardedGroup {
  /** Part of the group's commit. */
  readonly documents: readonly DocumentChange[];
  /** To be called once they are stored. */
  committed(): void;
}

export interface Forwarder {
  /** False: nothing goes to any topic. Asked once for each group. */
  readonly isActive: boolean;
  wants(tenant: number): boolean;
  /** Asked for each measurement while it is active. */
  wantsMeasurements(tenant: number, source: number): boolean;
  /**
   * @param told of one group, in the order of its records. @returns undefined when nothing goes to a topic. A promise
   * never rejects; the group and all behind it wait for it.
   */
  forward(told: readonly RecordNotification[]): ForwardedGroup | undefined | Promise<ForwardedGroup | undefined>;
  /** `forward` has failed all the same: logs and counts it. The group is committed without its topics. */
  failed(error: unknown): void;
}
