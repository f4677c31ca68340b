/** Files of tenants: no tenant fills the disk that all share. */
import t from 'tap';
import { FILES_LIMIT, TenantFiles } from '../../src/jobs/files/tenant-files.ts';
import { MemoryBlobs } from '../api/helpers/memory-blobs.ts';

/** A thousandth of one. */
const MIB = 1024;
const DISK_BYTES = 1_000 * MIB;
const silent = { warn: () => undefined } as never;

/** A disk of 1,000 MiB; `other` of it is taken by other data. */
function world(options: { bytesMax?: number; other?: number; blobs?: MemoryBlobs } = {}) {
  const { blobs = new MemoryBlobs(), bytesMax = 0, other = 0 } = options;
  const counted: string[] = [];
  const files: TenantFiles = new TenantFiles({
    blobs,
    bytesMax,
    smallBytes: 16 * MIB,
    log: silent,
    now: () => 0,
    refusals: { count: (limit) => void counted.push(limit) },
    freeBytes: () => DISK_BYTES - other - files.bytes,
  });
  /** By default of as many users as it takes. */
  let users = 0;
  const put = (
    tenant: number | undefined,
    mib: number,
    { user = `user ${(users += 1)}`, isDevice = false } = {},
  ): Promise<{ key: string }> =>
    files.put(
      Array.from({ length: mib }, () => Buffer.alloc(MIB)),
      2_000 * MIB,
      tenant === undefined ? undefined : { tenant, user, isDevice },
    );
  return { files, blobs, counted, put };
}

t.test('a tenant leaves a tenth of the disk to the others', async (t) => {
  const { files, put, counted } = world();
  await put(1, 500);
  await put(1, 390);
  await t.rejects(put(1, 50), {
    code: 'files/too-many-bytes',
    status: 422,
    message: /9\d+ bytes.*files\/tenant-share/,
  });
  t.equal(files.bytesOf(1), 890 * MIB, 'what was written of it is given back');
  const { key } = await put(2, 80);
  await put(undefined, 1);
  t.same(counted, [FILES_LIMIT.SHARE]);
  await files.remove(key);
  t.equal(files.bytesOf(2), 0);
});

t.test('the setting bounds each tenant, and little is taken on a full disk', async (t) => {
  const { put, counted } = world({ bytesMax: 20 * MIB, other: DISK_BYTES });
  await put(1, 12);
  await put(1, 4);
  await t.rejects(put(1, 1), { code: 'files/too-many-bytes' }, 'nothing is free');
  const wide = world({ bytesMax: 20 * MIB });
  await wide.put(1, 16);
  await wide.put(1, 3);
  const large = wide.files.put([Buffer.alloc(2 * MIB)], 2 * MIB, { tenant: 1, user: 'new', isDevice: false });
  await t.rejects(large, { message: /files\/tenant-bytes, --tenant-files-max-bytes/ });
  await wide.put(2, 16);
  t.same([...counted, ...wide.counted], [FILES_LIMIT.SHARE, FILES_LIMIT.SETTING]);
});

t.test(
  'a user leaves a fifth of the setting and of the disk to the others, a registered device four fifths',
  async (t) => {
    for (const { bytesMax, total } of [
      { bytesMax: 100 * MIB, total: 100 },
      { bytesMax: 0, total: 1_000 },
    ]) {
      const { files, put, counted } = world({ bytesMax });
      const device = { user: 'device_1', isDevice: true };
      const over = { code: 'files/too-many-of-user', status: 422, message: /files\/of-user/ };
      await t.rejects(put(1, total * 0.21, device), over);
      t.equal(files.bytesOf(1), 0, 'what was written of it is given back');
      await put(1, total * 0.19, device);
      await t.rejects(put(1, total * 0.05, device), over);
      const { key } = await put(1, total * 0.5, { user: 'admin' });
      await t.rejects(put(1, total * 0.25, { user: 'admin' }), over);
      await put(1, 1, { user: 'another' });
      await files.remove(key);
      await put(1, total * 0.4, { user: 'admin' });
      t.same(counted, [FILES_LIMIT.USER, FILES_LIMIT.USER, FILES_LIMIT.USER]);
    }
    const full = world({ other: DISK_BYTES });
    await full.put(1, 3, { user: 'device_1', isDevice: true });
    await full.put(1, 12, { user: 'admin' });
    await t.rejects(full.put(1, 1, { user: 'device_1', isDevice: true }), { code: 'files/too-many-of-user' });
  },
);

t.test('a later start counts the users again, and files of an earlier version for their tenant', async (t) => {
  const { blobs, put } = world({ bytesMax: 10 * MIB });
  await put(1, 6, { user: 'admin' });
  blobs.contents.set('early-1', { content: Buffer.alloc(2 * MIB), writtenAt: 0 });
  const { files, put: putAgain } = world({ bytesMax: 10 * MIB, blobs });
  await files.count();
  t.equal(files.bytesOf(1), 8 * MIB);
  await t.rejects(putAgain(1, 1, { user: 'admin' }), { code: 'files/too-many-of-user' });
  await putAgain(1, 1, { user: 'another' });
});

t.test('a later start counts what is there', async (t) => {
  const { blobs, put } = world();
  await put(1, 3);
  await put(2, 1);
  await put(undefined, 1);
  const { files } = world({ blobs });
  await files.count();
  t.same([files.bytesOf(1), files.bytesOf(2), files.bytes], [3 * MIB, MIB, 4 * MIB]);
});
