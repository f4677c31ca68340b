/** Scoring in the whole server, and between the nodes of a cluster (docs/spec/scoring.md). */
import t from 'tap';
import { eventually, startServer } from '../../helpers/running/server.ts';
import { linePmml } from '../../helpers/scoring/pmml.ts';
import { ELEMENT, model, node, value } from '../../scoring-workers/onnx/onnx-files.ts';

const server = await startServer(t);
const { rest } = server;
const SCORING = '/service/scoring';
const send = (path: string, body: string | Buffer, headers = {}) =>
  rest.request('POST', `${SCORING}${path}`, {
    body,
    headers: { 'content-type': 'application/octet-stream', ...headers },
  });

t.test('a model that one node has taken is applied by all, and deleted for all', async (t) => {
  t.match(await send('/model?file=line.pmml', linePmml('line')), { status: 201, json: { modelName: 'line' } });
  const records = Array.from({ length: 20_000 }, (_, x) => ({ x }));
  for (let request = 0; request < 4; request += 1) {
    t.match(await rest.read(`${SCORING}/apply/line?record={"x":${request}}`), {
      outputs: [{ predicted: 1 + 2 * request }],
    });
    const batch = await send('/apply/line?maxRecordsPerThread=500', JSON.stringify(records));
    t.equal(batch.status, 200);
    t.same(
      batch.json.outputs.map(({ predicted }: any) => predicted),
      records.map(({ x }) => 1 + 2 * x),
    );
  }
  t.equal((await rest.put(`${SCORING}/model/line/deactivate`, {})).status, 200);
  await eventually('inactive', async () => (await rest.get(`${SCORING}/apply/line?record={}`)).status === 400);
  t.match((await rest.delete(`${SCORING}/models`)).json, { models: [] });
  for (let request = 0; request < 3; request += 1)
    await eventually('deleted', async () => (await rest.get(`${SCORING}/apply/line?record={}`)).status === 404);
});

t.test('ONNX models, scripts and functions of one node are those of all', async (t) => {
  const sum = model({
    name: 'sum',
    nodes: [node('Add', { inputs: ['a', 'b'], outputs: ['c'] })],
    inputs: [value('a', ELEMENT.float, ['N']), value('b', ELEMENT.float, ['N'])],
    outputs: [value('c', ELEMENT.float, ['N'])],
  });
  t.match(await send('/onnx/models?file=sum.onnx', Buffer.from(sum)), { status: 201, json: { modelName: 'sum' } });
  const script = 'def process(content):\n    return {"sums": content["c"].tolist()}\n';
  t.equal((await send('/onnx/resources?file=after.py', script)).status, 201);
  const pipeline = { pipelineName: 'p', modelName: 'sum', postProcessing: 'after.py' };
  t.equal((await rest.post(`${SCORING}/onnx/pipelines`, pipeline)).status, 201);
  t.equal((await send('/resource?file=own.js', 'export const twice = (x) => 2 * x;')).status, 201);
  const calling = linePmml('calling')
    .replace(
      '</DataDictionary>',
      '</DataDictionary><TransformationDictionary><DerivedField name="twice" optype="continuous" dataType="double"><Apply function="own:twice"><FieldRef field="x"/></Apply></DerivedField></TransformationDictionary>',
    )
    .replaceAll('NumericPredictor name="x"', 'NumericPredictor name="twice"');
  t.match(await send('/model?file=calling.pmml', calling), { status: 201 });
  for (let request = 0; request < 3; request += 1) {
    const inputs = JSON.stringify({ a: [1, request], b: [2, 3] });
    t.match(await send('/onnx/apply/sum', inputs), { status: 200, json: { c: [3, request + 3] } });
    t.match(await rest.read(`${SCORING}/apply/calling?record={"x":${request}}`), {
      outputs: [{ predicted: 1 + 4 * request }],
    });
  }
  for (let request = 0; request < 2; request += 1)
    t.match(await send('/onnx/apply-pipeline/p', '{"a":[1],"b":[2]}'), { status: 200, json: { sums: [3] } });
  t.equal((await rest.delete(`${SCORING}/onnx/resources/after.py`)).status, 500, 'in use');
  t.equal((await rest.delete(`${SCORING}/onnx/pipelines`)).status, 200);
  t.match((await rest.delete(`${SCORING}/onnx/models`)).json, { models: [] });
  await eventually('deleted', async () => (await send('/onnx/apply/sum', '{}')).status === 404);
});
