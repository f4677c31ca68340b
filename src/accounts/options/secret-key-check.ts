/** That all nodes of a cluster have the same `secret-key`: what one encrypts or signs the others could not read. */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Documents } from '../../ports/stores/documents.ts';

const KEY_BYTES = 32;
/** In `meta` of the cluster. */
export const FINGERPRINT_ID = 'secretKeyFingerprint';

/** Tells keys apart and gives nothing away of them: of a key derived for nothing else. */
export function fingerprintOf(secretKey: string): string {
  const key = new Uint8Array(hkdfSync('sha256', secretKey, '', 'millrace fingerprint', KEY_BYTES));
  return createHmac('sha256', key).update('millrace secret key').digest('hex');
}

/** Writes the fingerprint down at the first start. @throws Error when the one that is stored is of another key. */
export async function checkSecretKey(documents: Documents, secretKey: string): Promise<void> {
  const own = fingerprintOf(secretKey);
  const stored = await documents.get('meta', 0, FINGERPRINT_ID);
  if (stored !== undefined) requireSame(own, stored);
  else await documents.commit([{ collection: 'meta', tenant: 0, id: FINGERPRINT_ID, value: own }], undefined);
}

/** @throws Error when the fingerprints are of different keys. */
export function requireSame(own: string, stored: string): void {
  if (own.length === stored.length && timingSafeEqual(Buffer.from(own), Buffer.from(stored))) return;
  throw new Error(
    '--secret-key is another one than that of the cluster: give this node the one that the first node was started with ' +
      '(docs/internals/cluster.md, "The secret key")',
  );
}
