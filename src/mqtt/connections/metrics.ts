import type { Refusals } from '../../ports/refusals.ts';

/** What the front end reports; the counters themselves belong to the caller. */
export interface MqttMetrics extends Refusals {
  /** Open network connections, after each change. */
  connections(count: number): void;
  /** PUBLISH packets, reported once per socket read (in) or per write (out). */
  messages(direction: 'in' | 'out', qos: number, count: number): void;
  /** PUBLISH packets of one connection, once per socket read. */
  received?(tenantNumber: number, count: number): void;
  /**
   * Counts PUBLISH packets that were acknowledged (PUBACK, PUBREC), with the time since they were received; once per
   * write and read.
   */
  acknowledged(durationMs: number, count: number): void;
}
