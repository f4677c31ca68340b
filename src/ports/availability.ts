/** Where gateways report what they hear (jobs/availability/monitor.ts). */
export interface AvailabilityPort {
  /** A message of the device has come. Bound: may be passed on alone. */
  readonly heard: (tenant: number, device: number, at: number) => void;
  /** Time of the last message, when it is in memory, in a cluster on whatever node. */
  lastHeard(device: number): number | undefined | Promise<number | undefined>;
}
