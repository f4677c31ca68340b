/**
 * Counts refusals by the limit that was hit; every refusal tells the client, the log and this counter which one it was.
 */
export interface Refusals {
  /** @param limit a short constant such as `mqtt/packet-size` or `journal/bytes`. */
  count(limit: string): void;
}
