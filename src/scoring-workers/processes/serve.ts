/**
 * The side of a worker process: takes tasks from the server, one at a time, and ends with it. A thread beside it looks
 * after the server: one that was killed does not leave a process behind that computes for ever.
 */
import { Worker } from 'node:worker_threads';
import type { FaultKind, FromWorker, ToWorker } from './protocol.ts';

const WATCH_MS = 1_000;

/** Runs in the thread: needs no file, and no loop of the main thread, which may stand still in native code. */
const WATCH = `
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  }, ${WATCH_MS});
`;

/** Bytes of a result: the server holds it until its client has taken it. */
const RESULT_BYTES_MAX = 67_108_864;

/** A thread reserves 512 MB for code on Node 24 without it, which counts against the bound of the process. */
const WATCH_MEMORY = { codeRangeSizeMb: 8, maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };

export interface TaskFault {
  readonly kind: FaultKind;
  readonly text: string;
  /** What the worker computes with has failed too: the process is replaced. */
  readonly isLast?: boolean;
}

/**
 * @param run does one task with the bytes that came before it.
 * @param faultOf what the server is told about an error.
 */
export function serveTasks(
  run: (task: never, content: readonly Uint8Array[]) => Promise<unknown>,
  faultOf: (error: unknown) => TaskFault,
): void {
  let content: Uint8Array[] = [];
  const send = (message: FromWorker): void => {
    process.send?.(message);
  };
  // A signal to the whole group (Ctrl-C) ends the server, which ends its workers.
  process.on('SIGINT', () => undefined);
  process.on('SIGHUP', () => undefined);
  process.once('disconnect', () => process.exit(0));
  new Worker(WATCH, { eval: true, resourceLimits: WATCH_MEMORY }).unref();
  process.on('message', (message: ToWorker) => {
    if ('content' in message) {
      content.push(message.content);
      return;
    }
    const given = content;
    content = [];
    run(message.task as never, given).then(
      (result) => send(bounded(result)),
      (error: unknown) => {
        const { kind, text, isLast = false } = faultOf(error);
        send({ fault: kind, text: text.slice(0, FAULT_CHARACTERS_MAX), isLast });
      },
    );
  });
}

/** Of answers without content: descriptions and lists of names. */
const DESCRIPTION_CHARACTERS_MAX = 4_194_304;
/** Of the reason that a client is told. */
const FAULT_CHARACTERS_MAX = 2_000;

function bounded(result: unknown): FromWorker {
  const length = result instanceof Uint8Array ? result.length : (JSON.stringify(result)?.length ?? 0);
  const most = result instanceof Uint8Array ? RESULT_BYTES_MAX : DESCRIPTION_CHARACTERS_MAX;
  if (length <= most) return { result };
  return {
    fault: 'input',
    text: `The answer has a length of ${length}; at most ${most} is taken.`,
    isLast: false,
  };
}
