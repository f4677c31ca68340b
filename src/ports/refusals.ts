/** Who was refused and why, as far as it is known: for the log. */
export interface Refused {
  /** Tenant id, or the number of the tenant: the log has its id. */
  readonly tenant?: string | number | undefined;
  readonly user?: string | undefined;
  /** Client id of MQTT, or id of a managed object. */
  readonly device?: string | undefined;
  /** IP address. */
  readonly address?: string | undefined;
  readonly reason?: string | undefined;
}

/** For a limit of the node itself, and where the refused one is not known. */
export const UNATTRIBUTED: Refused = {};

/**
 * Counts refusals by the limit that was hit; every refusal tells the client, the log and this counter which one it was.
 */
export interface Refusals {
  /**
   * @param limit a short constant such as `mqtt/packet-size` or `journal/bytes`.
   * @param refused is logged, for one refusal of each limit and tenant in a while.
   */
  count(limit: string, refused: Refused): void;
}

/** Names the refused one for what only knows of a limit. */
export const refusalsOf = (refusals: Refusals, who: Refused): Refusals => ({
  count: (limit, refused) => refusals.count(limit, { ...who, ...refused }),
});
