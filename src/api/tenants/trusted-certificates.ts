/**
 * Trusted certificates of a tenant (docs/spec/certificates.md#fields): devices whose certificates they issued log in
 * without a password.
 */
import { constants, randomBytes, verify } from 'node:crypto';
import type { X509Certificate } from 'node:crypto';
import Type from 'typebox';
import {
  CERTIFICATES_OF_TENANT_MAX,
  CERTIFICATE_STATUSES,
  describeCertificate,
  parseCertificate,
} from '../../accounts/certificates/certificates.ts';
import type { StoredCertificate } from '../../accounts/certificates/certificates.ts';
import { MANAGEMENT_TENANT } from '../../accounts/tenants/tenants.ts';
import type { Tenant } from '../../accounts/tenants/tenants.ts';
import type { AuditEntry, PrefixBound } from '../../model/commands/records.ts';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { ApiRequest } from '../request/request.ts';
import { segment } from '../entities/text.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import {
  changeRecords,
  isChangedMeanwhile,
  listRecords,
  readRecord,
  retried,
  updateRecord,
} from '../../records/records.ts';
import { changeBounded } from '../../records/totals.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { nullable } from '../../model/schema/parts.ts';
import { tenantOf } from './subtenants.ts';

const ADMIN = ['ROLE_TENANT_MANAGEMENT_ADMIN', 'ROLE_TENANT_ADMIN'];
const READ = [...ADMIN, 'ROLE_TENANT_MANAGEMENT_READ'];
const PEM_LENGTH_MAX = 65_536;
const NAME_LENGTH_MAX = 256;
const BULK_MAX = 100;
/** The certificates of a tenant. */
const BOUND: PrefixBound = {
  collection: 'certificate',
  prefix: '',
  maximum: CERTIFICATES_OF_TENANT_MAX,
  limit: 'certificates/of-tenant',
  error: 'certificate/too-many',
};
const FINGERPRINT = /^[0-9a-f]{40}$/;
/** A code has to be signed within this time. */
const CODE_MS = 24 * 3_600_000;
const CODE_BYTES = 32;

interface Sent {
  readonly name?: string;
  readonly status: StoredCertificate['status'];
  readonly autoRegistrationEnabled?: boolean;
  readonly certInPemFormat: string;
}

/** Routes without a tenant in their path are about the caller's tenant. */
const asked = (request: ApiRequest): Tenant => tenantOf(request, request.params['id'] ?? request.principal.tenant);

function certificateText(request: ApiRequest, tenant: Tenant, certificate: StoredCertificate): string {
  const self = `${request.baseUrl}/tenant/tenants/${segment(tenant.id)}/trusted-certificates/${certificate.fingerprint}`;
  return JSON.stringify({ self, ...certificate, tenantCertificateAuthority: false });
}

const newCode = (
  now: number,
): Pick<
  StoredCertificate,
  'proofOfPossessionUnsignedVerificationCode' | 'proofOfPossessionVerificationCodeUsableUntil'
> => ({
  proofOfPossessionUnsignedVerificationCode: randomBytes(CODE_BYTES).toString('hex'),
  proofOfPossessionVerificationCodeUsableUntil: formatTime(now + CODE_MS),
});

/** @throws PlatformError 422 for what is not a certificate. */
function newCertificate(request: ApiRequest, sent: Sent): StoredCertificate {
  const certificate = parseCertificate(sent.certInPemFormat);
  if (certificate === undefined) {
    const value = sent.certInPemFormat.slice(0, 40);
    throw new PlatformError('validation/invalid-field', {
      area: 'certificate',
      name: 'certInPemFormat',
      value,
      limit: 'one X.509 certificate, PEM',
    });
  }
  const { name, status, autoRegistrationEnabled = false } = sent;
  return {
    ...describeCertificate(certificate),
    ...(name === undefined ? {} : { name }),
    status,
    autoRegistrationEnabled,
    proofOfPossessionValid: false,
    ...newCode(request.platform.now()),
  };
}

const auditOf = (request: ApiRequest, activity: string, fingerprints: readonly string[]): AuditEntry => ({
  type: 'TrustedCertificates',
  activity,
  text: `${activity}: ${fingerprints.join(', ')}`,
  user: request.principal.userName,
});

/** All or none. @throws PlatformError 409 for one that is there. */
async function store(request: ApiRequest, tenant: Tenant, certificates: readonly StoredCertificate[]): Promise<void> {
  const fingerprints = certificates.map(({ fingerprint }) => fingerprint);
  const known = await listRecords(request.platform, tenant.number, 'certificate');
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
  try {
    const { commands, now } = request.platform;
    await changeBounded(
      { commands, now, refusals: request.refusals },
      tenant.number,
      changes,
      [auditOf(request, 'Trusted certificate added', fingerprints)],
      [{ ...BOUND, added: changes.length }],
    );
  } catch (error) {
    if (isChangedMeanwhile(error)) {
      throw new PlatformError('certificate/duplicate', { fingerprint: fingerprints[0] });
    }
    throw error;
  }
}

async function list(request: ApiRequest): Promise<Answer> {
  const tenant = asked(request);
  const page = pageOf(request);
  const rows = await listRecords(request.platform, tenant.number, 'certificate');
  const items = rows
    .slice(page.offset, page.offset + page.size)
    .map(({ value }) => certificateText(request, tenant, JSON.parse(value) as StoredCertificate));
  return found(
    'trustedCertificateCollection',
    collectionText(request, page, { name: 'certificates', items, total: rows.length }),
  );
}

async function post(request: ApiRequest): Promise<Answer> {
  const tenant = asked(request);
  const certificate = newCertificate(request, JSON.parse(request.bodyText()) as Sent);
  await store(request, tenant, [certificate]);
  const self = `${request.baseUrl}/tenant/tenants/${segment(tenant.id)}/trusted-certificates/${certificate.fingerprint}`;
  return created('trustedCertificate', certificateText(request, tenant, certificate), self);
}

async function postBulk(request: ApiRequest): Promise<Answer> {
  const tenant = asked(request);
  const sent = (JSON.parse(request.bodyText()) as { certificates: Sent[] }).certificates.map((one) =>
    newCertificate(request, one),
  );
  await store(request, tenant, sent);
  const self = `${request.baseUrl}/tenant/tenants/${segment(tenant.id)}/trusted-certificates`;
  const items = sent.map((certificate) => certificateText(request, tenant, certificate));
  return created(
    'trustedCertificateCollection',
    `{"self":${JSON.stringify(self)},"certificates":[${items.join(',')}]}`,
    self,
  );
}

/** @throws PlatformError 404. */
async function load(
  request: ApiRequest,
  tenant: Tenant,
): Promise<{ readonly text: string; readonly stored: StoredCertificate }> {
  const fingerprint = request.params['fingerprint'].toLowerCase();
  const text = FINGERPRINT.test(fingerprint)
    ? await readRecord(request.platform, tenant.number, 'certificate', fingerprint)
    : undefined;
  if (text === undefined) throw notFound(request);
  return { text, stored: JSON.parse(text) as StoredCertificate };
}

const notFound = (request: ApiRequest): PlatformError =>
  new PlatformError('certificate/not-found', { fingerprint: request.params['fingerprint'] });

async function get(request: ApiRequest): Promise<Answer> {
  const tenant = asked(request);
  return found('trustedCertificate', certificateText(request, tenant, (await load(request, tenant)).stored));
}

/** @param decide what becomes of it. */
async function change(
  request: ApiRequest,
  activity: string,
  decide: (stored: StoredCertificate) => StoredCertificate,
): Promise<Answer> {
  const tenant = asked(request);
  const {
    stored: { fingerprint },
  } = await load(request, tenant);
  const text = await updateRecord(
    request.platform,
    tenant.number,
    'certificate',
    fingerprint,
    (current) => {
      if (current === undefined) throw notFound(request);
      return JSON.stringify(decide(JSON.parse(current) as StoredCertificate));
    },
    [auditOf(request, activity, [fingerprint])],
  );
  return found('trustedCertificate', certificateText(request, tenant, JSON.parse(text as string) as StoredCertificate));
}

interface SentChange extends Pick<Partial<Sent>, 'status'> {
  readonly name?: string | null;
  readonly autoRegistrationEnabled?: boolean | null;
}

function put(request: ApiRequest): Promise<Answer> {
  const { name, status, autoRegistrationEnabled } = JSON.parse(request.bodyText()) as SentChange;
  // What is removed is undefined, or its default again.
  return change(request, 'Trusted certificate changed', (stored) => ({
    ...stored,
    ...(name === undefined ? {} : { name: name ?? undefined }),
    ...(status === undefined ? {} : { status }),
    ...(autoRegistrationEnabled === undefined ? {} : { autoRegistrationEnabled: autoRegistrationEnabled ?? false }),
  }));
}

async function remove(request: ApiRequest): Promise<Answer> {
  const tenant = asked(request);
  await retried(request.platform, async () => {
    const {
      text,
      stored: { fingerprint },
    } = await load(request, tenant);
    await changeRecords(
      request.platform,
      tenant.number,
      [{ collection: 'certificate', id: fingerprint, expected: text, value: undefined }],
      [auditOf(request, 'Trusted certificate removed', [fingerprint])],
    );
  });
  return NO_CONTENT;
}

/** A new code to be signed; what was proven before stays so. */
function renewCode(request: ApiRequest): Promise<Answer> {
  return change(request, 'Verification code renewed', (stored) => ({ ...stored, ...newCode(request.platform.now()) }));
}

/** The code signed with the private key, base64: SHA-256 with the key's usual scheme. @throws PlatformError 422. */
function prove(request: ApiRequest): Promise<Answer> {
  const { proofOfPossessionSignedVerificationCode: sent } = JSON.parse(request.bodyText()) as {
    proofOfPossessionSignedVerificationCode: string;
  };
  return change(request, 'Possession proven', (stored) => {
    const {
      proofOfPossessionUnsignedVerificationCode: code = '',
      proofOfPossessionVerificationCodeUsableUntil: until = '',
    } = stored;
    if (code === '' || request.platform.now() > Date.parse(until)) throw new PlatformError('certificate/code-expired');
    const certificate = parseCertificate(stored.certInPemFormat) as X509Certificate;
    if (!isSignedBy(certificate, code, Buffer.from(sent, 'base64')))
      throw new PlatformError('certificate/wrong-signature');
    return { ...stored, proofOfPossessionValid: true };
  });
}

function isSignedBy({ publicKey }: X509Certificate, code: string, signature: Buffer): boolean {
  const isEdwards = ['ed25519', 'ed448'].includes(publicKey.asymmetricKeyType ?? '');
  const isPss = publicKey.asymmetricKeyType === 'rsa-pss';
  const key = isPss ? { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING } : publicKey;
  return verify(isEdwards ? null : 'sha256', Buffer.from(code), key, signature);
}

/** By hand, when the key cannot sign. @throws PlatformError 403 for all but the management tenant. */
function confirm(request: ApiRequest): Promise<Answer> {
  if (request.principal.tenant !== MANAGEMENT_TENANT) throw new PlatformError('security/forbidden');
  return change(request, 'Possession confirmed', (stored) => ({ ...stored, proofOfPossessionValid: true }));
}

const OPEN = { additionalProperties: true } as const;
const Name = Type.String({ maxLength: NAME_LENGTH_MAX });
const Status = Type.Enum([...CERTIFICATE_STATUSES]);
const Post = Type.Object(
  {
    name: Type.Optional(Name),
    status: Status,
    certInPemFormat: Type.String({ maxLength: PEM_LENGTH_MAX }),
    autoRegistrationEnabled: Type.Optional(Type.Boolean()),
  },
  OPEN,
);
const Put = Type.Object(
  {
    name: Type.Optional(nullable(Name)),
    status: Type.Optional(Status),
    autoRegistrationEnabled: Type.Optional(nullable(Type.Boolean())),
  },
  OPEN,
);
const Bulk = Type.Object({ certificates: Type.Array(Post, { minItems: 1, maxItems: BULK_MAX }) }, OPEN);
const Proof = Type.Object(
  { proofOfPossessionSignedVerificationCode: Type.String({ maxLength: PEM_LENGTH_MAX }) },
  OPEN,
);
const EXAMPLE = { name: 'plant', status: 'ENABLED', autoRegistrationEnabled: true, certInPemFormat: 'MIIB…' };

/** Those of a tenant, and the same for the caller's tenant. */
export function trustedCertificateRoutes(): Route[] {
  const routesBelow = (base: string): Route[] => {
    const common = { area: 'certificate', access: 'roles', roles: ADMIN } as const;
    const answer = (status: number, description: string, mediaType = 'trustedCertificate') => [
      { status, description, mediaType },
    ];
    const [all, one, proof] = [
      `${base}/trusted-certificates`,
      `${base}/trusted-certificates/{fingerprint}`,
      `${base}/trusted-certificates-pop/{fingerprint}`,
    ];
    return [
      {
        method: 'GET',
        path: all,
        ...common,
        roles: READ,
        summary: 'List trusted certificates by fingerprint',
        query: PAGE_PARAMETERS,
        answers: answer(200, 'A page of certificates', 'trustedCertificateCollection'),
        handle: list,
      },
      {
        method: 'POST',
        path: all,
        ...common,
        summary: 'Add a trusted certificate',
        body: { schema: Post, mediaTypes: ['trustedCertificate'], example: EXAMPLE },
        answers: answer(201, 'Added'),
        handle: post,
      },
      {
        method: 'POST',
        path: `${all}/bulk`,
        ...common,
        summary: 'Add several trusted certificates, all or none',
        body: { schema: Bulk, mediaTypes: ['trustedCertificateCollection'], example: { certificates: [EXAMPLE] } },
        answers: answer(201, 'Added', 'trustedCertificateCollection'),
        handle: postBulk,
      },
      {
        method: 'GET',
        path: one,
        ...common,
        roles: READ,
        summary: 'Read a trusted certificate',
        answers: answer(200, 'The certificate'),
        handle: get,
      },
      {
        method: 'PUT',
        path: one,
        ...common,
        summary: 'Enable, disable or name a trusted certificate',
        body: { schema: Put, mediaTypes: ['trustedCertificate'], example: { status: 'DISABLED' } },
        answers: answer(200, 'The certificate'),
        handle: put,
      },
      {
        method: 'DELETE',
        path: one,
        ...common,
        summary: 'Delete a trusted certificate',
        answers: [{ status: 204, description: 'Removed' }],
        handle: remove,
      },
      {
        method: 'POST',
        path: `${proof}/verification-code`,
        ...common,
        summary: 'Make a new code for the proof of possession',
        answers: answer(200, 'The certificate with its code'),
        handle: renewCode,
      },
      {
        method: 'POST',
        path: `${proof}/pop`,
        ...common,
        summary: 'Prove possession of the private key by the signed code',
        body: {
          schema: Proof,
          mediaTypes: ['trustedCertificate'],
          example: { proofOfPossessionSignedVerificationCode: 'base64' },
        },
        answers: answer(200, 'The certificate'),
        handle: prove,
      },
      {
        method: 'POST',
        path: `${proof}/confirmed`,
        ...common,
        summary: 'Confirm possession by hand (management tenant only)',
        answers: answer(200, 'The certificate'),
        handle: confirm,
      },
    ];
  };
  return [...routesBelow('/tenant/tenants/{id}'), ...routesBelow('/tenant')];
}
