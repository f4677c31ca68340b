/** Who was refused and why, as far as it is known: for the log. */
export interface Refused {
  /** Tenant id. */
  readonly tenant?: string | undefined;
  readonly user?: string | undefined;
  /** Client id of MQTT, or id of a managed object. */
  readonly device?: string | undefined;
  /** IP address. */
  readonly address?: string | undefined;
  readonly reason?: string | undefined;
}

/**
 * Counts refusals by the limit that was hit; every refusal tells the client, the log and this counter which one it was.
 */
export interface Refusals {
  /**
   * @param limit a short constant such as `mqtt/packet-size` or `journal/bytes`.
   * @param refused is logged, for one refusal of each limit and tenant in a while.
   */
  count(limit: string, refused?: Refused): void;
}
