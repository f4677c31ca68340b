/**
 * Trusted certificates of a tenant (docs/spec/certificates.md#fields): devices whose certificates they issued log in
 * without a password.
 */
import Type from 'typebox';
import { CERTIFICATE_STATUSES } from '../../accounts/certificates/certificates.ts';
import type { StoredCertificate } from '../../accounts/certificates/certificates.ts';
import {
  addCertificates,
  changeCertificate,
  newCertificate,
  newCode,
  proven,
  readCertificate,
  removeCertificate,
} from '../../accounts/certificates/changes.ts';
import type { CertificateOwner } from '../../accounts/certificates/changes.ts';
import { MANAGEMENT_TENANT } from '../../accounts/tenants/tenants.ts';
import type { Tenant } from '../../accounts/tenants/tenants.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { segment } from '../entities/text.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { listRecords } from '../../records/records.ts';
import { recordPorts } from '../request/record-ports.ts';
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

const ownerOf = (request: ApiRequest, { number }: Tenant): CertificateOwner => ({
  tenant: number,
  user: request.principal.userName,
});

/** @throws PlatformError 422 for what is not a certificate. */
function certificateOf(request: ApiRequest, sent: Sent): StoredCertificate {
  const { name, status, autoRegistrationEnabled = false } = sent;
  const chosen = { ...(name === undefined ? {} : { name }), status, autoRegistrationEnabled };
  return newCertificate(sent.certInPemFormat, chosen, request.platform.now());
}

const store = (request: ApiRequest, tenant: Tenant, certificates: readonly StoredCertificate[]): Promise<void> =>
  addCertificates(recordPorts(request), ownerOf(request, tenant), certificates);

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
  const certificate = certificateOf(request, JSON.parse(request.bodyText()) as Sent);
  await store(request, tenant, [certificate]);
  const self = `${request.baseUrl}/tenant/tenants/${segment(tenant.id)}/trusted-certificates/${certificate.fingerprint}`;
  return created('trustedCertificate', certificateText(request, tenant, certificate), self);
}

async function postBulk(request: ApiRequest): Promise<Answer> {
  const tenant = asked(request);
  const sent = (JSON.parse(request.bodyText()) as { certificates: Sent[] }).certificates.map((one) =>
    certificateOf(request, one),
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

async function get(request: ApiRequest): Promise<Answer> {
  const tenant = asked(request);
  const { stored } = await readCertificate(request.platform, tenant.number, request.params['fingerprint']);
  return found('trustedCertificate', certificateText(request, tenant, stored));
}

/** @param decide what becomes of it. */
async function change(
  request: ApiRequest,
  activity: string,
  decide: (stored: StoredCertificate) => StoredCertificate,
): Promise<Answer> {
  const tenant = asked(request);
  const { fingerprint } = request.params;
  const stored = await changeCertificate(recordPorts(request), ownerOf(request, tenant), fingerprint, activity, decide);
  return found('trustedCertificate', certificateText(request, tenant, stored));
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
  await removeCertificate(recordPorts(request), ownerOf(request, asked(request)), request.params['fingerprint']);
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
  const signature = Buffer.from(sent, 'base64');
  return change(request, 'Possession proven', (stored) => proven(stored, signature, request.platform.now()));
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
