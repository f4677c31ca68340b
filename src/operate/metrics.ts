/** What /metrics shows (Prometheus text). Counting is cheap: plain numbers, read on request. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Log } from '../ports/log.ts';
import type { Refusals, Refused } from '../ports/refusals.ts';

/** Upper bounds of the acknowledgement latency, seconds. */
const LATENCY_BOUNDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

const ACKNOWLEDGEMENT = 'millrace_acknowledgement_latency_seconds';
const COMMIT = 'millrace_group_commit_latency_seconds';

/** A limit that a tenant hits again and again is logged once in this time, with its count. */
const LOG_EVERY_MS = 10_000;
/** Limits and tenants whose last line is remembered; beyond it the oldest is forgotten. */
const LOGGED_MAX = 10_000;

/** Histogram that takes many observations of one value at once; prom-client's takes one at a time. */
class LatencyHistogram {
  readonly #name: string;
  readonly #labels: string;
  readonly #counts = new Float64Array(LATENCY_BOUNDS.length + 1);
  #sum = 0;
  #count = 0;

  /** @param labels as in the text format, `protocol="mqtt"`; may be empty. */
  constructor(name: string, labels: string) {
    this.#name = name;
    this.#labels = labels;
  }

  observe(seconds: number, times: number): void {
    let bucket = 0;
    while (bucket < LATENCY_BOUNDS.length && seconds > LATENCY_BOUNDS[bucket]) bucket += 1;
    this.#counts[bucket] += times;
    this.#sum += seconds * times;
    this.#count += times;
  }

  static head(name: string, help: string): string {
    return `# HELP ${name} ${help}\n# TYPE ${name} histogram\n`;
  }

  /** Without the head. */
  toText(): string {
    const name = this.#name;
    const all = this.#labels === '' ? '' : `{${this.#labels}}`;
    const labels = this.#labels === '' ? '' : `${this.#labels},`;
    let text = '';
    let below = 0;
    for (let bucket = 0; bucket < LATENCY_BOUNDS.length; bucket += 1) {
      below += this.#counts[bucket];
      text += `${name}_bucket{${labels}le="${LATENCY_BOUNDS[bucket]}"} ${below}\n`;
    }
    return `${text}${name}_bucket{${labels}le="+Inf"} ${this.#count}\n${name}_sum${all} ${this.#sum}\n${name}_count${all} ${this.#count}\n`;
  }
}

export class Metrics implements Refusals {
  readonly registry = new Registry();
  /** Of PUBLISH with QoS 1 and 2, until PUBACK or PUBREC. */
  readonly mqttLatency = new LatencyHistogram(ACKNOWLEDGEMENT, 'protocol="mqtt"');
  /** Of requests that write, until the answer. */
  readonly httpLatency = new LatencyHistogram(ACKNOWLEDGEMENT, 'protocol="http"');
  readonly commitLatency = new LatencyHistogram(COMMIT, '');
  readonly messages: Counter;
  readonly #log: Log;
  readonly #refusals = new Map<string, number>();
  /** By limit and tenant, the oldest line first. */
  readonly #logged = new Map<string, { readonly at: number; since: number }>();
  readonly #counters = new Map<string, Counter>();
  #tenantIdOf: (number: number) => string | undefined = () => undefined;
  readonly #delay = monitorEventLoopDelay({ resolution: 10 });

  /** @param log hears of each limit that a tenant hits, at most once in LOG_EVERY_MS. */
  constructor(log: Log) {
    this.#log = log;
    this.#delay.enable();
    const refusals = this.#refusals;
    this.registry.registerMetric(
      new Counter({
        name: 'millrace_refusals_total',
        help: 'What was refused, dropped, delayed or disconnected, by the limit that it hit',
        labelNames: ['limit'],
        registers: [],
        collect() {
          this.reset();
          for (const [limit, count] of refusals) this.inc({ limit }, count);
        },
      }),
    );
    this.messages = this.counter('millrace_messages_total', 'Messages by protocol and result', ['protocol', 'result']);
    this.gauge('millrace_resident_memory_bytes', 'Resident memory of the server process', () =>
      process.memoryUsage.rss(),
    );
    this.gauge('millrace_heap_used_bytes', 'JavaScript heap in use', () => process.memoryUsage().heapUsed);
    this.gauge('millrace_event_loop_delay_p99_seconds', 'Event-loop delay since the last scrape', () => {
      const seconds = this.#delay.percentile(99) / 1e9;
      this.#delay.reset();
      return Number.isFinite(seconds) ? seconds : 0;
    });
  }

  /** From now on the log names tenants of which only the number is given. */
  nameTenants(idOf: (number: number) => string | undefined): void {
    this.#tenantIdOf = idOf;
  }

  count(limit: string, refused: Refused): void {
    const count = (this.#refusals.get(limit) ?? 0) + 1;
    this.#refusals.set(limit, count);
    const tenant =
      typeof refused.tenant === 'number' ? (this.#tenantIdOf(refused.tenant) ?? refused.tenant) : refused.tenant;
    const key = tenant === undefined ? limit : `${limit}\n${tenant}`;
    const now = performance.now();
    const last = this.#logged.get(key);
    if (last !== undefined && now - last.at < LOG_EVERY_MS) {
      last.since += 1;
      return;
    }
    this.#logged.delete(key);
    this.#logged.set(key, { at: now, since: 0 });
    if (this.#logged.size > LOGGED_MAX) this.#logged.delete(this.#logged.keys().next().value as string);
    const unlogged = last === undefined || last.since === 0 ? {} : { unlogged: last.since };
    this.#log.warn(
      { limit, count, ...unlogged, ...refused, ...(tenant === undefined ? {} : { tenant }) },
      `refused by the limit ${limit}`,
    );
  }

  /** By limit, since the start. */
  get refusalCounts(): ReadonlyMap<string, number> {
    return this.#refusals;
  }

  /** A value that is read on request. */
  gauge(name: string, help: string, read: () => number): void {
    this.registry.registerMetric(
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          this.set(read());
        },
      }),
    );
  }

  /** A count that only grows, kept elsewhere and read on request. */
  total(name: string, help: string, read: () => number): void {
    this.registry.registerMetric(
      new Counter({
        name,
        help,
        registers: [],
        collect() {
          this.reset();
          this.inc(read());
        },
      }),
    );
  }

  /** A family of values with one label, read on request. */
  gauges(name: string, help: string, label: string, read: () => Iterable<readonly [string, number]>): void {
    this.registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [],
        collect() {
          this.reset();
          for (const [value, number] of read()) this.set({ [label]: value }, number);
        },
      }),
    );
  }

  counter(name: string, help: string, labelNames: string[]): Counter {
    let counter = this.#counters.get(name);
    if (!counter) {
      counter = new Counter({ name, help, labelNames, registers: [this.registry] });
      this.#counters.set(name, counter);
    }
    return counter;
  }

  /** @param buckets upper bounds, ascending */
  histogram(name: string, help: string, buckets: readonly number[]): Histogram {
    return new Histogram({ name, help, buckets: [...buckets], registers: [this.registry] });
  }

  async text(): Promise<string> {
    return (
      `${await this.registry.metrics()}\n` +
      LatencyHistogram.head(
        ACKNOWLEDGEMENT,
        'Time from the receipt of a PUBLISH or a writing request until its PUBACK, PUBREC or answer is written',
      ) +
      this.mqttLatency.toText() +
      this.httpLatency.toText() +
      LatencyHistogram.head(
        COMMIT,
        'Time from the first record of a group commit until it is durable, counted for each record',
      ) +
      this.commitLatency.toText()
    );
  }

  stop(): void {
    this.#delay.disable();
  }
}
