/**
 * kill -9 at random moments of uploads, runs of jobs and trainings: what was acknowledged is there, nothing is there by
 * half, runs are counted once, and no content is left that nothing names (docs/internals/scoring.md#what-a-crash-leaves).
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openLmdb } from '../../src/store/lmdb/environment.ts';
import { delay, type HttpAnswer, seeded, ServerProcess } from '../helpers/process/server.ts';
import { until } from '../helpers/until.ts';

const KILLS = 3;
const RANDOM_MS = 1_500;
/** Contents that may be without a record at one kill: two uploads, a training with its model, a run. */
const UNDER_WAY = 5;
const SCORING = '/service/scoring';
const OCTETS = { 'content-type': 'application/octet-stream', accept: 'application/json' };

/** y = a + `plus`, with room for more bytes. */
const documentOf = (name: string, plus: number): string =>
  `<PMML version="4.4"><Header description="${'x'.repeat(100_000)}"/><DataDictionary><DataField name="a" optype="continuous" dataType="double"/>
<DataField name="y" optype="continuous" dataType="double"/></DataDictionary><RegressionModel modelName="${name}" functionName="regression"><MiningSchema>
<MiningField name="a"/><MiningField name="y" usageType="target"/></MiningSchema><RegressionTable intercept="${plus}"><NumericPredictor name="a" coefficient="1"/>
</RegressionTable></RegressionModel></PMML>`;

t.test('uploads, jobs and trainings', async (t) => {
  const random = seeded(t);
  const server = await new ServerProcess(t).start();
  /** Undefined: the server was killed before it answered. */
  const ask = (method: string, path: string, body?: string | object, headers = {}): Promise<HttpAnswer | undefined> =>
    server.http(method, `${SCORING}${path}`, body, headers).catch(() => undefined);
  const read = async <Answer>(path: string): Promise<Answer> => {
    const answer = await server.http('GET', path);
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.text}`);
    return answer.json<Answer>();
  };

  const device = await server.createDevice('pump');
  await server.http('POST', '/measurement/measurements', {
    source: { id: device },
    type: 'state',
    time: new Date().toISOString(),
    pump: { a: { value: 2 } },
  });
  t.equal((await ask('POST', '/model?file=job.pmml', documentOf('job', 1), OCTETS))?.status, 201);
  const job = await server.http('POST', `${SCORING}/job`, {
    jobName: 'each second',
    groupOrDeviceId: Number(device),
    modelOrGroup: 'job',
    modelToDeviceMappings: { a: 'pump.a.value' },
    jobSchedule: {
      frequency: 'periodic',
      cronExpression: '* * * * * ?',
      dataFromPreviousNSeconds: 86_400,
      timeZone: 'UTC',
    },
  });
  t.equal(job.status, 201);
  const { jobId } = job.json<{ jobId: number }>();

  const models = new Map<string, boolean>();
  const trainings = new Set<string>();
  let count = 0;
  let isOver = false;
  /** One after the other: each with a name of its own, and whether the server said that it is there. */
  const upload = async (): Promise<void> => {
    while (!isOver) {
      const name = `m${count++}`;
      models.set(name, false);
      const answer = await ask('POST', `/model?file=${name}.pmml`, documentOf(name, 1), OCTETS);
      if (answer?.status === 201) models.set(name, true);
      else await delay(50);
    }
  };
  const train = async (): Promise<void> => {
    const series = (from: number): number[] => Array.from({ length: 20 }, (_, i) => from + i + random());
    while (!isOver) {
      const data = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`s${i}`, series(i % 3 === 0 ? 0 : 100)]));
      const begun = await ask('POST', '/train/clustering', { data });
      if (begun?.status === 202) trainings.add(begun.json<{ modelName: string }>().modelName);
      await delay(begun?.status === 202 ? 300 : 50);
    }
  };
  const work = [upload(), upload(), train()];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = [...models.values()].filter(Boolean).length;
    await until('uploads go on', () => [...models.values()].filter(Boolean).length > before + 2);
    await delay(random() * RANDOM_MS);
    await server.kill();
    await server.start();
  }
  isOver = true;
  await Promise.all(work);

  const list = async (): Promise<Set<string>> =>
    new Set((await read<{ models: string[] }>(`${SCORING}/models`)).models);
  const listed = await list();
  const lost = [...models].filter(([name, isAcknowledged]) => isAcknowledged && !listed.has(name));
  t.same(lost, [], 'acknowledged models are there');
  for (const name of listed) {
    if (!models.has(name)) continue;
    const { outputs } = await read<{ outputs: object[] }>(`${SCORING}/apply/${name}?record=%7B%22a%22%3A2%7D`);
    t.same(outputs, [{ y: 3 }], `${name} is whole`);
  }

  let interrupted = 0;
  for (const name of trainings) {
    const status = async (): Promise<string> =>
      (await read<{ status: string }>(`${SCORING}/train/clustering/${name}/status`)).status;
    const first = await status();
    // Behind its status: it may have ended since the first list.
    const isThere = (await list()).has(name);
    // What was killed is shown as a failure when its time is over; one that was under way just now ends.
    if (first === 'IN_PROGRESS') interrupted += 1;
    else t.equal(first === 'SUCCESS', isThere, `${name} is deployed when it has succeeded: ${first}`);
    if (first === 'IN_PROGRESS' && isThere) t.equal(await status(), 'SUCCESS');
  }
  t.comment(`${listed.size} models, ${trainings.size} trainings, ${interrupted} of them interrupted`);

  interface Run {
    jobExecutionNumber: number;
    jobExecutionStatus: string;
    jobExecutionStartTime: string;
    jobExecutionStatusMessage: string[];
  }
  const history = `${SCORING}/job/${jobId}/history?pageSize=1000`;
  await until('no run is under way', async () => {
    const { jobExecutions } = await read<{ jobExecutions: Run[] }>(history);
    return jobExecutions.slice(1).every(({ jobExecutionStatus }) => jobExecutionStatus !== 'Running');
  });
  const { jobExecutions: runs } = await read<{ jobExecutions: Run[] }>(history);
  t.same(
    runs.map(({ jobExecutionNumber }) => jobExecutionNumber).reverse(),
    runs.map((_, index) => index + 1),
    'runs are numbered without a gap',
  );
  const seconds = runs.map(({ jobExecutionStartTime }) => jobExecutionStartTime.slice(0, 19));
  t.equal(new Set(seconds).size, seconds.length, 'none ran twice');
  const failed = runs.filter(({ jobExecutionStatus }) => jobExecutionStatus === 'Failure');
  t.ok(failed.length <= KILLS, `${failed.length} runs were under way at a kill`);
  for (const { jobExecutionStatusMessage } of failed) {
    // A run that a slow machine begins late says which times it left out, too.
    const texts = jobExecutionStatusMessage.filter((text) => !/ left out, from /.test(text));
    t.same(texts, ['The server ended while the job was running.']);
  }
  // On a slow machine each one may warn of times that it left out.
  const done = runs.find(({ jobExecutionStatus: status }) => status === 'Success' || status === 'Warning');
  const found = await read<{ inferenceCollection: { deviceId: string }[] }>(
    `${SCORING}/job/${jobId}/history/${done?.jobExecutionNumber}/inferences`,
  );
  t.match(found.inferenceCollection, [{ deviceId: device, recordSize: 1 }]);
  const events = await read<{ events: object[] }>(
    `/event/events?source=${device}&type=c8y_ScoringExecution&pageSize=1000`,
  );
  t.ok(
    events.events.length >= runs.length - failed.length - KILLS,
    `${events.events.length} events of ${runs.length} runs`,
  );
  await server.terminate();
  const named = textsOf(server.data);
  const unnamed = blobsOf(server.data).filter((key) => !named.includes(key));
  t.comment(`${unnamed.length} contents for the sweep`);
  t.ok(unnamed.length <= KILLS * UNDER_WAY, 'the sweep finds only what was under way at a kill');
});

/** All documents of a server that does not run. */
function textsOf(data: string): string {
  const lmdb = openLmdb(join(data, 'documents'), { mapSizeBytes: 1_073_741_824 });
  try {
    return [...lmdb.documents.getRange({})].map(({ value }) => String(value)).join('\n');
  } finally {
    void lmdb.close();
  }
}

/** Keys of all contents. */
const blobsOf = (data: string): string[] =>
  readdirSync(join(data, 'blobs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
