import type { Refusals } from '../model/refusals.ts';

/** What the front end reports; the counters themselves belong to the caller. */
export interface MqttMetrics extends Refusals {
  /** Open network connections, after each change. */
  connections(count: number): void;
  /** PUBLISH packets, reported once per socket read (in) or per write (out). */
  messages(direction: 'in' | 'out', qos: number, count: number): void;
}
