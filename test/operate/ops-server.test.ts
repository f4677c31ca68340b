/** The operator's port, which asks for no credentials and listens where it is told to. */
import t from 'tap';
import { OpsServer } from '../../src/operate/ops-server.ts';

t.test('metrics and readiness with its details, and nothing else', async (t) => {
  let isReady = true;
  const errors: object[] = [];
  const log = {
    error: (details: object) => {
      errors.push(details);
    },
  } as never;
  const metricsText = async (): Promise<string> => {
    if (!isReady) throw new Error('away');
    return 'millrace_up 1\n';
  };
  const server = new OpsServer({
    health: () => ({ ready: isReady, parts: { journal: { ready: isReady, lag: 3 } } }),
    metricsText,
    log,
  });
  const port = await server.listen('127.0.0.1', 0);
  t.teardown(() => server.close());
  const ask = (path: string, method = 'GET'): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`, { method });
  const metrics = await ask('/metrics?x=1');
  t.match(
    [metrics.status, metrics.headers.get('content-type'), await metrics.text()],
    [200, /^text\/plain; version=0\.0\.4/, 'millrace_up 1\n'],
  );
  t.same(await (await ask('/health')).json(), { status: 'UP' });
  const ready = await ask('/health/ready');
  t.same(
    [ready.status, await ready.json()],
    [200, { status: 'UP', ready: true, parts: { journal: { ready: true, lag: 3 } } }],
  );
  t.equal((await ask('/user/currentUser')).status, 404);
  t.equal((await ask('/metrics', 'POST')).status, 405);
  t.equal((await ask('/metrics', 'HEAD')).status, 200);
  isReady = false;
  t.equal((await ask('/health/ready')).status, 503);
  await t.rejects(ask('/metrics'));
  t.equal(errors.length, 1, 'what fails is logged');
  await server.close();
  await t.rejects(ask('/metrics'), 'closed');
});
