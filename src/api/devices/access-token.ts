/**
 * Tokens for devices that log in by certificates (docs/spec/login.md#device-tokens). That a device has the key of its
 * certificate is checked by TLS on the HTTPS listener, or by a proxy in front of the HTTP listener, which hands the
 * certificate over in the header that `device-certificate-header` names. What the device sends itself, in
 * X-Ssl-Cert-Chain, proves nothing: it only leads from its certificate to the trusted one.
 */
import type { X509Certificate } from 'node:crypto';
import Type from 'typebox';
import { UntrustedCertificate, parseCertificate } from '../../accounts/certificates/certificates.ts';
import { deviceToken } from '../../accounts/login/device-tokens.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { ApiRequest } from '../request/request.ts';
import { hostName, tenantCalled } from '../request/login-host.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import { requireRate } from '../request/rate.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';

/** Of one header. */
const CERTIFICATES_MAX = 10;
const CHAIN_HEADER = 'x-ssl-cert-chain';
/** Name of the limit in counters. */
const REFUSED = 'accounts/device-certificate';
const PEM = /-----BEGIN CERTIFICATE-----([^-]*)(?:-----END CERTIFICATE-*|$)/g;

/**
 * Certificates as proxies and devices write them into one header: PEM with blanks instead of line ends, the same
 * percent-encoded (nginx, ALB), base64 of the DER form (HAProxy), also between colons (RFC 9440), several of them comma
 * separated (Traefik).
 * @returns undefined for what is none of these, and for too many.
 */
export function certificatesOf(header: string): X509Certificate[] | undefined {
  const text = decoded(header);
  if (text === undefined) return undefined;
  const pems = [...text.matchAll(PEM)].map(([, body]) => body);
  const bodies =
    pems.length > 0
      ? pems
      : text
          .split(',')
          .map((part) => part.trim().replace(/^:(.*):$/, '$1'))
          .filter((part) => part !== '');
  if (bodies.length > CERTIFICATES_MAX) return undefined;
  const certificates = bodies.map(parseCertificate).filter((certificate) => certificate !== undefined);
  return certificates.length === bodies.length && bodies.length > 0 ? certificates : undefined;
}

function decoded(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    // The caller says which header it is.
    return undefined;
  }
}

const refusal = (reason: string): PlatformError => new PlatformError('login/certificate', { reason });

/**
 * @returns the device's certificate, with what leads from it to a trusted one.
 * @throws PlatformError 403 where no header is named, 401 without a certificate, and for one that came twice: then the
 * proxy lets through what clients write.
 */
function chainOf(request: ApiRequest): readonly X509Certificate[] {
  if (!request.exchange.isSecure) return withFurther(request, ofProxy(request));
  // Of a proxy in front of TLS the header proves nothing: the client may have written it.
  const own = request.exchange.certificates;
  if (own.length === 0) throw new PlatformError('login/certificate-missing');
  return withFurther(request, own);
}

function ofProxy({ platform, certificateHeaders }: ApiRequest): X509Certificate[] {
  const name = platform.config.deviceCertificateHeader;
  if (name === undefined) throw new PlatformError('login/certificates-unavailable');
  const sent = certificateHeaders.filter((value) => value !== '');
  if (sent.length === 0) throw new PlatformError('login/certificate-missing');
  if (sent.length > 1)
    throw refusal(`the header ${name} came ${sent.length} times: the proxy has to replace what clients write into it`);
  const own = certificatesOf(sent[0]);
  if (own === undefined) throw refusal(`the header ${name} has no certificate`);
  return own;
}

/** With what the device sends itself. */
function withFurther({ platform, headers }: ApiRequest, own: readonly X509Certificate[]): readonly X509Certificate[] {
  const further = headers[CHAIN_HEADER] ?? '';
  if (further === '' || platform.config.deviceCertificateHeader === CHAIN_HEADER) return own;
  const chain = certificatesOf(further);
  if (chain === undefined)
    throw refusal(`the header X-Ssl-Cert-Chain has no certificates, or more than ${CERTIFICATES_MAX}`);
  return [...own, ...chain];
}

/** @throws PlatformError 401, 403. */
async function logIn(request: ApiRequest): Promise<Principal> {
  const { accounts, log } = request.platform;
  try {
    const chain = chainOf(request);
    // The host names the tenant, as with a password; otherwise the trusted certificate does.
    const { principal } = await accounts.certificateLogins.login(chain, tenantCalled(request)?.id ?? '');
    return principal;
  } catch (error) {
    const refused = error instanceof UntrustedCertificate ? refusal(error.message) : error;
    if (refused instanceof PlatformError && refused.status < 500) {
      request.refused(REFUSED, refused.message);
      if (log.isLevelEnabled('debug')) log.debug({ reason: refused.message, limit: REFUSED }, 'a device got no token');
    }
    throw refused;
  }
}

async function post(request: ApiRequest): Promise<Answer> {
  const { platform } = request;
  const principal = await logIn(request);
  requireRate(request, platform.rates?.takeLogin(principal.tenantNumber, principal.userName));
  const audience = hostName(request.called.host) || principal.tenant;
  const { documents, accounts } = platform;
  const accessToken = await deviceToken({ documents, tokens: accounts.tokens }, principal, audience);
  if (accessToken === undefined) throw new PlatformError('security/unauthorized');
  // In the answer also without Accept: the token is the whole point.
  if (!request.wantsBody) request.accept = { isPresent: true, isBranded: false, order: [] };
  return {
    status: 200,
    text: JSON.stringify({ accessToken }),
    contentType: JSON_TYPE,
    headers: ['Cache-Control', 'no-store'],
  };
}

export function deviceAccessTokenRoutes(): Route[] {
  return [
    {
      method: 'POST',
      path: '/devicecontrol/deviceAccessToken',
      area: 'devicecontrol',
      access: 'public',
      summary: 'A token for `Authorization: Bearer`, for a device that shows its certificate',
      headers: [CHAIN_HEADER],
      takesCertificate: true,
      body: { isOptional: true, schema: Type.Object({}, { additionalProperties: true }), mediaTypes: [], example: {} },
      answers: [
        {
          status: 200,
          description: 'The token',
          contentTypes: ['application/json'],
          json: Type.Object({ accessToken: Type.String() }),
          example: { accessToken: 'eyJhbGciOi…' },
        },
      ],
      handle: post,
    },
  ];
}
