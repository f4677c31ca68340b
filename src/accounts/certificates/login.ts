/**
 * Logs devices in by their certificates (docs/spec/certificates.md#logins): the common name is the device, the chain
 * says the tenant.
 */
import type { X509Certificate } from 'node:crypto';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import { userPut, type UserPut } from '../../model/commands/users.ts';
import { DEVICE_USER_PREFIX } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { ChangedUsers } from '../users/changed-users.ts';
import { UntrustedCertificate, commonNameOf, serialsOf } from './certificates.ts';
import type { TrustAnchor, TrustedCertificates } from './certificates.ts';
import { principalOf } from '../users/effective-rights.ts';
import { rightsOfDevices } from '../users/groups.ts';
import type { Tenants } from '../tenants/tenants.ts';
import { isActive } from '../tenants/tenants.ts';

/** What a device's user may be named (docs/spec/users.md#fields). */
const DEVICE_ID = /^[^\s/+$:\\\p{Cc}]{1,900}$/u;

export interface CertificateLogin {
  readonly principal: Principal;
  readonly deviceId: string;
}

export interface CertificateLoginsOptions {
  readonly certificates: TrustedCertificates;
  readonly documents: DocumentReader;
  readonly commands: CommandPort;
  readonly tenants: Pick<Tenants, 'byId' | 'byNumber'>;
  readonly changed: Pick<ChangedUsers, 'generation'>;
  readonly refusals: Refusals;
  readonly now: () => number;
}

export class CertificateLogins {
  readonly #options: CertificateLoginsOptions;

  constructor(options: CertificateLoginsOptions) {
    this.#options = options;
  }

  /**
   * @param chain the device's own certificate first. @param userName '' or `<tenant>`, `<tenant>/<anything>`.
   * @throws UntrustedCertificate with the reason.
   */
  async login(chain: readonly X509Certificate[], userName: string): Promise<CertificateLogin> {
    const { certificates, tenants, documents, refusals, now } = this.#options;
    const deviceId = commonNameOf(chain[0]);
    if (deviceId === undefined || !DEVICE_ID.test(deviceId))
      throw new UntrustedCertificate('its common name is not a device identifier');
    const wanted = userName === '' ? undefined : tenants.byId(userName.split('/')[0]);
    if (userName !== '' && wanted === undefined) throw new UntrustedCertificate('the user name is not a tenant');
    const anchor = certificates.anchorOf(chain, now(), wanted?.number);
    const tenant = tenants.byNumber(anchor.tenant);
    if (!isActive(tenant)) throw new UntrustedCertificate('the tenant is suspended');
    const { user, asOf } = await this.#user(anchor, `${DEVICE_USER_PREFIX}${deviceId}`);
    if (!user.enabled) throw new UntrustedCertificate('the user of the device is disabled');
    const principal = await principalOf(documents, tenant, user, refusals);
    // What was read before a command may have changed meanwhile.
    if (!isActive(tenants.byNumber(anchor.tenant))) throw new UntrustedCertificate('the tenant is suspended');
    const { stored, certificate } = certificates.anchorOf(chain, now(), anchor.tenant);
    return {
      principal: {
        ...principal,
        asOf,
        certificate: stored.fingerprint,
        certificateSerials: serialsOf([...chain, certificate]),
      },
      deviceId,
    };
  }

  async #user(anchor: TrustAnchor, userName: string): Promise<{ readonly user: StoredUser; readonly asOf: number }> {
    const { changed } = this.#options;
    let asOf = changed.generation;
    const known = await this.#read(anchor.tenant, userName);
    if (known !== undefined) return { user: known, asOf };
    await this.#register(anchor, userName);
    asOf = changed.generation;
    const user = await this.#read(anchor.tenant, userName);
    if (user === undefined) throw new UntrustedCertificate('the user of the device was deleted');
    return { user, asOf };
  }

  async #register({ tenant, stored }: TrustAnchor, userName: string): Promise<void> {
    if (!stored.autoRegistrationEnabled)
      throw new UntrustedCertificate('the device is not registered, and its issuer does not register devices');
    const { commands, documents, now } = this.#options;
    const body: UserPut = {
      userName,
      ...(await rightsOfDevices(documents, tenant)),
      enabled: true,
      mustBeNew: true,
      by: `certificate ${stored.fingerprint}`,
    };
    try {
      await commands.request(userPut(tenant, now(), body));
    } catch (error) {
      // Two connections of one device at once.
      if (!(error instanceof PlatformError) || error.code !== 'users/duplicate') throw error;
    }
  }

  async #read(tenant: number, userName: string): Promise<StoredUser | undefined> {
    const text = await this.#options.documents.get('user', tenant, userName);
    return text === undefined ? undefined : (JSON.parse(text) as StoredUser);
  }
}
