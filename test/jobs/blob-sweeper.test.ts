import t from 'tap';
import { BlobSweeper, documentReferences } from '../../src/jobs/files/blob-sweeper.ts';
import { FakePlatform } from '../api/helpers/fake-platform.ts';
import { MemoryBlobs } from '../api/helpers/memory-blobs.ts';
import { blobsContract } from '../model/blobs-contract.ts';

blobsContract(t, 'memory', () => {
  const blobs = new MemoryBlobs();
  return { open: async () => ({ blobs, close: async () => undefined }) };
});

const HOUR_MS = 3_600_000;

async function sweeperOf(stepKeys: number, isMine = true) {
  const fake = new FakePlatform();
  const { documents, blobs, log } = fake.platform();
  const keys: string[] = [];
  for (let index = 0; index < 7; index += 1) keys.push((await blobs.put([Buffer.from(String(index))], 9)).key);
  const references = [
    documentReferences(
      documents,
      () => [2, 3],
      'managedObject',
      (value) => [(JSON.parse(value) as { key: string }).key],
    ),
  ];
  const clock = { now: Date.now() };
  const sweeper = new BlobSweeper({ blobs, references, isMine: () => isMine, log, now: () => clock.now, stepKeys });
  return { fake, keys, clock, sweeper };
}

for (const stepKeys of [1, 3, 100]) {
  t.test(`content without references goes, ${stepKeys} keys a step`, async (t) => {
    const { fake, keys, clock, sweeper } = await sweeperOf(stepKeys);
    fake.put('managedObject', '1', JSON.stringify({ key: keys[0] }));
    fake.put('managedObject', '2', JSON.stringify({ key: keys[5] }), 3);
    await sweeper.step();
    t.equal(fake.blobs.contents.size, 7, 'young content waits for its command');
    clock.now += HOUR_MS + 1_000;
    await sweeper.step();
    t.equal(fake.blobs.contents.size, 7, 'somebody may be reading what was just deleted');
    fake.put('managedObject', '3', JSON.stringify({ key: keys[6] }));
    await sweeper.step();
    t.equal(sweeper.removedCount, 4);
    fake.collections.get('2/managedObject')?.delete('3');
    await sweeper.step();
    await sweeper.step();
    t.same([...fake.blobs.contents.keys()], [keys[0], keys[5]]);
    t.equal(sweeper.removedCount, 5);
    await sweeper.step();
    t.equal(fake.blobs.contents.size, 2);
  });
}

t.test('another process of the cluster sweeps', async (t) => {
  const { fake, clock, sweeper } = await sweeperOf(10, false);
  clock.now += HOUR_MS * 2;
  await sweeper.step();
  t.equal(fake.blobs.contents.size, 7);
});

t.test('stops', async (t) => {
  const { sweeper } = await sweeperOf(10);
  sweeper.start();
  await sweeper.stop();
  t.pass();
});
