/**
 * Trusted certificates of a tenant that are added, changed and removed, and revocations (docs/spec/certificates.md),
 * with the bounds and the audit records.
 */
import { constants, randomBytes, verify } from 'node:crypto';
import type { X509Certificate } from 'node:crypto';
import type { AuditEntry, PrefixBound, RecordChange } from '../../model/commands/records.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { PlatformError } from '../../model/errors.ts';
import {
  changeRecords,
  isChangedMeanwhile,
  listRecords,
  readRecord,
  retried,
  updateRecord,
} from '../../records/records.ts';
import type { RecordPorts, RecordReader } from '../../records/records.ts';
import { changeBounded } from '../../records/totals.ts';
import {
  CERTIFICATES_OF_TENANT_MAX,
  REVOCATIONS_OF_TENANT_MAX,
  describeCertificate,
  parseCertificate,
} from './certificates.ts';
import type { StoredCertificate } from './certificates.ts';

/** Whose certificates are changed, by number, and by which user. */
export interface CertificateOwner {
  readonly tenant: number;
  readonly user: string;
}

const CERTIFICATES_BOUND: PrefixBound = {
  collection: 'certificate',
  prefix: '',
  maximum: CERTIFICATES_OF_TENANT_MAX,
  limit: 'certificates/of-tenant',
  error: 'certificate/too-many',
};
const REVOCATIONS_BOUND: PrefixBound = {
  collection: 'revocation',
  prefix: '',
  maximum: REVOCATIONS_OF_TENANT_MAX,
  limit: 'certificates/revocations',
  error: 'certificate/too-many-revocations',
};
/** Revocations of one command. */
const REVOKED_AT_ONCE = 500;
const FINGERPRINT = /^[0-9a-f]{40}$/;
/** A code has to be signed within this time. */
const CODE_MS = 24 * 3_600_000;
const CODE_BYTES = 32;

const auditOf = (user: string, activity: string, fingerprints: readonly string[]): AuditEntry => ({
  type: 'TrustedCertificates',
  activity,
  text: `${activity}: ${fingerprints.join(', ')}`,
  user,
});

/** Of the proof of possession. */
export const newCode = (
  now: number,
): Pick<
  StoredCertificate,
  'proofOfPossessionUnsignedVerificationCode' | 'proofOfPossessionVerificationCodeUsableUntil'
> => ({
  proofOfPossessionUnsignedVerificationCode: randomBytes(CODE_BYTES).toString('hex'),
  proofOfPossessionVerificationCodeUsableUntil: formatTime(now + CODE_MS),
});

/** @param pem PEM, or the base64 alone. @throws PlatformError 422 for what is not a certificate. */
export function newCertificate(
  pem: string,
  chosen: Pick<StoredCertificate, 'name' | 'status' | 'autoRegistrationEnabled'>,
  now: number,
): StoredCertificate {
  const certificate = parseCertificate(pem);
  if (certificate === undefined) {
    const [value, limit] = [pem.slice(0, 40), 'one X.509 certificate, PEM'];
    throw new PlatformError('validation/invalid-field', { area: 'certificate', name: 'certInPemFormat', value, limit });
  }
  return { ...describeCertificate(certificate), ...chosen, proofOfPossessionValid: false, ...newCode(now) };
}

/** All or none. @throws PlatformError 409 for one that is there, 422 above the bound. */
export async function addCertificates(
  ports: RecordPorts,
  { tenant, user }: CertificateOwner,
  certificates: readonly StoredCertificate[],
): Promise<void> {
  const fingerprints = certificates.map(({ fingerprint }) => fingerprint);
  const known = await listRecords(ports, tenant, 'certificate');
  const taken = fingerprints.find(
    (fingerprint, index) => fingerprints.indexOf(fingerprint) !== index || known.some(({ id }) => id === fingerprint),
  );
  if (taken !== undefined) throw new PlatformError('certificate/duplicate', { fingerprint: taken });
  const changes = certificates.map((certificate) => ({
    collection: 'certificate' as const,
    id: certificate.fingerprint,
    expected: undefined,
    value: JSON.stringify(certificate),
  }));
  const audit = auditOf(user, 'Trusted certificate added', fingerprints);
  try {
    await changeBounded(ports, tenant, changes, [audit], [{ ...CERTIFICATES_BOUND, added: changes.length }]);
  } catch (error) {
    if (isChangedMeanwhile(error)) throw new PlatformError('certificate/duplicate', { fingerprint: fingerprints[0] });
    throw error;
  }
}

/** @param fingerprint as it was sent. @throws PlatformError 404. */
export async function readCertificate(
  ports: RecordReader,
  tenant: number,
  fingerprint: string,
): Promise<{ readonly text: string; readonly stored: StoredCertificate }> {
  const id = fingerprint.toLowerCase();
  const text = FINGERPRINT.test(id) ? await readRecord(ports, tenant, 'certificate', id) : undefined;
  if (text === undefined) throw new PlatformError('certificate/not-found', { fingerprint });
  return { text, stored: JSON.parse(text) as StoredCertificate };
}

/** @param decide what becomes of it. @returns what is stored then. @throws PlatformError 404, and what `decide` throws. */
export async function changeCertificate(
  ports: RecordPorts,
  { tenant, user }: CertificateOwner,
  fingerprint: string,
  activity: string,
  decide: (stored: StoredCertificate) => StoredCertificate,
): Promise<StoredCertificate> {
  const { stored } = await readCertificate(ports, tenant, fingerprint);
  const decideText = (current: string | undefined): string => {
    if (current === undefined) throw new PlatformError('certificate/not-found', { fingerprint });
    return JSON.stringify(decide(JSON.parse(current) as StoredCertificate));
  };
  const audits = [auditOf(user, activity, [stored.fingerprint])];
  const text = await updateRecord(ports, tenant, 'certificate', stored.fingerprint, decideText, audits);
  return JSON.parse(text as string) as StoredCertificate;
}

/** @throws PlatformError 404. */
export function removeCertificate(
  ports: RecordPorts,
  { tenant, user }: CertificateOwner,
  fingerprint: string,
): Promise<void> {
  return retried(ports, async () => {
    const { text, stored } = await readCertificate(ports, tenant, fingerprint);
    await changeRecords(
      ports,
      tenant,
      [{ collection: 'certificate', id: stored.fingerprint, expected: text, value: undefined }],
      [auditOf(user, 'Trusted certificate removed', [stored.fingerprint])],
    );
  });
}

/**
 * @param signature of the code with the private key: SHA-256 with the key's usual scheme.
 * @throws PlatformError 422 for a wrong one, and where the code is too old.
 */
export function proven(stored: StoredCertificate, signature: Buffer, now: number): StoredCertificate {
  const {
    proofOfPossessionUnsignedVerificationCode: code = '',
    proofOfPossessionVerificationCodeUsableUntil: until = '',
  } = stored;
  if (code === '' || now > Date.parse(until)) throw new PlatformError('certificate/code-expired');
  if (!isSignedBy(parseCertificate(stored.certInPemFormat) as X509Certificate, code, signature))
    throw new PlatformError('certificate/wrong-signature');
  return { ...stored, proofOfPossessionValid: true };
}

function isSignedBy({ publicKey }: X509Certificate, code: string, signature: Buffer): boolean {
  const isEdwards = ['ed25519', 'ed448'].includes(publicKey.asymmetricKeyType ?? '');
  const isPss = publicKey.asymmetricKeyType === 'rsa-pss';
  const key = isPss ? { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING } : publicKey;
  return verify(isEdwards ? null : 'sha256', Buffer.from(code), key, signature);
}

/**
 * Adds and changes revocations. Done again with the same content it changes nothing.
 * @param dates when each was revoked, in ISO 8601, by serial number (`serialOf`). @throws PlatformError 422.
 */
export function revokeCertificates(
  ports: RecordPorts,
  { tenant, user }: CertificateOwner,
  dates: ReadonlyMap<string, string>,
): Promise<void> {
  const wanted = [...dates].map(([id, revocationDate]) => ({ id, value: JSON.stringify({ revocationDate }) }));
  return retried(ports, async () => {
    const records = await listRecords(ports, tenant, 'revocation');
    const stored = new Map(records.map(({ id, value }) => [id, value]));
    const changes: RecordChange[] = wanted
      .filter(({ id, value }) => stored.get(id) !== value)
      .map(({ id, value }) => ({ collection: 'revocation', id, expected: stored.get(id), value }));
    const { maximum, limit, error } = REVOCATIONS_BOUND;
    // Before the first step: otherwise a file that is too long would be stored in part.
    if (stored.size + addedBy(changes) > maximum) {
      ports.refusals.count(limit, { tenant });
      throw new PlatformError(error, { limit, maximum });
    }
    for (let start = 0; start < changes.length; start += REVOKED_AT_ONCE) {
      const some = changes.slice(start, start + REVOKED_AT_ONCE);
      await changeBounded(
        ports,
        tenant,
        some,
        [revokedAudit(user, some)],
        [{ ...REVOCATIONS_BOUND, added: addedBy(some) }],
      );
    }
  });
}

const addedBy = (changes: readonly RecordChange[]): number =>
  changes.filter(({ expected }) => expected === undefined).length;

const revokedAudit = (user: string, changes: readonly RecordChange[]): AuditEntry => {
  const named = changes.slice(0, 10).map(({ id }) => id);
  return auditOf(user, 'Certificates revoked', changes.length > 10 ? [...named, `… (${changes.length})`] : named);
};
