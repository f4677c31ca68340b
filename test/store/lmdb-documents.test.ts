import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { LmdbDocuments } from '../../src/store/lmdb-documents.ts';
import { openLmdb } from '../../src/store/lmdb-environment.ts';
import { documentsContract } from '../actors/documents-contract.ts';

documentsContract(t, 'LMDB', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-documents-'));
  t.teardown(() => { rmSync(directory, { recursive: true, force: true }); });
  return {
    async open() {
      const environment = openLmdb(directory);
      return { documents: new LmdbDocuments(environment), close: () => environment.close() };
    },
  };
});
