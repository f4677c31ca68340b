/** The command line of the suite. */
import { parseArgs } from 'node:util';
import { tmpdir } from 'node:os';

export interface Options {
  only: string[];
  rounds: number;
  /** Length of a measured window; the warm-up before it takes `warmUpMs`. */
  measureMs: number;
  warmUpMs: number;
  quick: boolean;
  /** Where results go. */
  out: string;
  /** Parent of the data directories: a real disk, or the figures say nothing about durable writes. */
  dataRoot: string;
  /** `0`, `1` or `0,1`; undefined: the server's core. */
  engineCore: string | undefined;
  /** Leave the peers out (while working on the server). */
  noPeers: boolean;
  peersOnly: boolean;
  /** Entry file of the server: another one compares two builds. */
  server: string | undefined;
  idleConnections: number;
  storedMeasurements: number;
  /** Of the scenario `recent`. */
  recentMeasurements: number;
  /** Sizes of the scenario `lists`. */
  lists: { objects: number; alarms: number; events: number; others: number; requests: number };
  list: boolean;
}

export const USAGE = `npm run bench -- [options]
  --only <a,b>          only these scenarios (--list shows them)
  --rounds <n>          rounds of each scenario (3; --quick 1)
  --seconds <n>         length of a measured window (2)
  --warm-up <n>         seconds of load before each window (1)
  --quick               one round, 1 million stored measurements
  --out <directory>     results (bench/results)
  --data <directory>    parent of the data directories, on a real disk (the system's temporary directory)
  --engine-core <c>     core of the database engine: 0, 1 or any (default: the server's)
  --no-peers            only Millrace
  --peers-only          only the peers
  --server <file>       entry of another build of the server (dist/src/main.js)
  --idle <n>            idle connections (10000)
  --stored <n>          stored measurements for the queries (10000000)
  --recent <n>          stored measurements of the scenario recent (7000000)
  --list-objects <n>    managed objects of the scenario lists (1000000)
  --list-alarms <n>     its alarms (1000000)
  --list-events <n>     its events (10000000)
  --list-others <n>     its operations, and as many audit records (1000000)
  --list-requests <n>   requests of each of its lists in a round (100)
  --list                names and questions of the scenarios
`;

const ENGINE_CORES: Record<string, string> = { 0: '0', 1: '1', any: '0,1' };

/** @throws with a message for the user. */
export function parseOptions(args: string[], defaultOut: string): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'warm-up': { type: 'string' },
      quick: { type: 'boolean' },
      out: { type: 'string' },
      data: { type: 'string' },
      'engine-core': { type: 'string' },
      'no-peers': { type: 'boolean' },
      'peers-only': { type: 'boolean' },
      server: { type: 'string' },
      idle: { type: 'string' },
      stored: { type: 'string' },
      recent: { type: 'string' },
      'list-objects': { type: 'string' },
      'list-alarms': { type: 'string' },
      'list-events': { type: 'string' },
      'list-others': { type: 'string' },
      'list-requests': { type: 'string' },
      list: { type: 'boolean' },
    },
  });
  const quick = values.quick ?? false;
  const engine = values['engine-core'];
  if (engine !== undefined && ENGINE_CORES[engine] === undefined)
    throw new Error(`--engine-core ${engine}: 0, 1 or any`);
  return {
    only:
      values.only === undefined
        ? []
        : values.only
            .split(',')
            .map((name) => name.trim())
            .filter((name) => name !== ''),
    rounds: positive('--rounds', values.rounds, quick ? 1 : 3),
    measureMs: positive('--seconds', values.seconds, 2) * 1000,
    warmUpMs: positive('--warm-up', values['warm-up'], 1) * 1000,
    quick,
    out: values.out ?? defaultOut,
    dataRoot: values.data ?? tmpdir(),
    engineCore: engine === undefined ? undefined : ENGINE_CORES[engine],
    noPeers: values['no-peers'] ?? false,
    peersOnly: values['peers-only'] ?? false,
    server: values.server,
    idleConnections: positive('--idle', values.idle, 10_000),
    storedMeasurements: positive('--stored', values.stored, quick ? 1_000_000 : 10_000_000),
    recentMeasurements: positive('--recent', values.recent, quick ? 700_000 : 7_000_000),
    lists: {
      objects: positive('--list-objects', values['list-objects'], 1_000_000),
      alarms: positive('--list-alarms', values['list-alarms'], 1_000_000),
      events: positive('--list-events', values['list-events'], 10_000_000),
      others: positive('--list-others', values['list-others'], 1_000_000),
      requests: positive('--list-requests', values['list-requests'], 100),
    },
    list: values.list ?? false,
  };
}

function positive(name: string, text: string | undefined, standard: number): number {
  if (text === undefined) return standard;
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${name} ${text}: a number above 0`);
  return value;
}
