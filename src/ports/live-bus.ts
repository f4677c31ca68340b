/** Port of notifications to real-time subscribers, in process or through NATS. */

/** A notification on the live bus. */
export interface Notification {
  readonly tenant: number;
  readonly area: 'measurements' | 'events' | 'alarms' | 'managedobjects' | 'operations';
  /** Managed object id: the source, the device, or the object itself. */
  readonly source: string;
  readonly action: 'CREATE' | 'UPDATE' | 'DELETE';
  /** True for what was only passed on (TRANSIENT): there is nothing to link to. */
  readonly isUnstored?: boolean;
  /** The entity's type, where it is known without reading the text; of a DELETE the type that it had. */
  readonly type?: string | undefined;
  /** `text` is as the server writes a measurement of a row: compact, without members of the user's but its fragments. */
  readonly isCanonical?: boolean;
  /** The entity as JSON text with `source` but without `self` links; for DELETE the id as JSON string. Made when first asked for:
   * call at most once per subscriber batch, keep the text. */
  text(): string;
}

/** A notification, and the record of the journal that it comes from. */
export interface RecordNotification {
  readonly seq: number;
  readonly notification: Notification;
}

/** The live bus (in process | NATS core). Subscribers are called synchronously and must not throw or block. */
export interface LiveBus {
  /** True when the area has a subscriber in the tenant: publishers skip the work otherwise. */
  hasSubscribers(tenant: number, area: Notification['area']): boolean;
  publish(notification: Notification): void;
  /** @returns a function that ends the subscription. */
  subscribe(tenant: number, area: Notification['area'], listener: (notification: Notification) => void): () => void;
}
