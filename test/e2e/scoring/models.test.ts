/** Scoring in the whole server, and between the nodes of a cluster (docs/spec/scoring.md). */
import t from 'tap';
import { eventually, startServer } from '../../helpers/running/server.ts';
import { linePmml } from '../../helpers/scoring/pmml.ts';

const server = await startServer(t);
const { rest } = server;
const SCORING = '/service/scoring';
const send = (path: string, body: string, headers = {}) =>
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
