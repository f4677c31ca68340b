/**
 * Entry of a worker thread (Piscina, pool.ts): one task after the other. On Linux it yields to the threads that take
 * messages in and answer requests.
 */
import { BroadcastChannel } from 'node:worker_threads';
import { workerData } from 'piscina';
import { yieldToOthers } from '../../pacing/thread-priority.ts';
import { PmmlReader } from '../pmml/read.ts';
import type { Answer, DropMessage, Task, WorkerSettings } from '../protocol.ts';
import { WorkerTasks } from './tasks.ts';

yieldToOthers();
const settings = workerData as WorkerSettings;
const tasks = new WorkerTasks({ begin: (options) => new PmmlReader(options) }, settings);
const channel = new BroadcastChannel(settings.channel);
channel.onmessage = (event) => {
  const { tenant, name } = (event as { readonly data: DropMessage }).data;
  tasks.loaded.drop(tenant, name);
};
channel.unref();

export default (task: Task): Promise<Answer> => tasks.run(task);
