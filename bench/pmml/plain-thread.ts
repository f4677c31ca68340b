/** A thread that scores records with plain JavaScript: what two cores of this machine do beside one. */
import { parentPort } from 'node:worker_threads';
import { forest, forestRecords } from './forest.ts';

/** How many records, in one go. */
export type PlainWork = number;

const RECORDS = 5_000;

const score = new Function(forest().program)() as (record: Readonly<Record<string, number>>) => unknown;
const records = forestRecords(RECORDS);

parentPort?.on('message', (count: PlainWork) => {
  for (let done = 0; done < count; done += RECORDS) records.forEach(score);
  parentPort?.postMessage(count);
});
