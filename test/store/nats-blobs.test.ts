/** Blobs on a JetStream object store. */
import { randomBytes } from 'node:crypto';
import { Objm } from '@nats-io/obj';
import t from 'tap';
import { NatsBlobs } from '../../src/store/nats-blobs.ts';
import { NatsConnection } from '../../src/store/nats-connection.ts';
import { blobsContract } from '../model/blobs-contract.ts';
import { silentLog, startNats } from '../helpers/nats-server.ts';
import { missing } from '../helpers/tools.ts';

const skip = missing('nats-server');
const MIB = 1024 ** 2;

async function open(url: string, prefix: string, maxBytes?: number): Promise<{ blobs: NatsBlobs; connection: NatsConnection; close(): Promise<void> }> {
  const connection = await NatsConnection.open({ servers: url, name: 'blobs' }, { log: silentLog });
  const blobs = await NatsBlobs.open({ connection, prefix, replicas: 1, ...(maxBytes === undefined ? {} : { maxBytes }) });
  return { blobs, connection, close: () => connection.close() };
}

if (skip === false) {
  const server = await startNats(t);
  let places = 0;
  blobsContract(t, 'JetStream', () => {
    const prefix = `place${places += 1}`;
    return { open: () => open(server.url, prefix) };
  });
} else {
  t.test('the contract on JetStream', { skip }, async () => {});
}

async function bytesOf(content: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content!) pieces.push(piece);
  return Buffer.concat(pieces);
}

t.test('large content, ranges far inside, others at the same time, and NATS\' own client', { skip }, async (t) => {
  const server = await startNats(t);
  const { blobs, connection, close } = await open(server.url, 'test');
  const contents = [randomBytes(9 * MIB + 17), randomBytes(MIB), Buffer.alloc(0)];
  const stored = await Promise.all(contents.map((content) => blobs.put(content.length > 0 ? [content.subarray(0, 100_000), content.subarray(100_000)] : [], 100 * MIB)));
  for (const [index, { key, bytes }] of stored.entries()) {
    t.equal(bytes, contents[index].length);
    t.ok((await bytesOf(await blobs.read(key))).equals(contents[index]));
  }
  for (const [from, through] of [[0, 0], [262_143, 262_145], [5 * MIB, 5 * MIB + 100], [9 * MIB, 9 * MIB + 16], [9 * MIB + 16, 20 * MIB], [4 * MIB - 1, 8 * MIB]]) {
    t.ok((await bytesOf(await blobs.read(stored[0].key, { from, through }))).equals(contents[0].subarray(from, through + 1)), `${from} to ${through}`);
  }
  const store = await new Objm(connection.core).open('test_blobs');
  t.ok(Buffer.from((await store.getBlob(stored[0].key))!).equals(contents[0]), 'digest and form are those of NATS\' clients');
  t.same((await store.list()).map(({ name }) => name).sort(), stored.map(({ key }) => key).sort());
  await close();
});

t.test('nothing is written while writes are refused', { skip }, async (t) => {
  const server = await startNats(t);
  const connection = await NatsConnection.open({ servers: server.url, name: 'blobs' }, { log: silentLog });
  let refusal: string | undefined = 'disk/free-bytes';
  const blobs = await NatsBlobs.open({ connection, prefix: 'full', replicas: 1, refusal: () => refusal });
  await t.rejects(blobs.put([Buffer.from('x')], 1), { code: 'general/disk-full' });
  t.equal((await connection.manager.streams.info('OBJ_full_blobs')).state.messages, 0);
  refusal = undefined;
  t.equal((await blobs.put([Buffer.from('x')], 1)).bytes, 1);
  await connection.close();
});

t.test('no space: it is named, nothing stays behind; a removed one ends its reader', { skip }, async (t) => {
  const server = await startNats(t);
  const { blobs, connection, close } = await open(server.url, 'test', 3 * MIB);
  await t.rejects(blobs.put([Buffer.alloc(4 * MIB)], 10 * MIB), { code: 'general/busy', details: { limit: 'blobs/bytes' } });
  t.equal((await connection.manager.streams.info('OBJ_test_blobs')).state.messages, 0);
  const { key } = await blobs.put([Buffer.alloc(2 * MIB)], 10 * MIB);
  const reading = (await blobs.read(key))![Symbol.asyncIterator]();
  await reading.next();
  await blobs.remove(key);
  await t.rejects((async () => { for (;;) if ((await reading.next()).done) return; })(), /removed meanwhile/);
  // What a process that died in the middle of writing left: listed, so that the sweep finds it.
  await connection.jetstream.publish('$O.test_blobs.C.left', Buffer.alloc(10));
  const keys: string[] = [];
  for await (const { key: one, writtenAt } of blobs.keys()) {
    keys.push(one);
    t.ok(Math.abs(writtenAt - Date.now()) < 60_000);
  }
  t.same(keys, ['left']);
  t.equal(await blobs.read('left'), undefined);
  await blobs.remove('left');
  t.equal((await connection.manager.streams.info('OBJ_test_blobs')).state.messages, 0);
  await close();
});
