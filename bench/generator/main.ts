/** A generator process: takes one job over the process channel, answers with its figures, and ends when told to. */
import type { Job } from './job.ts';
import { answer, untilFinish } from './channel.ts';
import { runHttpClosed } from './http-closed.ts';
import { runLive } from './live.ts';
import { runMqttClosed } from './mqtt-closed.ts';
import { runMqttConnect, runMqttIdle } from './mqtt-connect.ts';
import { runMqttFlood } from './mqtt-flood.ts';
import { runMqttPaced } from './mqtt-paced.ts';
import { runQuery } from './query.ts';
import { runTopics } from './topics.ts';
import { runVisible } from './visible.ts';
import { runWrongPasswords } from './wrong-passwords.ts';

function run(job: Job): Promise<unknown> {
  switch (job.kind) {
    case 'mqtt-closed':
      return runMqttClosed(job);
    case 'mqtt-flood':
      return runMqttFlood(job);
    case 'mqtt-paced':
      return runMqttPaced(job);
    case 'mqtt-connect':
      return runMqttConnect(job);
    case 'mqtt-idle':
      return runMqttIdle(job);
    case 'http-closed':
      return runHttpClosed(job);
    case 'live':
      return runLive(job);
    case 'topics':
      return runTopics(job);
    case 'visible':
      return runVisible(job);
    case 'query':
      return runQuery(job);
    case 'wrong-passwords':
      return runWrongPasswords(job);
  }
}

process.on('disconnect', () => process.exit(1)); // the suite is gone
process.once('message', (job) => {
  const finish = untilFinish();
  run(job as Job)
    .then((result) => answer({ kind: 'result', result }))
    .catch((error: unknown) =>
      answer({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
    )
    .then(() => finish)
    .then(() => process.exit(0));
});
