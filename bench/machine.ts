/** What a reader of the results must know about the machine and the program. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { descriptorLimit, GENERATOR_CORE, SERVER_CORE } from './processes.ts';
import type { Options } from './options.ts';

/** @returns name and value of each fact, in order. */
export function facts(options: Options, root: string): [string, string][] {
  return [
    ['date', new Date().toISOString()],
    ['commit', commit(root)],
    [
      'machine',
      `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`,
    ],
    ['load average at the start', readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ')],
    ['Node', process.version],
    ['mosquitto', firstWords('/usr/sbin/mosquitto', ['-h'])],
    ['data', `${options.dataRoot} (${output('stat', ['-f', '-c', '%T', options.dataRoot])})`],
    [
      'cores',
      `server ${SERVER_CORE}, engine ${options.engineCore ?? `${SERVER_CORE} (the server's)`}, generator ${GENERATOR_CORE}`,
    ],
    ['descriptors for each process', String(descriptorLimit())],
    [
      'rounds',
      `${options.rounds}, each ${options.warmUpMs / 1000} s warm-up and ${options.measureMs / 1000} s measured`,
    ],
  ];
}

function commit(root: string): string {
  const hash = output('git', ['-C', root, 'rev-parse', '--short', 'HEAD']);
  return output('git', ['-C', root, 'status', '--porcelain', '--untracked-files=no']) === ''
    ? hash
    : `${hash} with changes`;
}

function firstWords(command: string, args: string[]): string {
  return output(command, args).split('\n')[0]!;
}

function output(command: string, args: string[]): string {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch (error) {
    // mosquitto -h ends with 1 and still prints what is wanted
    const printed = (error as { stdout?: string }).stdout;
    return typeof printed === 'string' && printed !== '' ? printed.trim() : 'unknown';
  }
}
