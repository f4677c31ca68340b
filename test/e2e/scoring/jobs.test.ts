/** Jobs and trainings in the whole server; in a cluster a job runs once whichever node has it (docs/spec/scoring.md#jobs). */
import t from 'tap';
import { eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const SCORING = '/service/scoring';

/** y = 1 + 2a + b. */
const PMML = `<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="a" optype="continuous" dataType="double"/><DataField name="b" optype="continuous" dataType="double"/>
<DataField name="y" optype="continuous" dataType="double"/></DataDictionary>
<RegressionModel modelName="sum" functionName="regression"><MiningSchema><MiningField name="a"/><MiningField name="b"/>
<MiningField name="y" usageType="target"/></MiningSchema><RegressionTable intercept="1">
<NumericPredictor name="a" coefficient="2"/><NumericPredictor name="b" coefficient="1"/></RegressionTable></RegressionModel></PMML>`;

const iso = (ms: number): string => new Date(ms).toISOString();

async function device(): Promise<string> {
  const { json } = await rest.post('/inventory/managedObjects', { name: 'pump', c8y_IsDevice: {} });
  return json.id;
}

async function measure(source: string, time: number, values: Readonly<Record<string, number>>): Promise<void> {
  const fragment = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
  const body = { type: 'state', time: iso(time), source: { id: source }, pump: fragment };
  t.equal((await rest.post('/measurement/measurements', body)).status, 201);
}

const once = (now: number, inMs = 5_000) => ({
  frequency: 'once',
  scheduleAt: iso(now + inMs),
  dataFrom: iso(now - 3_600_000),
  dataTo: iso(now + 3_600_000),
});

t.test('setup', async () => {
  const sent = await rest.request('POST', `${SCORING}/model?file=sum.pmml`, {
    body: PMML,
    headers: { 'content-type': 'application/octet-stream' },
  });
  t.equal(sent.status, 201);
});

t.test('a job scores a group once, and tells what it found', async (t) => {
  const now = Date.now();
  const [first, second] = [await device(), await device()];
  const group = (
    await rest.post('/inventory/managedObjects', { type: 'c8y_DeviceGroup', name: 'pumps', c8y_IsDeviceGroup: {} })
  ).json.id;
  for (const id of [first, second])
    await rest.post(`/inventory/managedObjects/${group}/childAssets`, { managedObject: { id } });
  await measure(first, now - 2_000, { a: 1, b: 10 });
  await measure(first, now - 1_000, { a: 2, b: 20 });
  const created = await rest.post(`${SCORING}/job`, {
    jobName: 'sums',
    groupOrDeviceId: Number(group),
    modelOrGroup: 'sum',
    modelToDeviceMappings: { a: 'pump.a.value', b: 'pump.b.value' },
    jobSchedule: once(Date.now()),
  });
  t.match(created, { status: 201, json: { groupOrDeviceId: Number(group), jobSchedule: { cronExpression: '' } } });
  const job = `${SCORING}/job/${created.json.jobId}`;
  await eventually('it has run', async () => (await rest.read(`${job}/status`)).jobExecutionStatus === 'Warning');
  const runs = await rest.read(`${job}/history?withTotalPages=true`);
  t.match(runs, {
    jobExecutions: [
      {
        jobExecutionNumber: 1,
        isExecutionForDeviceGroup: true,
        jobExecutionStatusMessage: [`Device ${second} has no values of the mapped series.`],
      },
    ],
    statistics: { totalPages: 1 },
  });
  t.equal(runs.jobExecutions.length, 1, 'once');
  const found = await rest.read(`${job}/history/1/inferences`);
  t.match(found.statistics, { numberOfDevices: 1, numberOfModels: 1 });
  t.same(
    found.inferenceCollection.map(({ deviceId, recordCollection }: any) => [
      deviceId,
      recordCollection[0].outputRecords.y,
    ]),
    [[first, [13, 25]]],
  );
  const events = `/event/events?source=${group}&type=c8y_ScoringExecution`;
  await eventually('one event', async () => (await rest.read(events)).events.length === 1);
  t.match((await rest.read(events)).events[0], {
    c8y_ScoringExecution: { jobExecutionNumber: 1, jobExecutionStatus: 'Warning' },
  });
  t.match(await rest.read(job), {
    jobId: created.json.jobId,
    jobName: 'sums',
    jobSchedule: { frequency: 'once', timeZone: 'UTC' },
  });
  t.match(await rest.read(`${job}/history/1`), {
    jobId: created.json.jobId,
    jobExecutionNumber: 1,
    isExecutionForDeviceGroup: true,
    jobExecutionDuration: /^\d+$/,
    jobExecutionStatus: 'Warning',
  });
  t.match(await rest.read(`${job}/history`), { next: null, prev: null, statistics: { totalPages: null, pageSize: 5 } });
  t.match(await rest.read(`${SCORING}/jobs`), {
    jobs: [{ jobId: created.json.jobId }],
    statistics: { currentPage: 1, totalPages: 1, pageSize: 5 },
  });
  t.match(await rest.get(`${job}/history/0`), {
    status: 404,
    json: { errors: ['Job Execution number 0 does not exist.'] },
  });
  t.match(await rest.get(`${SCORING}/job/00000`), {
    status: 404,
    json: { errors: ["Scoring job ID '00000' not found."] },
  });
  t.equal((await rest.put(job, {})).status, 405);
  t.match((await rest.delete(job)).json, { jobs: [] });
  t.equal((await rest.get(`${job}/history`)).status, 404);
});

t.test('what a job cannot be for', async (t) => {
  const body = {
    jobName: 'wrong',
    groupOrDeviceId: 999_999_999,
    modelOrGroup: 'sum',
    modelToDeviceMappings: { a: 'pump.a.value' },
    jobSchedule: once(Date.now(), 3_600_000),
  };
  t.match(await rest.post(`${SCORING}/job`, body), {
    status: 404,
    json: { errors: ['Device or group with id 999999999 does not exist or it is invalid'] },
  });
  const { id: neither } = (await rest.post('/inventory/managedObjects', { name: 'neither' })).json;
  t.match(await rest.post(`${SCORING}/job`, { ...body, groupOrDeviceId: Number(neither) }), {
    status: 404,
    json: { errors: [`Device or group with id ${neither} does not exist or it is invalid`] },
  });
  const source = Number(await device());
  t.match(await rest.post(`${SCORING}/job`, { ...body, groupOrDeviceId: source, modelOrGroup: 'none' }), {
    status: 404,
    json: { errors: ["Model 'none' not found."] },
  });
  t.match(
    await rest.post(`${SCORING}/job`, {
      ...body,
      groupOrDeviceId: source,
      modelToDeviceMappings: { z: 'pump.a.value' },
    }),
    { status: 400, json: { errors: [/names 'z', which is not an input of the model 'sum'; its inputs are a, b/] } },
  );
});

t.test('a clustering is trained and deployed', async (t) => {
  const begun = await rest.post(`${SCORING}/train/clustering`, {
    data: { a: [1, 2, 3], b: [1, 2, 3.1], c: [9, 8, 7], d: [9, 8, 7.1], e: [1.1, 1.5, 2, 2.5, 3] },
  });
  t.equal(begun.status, 202);
  await eventually('trained', async () => (await rest.read(begun.json.statusUrl)).status === 'SUCCESS');
  const trained = `${SCORING}/train/clustering/${begun.json.modelName}`;
  t.same(
    (await rest.read(trained)).clusters.map(({ members }: any) => members),
    [
      ['a', 'b', 'e'],
      ['c', 'd'],
    ],
  );
  const record = encodeURIComponent(JSON.stringify({ X_0: 9, X_1: 8.5, X_2: 8, X_3: 7.5, X_4: 7 }));
  t.match(await rest.read(`${SCORING}/apply/${begun.json.modelName}?record=${record}`), {
    outputs: [{ cluster: '2' }],
  });
  t.match(await rest.post(`${SCORING}/train/clustering`, { data: { a: ['x'] } }), { status: 400 });
});
