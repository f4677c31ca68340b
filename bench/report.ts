/** Turns samples into tables: for the terminal and, the same, for the Markdown report. Pure. */
import { valuesOf, type Sample, type Scenario } from './scenario.ts';
import { median, spread } from './statistics.ts';
import { verdicts, type Verdict } from './targets.ts';

/** Server and generator above this share of their core are called saturated. */
const SATURATED_PERCENT = 93;
/** Other processes of the machine above this share of a core have disturbed the measurement. */
const DISTURBED_PERCENT = 10;

/** Headings of values. */
const HEADINGS: Record<string, string> = {
  ratePerSecond: 'rate /s',
  acknowledgedPerSecond: 'acked /s',
  storedPerSecond: 'stored /s',
  serverMicrosPerMessage: 'server µs each',
  engineMicrosPerMessage: 'engine µs each',
  serverCpuPercent: 'server CPU %',
  engineCpuPercent: 'engine CPU %',
  generatorCpuPercent: 'generator CPU %',
  othersCpuPercent: 'others CPU %',
  engineMebibytes: 'engine MiB',
  serverMebibytes: 'server MiB',
  catchUpMs: 'catch-up ms',
  missingRows: 'missing',
  surplusRows: 'surplus',
  failed: 'failed',
  p50Ms: 'p50 ms',
  p99Ms: 'p99 ms',
  maximumMs: 'max ms',
  lateBursts: 'late bursts',
  probes: 'probes',
  lost: 'lost',
  bytesPerConnection: 'bytes each',
  connections: 'connections',
  openAtEnd: 'open at the end',
  queries: 'queries',
  smallestAnswerBytes: 'smallest answer',
  readyMs: 'ready ms',
  caughtUpMs: 'caught up ms',
  replayed: 'replayed',
  rateRatio: 'rate, × embedded',
  cpuMicros: 'CPU µs each',
  cpuRatio: 'CPU, × embedded',
  nodeMicros: 'node µs',
  natsMicros: 'NATS µs',
  redisMicros: 'Redis µs',
  clickHouseMicros: 'ClickHouse µs',
  nodeDiskBytes: 'node disk B',
  natsDiskBytes: 'NATS disk B',
  redisDiskBytes: 'Redis disk B',
  clickHouseDiskBytes: 'ClickHouse disk B',
  natsInBytes: 'NATS in B',
  natsOutBytes: 'NATS out B',
  redisInBytes: 'Redis in B',
  redisOutBytes: 'Redis out B',
  nodeBytes: 'node RAM B',
  natsBytes: 'NATS RAM B',
  redisBytes: 'Redis RAM B',
  clickHouseBytes: 'ClickHouse RAM B',
  acknowledged: 'acknowledged',
  missing: 'missing',
  surplus: 'surplus',
};

export function number(value: number): string {
  if (Number.isNaN(value)) return '–';
  if (Math.abs(value) >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(2);
}

/** @returns heading row and one row for each subject: medians, and for the first value the spread of its rounds. */
export function scenarioTable(scenario: Scenario, samples: readonly Sample[]): string[][] {
  const own = samples.filter((sample) => sample.scenario === scenario.name);
  const subjects = [...new Set(own.map((sample) => sample.subject))];
  const columns = scenario.columns.filter((column) => own.some((sample) => sample.values[column] !== undefined));
  const rows = subjects.map((subject) => {
    const cells = columns.map((column) => number(median(valuesOf(own, scenario.name, subject, column))));
    const first = valuesOf(own, scenario.name, subject, columns[0]!);
    return [
      subject,
      cells[0]!,
      `${(100 * spread(first)).toFixed(0)} %`,
      ...cells.slice(1),
      saturation(own, scenario.name, subject),
    ];
  });
  const headings = columns.map((column) => HEADINGS[column] ?? column);
  return [['', headings[0]!, 'spread', ...headings.slice(1), 'saturated'], ...rows];
}

function saturation(samples: readonly Sample[], scenario: string, subject: string): string {
  const value = (name: string): number => median(valuesOf(samples, scenario, subject, name));
  const server = value('serverCpuPercent');
  if (Number.isNaN(server)) return '–';
  const engine = value('engineCpuPercent') || 0;
  const busy: string[] = [];
  if (server + engine >= SATURATED_PERCENT) busy.push(engine > 1 ? 'server core' : 'server');
  if (value('generatorCpuPercent') >= SATURATED_PERCENT) busy.push('generator');
  if (value('othersCpuPercent') >= DISTURBED_PERCENT) busy.push('others ran');
  return busy.length === 0 ? 'neither' : busy.join(' and ');
}

export function verdictTable(samples: readonly Sample[]): string[][] {
  const rows = verdicts(samples).map((verdict) => [
    verdict.target.what + (verdict.target.relativeTo === undefined ? '' : `, against ${verdict.target.relativeTo}`),
    wanted(verdict),
    measured(verdict),
    `${(100 * verdict.spread).toFixed(0)} %`,
    verdict.met === undefined ? 'not measured' : verdict.met ? 'met' : 'MISSED',
  ]);
  return [['work', 'to reach', 'measured', 'spread', ''], ...rows];
}

function wanted({ target }: Verdict): string {
  const limit = target.atLeast ?? target.atMost!;
  return `${target.atLeast === undefined ? '≤' : '≥'} ${limit.toLocaleString('en-US')} ${target.unit}`;
}

function measured(verdict: Verdict): string {
  return Number.isNaN(verdict.measured) ? '–' : `${number(verdict.measured)} ${verdict.target.unit}`;
}

/** @returns the table with aligned columns. */
export function textTable(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: string[]): string =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

export function markdownTable(rows: readonly string[][]): string {
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`;
  return [
    line(rows[0]!),
    line(rows[0]!.map((_, column) => (column === 0 ? '---' : '---:'))),
    ...rows.slice(1).map(line),
  ].join('\n');
}

export interface ReportInput {
  facts: readonly [string, string][];
  scenarios: readonly Scenario[];
  samples: readonly Sample[];
  notes: readonly string[];
}

export function markdownReport(input: ReportInput): string {
  const parts = [
    '# Load suite: results',
    markdownTable([['', ''], ...input.facts.map(([name, value]) => [name, value])]),
  ];
  parts.push('## Figures to reach', markdownTable(verdictTable(input.samples)));
  for (const scenario of input.scenarios) {
    const table = scenarioTable(scenario, input.samples);
    if (table.length > 1) parts.push(`## ${scenario.name}`, scenario.question, markdownTable(table));
  }
  if (input.notes.length > 0) parts.push('## Notes', input.notes.map((note) => `- ${note}`).join('\n'));
  return `${parts.join('\n\n')}\n`;
}
