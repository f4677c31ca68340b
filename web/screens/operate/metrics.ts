/** What the page keeps of the server's state: a sample every 2 s for 15 minutes, also while other screens are open. */
import { signal } from '@preact/signals';
import { getJson } from '../../core/api/json.ts';
import { sendRaw } from '../../core/api/send.ts';

export const SAMPLE_EVERY_MS = 2_000;
/** 15 minutes. */
const SAMPLES_MAX = 450;

export interface Part extends Readonly<Record<string, unknown>> {
  readonly ready: boolean;
  readonly lagRecords?: number;
}

export interface Consumer {
  readonly topic: string;
  readonly subscriber: string;
  readonly shared: boolean;
  readonly connections: number;
  readonly unacknowledged: number;
  readonly behind: boolean;
  readonly topicMessages: number;
  readonly topicBytes: number;
}

export interface Node {
  readonly node: string;
  readonly state: 'ready' | 'not-ready' | 'leaving' | 'silent';
  readonly roles: readonly string[];
  readonly lag?: number;
  readonly connections?: number;
  readonly shards?: number;
  readonly uptimeSeconds?: number;
  readonly version?: string;
  readonly notReady?: readonly string[];
}

/** Of `GET /millrace/status`; `nodes` and `refusals` are for operators, `consumers` for those who administer them. */
export interface Status {
  readonly node: string;
  readonly time: string;
  readonly uptimeSeconds: number;
  readonly ready: boolean;
  readonly parts: Readonly<Record<string, Part>>;
  readonly nodes?: readonly Node[];
  readonly refusals?: readonly { readonly limit: string; readonly count: number }[];
  readonly consumers?: readonly Consumer[];
}

/** A line of Prometheus' text form. */
export interface Metric {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): readonly Metric[] {
  return text.split('\n').flatMap((line) => {
    const found = line.startsWith('#') ? null : LINE.exec(line);
    if (found === null) return [];
    const labels = Object.fromEntries([...(found[2] ?? '').matchAll(LABEL)].map(([, name, value]) => [name, value]));
    return [{ name: found[1], labels, value: Number(found[3]) }];
  });
}

export const sumOf = (
  metrics: readonly Metric[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number =>
  metrics
    .filter((one) => one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);

export interface Sample {
  readonly atMs: number;
  readonly node: string;
  readonly lagRecords: number;
  readonly messages: number;
  readonly connections: number;
  readonly memoryBytes: number;
}

/** Records that the stage that is furthest behind has still to do. */
export const lagOf = (parts: Status['parts']): number =>
  Math.max(0, ...Object.values(parts).map(({ lagRecords }) => lagRecords ?? 0));

/** Messages per second between samples of one node; a counter that fell is of a node that started anew. */
export function ratesOf(samples: readonly Sample[]): number[] {
  return samples.slice(1).flatMap((sample, index) => {
    const before = samples[index];
    const seconds = (sample.atMs - before.atMs) / 1_000;
    if (sample.node !== before.node || seconds <= 0 || sample.messages < before.messages) return [];
    return [(sample.messages - before.messages) / seconds];
  });
}

/** Messages that came over MQTT, of all qualities of service. */
export const mqttMessages = (metrics: readonly Metric[]): number =>
  ['mqtt-qos0', 'mqtt-qos1', 'mqtt-qos2'].reduce(
    (sum, protocol) => sum + sumOf(metrics, 'millrace_messages_total', { protocol, result: 'received' }),
    0,
  );

export const samples = signal<readonly Sample[]>([]);

export interface ServerState {
  readonly status: Status;
  /** For operators. */
  readonly metrics: readonly Metric[] | undefined;
}

/** Asks for the state and keeps a sample of it. @throws ApiError. */
export async function readState(abort: AbortSignal): Promise<ServerState> {
  const status = await getJson<Status>('/millrace/status', abort);
  if (status.refusals === undefined) return { status, metrics: undefined };
  const metrics = parseMetrics(
    await (await sendRaw('/metrics', { signal: abort, headers: { Accept: 'text/plain' } })).text(),
  );
  const sample: Sample = {
    atMs: Date.now(),
    node: status.node,
    lagRecords: lagOf(status.parts),
    messages: mqttMessages(metrics),
    connections: sumOf(metrics, 'millrace_connections', { protocol: 'mqtt' }),
    memoryBytes: sumOf(metrics, 'millrace_resident_memory_bytes'),
  };
  samples.value = [...samples.peek(), sample].slice(-SAMPLES_MAX);
  return { status, metrics };
}
