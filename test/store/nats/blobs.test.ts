/** Blobs on a JetStream object store. */
import { randomBytes } from 'node:crypto';
import { Objm } from '@nats-io/obj';
import t from 'tap';
import { TenantFiles } from '../../../src/jobs/files/tenant-files.ts';
import { NatsBlobs } from '../../../src/store/nats/blobs.ts';
import { NatsConnection } from '../../../src/store/nats/connection.ts';
import { NatsJournal } from '../../../src/store/nats/journal.ts';
import { NatsFilesRoom } from '../../../src/store/nats/room.ts';
import { blobsContract } from '../../model/blobs-contract.ts';
import { freePort } from '../../helpers/free-port.ts';
import { silentLog, startNats } from '../../helpers/stores/nats-server.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('nats-server');
const MIB = 1024 ** 2;

async function open(
  url: string,
  prefix: string,
  maxBytes?: number,
): Promise<{ blobs: NatsBlobs; connection: NatsConnection; close(): Promise<void> }> {
  const connection = await NatsConnection.open({ servers: url, name: 'blobs' }, { log: silentLog });
  const blobs = await NatsBlobs.open({
    connection,
    prefix,
    replicas: 1,
    ...(maxBytes === undefined ? {} : { maxBytes }),
  });
  return { blobs, connection, close: () => connection.close() };
}

if (skip === false) {
  const server = await startNats(t);
  let places = 0;
  blobsContract(t, 'JetStream', () => {
    const prefix = `place${(places += 1)}`;
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

t.test("large content, ranges far inside, others at the same time, and NATS' own client", { skip }, async (t) => {
  const server = await startNats(t);
  const { blobs, connection, close } = await open(server.url, 'test');
  const contents = [randomBytes(9 * MIB + 17), randomBytes(MIB), Buffer.alloc(0)];
  const stored = await Promise.all(
    contents.map((content) =>
      blobs.put(content.length > 0 ? [content.subarray(0, 100_000), content.subarray(100_000)] : [], 100 * MIB),
    ),
  );
  for (const [index, { key, bytes }] of stored.entries()) {
    t.equal(bytes, contents[index].length);
    t.ok((await bytesOf(await blobs.read(key))).equals(contents[index]));
  }
  for (const [from, through] of [
    [0, 0],
    [262_143, 262_145],
    [5 * MIB, 5 * MIB + 100],
    [9 * MIB, 9 * MIB + 16],
    [9 * MIB + 16, 20 * MIB],
    [4 * MIB - 1, 8 * MIB],
  ]) {
    t.ok(
      (await bytesOf(await blobs.read(stored[0].key, { from, through }))).equals(
        contents[0].subarray(from, through + 1),
      ),
      `${from} to ${through}`,
    );
  }
  const store = await new Objm(connection.core).open('test_blobs');
  t.ok(
    Buffer.from((await store.getBlob(stored[0].key))!).equals(contents[0]),
    "digest and form are those of NATS' clients",
  );
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
  await t.rejects(blobs.put([Buffer.alloc(4 * MIB)], 10 * MIB), {
    code: 'general/busy',
    details: { limit: 'blobs/bytes' },
  });
  t.equal((await connection.manager.streams.info('OBJ_test_blobs')).state.messages, 0);
  const { key } = await blobs.put([Buffer.alloc(2 * MIB)], 10 * MIB);
  const reading = (await blobs.read(key))![Symbol.asyncIterator]();
  await reading.next();
  await blobs.remove(key);
  await t.rejects(
    (async () => {
      for (;;) if ((await reading.next()).done) return;
    })(),
    /removed meanwhile/,
  );
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

t.test('files of tenants leave the journal its room, whoever tells how much that is', { skip }, async (t) => {
  const STORE = 64 * MIB;
  const JOURNAL = 24 * MIB;
  const silent = `http://127.0.0.1:${await freePort()}`;
  const port = await freePort();
  const monitored = await startNats(t, { storageBytes: STORE, config: `http: "127.0.0.1:${port}"` });
  const limited = await startNats(t, {
    config: `accounts { a { jetstream { max_file: ${STORE} }, users: [ { user: u, password: p } ] } }`,
  });
  const untold = await startNats(t, { storageBytes: STORE });
  const cases = [
    ['the monitoring port of the server', monitored.url, `http://127.0.0.1:${port}`, STORE - JOURNAL],
    ['the limit of the account', limited.url.replace('//', '//u:p@'), silent, STORE - JOURNAL],
    ['nobody: a default', untold.url, silent, 30 * MIB],
  ] as const;
  for (const [who, url, monitors, room] of cases) {
    const said: string[] = [];
    const connection = await NatsConnection.open({ servers: url, name: 'files' }, { log: silentLog });
    const journal = await NatsJournal.open({
      connection,
      prefix: 'p',
      nodeId: 'n',
      replicas: 1,
      maxBytes: JOURNAL,
      log: silentLog,
    });
    t.teardown(async () => {
      await journal.close();
      await connection.close();
    });
    const blobs = await NatsBlobs.open({ connection, prefix: 'p', replicas: 1 });
    const filesRoom = await NatsFilesRoom.open({
      connection,
      servers: url,
      monitors,
      replicas: 1,
      journalBytesMax: JOURNAL,
      journalBytes: () => journal.sizeBytes,
      unknownBytesMax: 30 * MIB,
      filesBytes: () => blobs.bytes(),
      log: {
        ...silentLog,
        info: (_: object, message: string) => {
          said.push(message);
        },
      } as typeof silentLog,
    });
    const counted: string[] = [];
    const files = new TenantFiles({
      blobs,
      bytesMax: 0,
      log: silentLog,
      now: () => 0,
      refusals: { count: (limit) => void counted.push(limit) },
      freeBytes: () => filesRoom.freeBytes,
      look: (bytes) => filesRoom.look(bytes),
      smallBytes: 0,
    });
    const piece = randomBytes(MIB);
    /** @returns MiB that the tenant could store. */
    const fill = async (tenant: number): Promise<number> => {
      for (let mib = 0; ; mib += 1) {
        try {
          await files.put([piece], STORE, { tenant, user: `user ${mib % 8}`, isDevice: false });
        } catch (error) {
          t.match(error, { code: 'files/too-many-bytes', message: /files\/tenant-share/ }, who);
          return mib;
        }
      }
    };
    const first = await fill(1);
    t.ok(
      first * MIB > room * 0.8 && first * MIB < room * 0.92,
      `${who}: one tenant leaves a tenth, ${first} MiB of ${room / MIB}`,
    );
    t.ok((await fill(2)) >= 1, 'another one has its part of that');
    for (let tenant = 3; tenant < 8; tenant += 1) await fill(tenant);
    t.ok((await blobs.bytes()) <= room, 'all together leave the journal its room');
    t.ok(counted.length > 0 && counted.every((limit) => limit === 'files/tenant-share'));
    for (let group = 0; group < JOURNAL / MIB - 2; group += 1)
      await journal.append(0, `g${group}`, piece.subarray(0, 900 * 1024), 1);
    t.equal(said.length, who.startsWith('nobody') ? 1 : 0, 'a default is said');
    for await (const { key } of blobs.keys()) await files.remove(key);
  }
});
