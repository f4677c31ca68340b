/** Results as bytes: in the room of the caller where they fit. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { ClickHouse, ResultTooLong } from '../../../src/store/clickhouse/adapter.ts';
import type { Log } from '../../../src/ports/log.ts';

const silent: Log = { debug() {}, info() {}, warn() {}, error() {}, isLevelEnabled: () => false, child: () => silent };

t.test('a result is in the room where it fits, else in memory of its own', async (t) => {
  const result = Buffer.from('0123456789');
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.write(result.subarray(0, 4));
      setTimeout(() => response.end(result.subarray(4)), 20);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const store = new ClickHouse({ url, log: silent });
  t.teardown(async () => {
    await store.close();
    server.close();
  });
  const read = (bytesMax: number, room?: Uint8Array) =>
    store.bytes('SELECT 1', {}, { bytesMax, ...(room === undefined ? {} : { room }) });
  for (const [length, isInRoom] of [
    [10, true],
    [64, true],
    [6, false],
    [0, false],
  ] as const) {
    const room = new Uint8Array(length);
    const found = await read(10, room);
    t.equal(Buffer.from(found).toString(), result.toString(), `${length} bytes of room`);
    t.equal(found.buffer === room.buffer, isInRoom);
  }
  t.equal(Buffer.from(await read(10)).toString(), result.toString());
  await t.rejects(read(9, new Uint8Array(64)), ResultTooLong);
});
