/**
 * Entry of a process that keeps one Python of the machine under bubblewrap, and speaks with it over pipes. It ends with
 * this process, and this one with it.
 */
import { spawn } from 'node:child_process';
import { serveTasks } from '../processes/serve.ts';
import { ScriptFault, faultOf, resultOf } from './faults.ts';
import { RUNNER_SOURCE } from './runner-source.ts';
import type { ScriptTask } from './tasks.ts';

export interface SystemOptions {
  readonly bubblewrap: string;
  readonly python: string;
  readonly memoryBytesMax: number;
}

/**
 * A task and an answer are each a length in four bytes and that many bytes. A task is JSON, then the content in the same
 * form.
 */
const LENGTH_BYTES = 4;
/** Scripts open few files, write none, and start nothing. */
const FILES_MAX = 64;
const PROCESSES_MAX = 1;

const LOOP = (bytesMax: number): string => `
import os as _os, resource as _resource, struct as _struct, sys as _system
_in, _out = _os.fdopen(_os.dup(0), "rb"), _os.fdopen(_os.dup(1), "wb")
_null = _os.open("/dev/null", _os.O_RDWR)
for _descriptor in (0, 1, 2):
    _os.dup2(_null, _descriptor)
for _name, _limit in (("AS", ${bytesMax}), ("CORE", 0), ("FSIZE", 0), ("NOFILE", ${FILES_MAX}), ("NPROC", ${PROCESSES_MAX})):
    _resource.setrlimit(getattr(_resource, "RLIMIT_" + _name), (_limit, _limit))

def _read():
    head = _in.read(${LENGTH_BYTES})
    if len(head) < ${LENGTH_BYTES}:
        _os._exit(0)
    return _in.read(_struct.unpack(">I", head)[0])

while True:
    _task = _json.loads(_read())
    _content = _read()
    if _task["kind"] == "check":
        _answer = millrace_check(_task["source"], _task["name"])
    else:
        _answer = millrace_run(_task["source"], _task["name"], _task["stage"], _content)
    _content = None
    _answer = _answer.encode()
    _out.write(_struct.pack(">I", len(_answer)) + _answer)
    _out.flush()
`;

const { bubblewrap, python, memoryBytesMax } = JSON.parse(process.argv[3] ?? '{}') as SystemOptions;

/** What programs and libraries lie in; a link where the machine has one. Nothing of it can be written to. */
const FILES = [
  ...['--ro-bind', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--symlink', 'usr/lib', '/lib'],
  ...['--symlink', 'usr/lib64', '/lib64', '--dev', '/dev'],
  // Debian chooses the library of linear algebra by links in it.
  ...[
    '--ro-bind-try',
    '/etc/alternatives',
    '/etc/alternatives',
    '--ro-bind-try',
    '/etc/ld.so.cache',
    '/etc/ld.so.cache',
  ],
  ...['--remount-ro', '/'],
];
const child = spawn(
  bubblewrap,
  [
    ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--clearenv'],
    ...['--uid', '65534', '--gid', '65534', '--setenv', 'LANG', 'C.UTF-8', '--setenv', 'TZ', 'UTC'],
    ...['OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS'].flatMap((name) => ['--setenv', name, '1']),
    ...FILES,
    ...['--chdir', '/', '--', python, '-I', '-B', '-c', RUNNER_SOURCE + LOOP(memoryBytesMax)],
  ],
  { stdio: ['pipe', 'pipe', 'inherit'] },
);
let answers: Buffer[] = [];
let received = 0;
let take: ((answer: string) => void) | undefined;
let end: ((reason: string) => void) | undefined;

child.stdout.on('data', (part: Buffer) => {
  answers.push(part);
  received += part.length;
  if (received < LENGTH_BYTES) return;
  if (answers[0].length < LENGTH_BYTES) answers = [Buffer.concat(answers)];
  if (received < LENGTH_BYTES + answers[0].readUInt32BE(0)) return;
  const answer = Buffer.concat(answers).toString('utf8', LENGTH_BYTES);
  answers = [];
  received = 0;
  take?.(answer);
});
// Told by its exit.
child.stdin.on('error', () => undefined);
child.once('error', (error) => stopWith(`${bubblewrap} cannot be run: ${error.message}`));
child.once('exit', (code, signal) => stopWith(`Python ended with ${signal ?? code}`));

/** The task under way gets the reason; the next one gets another process. */
function stopWith(reason: string): void {
  if (end === undefined) process.exit(1);
  end(reason);
}

function frame(bytes: Uint8Array): void {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(bytes.length);
  child.stdin.write(length);
  child.stdin.write(bytes);
}

async function run(task: ScriptTask, content: readonly Uint8Array[]): Promise<unknown> {
  const answer = await new Promise<string>((resolve, reject) => {
    take = resolve;
    end = (reason) =>
      reject(new ScriptFault('input', `The script '${task.name}' ended its interpreter: ${reason}`, true));
    frame(Buffer.from(JSON.stringify(task)));
    frame(Buffer.concat(content));
  });
  end = undefined;
  const result = resultOf(answer);
  return task.kind === 'check' ? result : Buffer.from(result as string);
}

serveTasks(run, faultOf);
