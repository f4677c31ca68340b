/**
 * The adapter over the client, against a server of the test's own: what is for the log, and what is a failure of one
 * statement.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { MeasurementColumns } from '../../../src/ingest/measurements/columns.ts';
import { encodeMeasurement } from '../../../src/ingest/measurements/record.ts';
import { StatementFailed } from '../../../src/ports/stores/history-writer.ts';
import { ClickHouse } from '../../../src/store/clickhouse/adapter.ts';
import { ClickHouseHistoryWriter } from '../../../src/store/clickhouse/writer.ts';
import { silentLog } from '../../actors/platform.ts';

t.test('what close() breaks off is expected; what the server breaks off is told', async (t) => {
  let onAsked = (): void => undefined;
  let isBroken = true;
  const server = createServer((request) => {
    onAsked();
    if (isBroken) request.socket.destroy();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const warned: string[] = [];
  const log = {
    ...silentLog,
    warn: (details: object, message: string) => {
      warned.push(`${(details as { error: string }).error}: ${message}`);
    },
  };
  const client = new ClickHouse({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, log });
  await t.rejects(client.ask(), { message: 'socket hang up' });
  t.same(warned.splice(0), ['socket hang up: Ping: HTTP request error.']);
  isBroken = false;
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  const answer = t.rejects(client.ask(), { message: 'socket hang up' });
  await asked;
  await client.close();
  await answer;
  t.same(warned, []);
});

t.test("a selection that needs too much alone has failed; what concerns the whole store is the store's", async (t) => {
  let failure: { code: number; text: string } | undefined;
  const server = createServer((request, response) => {
    let query = '';
    request
      .on('data', (chunk: Buffer) => {
        query += chunk.toString();
      })
      .on('end', () => {
        if (failure === undefined || !query.includes('events FINAL WHERE'))
          response.end(query.includes(' AS found') ? '[{"found":1}]' : query.startsWith('SELECT') ? '[]' : '');
        else
          response
            .writeHead(500, { 'x-clickhouse-exception-code': String(failure.code) })
            .end(`Code: ${failure.code}. DB::Exception: ${failure.text}`);
      });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const client = new ClickHouse({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, log: silentLog });
  t.teardown(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  const writer = new ClickHouseHistoryWriter(client);
  const select = (): Promise<unknown> => writer.select(2, 'events', { type: 'x' }, 0);
  t.same(await select(), []);
  for (const [code, text, isOfOne] of [
    [241, 'Memory limit (for query) exceeded. (MEMORY_LIMIT_EXCEEDED)', true],
    [159, 'Timeout exceeded. (TIMEOUT_EXCEEDED)', true],
    [241, 'Memory limit (total) exceeded. (MEMORY_LIMIT_EXCEEDED)', false],
    [202, 'Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)', false],
  ] as const) {
    failure = { code, text };
    const error = await select().catch((found: unknown) => found);
    t.equal(error instanceof StatementFailed, isOfOne, text);
    t.ok(error instanceof Error);
  }
});

t.test('the memory of a block is used again behind an answer only', async (t) => {
  let isLost = false;
  const bodies: Buffer[] = [];
  const engine = {
    command: async () => undefined,
    query: async () => [{ found: 1 }],
    insertNative: async (_table: string, _columns: readonly string[], body: Buffer) => {
      bodies.push(body);
      if (isLost) throw new Error('no answer');
    },
  };
  const writer = new ClickHouseHistoryWriter(engine as unknown as ClickHouse);
  const insert = (): Promise<void> => writer.insertMeasurements(oneRow(), 'token');
  await insert();
  await insert();
  t.equal(bodies[1]!.buffer, bodies[0]!.buffer);
  isLost = true;
  await t.rejects(insert(), { message: /no answer/ });
  t.equal(bodies[2]!.buffer, bodies[0]!.buffer);
  isLost = false;
  await insert();
  t.not(bodies[3]!.buffer, bodies[0]!.buffer, 'the request without an answer may still be read');
});

function oneRow(): MeasurementColumns {
  const values = [{ fragment: 'f', series: 's', unit: '', value: 1 }];
  const record = encodeMeasurement({
    tenant: 1,
    source: 2,
    id: 3,
    time: 4,
    receivedAt: 5,
    mode: 0,
    type: 't',
    document: '',
    values,
  });
  const columns = new MeasurementColumns(1);
  columns.add(record, new DataView(record.buffer, record.byteOffset, record.length), 0, 6);
  return columns;
}
