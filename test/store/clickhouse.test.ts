/** The adapter over the client, against a server of the test's own: what of the client's warnings is for the log. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { ClickHouse } from '../../src/store/clickhouse.ts';
import { silentLog } from '../actors/platform.ts';

t.test('what close() breaks off is expected; what the server breaks off is told', async (t) => {
  let onAsked = (): void => undefined;
  let isBroken = true;
  const server = createServer((request) => {
    onAsked();
    if (isBroken) request.socket.destroy();
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.teardown(() => { server.closeAllConnections(); server.close(); });
  const warned: string[] = [];
  const log = { ...silentLog, warn: (details: object, message: string) => { warned.push(`${(details as { error: string }).error}: ${message}`); } };
  const client = new ClickHouse({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, log });
  await t.rejects(client.ask(), { message: 'socket hang up' });
  t.same(warned.splice(0), ['socket hang up: Ping: HTTP request error.']);
  isBroken = false;
  const asked = new Promise<void>((resolve) => { onAsked = resolve; });
  const answer = t.rejects(client.ask(), { message: 'socket hang up' });
  await asked;
  await client.close();
  await answer;
  t.same(warned, []);
});
