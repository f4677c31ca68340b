/** What the suite asks of a generator process, and what that answers. Both travel as JSON over the process channel. */
import type { Published } from './mqtt-packets.ts';
import type { LatencySummary } from '../statistics.ts';
import type { Usage } from '../process-figures.ts';

export interface Target {
  host: string;
  port: number;
  userName: string;
  password: string;
  /** Ports of the other nodes of a cluster: connections take all of them in turn. */
  otherPorts?: number[];
}

/** @returns where the connection of this number goes. */
export function portOf(target: Target, index: number): number {
  const ports = [target.port, ...(target.otherPorts ?? [])];
  return ports[index % ports.length]!;
}

interface Windowed {
  warmUpMs: number;
  measureMs: number;
  /** Server process first, then its children: their CPU time is read at both edges of the window. */
  pids: number[];
}

/** QoS 1, closed loop: each connection keeps `inFlight` messages unacknowledged. */
export interface MqttClosedJob extends Windowed {
  kind: 'mqtt-closed';
  target: Target;
  connections: number;
  inFlight: number;
  /** Instead of the standard rows on `s/us`. */
  published?: Published;
  /** They make no measurements, whose rows would be counted. */
  isEntity?: boolean;
  /** One more connection subscribes (QoS 0) to what is published and reads it. */
  subscribe?: boolean;
  /** The server is killed during the window: closed connections are no failure. */
  serverDies?: boolean;
}

/** QoS 0; a PINGREQ ends each burst and its PINGRESP lets the next one go. `subscribe` counts what is relayed. */
export interface MqttFloodJob extends Windowed {
  kind: 'mqtt-flood';
  target: Target;
  connections: number;
  burst: number;
  bursts: number;
  subscribe: boolean;
}

/** QoS 1, open loop: bursts at fixed times, whatever the acknowledgements do. */
export interface MqttPacedJob extends Windowed {
  kind: 'mqtt-paced';
  target: Target;
  connections: number;
  ratePerSecond: number;
  burst: number;
  clientPrefix: string;
  /** It has no core of its own: it sleeps a millisecond at a time where it would otherwise wait at full load. */
  sharesCores?: boolean;
}

/** Opens `count` connections one after the other, `parallel` at a time, and measures until the last CONNACK. */
export interface MqttConnectJob {
  kind: 'mqtt-connect';
  target: Target;
  count: number;
  parallel: number;
  pids: number[];
}

/** Opens connections and holds them until told to finish. */
export interface MqttIdleJob {
  kind: 'mqtt-idle';
  target: Target;
  count: number;
  clientPrefix: string;
}

/** What a POST makes that is not a measurement. An alarm has a type of its own each time: none is a repeat. */
export type BenchEntity = 'managedObject' | 'event' | 'alarm';

/** POST, closed loop: one request at a time on each keep-alive connection. */
export interface HttpClosedJob extends Windowed {
  kind: 'http-closed';
  target: Target;
  connections: number;
  sources: string[];
  measurementsPerBody: number;
  /** Ends after this many requests instead of after the window. */
  requests?: number;
  /** Time of the first body's measurements (ms since 1970) and the step from one body to the next. */
  firstTimeMs: number;
  stepMs: number;
  /** POST one of these in place of measurements, and count them. */
  entity?: BenchEntity;
  /** GET this path with its query instead. */
  get?: string;
}

/** Publishes numbered measurements of one device and waits for each at a WebSocket subscriber. */
export interface LiveJob {
  kind: 'live';
  target: Target;
  httpPort: number;
  measureMs: number;
  ratePerSecond: number;
  clientId: string;
}

/** Publishes a numbered measurement and polls a query without a flush until it is there. */
export interface VisibleJob {
  kind: 'visible';
  target: Target;
  httpPort: number;
  measureMs: number;
  probes: number;
  clientPrefix: string;
}

/** Measurements of devices through topics of Notifications 2.0 to one consumer each. */
export interface TopicsJob {
  kind: 'topics';
  target: Target;
  httpPort: number;
  /** Load before the measured window, of which no time is taken. */
  warmUpMs: number;
  measureMs: number;
  devices: number;
  topics: number;
  ratePerSecond: number;
  /** Instead of what the rate brings in the warm-up and the window. */
  messages?: number;
  /** The consumers come when everything is published and acknowledged. */
  drains: boolean;
  /** Begins the names of the topics; letters and digits. */
  name: string;
  clientPrefix: string;
}

export interface TopicsResult {
  sent: number;
  received: number;
  /** Frames that came a second time. */
  again: number;
  publishedPerSecond: number;
  receivedPerSecond: number;
  /** From the publication to the frame. */
  latency: LatencySummary;
}

/** GETs the paths in turn on one connection; paths may be many, `name` says which histogram each belongs to. */
export interface QueryJob {
  kind: 'query';
  target: Target;
  measureMs: number;
  warmUpMs: number;
  queries: { name: string; path: string }[];
  /** With X-Millrace-No-Flush: the history is asked each time, also for what is in memory. */
  isCold?: boolean;
  /** Ends after this many requests instead of after the window; there is no warm-up then. */
  requests?: number;
  /** Server process first: what its CPU time is read of at both ends. */
  pids?: number[];
}

/** Wrong passwords of invented names, `concurrent` at a time, until told to finish. */
export interface WrongPasswordsJob {
  kind: 'wrong-passwords';
  target: Target;
  protocol: 'http' | 'mqtt';
  concurrent: number;
}

export type Job =
  | MqttClosedJob
  | MqttFloodJob
  | MqttPacedJob
  | MqttConnectJob
  | MqttIdleJob
  | HttpClosedJob
  | LiveJob
  | VisibleJob
  | TopicsJob
  | QueryJob
  | WrongPasswordsJob;

/** Figures of a measured window. */
export interface WindowResult {
  measuredMs: number;
  /**
   * Messages acknowledged (QoS 1), answered (HTTP), relayed (QoS 0 with a subscriber) or sent and passed by (QoS 0).
   */
  windowCount: number;
  /** The same from the first message to the last, warm-up and drain included. */
  totalCount: number;
  /** Sent in all. */
  totalSent: number;
  /** Refused or answered with an error. */
  failed: number;
  generatorCpuSeconds: number;
  before: Usage;
  after: Usage;
  latency?: LatencySummary;
  /** Bursts sent more than a millisecond after their time: the generator's own delay. */
  lateBursts?: number;
}

export interface ConnectResult {
  count: number;
  elapsedMs: number;
  generatorCpuSeconds: number;
  before: Usage;
  after: Usage;
  latency: LatencySummary;
}
export interface ProbeResult {
  sent: number;
  lost: number;
  latency: LatencySummary;
}
export interface QueryResult {
  latencies: Record<string, LatencySummary>;
  failed: number;
  smallestAnswerBytes: number;
  before: Usage;
  after: Usage;
}

export type Answer =
  | { kind: 'connected'; count: number }
  | { kind: 'window-start' }
  | { kind: 'window-end' }
  | { kind: 'result'; result: unknown }
  | { kind: 'failed'; message: string };
