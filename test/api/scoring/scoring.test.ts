/** Models, batches, groups and resources over HTTP (docs/spec/scoring.md), with workers of their own. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { VERSION } from '../../../src/config/project.ts';
import type { Command } from '../../../src/model/commands/command.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import type { RecordsChange } from '../../../src/model/commands/records.ts';
import { Scoring, type ScoringOptions } from '../../../src/scoring/scoring.ts';
import { unpacked } from '../../../src/scoring-workers/content/unpacked.ts';
import { brokenPmml, lagPmml, linePmml, treePmml } from '../../helpers/scoring/pmml.ts';
import { until } from '../../helpers/until.ts';
import { zipOf } from '../../helpers/zip.ts';
import { ADMIN, basic, startApi } from '../helpers/api.ts';

const SCORING = '/service/scoring';
const BATCH = { headers: { 'content-type': 'application/octet-stream' } };

const refused: string[] = [];
const api = await startApi(t);
const { platform } = api;
const options: ScoringOptions = {
  blobs: platform.blobs,
  documents: platform.documents,
  refusals: { count: (limit) => refused.push(limit) },
  log: platform.log,
  spoolDirectory: mkdtempSync(join(tmpdir(), 'scoring-')),
  diskRefusal: () => undefined,
  // Each loads its modules anew.
  threads: 1,
  memoryBytesMax: 64 * 1_048_576,
  taskMsMax: 60_000,
  version: '1',
};
const scoring = new Scoring(options);
t.teardown(() => scoring.stop());
Object.assign(platform, { scoring });
for (const commands of [platform.commands, platform.freeing]) {
  const { request } = commands;
  Object.assign(commands, {
    request: async (command: Command) => {
      const answer = await request(command);
      if (command.kind === COMMAND.RECORDS_CHANGE)
        scoring.recordsChanged(command.tenant, (command.body as RecordsChange).changes);
      return answer;
    },
  });
}

interface Sent {
  readonly status: number;
  readonly bytes: Buffer;
  readonly type: string;
  readonly json: any;
}

async function send(
  method: string,
  path: string,
  body?: string | Buffer | FormData,
  headers: Record<string, string> = {},
): Promise<Sent> {
  const response = await fetch(`${api.url}${SCORING}${path}`, {
    method,
    headers: {
      authorization: ADMIN,
      ...(typeof body === 'string' || Buffer.isBuffer(body) ? BATCH.headers : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: body as string }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const type = response.headers.get('content-type') ?? '';
  return {
    status: response.status,
    bytes,
    type,
    json: type.includes('json') ? JSON.parse(bytes.toString()) : undefined,
  };
}

function formOf(name: string, content: string | Buffer): FormData {
  const form = new FormData();
  form.set('file', new Blob([content as string]), name);
  return form;
}

const upload = (pmml: string | Buffer, file = 'model.pmml'): Promise<Sent> => send('POST', `/model?file=${file}`, pmml);
const errorOf = (status: number, ...errors: (string | RegExp)[]): object => ({ status, json: { errors } });

async function unzipped(bytes: Buffer): Promise<[string | undefined, string]> {
  const { fileName, pieces } = await unpacked(
    (async function* () {
      yield bytes;
    })(),
    { bytesMax: 10_000_000 },
  );
  const read: Uint8Array[] = [];
  for await (const piece of pieces) read.push(piece);
  return [fileName, Buffer.concat(read).toString()];
}

t.test('a model is uploaded, applied and deleted', async (t) => {
  const created = await send('POST', '/model?applyCleanser=true', formOf('iris.pmml', linePmml('My line:1')));
  const information = {
    modelName: 'My line_1',
    description: 'A model of a test',
    isActive: true,
    inputFields: [{ usage: 'ACTIVE', name: 'x', type: 'DOUBLE' }],
  };
  t.match(created, { status: 201, json: information });
  t.ok(created.json.outputFields.some(({ usage, name }: any) => usage === 'OUTPUT' && name === 'predicted'));
  t.match(created.json.creationDate, /^2024-05-02T10:00:00.000Z$/);
  const path = '/model/My%20line_1';
  t.match(await send('GET', path), { status: 200, json: information });
  t.match(await send('GET', '/models'), { json: { models: ['My line_1'] } });
  t.match(await upload(linePmml('My line:1')), errorOf(409, "A model with the name 'My line_1' already exists."));
  const applied = await send('GET', `/apply/My%20line_1?record=${encodeURIComponent('[{"x":[3]}]')}`);
  t.match(applied, { status: 200, json: { model: 'My line_1', outputs: [{ predicted: 7 }] } });
  t.equal((await send('GET', `${path}/source`)).bytes.toString(), linePmml('My line:1'));
  const annotated = await send('GET', `${path}/source?annotated=true`);
  t.match(annotated.bytes.toString(), '<!-- PMML processed by Millrace (Version : 4.4) -->');
  t.match(annotated.type, 'application/xml');
  const serialized = await send('GET', `${path}/serialized`);
  t.match(await send('DELETE', path), { status: 200, json: { models: [] } });
  t.match(await send('GET', path), errorOf(404, "Model 'My line_1' not found."));
  t.match(await send('GET', '/apply/My%20line_1?record={}'), errorOf(404, "Model 'My line_1' not found."));
  t.equal(serialized.bytes.toString('latin1', 0, 15 + VERSION.length + 1), `millrace-model ${VERSION}\n`);
  const packed = [zipOf({ 'm.pmml': linePmml('zipped') }), gzipSync(linePmml('gzipped'))];
  for (const bytes of await Promise.all(packed)) t.equal((await upload(bytes)).status, 201);
  const own = Buffer.concat([Buffer.from('millrace-model 1\n'), gzipSync(linePmml('own'))]);
  t.equal((await upload(own)).status, 201);
  t.match(await upload(Buffer.concat([Buffer.from('millrace-model 2\n'), own])), errorOf(400, /has version 1/));
  t.match(await send('GET', '/models'), { json: { models: ['gzipped', 'own', 'zipped'] } });
  t.match(await send('DELETE', '/models'), { status: 200, json: { models: [] } });
});

t.test('a document with errors is not deployed', async (t) => {
  const answer = await upload(brokenPmml('broken'));
  t.match(answer, { status: 200, type: /application\/xml/ });
  t.match(answer.bytes.toString(), /<!-- ERROR: .*'?z'?/);
  t.match(await upload('no xml'), errorOf(400, 'Invalid XML format.'));
  t.match(await upload(''), errorOf(400, 'Empty input stream.'));
  t.match(await upload(await zipOf({})), errorOf(400, /has no file/));
  const entity = '<!DOCTYPE PMML [<!ENTITY e SYSTEM "file:///etc/passwd">]><PMML version="4.4">&e;</PMML>';
  t.match(await upload(entity), errorOf(400, 'Invalid XML format.'));
  t.match(await send('GET', '/models'), { json: { models: [] } });
});

t.test('deactivated models answer 400, and metrics begin anew', async (t) => {
  await upload(treePmml('tree'));
  await upload(linePmml('line'));
  t.match((await send('GET', '/model/tree/metrics')).json, {
    predictionMetricsErrorMsg: String,
    modelSize: /^\.\d\d MB$/,
  });
  for (const x of [1, 20, 30]) await send('GET', `/apply/tree?record={"x":${x}}`);
  await until('the thread tells what its model takes', () => scoring.pool.loadedBytes(2) > 0);
  await send('POST', '/apply/line', 'x\n1\n2\n3\n4\n5\n');
  const metrics = (await send('GET', '/model/tree/metrics')).json;
  t.match(metrics.predictionMetrics, { low: 1, high: 2 });
  const texts = Object.entries(metrics).filter(([name]) => name !== 'predictionMetrics');
  t.ok(
    texts.every(([, value]) => /^\d*\.\d\d MB$/.test(value as string)),
    JSON.stringify(texts),
  );
  t.match((await send('GET', '/model/line/metrics')).json.predictionMetrics, {
    Minimum: 3,
    FirstQuartile: 5,
    Median: 7,
    ThirdQuartile: 9,
    Maximum: 11,
    TotalObservations: 5,
  });
  for (const _ of [1, 2])
    t.match(await send('PUT', '/model/tree/deactivate'), { status: 200, json: { isActive: false } });
  t.match(await send('GET', '/apply/tree?record={}'), errorOf(400, "Model 'tree' is not active."));
  t.match(await send('POST', '/apply/tree', 'x\n1\n'), errorOf(400, "Model 'tree' is not active."));
  t.match((await send('GET', '/model/tree/metrics')).json, { memoryMetricsErrorMsg: String });
  t.match(await send('PUT', '/model/tree/activate'), { status: 200, json: { isActive: true } });
  t.match(await send('GET', '/apply/tree?record={"x":11}'), { json: { outputs: [{ predicted: 'high' }] } });
  t.match(await send('PUT', '/model/none/activate'), errorOf(404, "Model 'none' not found."));
});

t.test('a record that cannot be read', async (t) => {
  for (const record of ['{', '5', '[]', '[{},{}]', 'null']) {
    const answer = await send('GET', `/apply/line?record=${encodeURIComponent(record)}`);
    t.match(answer, {
      status: 500,
      json: { status: 500, error: 'Internal Server Error', exception: String, message: String },
    });
    t.match(answer.json.path, `${SCORING}/apply/line`);
    t.type(answer.json.timestamp, 'number');
  }
  t.equal((await send('GET', '/apply/line')).status, 400);
  t.match(await send('GET', '/apply/line/explain?record={"x":1}'), { status: 200, type: /text\/plain/ });
});

t.test('batches', async (t) => {
  const csv = 'x\r\n1\r\n\r\n2\r\n';
  const asCsv = 'predicted';
  const first = (await send('POST', '/apply/line', csv)).bytes.toString();
  t.match(first.split('\n')[0], asCsv);
  t.equal(first.trim().split('\n').length, 3);
  const json = await send('POST', '/apply/line', csv, { accept: 'application/json' });
  t.match(json.json, { model: 'line', outputs: [{ predicted: 3 }, { predicted: 5 }] });
  const records = JSON.stringify(Array.from({ length: 1_001 }, (_, x) => ({ x })));
  const many = await send('POST', '/apply/line?maxRecordsPerThread=10&maxThreads=3', records);
  t.same(
    many.json.outputs.map(({ predicted }: any) => predicted),
    Array.from({ length: 1_001 }, (_, x) => 1 + 2 * x),
    'in the order of the records',
  );
  t.match((await send('POST', '/apply/line', records, { accept: 'text/csv' })).type, 'text/csv');
  const zip = await send('POST', '/apply/line', formOf('r.csv.zip', await zipOf({ 'r.csv': csv })), {
    accept: 'application/json',
  });
  t.match(zip.type, 'application/zip');
  const [name, text] = await unzipped(zip.bytes);
  t.equal(name, 'line.json');
  t.match(JSON.parse(text), { outputs: [{ predicted: 3 }, { predicted: 5 }] });
  t.match(await send('POST', '/apply/line', gzipSync(records)), { status: 200, json: { model: 'line' } });
  t.match(await send('POST', '/apply/line', formOf('r.json', '[]')), { status: 200, json: { outputs: [] } });
  t.match(await send('POST', '/apply/line', '\ufeff [{"x":1}]'), { json: { outputs: [{ predicted: 3 }] } });
  await upload(lagPmml('lag'));
  for (const body of ['x\n1\n2\n3\n4\n5\n', '[{"x":1},{"x":2},{"x":3},{"x":4},{"x":5}]']) {
    const looked = await send('POST', '/apply/lag?maxRecordsPerThread=2', body, { accept: 'application/json' });
    t.same(
      looked.json.outputs.map(({ y }: { y: number | null }) => y),
      [null, 12, 23, 34, 45],
      'a slice knows the records in front of it',
    );
  }
  await send('DELETE', '/model/lag');
  const wrong: [string | Buffer, object][] = [
    ['', errorOf(400, 'Empty input stream.')],
    [' \n ', errorOf(400, 'Empty input stream.')],
    ['[{"x":1},{"x":}]', errorOf(400, 'Failed to parse input at record 2.', String as never)],
    ['[5]', errorOf(400, 'Failed to parse input at record 1.', String as never)],
    ['x,y\n1\n', errorOf(400, 'Failed to parse input at record 1.', String as never)],
    ['x,x\n1,2\n', errorOf(400, /Invalid CSV File : .*twice/)],
    [
      `\n"x\ny"\n${'1\n'.repeat(12_000)}1,2\n`,
      errorOf(400, 'Failed to parse input at record 12001.', /the header has 1 columns \(line 12004\)$/ as never),
    ],
    [
      `x\n${'1\n'.repeat(12_000)}1\n1"\n`,
      errorOf(400, 'Failed to parse input at record 12002.', /double quotes \(line 12003, position 2\)$/ as never),
    ],
  ];
  for (const [body, error] of wrong)
    t.match(await send('POST', '/apply/line', body), error, body.slice(0, 30).toString());
  t.match(await send('POST', '/apply/none', 'x\n'), errorOf(404, "Model 'none' not found."));
});

/** Sends a batch of 100,000 records, which is read in some pieces, up to the last one. @returns what sends that one, and resolves with the status */
function sendMost(path: string): () => Promise<number | undefined> {
  const text = `x\n${'1\n'.repeat(100_000)}`;
  const sent = request(`${api.url}${SCORING}${path}`, {
    method: 'POST',
    headers: { authorization: ADMIN, ...BATCH.headers, 'content-length': text.length },
  });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
  });
  sent.write(text.slice(0, -2));
  return () => {
    sent.end(text.slice(-2));
    return answered;
  };
}

t.test('the progress of a batch', async (t) => {
  const batches = async (): Promise<any[]> => (await send('GET', '/batches')).json.batches;
  t.same(await batches(), []);
  const finish = sendMost('/apply/line?maxRecordsPerThread=1000&maxThreads=1');
  await until('records are scored', async () => (await batches())[0]?.records >= 30_000);
  t.match(await batches(), [{ id: /^\d+$/, userName: 'admin', modelName: 'line', startTime: /Z$/ }]);
  t.same(scoring.batches.of(3), [], 'none of another tenant');
  t.equal(await finish(), 200);
  t.same(await batches(), []);
});

t.test('groups', async (t) => {
  await upload(linePmml('line2', 100));
  const group = { groupName: 'g', models: ['line', 'line2'], primaryModel: 'line' };
  const asJson = { 'content-type': 'application/json' };
  const post = (body: object): Promise<Sent> => send('POST', '/pmml/groups', JSON.stringify(body), asJson);
  t.match(await post(group), { status: 201, json: group });
  t.match(await post(group), errorOf(409, "A model group with the name 'g' already exists."));
  const other = { groupName: 'h', models: ['line'], primaryModel: 'line' };
  t.match(
    await post(other),
    errorOf(400, "The model 'line' cannot be added to group because it is used in some other group."),
  );
  t.match(await post({ groupName: 'h', models: ['tree', 'none'], primaryModel: 'tree' }), { status: 404 });
  t.match(await post({ groupName: 'h', models: ['tree'], primaryModel: 'x' }), { status: 400 });
  t.match(await post({ groupName: 'h', models: [] }), errorOf(400, String as never));
  t.match(await send('GET', '/pmml/groups/g'), { status: 200, json: group });
  t.match(await send('GET', '/pmml/groups/dummy'), errorOf(404, "Model group with name 'dummy' does not exist."));
  t.match((await send('GET', '/pmml/groups?withTotalPages=true&pageSize=1')).json, {
    groups: [group],
    next: null,
    prev: null,
    statistics: { currentPage: 1, pageSize: 1, totalPages: 1 },
  });
  const put = (body: object): Promise<Sent> => send('PUT', '/pmml/groups', JSON.stringify(body), asJson);
  t.match(await put({ ...group, groupName: 'dummy' }), { status: 404 });
  t.match(await put({ ...group, models: ['line', 'tree'] }), { status: 400, json: { errors: [/same inputs/] } });
  t.match(await put({ ...group, primaryModel: 'line2' }), { status: 200, json: { primaryModel: 'line2' } });
  const finish = sendMost('/pmml/apply-group/g');
  const batches = async (): Promise<any[]> => (await send('GET', '/batches')).json.batches;
  await until('it is under way', async () => (await batches()).length === 1);
  t.match(await batches(), [{ groupName: 'g', modelName: 'line2', records: 0 }]);
  t.equal(await finish(), 200);
  const primary = await send('POST', '/pmml/apply-group/g', 'x\n1\n');
  t.match(primary, { status: 200, type: 'application/zip' });
  const [name, text] = await unzipped(primary.bytes);
  t.equal(name, 'line2.csv');
  t.match(text, /102/);
  const all = await send('POST', '/pmml/apply-group/g?applyAllModels=true', await zipOf({ 'r.csv': 'x\n1\n' }));
  t.ok(all.bytes.includes('line.csv') && all.bytes.includes('line2.csv'));
  const detail = await send('POST', '/pmml/apply-group/g/detail?matchScore=0.9', 'x,y\n1,102\n2,50\n');
  t.equal(
    detail.bytes.toString(),
    'x,y,Expected,Computed,MatchScore,Match\n1,102,102,102,1,true\n2,50,50,104,0.4807692307692307,false\n',
  );
  t.match(
    await send('POST', '/pmml/apply-group/g', 'x\n1"2\n'),
    errorOf(
      400,
      'Invalid CSV File : Double quote character found in value not surrounded by double quotes (line 2, position 2)',
    ),
  );
  await send('DELETE', '/model/line2');
  t.match((await send('GET', '/pmml/groups/g')).json, { models: ['line'], primaryModel: 'line' });
  t.match(await send('DELETE', '/pmml/groups/g'), { status: 200, json: { groups: [] } });
  t.match(await send('DELETE', '/pmml/groups/g'), { status: 404 });
  t.match(await post(other), { status: 201 });
  t.match(await send('DELETE', '/pmml/groups'), { status: 200, json: { groups: [] } });
});

t.test('resources', async (t) => {
  const codes = {
    fileName: 'my codes_.csv',
    resourceType: 'Lookup Tables',
    resourceIdentifier: 'Table Name',
    resourceNames: ['my codes_'],
  };
  t.match(await send('POST', '/resource?file=my%20codes*.csv', 'a,b\n1,2\n'), { status: 201, json: codes });
  t.match(
    await send('POST', '/resource', formOf('my codes*.csv', 'a\n')),
    errorOf(409, "A resource file with the name 'my codes_.csv' already exists."),
  );
  const jar = await send('POST', '/resource', formOf('f.jar', await zipOf({ 'a/B.class': 'x' })));
  t.match(jar, { status: 201, json: { resourceType: 'Custom Functions', resourceNames: ['a.B'] } });
  t.match((await send('GET', '/resources')).json, { resources: [{ fileName: 'f.jar' }, codes] });
  t.match((await send('GET', '/resource/my%20codes_.csv')).json, codes);
  t.equal((await send('GET', '/resource/my%20codes_.csv/source')).bytes.toString(), 'a,b\n1,2\n');
  t.match(await send('GET', '/resource/dummy'), errorOf(404, "Resource file 'dummy' not found"));
  t.match(await send('POST', '/resource?file=x.txt', 'x'), errorOf(400, /JAR file/));
  t.match(await send('POST', '/resource?file=x.csv', ''), errorOf(400, 'Empty input stream.'));
  t.match(await send('DELETE', '/resource/f.jar'), {
    status: 200,
    json: { resources: [{ fileName: codes.fileName }] },
  });
  t.match(await send('DELETE', '/resources'), { status: 200, json: { resources: [] } });
});

t.test('a function that no interrupt reaches ends with its thread, and is named', async (t) => {
  const source = 'export const find = (x) => (x > 1 ? [].indexOf.call({ length: 2 ** 53 - 1 }, 1) : x);';
  t.equal((await send('POST', '/resource?file=native.js', source)).status, 201);
  const output = '<OutputField name="found" optype="continuous" dataType="double" feature="transformedValue">';
  const call = `${output}<Apply function="native:find"><FieldRef field="x"/></Apply></OutputField></Output>`;
  t.equal((await upload(linePmml('native').replace('</Output>', call))).status, 201);
  const find = (x: number): Promise<Sent> => send('GET', `/apply/native?record={"x":${x}}`);
  t.match(await find(1), { status: 200 }, 'its thread has the model');
  // Only now: three tasks in which a slow machine starts a thread would make the model pause.
  scoring.pool.taskMsMax = 1_000;
  t.match(
    await find(2),
    errorOf(400, /the function find of native.js does not end in the time of a task \(scoring\/task-time\)/),
  );
  scoring.pool.taskMsMax = options.taskMsMax;
  t.match(await find(1), { status: 200 }, 'another thread goes on');
  await send('DELETE', '/model/native');
});

t.test('functions in JavaScript, and several lookup tables', async (t) => {
  const lookUp = (table: string) =>
    `<MapValues outputColumn="to"><FieldColumnPair field="x" column="from"/><TableLocator><Extension name="table" value="${table}"/></TableLocator></MapValues>`;
  const call = (name: string) => `<Apply function="${name}"><FieldRef field="x"/></Apply>`;
  const modelOf = (
    name: string,
    outputs: Readonly<Record<string, string>>,
  ): string => `<PMML version="4.4"><Header/><DataDictionary>
<DataField name="x" optype="continuous" dataType="double"/></DataDictionary><RegressionModel modelName="${name}" functionName="regression"><MiningSchema>
<MiningField name="x"/></MiningSchema><Output>${Object.entries(outputs)
    .map(
      ([output, expression]) =>
        `<OutputField name="${output}" optype="categorical" dataType="string" feature="transformedValue">${expression}</OutputField>`,
    )
    .join('')}</Output><RegressionTable intercept="1"/></RegressionModel></PMML>`;
  await send('POST', '/resource?file=one.csv', 'from,to\n1,a\n');
  await send('POST', '/resource?file=two.csv', 'from,to\n1,b\n');
  await send('POST', '/resource', formOf('f.jar', await zipOf({ 'a/B.class': 'x' })));
  t.match(
    await send(
      'POST',
      '/resource',
      formOf('geo.js', 'export const half = (x) => x / 2;\nexport function fails() {\n  throw new Error("no");\n}'),
    ),
    {
      status: 201,
      json: {
        resourceType: 'Custom Functions',
        resourceIdentifier: 'Function Namespace',
        resourceNames: ['geo:fails', 'geo:half'],
      },
    },
  );
  t.match(
    await send('POST', '/resource?file=bad.js', 'export const a = ;'),
    errorOf(400, /bad.js cannot be used in line 1: SyntaxError/),
  );
  t.match(
    await send('POST', '/resource?file=long.js', `//${'x'.repeat(1_048_576)}`),
    errorOf(400, /1048576.*scoring\/script-bytes|scoring\/script-bytes.*1048576/),
  );

  const uses = { one: lookUp('one'), two: lookUp('two'), half: call('geo:half'), plain: call('half') };
  t.equal((await send('POST', '/model?file=uses.pmml', modelOf('uses', uses))).status, 201);
  t.match(await send('GET', '/apply/uses?record={"x":1}'), {
    status: 200,
    json: { outputs: [{ one: 'a', two: 'b', half: '0.5', plain: '0.5' }] },
  });
  t.equal((await send('POST', '/model?file=faulty.pmml', modelOf('faulty', { y: call('geo:fails') }))).status, 201);
  t.match(
    await send('GET', '/apply/faulty?record={"x":1}'),
    errorOf(400, "Model 'faulty' cannot be used: the function 'fails' of geo.js failed in line 3: Error: no"),
  );
  const java = await send('POST', '/model?file=java.pmml', modelOf('java', { y: call('a.B') }));
  t.equal(java.status, 200);
  t.match(
    java.bytes.toString(),
    /ERROR: Apply \(line \d+\): 'function' is 'a.B', .* functions of JAR files are not run/,
  );
  await send('DELETE', '/resource/geo.js');
  await send('PUT', '/model/uses/deactivate');
  await send('PUT', '/model/uses/activate');
  t.match(
    await send('GET', '/apply/uses?record={"x":1}'),
    errorOf(400, /Model 'uses' cannot be used: no resource file has the function 'geo:half'/),
  );
  for (const name of ['uses', 'faulty']) await send('DELETE', `/model/${name}`);
  await send('DELETE', '/resources');
});

t.test('roles, methods and the other path', async (t) => {
  api.fake.addUser('ada', []);
  api.fake.addUser('reader', ['ROLE_MACHINE_LEARNING_READ']);
  const without = await fetch(`${api.url}${SCORING}/models`);
  t.equal(without.status, 401);
  t.match(await without.json(), { error: 'general/internalError', message: 'No auth information found' });
  for (const [method, path] of [
    ['POST', '/model?file=x'],
    ['DELETE', '/models'],
    ['POST', '/pmml/groups'],
    ['DELETE', '/resources'],
    ['GET', '/models'],
  ] as const)
    t.equal(
      (await send(method, path, method === 'POST' ? '{}' : undefined, { authorization: basic('t1/ada') })).status,
      403,
      path,
    );
  const reader = { authorization: basic('t1/reader') };
  t.equal((await send('GET', '/apply/line?record={}', undefined, reader)).status, 200);
  t.equal((await send('DELETE', '/models', undefined, reader)).status, 403);
  t.equal((await send('PUT', '/models', '{}', { 'content-type': 'application/json' })).status, 405);
  const branded = await fetch(`${api.url}/service/zementis/models`, { headers: { authorization: ADMIN } });
  t.match(await branded.json(), { models: ['line', 'tree'] });
});
