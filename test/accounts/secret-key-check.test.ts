/** Nodes of a cluster tell by a fingerprint that one of them has another secret key. */
import t from 'tap';
import { checkSecretKey, fingerprintOf, requireSame } from '../../src/accounts/options/secret-key-check.ts';
import type { DocumentChange, Documents } from '../../src/ports/stores/documents.ts';

const KEY = 'a-key-0123456789-0123456789-0123456789';

t.test('the first key is kept as a fingerprint, and another one is refused', async (t) => {
  const stored = new Map<string, string>();
  const documents = {
    get: async (collection: string, tenant: number, id: string) => stored.get(`${collection}/${tenant}/${id}`),
    commit: async (changes: Iterable<DocumentChange>) => {
      for (const { collection, tenant, id, value } of changes) stored.set(`${collection}/${tenant}/${id}`, value!);
    },
  } as unknown as Documents;
  await checkSecretKey(documents, KEY);
  await checkSecretKey(documents, KEY);
  const [text, ...others] = [...stored.values()];
  t.same(others, []);
  t.match(text, /^[0-9a-f]{64}$/);
  await t.rejects(checkSecretKey(documents, `${KEY}x`), {
    message: /^--secret-key is another one than that of the cluster/,
  });
  t.same([...stored.values()], [text], 'the stored one stays');
  t.doesNotThrow(() => requireSame(fingerprintOf(KEY), text));
  t.throws(() => requireSame('', text));
});
