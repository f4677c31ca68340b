import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { COLLECTIONS, LmdbDocuments } from '../../../src/store/lmdb/documents.ts';
import { openLmdb } from '../../../src/store/lmdb/environment.ts';
import { documentsContract } from '../../actors/documents-contract.ts';

documentsContract(t, 'LMDB', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-documents-'));
  t.teardown(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    async open() {
      const environment = openLmdb(directory);
      return { documents: new LmdbDocuments(environment), close: () => environment.close() };
    },
  };
});

t.test(
  'a key that an older server wrote without escapes hides nothing, and what concerns it can be removed',
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'millrace-documents-'));
    t.teardown(() => {
      rmSync(directory, { recursive: true, force: true });
    });
    const environment = openLmdb(directory);
    const documents = new LmdbDocuments(environment);
    const raw = '\u0001'.repeat(1_480);
    await environment.documents.put(`E1/p${raw}`, 'old');
    await documents.commit([{ collection: 'event', tenant: 1, id: 'pq', value: 'new' }], undefined);
    t.same(documents.list('event', 1, 'p', { limit: 10 }), [{ id: 'pq', value: 'new' }]);
    t.same(documents.list('event', 1, 'a', { limit: 10 }), [], 'behind the range');
    t.equal(documents.get('event', 1, `p${raw}`), undefined);
    await documents.commit([{ collection: 'event', tenant: 1, id: `p${raw}`, value: undefined }], undefined);
    await environment.close();
  },
);

t.test('no two collections have the same code', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-documents-'));
  t.teardown(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  const environment = openLmdb(directory);
  const documents = new LmdbDocuments(environment);
  const all = [...COLLECTIONS, 'pending', 'meta'] as const;
  await documents.commit(
    all.map((collection) => ({ collection, tenant: 1, id: 'x', value: collection })),
    undefined,
  );
  t.same(
    all.map((collection) => documents.get(collection, 1, 'x')),
    all,
  );
  await environment.close();
});
