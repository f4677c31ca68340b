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
  /** Of a DELETE: the type that the entity had. */
  readonly deletedType?: string | undefined;
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
