/** CPU time and memory of processes, read from /proc. Synchronous: a read takes some ten microseconds. */
import { readFileSync, readdirSync } from 'node:fs';

/** Kernel ticks a second in /proc/<pid>/stat (USER_HZ, 100 on every Linux). */
const TICKS_PER_SECOND = 100;

/** @returns user and system time of the process with all its threads, in seconds; 0 when it has ended. */
export function cpuSeconds(pid: number): number {
  const stat = readProc(`/proc/${pid}/stat`);
  if (stat === '') return 0;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** @returns resident bytes (VmRSS); 0 when the process has ended. */
export function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readProc(`/proc/${pid}/status`));
  return match === null ? 0 : Number(match[1]) * 1024;
}

/** @returns the ids of all living descendants. */
export function descendants(pid: number): number[] {
  const found: number[] = [];
  for (const task of listProc(`/proc/${pid}/task`)) {
    for (const word of readProc(`/proc/${pid}/task/${task}/children`).split(' ')) {
      if (word !== '') found.push(Number(word), ...descendants(Number(word)));
    }
  }
  return found;
}

/** @returns false for a process that has ended, also while nobody has collected its exit code. */
export function isAlive(pid: number): boolean {
  const stat = readProc(`/proc/${pid}/stat`);
  return stat !== '' && stat[stat.lastIndexOf(')') + 2] !== 'Z';
}

/** What a server process and its children have used so far. */
export interface Usage {
  timeMs: number;
  serverCpuSeconds: number;
  childCpuSeconds: number;
  serverBytes: number;
  childBytes: number;
  /** CPU time of the whole machine, whoever used it: shows what others took from a measurement. */
  machineCpuSeconds: number;
  /** The same for each of the pids, in their order. */
  each: { cpuSeconds: number; residentBytes: number; diskBytes: number }[];
}

/** @returns bytes that the process caused to be written to disks so far; 0 when it has ended or may not be asked. */
function diskBytes(pid: number): number {
  const match = /^write_bytes: (\d+)$/m.exec(readProc(`/proc/${pid}/io`));
  return match === null ? 0 : Number(match[1]);
}

/** Reads the usage of `pids`: the first is the server, the others its children. */
export function readUsage(pids: readonly number[]): Usage {
  const usage: Usage = {
    timeMs: performance.now(),
    serverCpuSeconds: 0,
    childCpuSeconds: 0,
    serverBytes: 0,
    childBytes: 0,
    machineCpuSeconds: machineCpuSeconds(),
    each: [],
  };
  for (let index = 0; index < pids.length; index++) {
    const pid = pids[index]!;
    const one = { cpuSeconds: cpuSeconds(pid), residentBytes: residentBytes(pid), diskBytes: diskBytes(pid) };
    usage.each.push(one);
    if (index === 0) {
      usage.serverCpuSeconds = one.cpuSeconds;
      usage.serverBytes = one.residentBytes;
    } else {
      usage.childCpuSeconds += one.cpuSeconds;
      usage.childBytes += one.residentBytes;
    }
  }
  return usage;
}

/** All busy time of all cores, stolen time included. */
function machineCpuSeconds(): number {
  const fields = readProc('/proc/stat').split('\n')[0]!.split(/ +/).slice(1).map(Number);
  const [user, nice, system, , , interrupts, softInterrupts, stolen] = fields;
  return (user! + nice! + system! + interrupts! + softInterrupts! + stolen!) / TICKS_PER_SECOND;
}

function readProc(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process has ended between two reads: it counts as nothing
  }
}

function listProc(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // as above
  }
}
