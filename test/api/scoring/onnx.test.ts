/** ONNX models, scripts and pipelines over HTTP (docs/spec/scoring.md#onnx), with processes of their own. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { OnnxScoring } from '../../../src/scoring/onnx/onnx-scoring.ts';
import { pyodideProgram } from '../../../src/scoring-workers/script/pyodide.ts';
import { ROOT } from '../../helpers/root.ts';
import { ELEMENT, endless, model, node, value } from '../../scoring-workers/onnx/onnx-files.ts';
import { ADMIN, basic, startApi } from '../helpers/api.ts';

const refused: string[] = [];
const api = await startApi(t);
const { platform } = api;
const refusals = { count: (limit: string) => refused.push(limit) };
const onnx = new OnnxScoring({
  blobs: platform.blobs,
  documents: platform.documents,
  refusals,
  log: platform.log,
  processes: 1,
  interpreters: 1,
  memoryBytesMax: 1024 * 2 ** 20,
  modelMsMax: 4_000,
  scriptMsMax: 4_000,
  python: () => pyodideProgram({ memoryBytesMax: 128 * 2 ** 20 }),
});
t.teardown(() => onnx.stop());
Object.assign(platform, { onnx });

interface Sent {
  readonly status: number;
  readonly bytes: Buffer;
  readonly json: any;
}

async function send(
  method: string,
  path: string,
  body?: string | Uint8Array | FormData,
  headers: Record<string, string> = {},
): Promise<Sent> {
  const response = await fetch(`${api.url}/service/scoring/onnx${path}`, {
    method,
    headers: {
      authorization: ADMIN,
      ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/octet-stream' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: body as string }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return { status: response.status, bytes, json: isJson ? JSON.parse(bytes.toString()) : undefined };
}

const errors = async (t: Test, status: number, texts: readonly string[], sent: Promise<Sent>): Promise<void> => {
  const { status: got, json } = await sent;
  t.same({ status: got, errors: json?.errors }, { status, errors: texts });
};

function form(content: Uint8Array | string, fileName: string): FormData {
  const fields = new FormData();
  fields.set('file', new Blob([content as Uint8Array<ArrayBuffer>]), fileName);
  return fields;
}

/** Adds both inputs; its name has characters that no path takes. */
const sum = model({
  name: 'sum (of two)',
  nodes: [node('Add', { inputs: ['a', 'b'], outputs: ['c'] })],
  inputs: [value('a', ELEMENT.float, ['N', 2]), value('b', ELEMENT.float)],
  outputs: [value('c', ELEMENT.float, ['N', 2])],
});
const SUM = {
  modelName: 'sum _of two_',
  modelVersion: 3,
  onnxVersion: '1.12',
  opsetVersions: ['ai.onnx v17', 'ai.onnx.ml v3'],
  producerName: 'tests',
  producerVersion: '1.0',
  isActive: true,
  inputs: [
    { name: 'a', shape: ['N', 2], type: 'tensor(float)' },
    { name: 'b', shape: null, type: 'tensor(float)' },
  ],
  outputs: [{ name: 'c', shape: ['N', 2], type: 'tensor(float)' }],
};
const NAME = '/models/sum%20_of%20two_';
const INPUTS = JSON.stringify({ a: [[1, 2]], b: [[0.5, -1]] });

t.test('models', async (t) => {
  t.same((await send('GET', '/models')).json, { models: [] });
  const uploaded = await send('POST', '/models?file=sum.onnx', sum);
  t.same([uploaded.status, uploaded.json], [201, SUM]);
  const named = await send(
    'POST',
    '/models',
    form(
      model({
        name: '',
        nodes: [node('Identity', { inputs: ['x'], outputs: ['y'] })],
        inputs: [value('x', 1)],
        outputs: [value('y', 1)],
      }),
      'echo.onnx',
    ),
  );
  t.same([named.status, named.json.modelName], [201, 'echo'], 'without a name in the graph that of the file');
  await errors(t, 409, ["A model with the name 'sum _of two_' already exists."], send('POST', '/models', sum));
  await errors(t, 400, ['Invalid onnx format.', 'field 0 at byte 0'], send('POST', '/models', Buffer.alloc(9)));
  await errors(t, 400, ['Empty input stream.'], send('POST', '/models', ''));
  t.same((await send('GET', '/models')).json, { models: ['echo', 'sum _of two_'] });
  t.same((await send('GET', NAME)).json, SUM);
  t.same((await send('GET', `${NAME}/source`)).bytes, Buffer.from(sum));

  const path = '/apply/sum%20_of%20two_';
  t.same((await send('POST', path, INPUTS)).json, { c: [[1.5, 1]] });
  t.same((await send('POST', path, INPUTS, { 'content-type': 'application/json' })).json, { c: [[1.5, 1]] }, 'as JSON');
  t.same((await send('POST', path, form(INPUTS, 'inputs.json'))).json, { c: [[1.5, 1]] }, 'as a form');
  await errors(t, 400, ['Invalid json format.'], send('POST', path, '{"a":'));
  await errors(t, 400, ['Invalid json format.'], send('POST', path, ''));
  await errors(
    t,
    400,
    ["The input 'a' has the shape [N,2]; the given one is [1,3]."],
    send('POST', path, JSON.stringify({ a: [[1, 2, 3]], b: 1 })),
  );
  t.same((await send('PUT', `${NAME}/deactivate`)).json, { ...SUM, isActive: false });
  await errors(t, 400, ["Model 'sum _of two_' is not active."], send('POST', path, INPUTS));
  t.same((await send('PUT', `${NAME}/deactivate`)).json.isActive, false, 'once more');
  t.same((await send('PUT', `${NAME}/activate`)).json, SUM);
  t.same((await send('POST', path, INPUTS)).json, { c: [[1.5, 1]] });
  for (const [method, missing] of [
    ['GET', '/models/dummy'],
    ['GET', '/models/dummy/source'],
    ['PUT', '/models/dummy/activate'],
    ['DELETE', '/models/dummy'],
    ['POST', '/apply/dummy'],
  ] as const)
    await errors(t, 404, ["Model 'dummy' not found."], send(method, missing, method === 'POST' ? '{}' : undefined));
  t.same((await send('DELETE', '/models/echo')).json, { models: ['sum _of two_'] });
});

const PRE = 'import json\ndef process(content):\n  x = json.loads(content)["values"]\n  return {"a": [x], "b": 1}\n';
const POST = 'def process(content):\n  return {"best": max(content[0].tolist()[0]), "names": content.keys()}\n';

t.test('scripts', async (t) => {
  t.same((await send('GET', '/resources')).json, { resources: [] });
  const uploaded = await send('POST', '/resources?file=pre.py', PRE);
  t.same([uploaded.status, uploaded.json], [201, { resources: ['pre.py'] }]);
  t.same((await send('POST', '/resources', form(POST, 'a/post?.py'))).json, { resources: ['post_.py', 'pre.py'] });
  t.equal((await send('GET', '/resources/pre.py')).bytes.toString(), PRE);
  await errors(
    t,
    409,
    ["A resource file with the name 'pre.py' already exists."],
    send('POST', '/resources?file=pre.py', PRE),
  );
  await errors(
    t,
    400,
    ['Invalid python format.', "line 1: expected ':'"],
    send('POST', '/resources?file=a.py', 'def process(c) pass'),
  );
  await errors(
    t,
    400,
    ['Invalid python format.', 'the script has no function process(content)'],
    send('POST', '/resources?file=a.py', 'x = 1'),
  );
  await errors(
    t,
    400,
    ["The script 'a.py' imports modules that the Python engine of this server lacks: PIL, numpy"],
    send('POST', '/resources?file=a.py', 'import numpy as np\nfrom PIL import Image\ndef process(c): pass'),
  );
  await errors(t, 400, ['Empty input stream.'], send('POST', '/resources?file=a.py', ''));
  await errors(t, 404, ["Resource file 'dummy' not found."], send('GET', '/resources/dummy'));
  await errors(t, 404, ["Resource file 'dummy' not found"], send('DELETE', '/resources/dummy'));
  await errors(
    t,
    400,
    ['It has more than 1048576 bytes (scoring/script-bytes)'],
    send('POST', '/resources?file=a.py', '#'.repeat(2 ** 20 + 1)),
  );
});

t.test('pipelines', async (t) => {
  const pipeline = {
    pipelineName: 'p',
    preProcessing: 'pre.py',
    modelName: 'sum _of two_',
    postProcessing: 'post_.py',
  };
  const post = (body: unknown): Promise<Sent> =>
    send('POST', '/pipelines', JSON.stringify(body), { 'content-type': 'application/json' });
  t.same((await send('GET', '/pipelines')).json, { pipelines: [] });
  const created = await post(pipeline);
  t.same([created.status, created.json], [201, pipeline]);
  await errors(t, 409, ["A pipeline with the name 'p' already exists."], post(pipeline));
  await errors(
    t,
    400,
    ["Invalid key 'model' found. Valid keys are - ['pipelineName', 'modelName', 'preProcessing', 'postProcessing']."],
    post({ pipelineName: 'q', model: 'x' }),
  );
  await errors(t, 400, ["'modelName' is ''; it may be a text that is not empty"], post({ pipelineName: 'q' }));
  await errors(
    t,
    400,
    ["'preProcessing' is '[1]'; it may be a text that is not empty"],
    post({ ...pipeline, preProcessing: [1] }),
  );
  await errors(t, 400, ['Invalid json format.'], post([]));
  await errors(t, 404, ["Model 'dummy' not found."], post({ pipelineName: 'q', modelName: 'dummy' }));
  await errors(
    t,
    404,
    ["Resource file 'dummy' not found"],
    post({ ...pipeline, pipelineName: 'q', postProcessing: 'dummy' }),
  );
  t.same((await post({ pipelineName: 'bare', modelName: 'sum _of two_', preProcessing: '' })).json, {
    pipelineName: 'bare',
    preProcessing: null,
    modelName: 'sum _of two_',
    postProcessing: null,
  });
  t.same((await send('GET', '/pipelines')).json, { pipelines: ['bare', 'p'] });
  t.same((await send('GET', '/pipelines/p')).json, pipeline);

  const body = JSON.stringify({ values: [4, 5] });
  t.same((await send('POST', '/apply-pipeline/p', body)).json, { best: 6, names: ['c'] });
  t.same((await send('POST', '/apply-pipeline/p', form(body, 'any.bin'))).json, { best: 6, names: ['c'] });
  t.same((await send('POST', '/apply-pipeline/bare', INPUTS)).json, { c: [[1.5, 1]] }, 'without scripts as apply');
  await errors(t, 400, ['Empty input stream.'], send('POST', '/apply-pipeline/p', ''));
  await errors(t, 404, ["Pipeline 'dummy' not found."], send('POST', '/apply-pipeline/dummy', body));
  const failed = await send('POST', '/apply-pipeline/p', '{}');
  t.same([failed.status, failed.json.errors], [400, ["The script 'pre.py' failed: KeyError: 'values' (line 3)"]]);

  const use =
    "The resource [pre.py] is required by the Pipeline(s) [['p']]. Please delete these pipeline(s) before deleting the resource [pre.py].";
  await errors(t, 500, [use], send('DELETE', '/resources/pre.py'));
  t.equal((await send('DELETE', '/resources')).status, 500);
  t.same((await send('GET', '/resources')).json, { resources: ['post_.py', 'pre.py'] }, 'all are still there');
  t.same((await send('DELETE', '/pipelines/p')).json, { pipelines: ['bare'] });
  await errors(t, 404, ["Pipeline 'p' not found."], send('DELETE', '/pipelines/p'));
  t.same((await send('DELETE', '/resources/pre.py')).json, { resources: ['post_.py'] });
  t.same((await send('DELETE', '/resources')).json, { resources: [] });
  t.same((await send('DELETE', '/models')).json, { models: [] });
  await errors(t, 404, ["Model 'sum _of two_' not found."], send('POST', '/apply-pipeline/bare', INPUTS));
  t.same((await send('DELETE', '/pipelines')).json, { pipelines: [] });
});

t.test('what takes too long, other users, other paths', async (t) => {
  await send(
    'POST',
    '/models',
    model({
      name: 'echo',
      nodes: [node('Identity', { inputs: ['x'], outputs: ['y'] })],
      inputs: [value('x', 1)],
      outputs: [value('y', 1)],
    }),
  );
  await send('POST', '/resources?file=loop.py', 'def process(c):\n  while True: pass\n');
  await send(
    'POST',
    '/pipelines',
    JSON.stringify({ pipelineName: 'loop', modelName: 'echo', preProcessing: 'loop.py' }),
  );
  await errors(
    t,
    400,
    ["The script 'loop.py' was ended: it needed more than 4000 ms. (scoring/script-time)"],
    send('POST', '/apply-pipeline/loop', 'x'),
  );
  t.ok(refused.includes('scoring/script-time'));
  await send('POST', '/models', endless());
  const late = await send('POST', '/apply/test', JSON.stringify({ goesOn: true, x: [1] }));
  t.same([late.status, late.json.errors], [503, ['The server is busy: scoring/onnx-time']]);
  t.same((await send('POST', '/apply/echo', '{"x":[1]}')).json, { y: [1] }, 'the next request works');

  const reader = { authorization: basic('reader', 'password') };
  t.equal((await send('GET', '/models', undefined, { authorization: '' })).status, 401);
  t.equal((await send('GET', '/models', undefined, reader)).status === 200, false, 'a user without the roles');
  t.equal((await send('PUT', '/pipelines', '{}')).status, 405);
  const branded = await fetch(`${api.url}/service/zementis/onnx/models`, { headers: { authorization: ADMIN } });
  t.same(await branded.json(), { models: ['echo', 'test'] });
  const folder = join(ROOT, '..', 'shared', 'data', 'onnx', 'logreg-zipmap', 'model.onnx');
  if (!existsSync(folder)) return;
  await send('POST', '/models', readFileSync(folder));
  t.same((await send('POST', '/apply/ONNX_LogisticRegression_', '{"X":[[5.1,3.5,1.4,0.2]]}')).json.output_label, [0]);
});
