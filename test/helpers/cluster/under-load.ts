/**
 * One fault after the other under the same mixed load on a cluster: what was acknowledged is there exactly once and in
 * order, refusals are 503.
 */
import type { Test } from 'tap';
import { eventually } from '../running/server.ts';
import { acknowledgedAgain } from './load.ts';
import type { ClusterLoad } from './load.ts';
import { DeviceSender, HttpSender, NewDevicesSender } from '../process/load.ts';
import { OperationsSender } from './operations-load.ts';

const GAP_MS = 100;
/** Of what makes something new for each message. */
const SLOW_GAP_MS = 100;
const GOES_ON_MS = 40_000;

/** What a test does to the cluster meanwhile. */
export type Disturb = (cluster: ClusterLoad['cluster'], devices: readonly DeviceSender[], t: Test) => Promise<void>;

export interface UnderLoadOptions {
  readonly devices: number;
}

/** Runs load, disturbs it, waits until it goes on for every device, and accounts. */
export async function underLoad(
  t: Test,
  load: ClusterLoad,
  options: UnderLoadOptions,
  disturb: Disturb,
): Promise<void> {
  const prefix = t.name.replaceAll(/[^a-z0-9]+/gi, '-');
  const devices = Array.from(
    { length: options.devices },
    (_, index) => new DeviceSender(load, `${prefix}-${index}`, { mixed: true, gapMs: GAP_MS }),
  );
  const single = new HttpSender(load, `${prefix}-http`, 1, { gapMs: GAP_MS });
  const fresh = new NewDevicesSender(load, `${prefix}-fresh`, { gapMs: SLOW_GAP_MS });
  const operations = new OperationsSender(load, `${prefix}-agent`, { gapMs: SLOW_GAP_MS });
  await single.open();
  await operations.open();
  const senders = [...devices, single, fresh, operations];
  const runs = senders.map((sender) => sender.run());
  /** Devices first: how long they waited is told. */
  const goesOn = async (): Promise<number> => {
    const before = [fresh.ledger.acknowledged.size, operations.ended.size];
    const tookMs = await acknowledgedAgain(devices);
    await eventually(
      'a new device is made and an operation carried out',
      () => fresh.ledger.acknowledged.size > before[0] && operations.ended.size > before[1],
      GOES_ON_MS,
    ).catch(async (error: Error) => {
      const made = fresh.ledger.acknowledged.size - before[0];
      const told = `${made} devices, ${operations.ended.size - before[1]} operations`;
      const refusals = JSON.stringify([...operations.otherAnswers]);
      // In the message: comments are not repeated at the end of a run.
      const lines = [`${error.message}; ${told}, refusals ${refusals}`, ...(await load.cluster.report())];
      throw new Error(lines.join('\n'), { cause: error });
    });
    return tookMs;
  };
  try {
    await goesOn();
    const startMs = Date.now();
    await disturb(load.cluster, devices, t);
    const disturbedMs = Date.now() - startMs;
    const againMs = await goesOn();
    t.comment(`disturbed for ${disturbedMs} ms, every device acknowledged again ${againMs} ms later`);
  } finally {
    for (const sender of senders) sender.stop();
  }
  await Promise.all(runs);
  await load.cluster.complete();
  const { problems, stored } = await load
    .accountOfAll({ devices, single, fresh, operations })
    .catch(async (error: Error) => {
      // In the message: comments are not repeated at the end of a run.
      throw new Error([error.message, ...(await load.cluster.report())].join('\n'), { cause: error });
    });
  const otherAnswers = [...single.otherAnswers, ...operations.otherAnswers];
  t.comment(
    `stored ${stored}; MQTT connections ended ${devices.reduce((sum, device) => sum + device.disconnects, 0)}, HTTP ${JSON.stringify(otherAnswers)}`,
  );
  t.ok(
    devices.every((device) => device.acknowledgedCount > 50),
    'every device got through',
  );
  t.strictSame(
    devices.flatMap(({ errors }) => errors),
    [],
    'no errors on s/e',
  );
  t.ok(
    otherAnswers.every(([answer]) => answer.startsWith('503 ')),
    'what was refused was refused with 503',
  );
  t.strictSame(problems, [], 'the account is exact');
}
