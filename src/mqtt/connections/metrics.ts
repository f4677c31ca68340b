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
   * So many PUBLISH packets were acknowledged (PUBACK, PUBREC) so long after they had been received; once per write and
   * read.
   */
  acknowledged(durationMs: number, count: number): void;
}
