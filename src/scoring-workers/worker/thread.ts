/**
 * Entry of a worker thread (Piscina, pool.ts): one task after the other. On Linux it yields to the threads that take
 * messages in and answer requests.
 */
import { BroadcastChannel, threadId } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol, workerData } from 'piscina';
import { yieldToOthers } from '../../pacing/thread-priority.ts';
import { PmmlReader } from '../pmml/read.ts';
import type { Answer, ChannelMessage, LoadedMessage, Task, WorkerSettings } from '../protocol.ts';
import { WorkerTasks } from './tasks.ts';

/** More would stop scoring on a machine with other work. */
const NICENESS = 3;

yieldToOthers(NICENESS);
const settings = workerData as WorkerSettings;
const channel = new BroadcastChannel(settings.channel);
type Transferable = Parameters<typeof move>[0];

const tasks = new WorkerTasks({ begin: (options) => new PmmlReader(options) }, settings, (tenant, bytes) => {
  const message: LoadedMessage = { kind: 'loaded', thread: threadId, tenant, bytes };
  channel.postMessage(message);
});
channel.onmessage = (event) => {
  const { data: message } = event as { readonly data: ChannelMessage };
  // Those of the other threads are for the server.
  if (message.kind === 'drop') tasks.loaded.drop(message.tenant, message.name);
};
channel.unref();

export default async (task: Task): Promise<unknown> => moved(await tasks.run(task));

/** Hands the bytes of an answer over instead of copying them. */
function moved(answer: Answer): unknown {
  const bytes = bytesOf(answer);
  if (bytes.length === 0 || bytes.length < bytes.buffer.byteLength) return answer;
  return move({ [transferableSymbol]: [bytes.buffer], [valueSymbol]: answer } as unknown as Transferable);
}

const NO_BYTES = new Uint8Array();

function bytesOf(answer: Answer): Uint8Array {
  if (answer.kind === 'measured') return answer.records;
  return answer.kind === 'batch' || answer.kind === 'values' ? answer.output : NO_BYTES;
}
