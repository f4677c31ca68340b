/** The figures to reach, as ratios within one run or as limits, and how a run stands to them. Pure. */
import { valuesOf, type Sample } from './scenario.ts';
import { median, spread } from './statistics.ts';

export interface TargetFigure {
  what: string;
  scenario: string;
  subject: string;
  value: string;
  /** The figure is divided by this subject's. */
  relativeTo?: string;
  atLeast?: number;
  atMost?: number;
  unit: string;
}

const millrace = { subject: 'millrace', value: 'ratePerSecond', unit: '×' } as const;

export const TARGETS: readonly TargetFigure[] = [
  {
    ...millrace,
    what: 'QoS 1, 100 connections, 16 in flight',
    scenario: 'qos1-100x16',
    relativeTo: 'mosquitto',
    atLeast: 1.8,
  },
  {
    ...millrace,
    what: 'QoS 1, 100 connections, 16 in flight',
    scenario: 'qos1-100x16',
    relativeTo: 'aedes-relay',
    atLeast: 2.5,
  },
  {
    ...millrace,
    what: 'QoS 1, 1,000 connections, 1 in flight',
    scenario: 'qos1-1000x1',
    relativeTo: 'mosquitto',
    atLeast: 0.45,
  },
  {
    ...millrace,
    what: 'QoS 1, 1,000 connections, 1 in flight',
    scenario: 'qos1-1000x1',
    relativeTo: 'aedes-relay',
    atLeast: 1.3,
  },
  {
    what: 'processor time of a custom measurement',
    scenario: 'qos1-100x16-custom',
    subject: 'custom',
    value: 'serverMicrosPerMessage',
    relativeTo: 'static 200',
    atMost: 1.5,
    unit: '×',
  },
  {
    ...millrace,
    what: 'QoS 0, 100 connections, rows visible',
    scenario: 'qos0-100',
    relativeTo: 'mosquitto',
    atLeast: 1.5,
  },
  {
    ...millrace,
    what: 'POST of one measurement, 512 connections',
    scenario: 'http-one',
    relativeTo: 'bare-uws',
    atLeast: 0.45,
  },
  {
    ...millrace,
    what: 'POST of one measurement, 512 connections',
    scenario: 'http-one',
    relativeTo: 'fastify',
    atLeast: 1,
  },
  { ...millrace, what: 'POST of 1,000 measurements', scenario: 'http-1000', relativeTo: 'bare-uws', atLeast: 0.5 },
  {
    what: 'acknowledgement at half load, p99',
    scenario: 'latency',
    subject: 'millrace',
    value: 'p99Ms',
    atMost: 25,
    unit: 'ms',
  },
  {
    what: 'to a live subscriber, p99',
    scenario: 'live',
    subject: 'to subscriber',
    value: 'p99Ms',
    atMost: 50,
    unit: 'ms',
  },
  {
    what: 'to a query without a flush, p99',
    scenario: 'live',
    subject: 'to query',
    value: 'p99Ms',
    atMost: 1_000,
    unit: 'ms',
  },
  {
    what: 'idle MQTT connection',
    scenario: 'idle',
    subject: 'millrace',
    value: 'bytesPerConnection',
    atMost: 8_192,
    unit: 'bytes',
  },
  {
    what: 'new connections',
    scenario: 'connect',
    subject: 'millrace',
    value: 'ratePerSecond',
    atLeast: 5_000,
    unit: '/s',
  },
  {
    what: 'last 100 values of one device, p99',
    scenario: 'queries',
    subject: 'list',
    value: 'p99Ms',
    atMost: 50,
    unit: 'ms',
  },
  {
    what: 'one hour of one series, p99',
    scenario: 'queries',
    subject: 'series',
    value: 'p99Ms',
    atMost: 50,
    unit: 'ms',
  },
  ...[
    ['last 100 of a device, at rest', 'p50Ms', 6],
    ['last 100 of a device, at rest', 'p99Ms', 20],
    ['last 100 of a device, beside load', 'p99Ms', 30],
    ['newest 100 of the tenant, at rest', 'p99Ms', 50],
    ['newest 100 of the tenant, beside load', 'p99Ms', 50],
    ['total of a device, at rest', 'p50Ms', 20],
    ['two hours, raw, beside load', 'p99Ms', 40],
    ['two hours, by minute, beside load', 'p99Ms', 40],
  ].map(([subject, value, atMost]) => ({
    what: `${subject}, ${value === 'p50Ms' ? 'p50' : 'p99'}`,
    scenario: 'recent',
    subject: String(subject),
    value: String(value),
    atMost: Number(atMost),
    unit: 'ms',
  })),
  ...['8 over http', '64 over http', '8 over mqtt', '64 over mqtt'].map((subject) => ({
    what: `PUBACK beside wrong passwords, ${subject}, p99`,
    scenario: 'password-flood',
    subject,
    relativeTo: `before ${subject}`,
    value: 'p99Ms',
    atMost: 3,
    unit: '×',
  })),
  {
    what: 'processor time of a message through one topic to its consumer',
    scenario: 'topics',
    subject: 'one topic',
    value: 'serverCpuMicroseconds',
    atMost: 50,
    unit: 'µs',
  },
  {
    what: 'publication to frame at 10,000 a second, p99',
    scenario: 'topics',
    subject: 'one topic, half',
    value: 'p99Ms',
    atMost: 50,
    unit: 'ms',
  },
  {
    what: 'backlog of a topic that drains',
    scenario: 'topics',
    subject: 'drain',
    value: 'receivedPerSecond',
    atLeast: 50_000,
    unit: '/s',
  },
  {
    what: 'backlog of a million that drains',
    scenario: 'topics',
    subject: 'drain of a million',
    value: 'receivedPerSecond',
    atLeast: 50_000,
    unit: '/s',
  },
  {
    what: 'first paint of the console',
    scenario: 'console',
    subject: 'first paint',
    value: 'p50Ms',
    atMost: 1_000,
    unit: 'ms',
  },
  {
    what: 'first rows of the device list',
    scenario: 'console',
    subject: 'first rows of the device list',
    value: 'p50Ms',
    atMost: 300,
    unit: 'ms',
  },
  {
    what: 'key to search result',
    scenario: 'console',
    subject: 'key to search result',
    value: 'p50Ms',
    atMost: 250,
    unit: 'ms',
  },
  {
    what: 'chart of a million points',
    scenario: 'console',
    subject: 'chart of a million points',
    value: 'p50Ms',
    atMost: 500,
    unit: 'ms',
  },
  {
    what: 'message to pixel, p99',
    scenario: 'console',
    subject: 'message to pixel',
    value: 'p99Ms',
    atMost: 1_000,
    unit: 'ms',
  },
  {
    what: 'frames beside 50 values a second',
    scenario: 'console',
    subject: '50 values a second',
    value: 'framesPerSecond',
    // 60, of which one in fifty may be dropped.
    atLeast: 58.8,
    unit: '/s',
  },
  {
    what: 'a job over 10,000 devices with 288 values of 5 series each',
    scenario: 'scoring-job',
    subject: 'job',
    value: 'seconds',
    atMost: 60,
    unit: 's',
  },
  {
    what: 'PUBACK beside that job, p99',
    scenario: 'scoring-job',
    subject: 'beside',
    relativeTo: 'without',
    value: 'p99Ms',
    atMost: 2,
    unit: '×',
  },
  {
    ...millrace,
    what: 'a batch of CSV in two threads, against one',
    scenario: 'pmml-workers',
    value: 'ratio',
    atLeast: 1.8,
  },
  {
    what: 'measurements that a binding scores as they come in, beside the intake',
    scenario: 'bindings',
    subject: 'beside',
    value: 'scoredPerSecond',
    atLeast: 20_000,
    unit: '/s',
  },
  {
    what: 'QoS 1 intake beside that binding',
    scenario: 'bindings',
    subject: 'beside',
    value: 'ratio',
    atLeast: 0.8,
    unit: '×',
  },
  {
    what: 'server process under full load, 10,000 connections',
    scenario: 'qos1-10000x1',
    subject: 'millrace',
    value: 'serverMebibytes',
    atMost: 400,
    unit: 'MiB',
  },
];

export interface Verdict {
  target: TargetFigure;
  measured: number;
  spread: number;
  met: boolean | undefined;
}

/** @returns a verdict for each target; `met` is undefined where the run has no figure for it. */
export function verdicts(samples: readonly Sample[]): Verdict[] {
  return TARGETS.map((target) => {
    const figures = ratios(samples, target);
    const measured = median(figures);
    if (Number.isNaN(measured)) return { target, measured, spread: 0, met: undefined };
    const met =
      (target.atLeast === undefined || measured >= target.atLeast) &&
      (target.atMost === undefined || measured <= target.atMost);
    return { target, measured, spread: spread(figures), met };
  });
}

/** The ratio is taken round by round: both sides met the same minute of the machine. */
function ratios(samples: readonly Sample[], target: TargetFigure): number[] {
  const own = valuesOf(samples, target.scenario, target.subject, target.value);
  if (target.relativeTo === undefined) return own;
  const others = valuesOf(samples, target.scenario, target.relativeTo, target.value);
  const count = Math.min(own.length, others.length);
  return Array.from({ length: count }, (_, index) => own[index]! / others[index]!);
}
