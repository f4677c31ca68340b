/** Files of tenants: no tenant fills the disk that all share. */
import t from 'tap';
import { FILES_LIMIT, TenantFiles } from '../../src/jobs/files/tenant-files.ts';
import { MemoryBlobs } from '../api/helpers/memory-blobs.ts';

const MIB = 1024 * 1024;
const DISK_BYTES = 1_000 * MIB;
const silent = { warn: () => undefined } as never;

/** A disk of 1,000 MiB; `other` of it is taken by other data. */
function world(options: { bytesMax?: number; other?: number; blobs?: MemoryBlobs } = {}) {
  const { blobs = new MemoryBlobs(), bytesMax = 0, other = 0 } = options;
  const counted: string[] = [];
  const files: TenantFiles = new TenantFiles({
    blobs,
    bytesMax,
    log: silent,
    now: () => 0,
    refusals: { count: (limit) => void counted.push(limit) },
    freeBytes: () => DISK_BYTES - other - files.bytes,
  });
  const put = (tenant: number | undefined, mib: number): Promise<{ key: string }> =>
    files.put(
      Array.from({ length: mib }, () => Buffer.alloc(MIB)),
      2_000 * MIB,
      tenant,
    );
  return { files, blobs, counted, put };
}

t.test('a tenant leaves a tenth of the disk to the others', async (t) => {
  const { files, put, counted } = world();
  await put(1, 890);
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
  await put(1, 16);
  await t.rejects(put(1, 1), { code: 'files/too-many-bytes' }, 'nothing is free');
  const wide = world({ bytesMax: 20 * MIB });
  await wide.put(1, 20);
  await t.rejects(wide.put(1, 1), { message: /files\/tenant-bytes, --tenant-files-max-bytes/ });
  await wide.put(2, 20);
  t.same([...counted, ...wide.counted], [FILES_LIMIT.SHARE, FILES_LIMIT.SETTING]);
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
