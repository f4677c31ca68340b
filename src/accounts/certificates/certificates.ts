/**
 * Trusted certificates of tenants (docs/spec/certificates.md): what a certificate says, and which tenant a device's
 * chain leads to. All of them are in memory, since a connection is checked against those of every tenant.
 */
import { X509Certificate, createHash } from 'node:crypto';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { CHECKS_LIMIT, CHECKS_MAX, CheckBudget, IssuerChecks, SubjectKeys, keyOf } from './issuer-checks.ts';

export const CERTIFICATE_STATUSES = ['ENABLED', 'DISABLED'] as const;
export type CertificateStatus = (typeof CERTIFICATE_STATUSES)[number];

/** In the collection `certificate` of the tenant, by the fingerprint. */
export interface StoredCertificate {
  readonly fingerprint: string;
  readonly name?: string;
  readonly status: CertificateStatus;
  readonly autoRegistrationEnabled: boolean;
  /** The certificate as base64 of its DER form, without lines around it. */
  readonly certInPemFormat: string;
  readonly subject: string;
  readonly issuer: string;
  readonly serialNumber: string;
  readonly algorithmName: string;
  readonly version: number;
  /** ISO 8601. */
  readonly notBefore: string;
  readonly notAfter: string;
  /** Proof that the tenant has the private key. */
  readonly proofOfPossessionValid: boolean;
  readonly proofOfPossessionUnsignedVerificationCode?: string;
  readonly proofOfPossessionVerificationCodeUsableUntil?: string;
}

/** Of one tenant. */
export const CERTIFICATES_OF_TENANT_MAX = 1_000;
/** Revoked serial numbers of one tenant. */
export const REVOCATIONS_OF_TENANT_MAX = 5_000;
/** More than the bound, which was not kept exactly before: none is forgotten. */
const REVOCATIONS_READ_MAX = 100_000;
/** Certificates between a device's own and a trusted one, itself included. */
const CHAIN_MAX = 10;

/** Names of signature algorithms as the API spells them, by object identifier (RFC 8017, 5758, 8410). */
const ALGORITHMS: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.5': 'SHA1withRSA',
  '1.2.840.113549.1.1.10': 'RSASSA-PSS',
  '1.2.840.113549.1.1.11': 'SHA256withRSA',
  '1.2.840.113549.1.1.12': 'SHA384withRSA',
  '1.2.840.113549.1.1.13': 'SHA512withRSA',
  '1.2.840.10045.4.3.2': 'SHA256withECDSA',
  '1.2.840.10045.4.3.3': 'SHA384withECDSA',
  '1.2.840.10045.4.3.4': 'SHA512withECDSA',
  '1.3.101.112': 'Ed25519',
  '1.3.101.113': 'Ed448',
};

/** @returns undefined when the text is not a certificate. @param text PEM, or the base64 alone. */
export function parseCertificate(text: string): X509Certificate | undefined {
  const body = text.replace(/-----(?:BEGIN|END) CERTIFICATE-----/g, '').replace(/\s+/g, '');
  if (body === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(body)) return undefined;
  try {
    return new X509Certificate(Buffer.from(body, 'base64'));
  } catch {
    // Whatever it is: the caller refuses it by name.
    return undefined;
  }
}

type Described = Omit<
  StoredCertificate,
  | 'name'
  | 'status'
  | 'autoRegistrationEnabled'
  | 'proofOfPossessionValid'
  | 'proofOfPossessionUnsignedVerificationCode'
  | 'proofOfPossessionVerificationCodeUsableUntil'
>;

/** What is read from the certificate itself. */
export function describeCertificate(certificate: X509Certificate): Described {
  const { version, algorithm } = readHead(certificate.raw);
  return {
    fingerprint: createHash('sha1').update(certificate.raw).digest('hex'),
    certInPemFormat: certificate.raw.toString('base64'),
    subject: oneLine(certificate.subject),
    issuer: oneLine(certificate.issuer),
    serialNumber: BigInt(`0x${certificate.serialNumber}`).toString(),
    algorithmName: ALGORITHMS[algorithm] ?? algorithm,
    version,
    notBefore: formatTime(Date.parse(certificate.validFrom)),
    notAfter: formatTime(Date.parse(certificate.validTo)),
  };
}

const oneLine = (name: string | undefined): string => (name ?? '').split('\n').reverse().join(', ');

interface Element {
  readonly tag: number;
  readonly start: number;
  readonly end: number;
}

/** One element of DER. Certificates that X509Certificate has taken are well-formed. */
function elementAt(bytes: Buffer, offset: number): Element {
  const first = bytes[offset + 1];
  if (first < 0x80) return { tag: bytes[offset], start: offset + 2, end: offset + 2 + first };
  const lengthBytes = first & 0x7f;
  const start = offset + 2 + lengthBytes;
  return { tag: bytes[offset], start, end: start + bytes.readUIntBE(offset + 2, lengthBytes) };
}

/**
 * Version and signature algorithm: `Certificate ::= SEQUENCE { SEQUENCE { [0] version, serialNumber, signature …` (RFC
 * 5280 section 4.1).
 */
function readHead(der: Buffer): { version: number; algorithm: string } {
  const body = elementAt(der, elementAt(der, 0).start);
  let element = elementAt(der, body.start);
  let version = 1;
  if (element.tag === 0xa0) {
    version = der[elementAt(der, element.start).start] + 1;
    element = elementAt(der, element.end);
  }
  const identifier = elementAt(der, elementAt(der, element.end).start);
  return { version, algorithm: objectIdentifier(der.subarray(identifier.start, identifier.end)) };
}

function objectIdentifier(bytes: Buffer): string {
  const numbers: number[] = [];
  let value = 0;
  for (const byte of bytes) {
    value = value * 128 + (byte & 0x7f);
    if (byte & 0x80) continue;
    numbers.push(value);
    value = 0;
  }
  const top = Math.min(2, Math.floor(numbers[0] / 40));
  return [top, numbers[0] - top * 40, ...numbers.slice(1)].join('.');
}

/** CN of the subject; undefined when there is none, or several. */
export function commonNameOf(certificate: X509Certificate): string | undefined {
  const names = certificate.subject?.split('\n').filter((line) => line.startsWith('CN=')) ?? [];
  return names.length === 1 ? names[0].slice('CN='.length) : undefined;
}

/**
 * Lower case and without leading zeros, as revocations are compared and stored; undefined for anything but a serial number.
 */
export function serialOf(hex: string): string | undefined {
  const digits = hex.trim().replace(/^0x/i, '').toLowerCase();
  return /^[0-9a-f]{1,40}$/.test(digits) ? digits.replace(/^0+(?=.)/, '') : undefined;
}

/** Of all certificates of a chain. */
export const serialsOf = (chain: readonly X509Certificate[]): string[] =>
  chain.map(({ serialNumber }) => serialOf(serialNumber)).filter((serial) => serial !== undefined);

export interface TrustAnchor {
  readonly tenant: number;
  readonly stored: StoredCertificate;
  readonly certificate: X509Certificate;
  /** See `keyOf`. */
  readonly key: string;
}

/** One question to the trusted certificates. */
interface Asked {
  readonly now: number;
  readonly wantedTenant: number | undefined;
  readonly budget: CheckBudget;
}

/** Why a chain is not trusted, for the log and the client. */
export class UntrustedCertificate extends Error {}

/** Whether a certificate of the tenant is still trusted, and none of the chain that came with it is revoked. */
export async function isStillTrusted(
  documents: Pick<DocumentReader, 'get' | 'getMany'>,
  tenant: number,
  fingerprint: string,
  serials: readonly string[],
): Promise<boolean> {
  const [text, revoked] = await Promise.all([
    documents.get('certificate', tenant, fingerprint),
    documents.getMany('revocation', tenant, serials),
  ]);
  return (
    text !== undefined &&
    (JSON.parse(text) as StoredCertificate).status === 'ENABLED' &&
    revoked.every((one) => one === undefined)
  );
}

export class TrustedCertificates {
  /** fingerprint -> tenant -> certificate */
  readonly #byFingerprint = new Map<string, Map<number, TrustAnchor>>();
  /** Subject as node:crypto writes it -> fingerprints by key. */
  readonly #bySubject = new Map<string, SubjectKeys>();
  readonly #checks = new IssuerChecks();
  /** Tenant -> serial numbers. */
  readonly #revoked = new Map<number, Set<string>>();

  async open(documents: DocumentReader, tenants: Iterable<number>): Promise<void> {
    for (const tenant of tenants) {
      const rows = await documents.list('certificate', tenant, '', { limit: CERTIFICATES_OF_TENANT_MAX });
      for (const { id, value } of rows) this.#set(tenant, id, value);
      for (const { id } of await documents.list('revocation', tenant, '', { limit: REVOCATIONS_READ_MAX }))
        this.#revoke(tenant, id);
    }
  }

  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    for (const { collection, id, value } of changes) {
      if (collection === 'certificate') this.#set(tenant, id, value);
      else if (collection === 'revocation' && value !== undefined) this.#revoke(tenant, id);
    }
  }

  /** Of the certificates that the tenant trusts. */
  fingerprints(tenant: number): string[] {
    return [...this.#byFingerprint].filter(([, anchors]) => anchors.has(tenant)).map(([fingerprint]) => fingerprint);
  }

  /** The tenant is gone. */
  forgetTenant(tenant: number): void {
    this.#revoked.delete(tenant);
    for (const [fingerprint, anchors] of this.#byFingerprint)
      if (anchors.has(tenant)) this.#set(tenant, fingerprint, undefined);
  }

  /**
   * Certificates of authorities are public: every tenant can upload them. So a tenant that has proven possession wins
   * over one that has not, wherever in the chain. Without a proof a tenant does not get a device that another tenant has
   * a certificate for too, enabled or not.
   * @param chain the device's own certificate first, as it was sent; that the device has its key was checked by TLS.
   * @param wantedTenant the only one that counts, when the client names it.
   * @throws UntrustedCertificate with the reason.
   */
  anchorOf(chain: readonly X509Certificate[], now: number, wantedTenant?: number): TrustAnchor {
    const budget = new CheckBudget();
    const levels = this.#levelsOf(chain, { now, wantedTenant, budget });
    const proven = levels
      .map((anchors) => anchors.filter(({ stored }) => stored.proofOfPossessionValid))
      .filter((anchors) => anchors.length > 0);
    const rivals = proven.length > 0 ? proven[0] : levels.flat();
    // What was not checked may be another tenant's.
    if (budget.isExhausted && (rivals.length === 0 || (proven.length === 0 && wantedTenant === undefined))) {
      const reason = `more than ${CHECKS_MAX} keys would have to be checked (${CHECKS_LIMIT})`;
      throw new UntrustedCertificate(`${reason}: connect again, name the tenant, or prove possession`);
    }
    if (rivals.length === 0) throw new UntrustedCertificate('no trusted certificate has issued it');
    if (rivals.some(({ tenant }) => tenant !== rivals[0].tenant)) {
      throw new UntrustedCertificate(
        'several tenants trust its issuer: the user name has to be the tenant, or one of them proves possession',
      );
    }
    const anchor = levels
      .flat()
      .find(({ tenant, stored }) => tenant === rivals[0].tenant && stored.status === 'ENABLED');
    if (anchor === undefined) throw new UntrustedCertificate('the trusted certificate is disabled');
    requireValid(anchor.certificate, now);
    return this.#notRevoked(anchor, chain);
  }

  /** What the tenants have for each certificate of the chain, from the device's own upwards. */
  #levelsOf(chain: readonly X509Certificate[], asked: Asked): TrustAnchor[][] {
    const { now, budget } = asked;
    const path: { readonly certificate: X509Certificate; readonly name: string }[] = [];
    // First, so that what tenants have of one name does not take the checks of the chain.
    for (let current: X509Certificate | undefined = chain[0]; current !== undefined && path.length < CHAIN_MAX; ) {
      const certificate: X509Certificate = current;
      // What is above one that is not valid counts no more.
      if (path.length > 0 && !isValid(certificate, now)) break;
      requireValid(certificate, now);
      const name = createHash('sha256').update(certificate.raw).digest('base64');
      path.push({ certificate, name });
      current = chain.find(
        (candidate) =>
          candidate !== certificate &&
          candidate.subject === certificate.issuer &&
          this.#checks.isIssuer(certificate, candidate, { name, key: keyOf(candidate), budget }) === true,
      );
    }
    return path.map(({ certificate, name }) => this.#anchorsFor(certificate, name, asked));
  }

  /** Neither one of the chain nor the trusted one may be revoked by the tenant. */
  #notRevoked(anchor: TrustAnchor, chain: readonly X509Certificate[]): TrustAnchor {
    const revoked = this.#revoked.get(anchor.tenant);
    const serial =
      revoked === undefined ? undefined : serialsOf([...chain, anchor.certificate]).find((one) => revoked.has(one));
    if (serial !== undefined)
      throw new UntrustedCertificate(`the certificate with the serial number ${serial} is revoked`);
    return anchor;
  }

  #revoke(tenant: number, serial: string): void {
    const serials = this.#revoked.get(tenant) ?? new Set();
    this.#revoked.set(tenant, serials.add(serial));
  }

  /** The certificate itself, and those that issued it. */
  #anchorsFor(certificate: X509Certificate, name: string, { wantedTenant, budget }: Asked): TrustAnchor[] {
    const isAsked = ({ tenant }: TrustAnchor): boolean => wantedTenant === undefined || tenant === wantedTenant;
    const same = [
      ...(this.#byFingerprint.get(createHash('sha1').update(certificate.raw).digest('hex'))?.values() ?? []),
    ];
    const own = same.filter((anchor) => isAsked(anchor) && anchor.certificate.raw.equals(certificate.raw));
    const issuers: TrustAnchor[] = [];
    this.#bySubject.get(certificate.issuer)?.check((key, fingerprints) => {
      const anchors = [...fingerprints]
        .flatMap((fingerprint) => [...(this.#byFingerprint.get(fingerprint)?.values() ?? [])])
        .filter(isAsked);
      let isRight: boolean | undefined = false;
      for (const anchor of anchors) {
        const result = this.#checks.isIssuer(certificate, anchor.certificate, { name, key, budget });
        if (result === undefined) return undefined;
        if (result && !own.includes(anchor)) issuers.push(anchor);
        isRight ||= result;
      }
      return isRight;
    });
    return [...own, ...issuers];
  }

  #set(tenant: number, fingerprint: string, text: string | undefined): void {
    const anchors = this.#byFingerprint.get(fingerprint) ?? new Map<number, TrustAnchor>();
    const old = anchors.get(tenant);
    anchors.delete(tenant);
    if (text !== undefined) {
      const stored = JSON.parse(text) as StoredCertificate;
      const certificate = old?.certificate ?? new X509Certificate(Buffer.from(stored.certInPemFormat, 'base64'));
      const key = old?.key ?? keyOf(certificate);
      anchors.set(tenant, { tenant, stored, certificate, key });
      const keys = this.#bySubject.get(certificate.subject) ?? new SubjectKeys();
      keys.add(key, fingerprint);
      this.#bySubject.set(certificate.subject, keys);
    }
    if (anchors.size > 0) this.#byFingerprint.set(fingerprint, anchors);
    else this.#forget(fingerprint, old);
  }

  #forget(fingerprint: string, old: TrustAnchor | undefined): void {
    this.#byFingerprint.delete(fingerprint);
    if (old === undefined) return;
    const keys = this.#bySubject.get(old.certificate.subject);
    keys?.remove(fingerprint);
    if (keys?.isEmpty === true) this.#bySubject.delete(old.certificate.subject);
  }
}

function requireValid(certificate: X509Certificate, now: number): void {
  if (now < Date.parse(certificate.validFrom))
    throw new UntrustedCertificate(`it is valid from ${certificate.validFrom} on`);
  if (now > Date.parse(certificate.validTo)) throw new UntrustedCertificate(`it expired on ${certificate.validTo}`);
}

function isValid({ validFrom, validTo }: X509Certificate, now: number): boolean {
  return now >= Date.parse(validFrom) && now <= Date.parse(validTo);
}
