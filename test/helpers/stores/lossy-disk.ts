/**
 * A disk whose power can be cut: ext4 on a loop device. After `powerCut` it holds what was synchronised before, and of
 * the rest only what the kernel happened to write. kill -9 cannot show this: the kernel keeps what a killed process
 * wrote.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../setup-command.ts';

const GIB = 1_073_741_824;
/** Directories are named `<prefix><pid>-…`, so that what a killed run left mounted is found. */
const PREFIX = 'millrace-lossy-disk-';
/**
 * EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH: every later read, write and sync fails, and the file system's own
 * log is not flushed.
 */
const IOCTL = 0x80_04_58_7d;
const NO_LOG_FLUSH = 2;
/** Programs that can call ioctl, the faster one first. */
const CALLERS: readonly (readonly [program: string, flag: string, script: string])[] = [
  [
    'perl',
    '-e',
    `use Fcntl; sysopen(D,$ARGV[0],O_RDONLY) or die $!; my $f=pack("L",${NO_LOG_FLUSH}); defined ioctl(D,${IOCTL},$f) or die $!`,
  ],
  [
    'python3',
    '-c',
    `import fcntl,os,struct,sys; fcntl.ioctl(os.open(sys.argv[1],os.O_RDONLY),${IOCTL},struct.pack("I",${NO_LOG_FLUSH}))`,
  ],
];
/** A file system is busy until the last process that used it has ended. */
const UNMOUNT_LIMIT_MS = 20_000;

interface Test {
  teardown(action: () => void | Promise<void>): void;
}

export interface LossyDiskOptions {
  /** Size of the file system. The file behind it is sparse. Default 8 GiB. */
  readonly bytes?: number;
  /** For mkfs.ext4, such as `-O fast_commit`. */
  readonly formatOptions?: readonly string[];
  /** For mount, such as `sync`: every write is synchronised then. */
  readonly mountOptions?: string;
}

interface Ran {
  readonly isDone: boolean;
  readonly text: string;
}

function run(program: string, ...args: readonly string[]): Ran {
  const { status, error, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return { isDone: status === 0, text: `${program} ${args.join(' ')}: ${error?.message ?? stderr}`.trim() };
}

function mustRun(program: string, ...args: readonly string[]): void {
  const { isDone, text } = run(program, ...args);
  if (!isDone) throw new Error(text);
}

/**
 * In order: make it, then power cuts, each followed by the end of the processes that used it and `restore`. Removed
 * after the test, also a failed one.
 */
export class LossyDisk {
  /** The root directory of the file system. */
  readonly path: string;
  readonly #scratch: string;
  readonly #image: string;
  readonly #mountOptions: string;
  #isMounted = false;

  /** Make it before the processes that use it, so that these are ended first at the test's end. */
  constructor(t: Test, options: LossyDiskOptions = {}) {
    this.#scratch = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
    this.path = join(this.#scratch, 'disk');
    this.#image = join(this.#scratch, 'image');
    this.#mountOptions = options.mountOptions === undefined ? 'loop' : `loop,${options.mountOptions}`;
    t.teardown(() => this.#remove());
    mkdirSync(this.path);
    writeFileSync(this.#image, '');
    truncateSync(this.#image, options.bytes ?? 8 * GIB);
    // Small log, nothing written in the background: a disk is ready within 0.1 s.
    mustRun(
      'mkfs.ext4',
      '-q',
      '-F',
      '-m',
      '0',
      '-J',
      'size=64',
      '-E',
      'lazy_itable_init=1,lazy_journal_init=1,nodiscard',
      ...(options.formatOptions ?? []),
      this.#image,
    );
    this.#mount();
  }

  /**
   * From here on every call on the disk fails, and what was not synchronised is lost. End the processes that use it,
   * then `restore`.
   */
  powerCut(): void {
    const failures: string[] = [];
    for (const [program, flag, script] of CALLERS) {
      const { isDone, text } = run(program, flag, script, this.path);
      if (isDone) return;
      failures.push(text);
    }
    throw new Error(failures.join('\n'));
  }

  /**
   * Mounts what reached the disk; the file system repeats its log. @throws when a process still uses the disk after 20
   * s.
   */
  async restore(): Promise<void> {
    let why = '';
    await until(
      'the disk is unmounted',
      () => {
        const { isDone, text } = run('umount', this.path);
        why = text;
        return isDone;
      },
      UNMOUNT_LIMIT_MS,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}; ${why}`);
    });
    this.#isMounted = false;
    this.#mount();
  }

  #mount(): void {
    mustRun('mount', '-t', 'ext4', '-o', this.#mountOptions, this.#image, this.path);
    this.#isMounted = true;
  }

  /** The loop device goes with its last user: `mount -o loop` sets it up so. */
  #remove(): void {
    if (this.#isMounted && !run('umount', this.path).isDone) run('umount', '-l', this.path);
    rmSync(this.#scratch, { recursive: true, force: true });
  }
}

/** Removes what runs that were killed have left mounted. */
function removeForsaken(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || isRunning(pid)) continue;
    const scratch = join(tmpdir(), name);
    if (readFileSync('/proc/self/mounts', 'utf8').includes(` ${scratch}/`)) run('umount', '-l', join(scratch, 'disk'));
    rmSync(scratch, { recursive: true, force: true });
  }
}

function isRunning(pid: string): boolean {
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * For `t.test(name, { skip: await lossyDisksFail() }, …)`: false when the power of a disk can be cut here, else why
 * not.
 */
export async function lossyDisksFail(): Promise<string | false> {
  const teardowns: (() => void | Promise<void>)[] = [];
  try {
    removeForsaken();
    const disk = new LossyDisk(
      {
        teardown: (action) => {
          teardowns.push(action);
        },
      },
      { bytes: GIB },
    );
    const lost = join(disk.path, 'lost');
    mkdirSync(lost);
    disk.powerCut();
    await disk.restore();
    return readdirSync(disk.path).includes('lost')
      ? 'a power cut of a loop device with ext4 loses nothing here'
      : false;
  } catch (error) {
    return `no loop device with ext4 whose power can be cut (needs root, mkfs.ext4, and perl or python3): ${(error as Error).message.split('\n')[0]}`;
  } finally {
    for (const action of teardowns) await action();
  }
}
