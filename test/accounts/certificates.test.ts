/** Which tenant a chain leads to, and what that costs however many certificates have the name of its issuer. */
import { X509Certificate } from 'node:crypto';
import t from 'tap';
import { TrustedCertificates, describeCertificate } from '../../src/accounts/certificates/certificates.ts';
import type { StoredCertificate } from '../../src/accounts/certificates/certificates.ts';
import { CHECKS_MAX } from '../../src/accounts/certificates/issuer-checks.ts';
import { CertificateFactory } from '../helpers/certificates.ts';
import type { Issued } from '../helpers/certificates.ts';
import { missing } from '../helpers/tools.ts';

const [MINE, OTHER] = [2, 3];
const OTHERS = 25;

t.test(
  'many authorities of one name cost a login no more than 20 checks of signatures',
  { skip: missing('openssl') },
  async (t) => {
    const factory = new CertificateFactory(t.testdir());
    const trusted = new TrustedCertificates();
    const trust = (tenant: number, issued: Issued, proofOfPossessionValid: boolean): void => {
      const described = describeCertificate(new X509Certificate(issued.certificate));
      const stored: StoredCertificate = {
        ...described,
        status: 'ENABLED',
        autoRegistrationEnabled: true,
        proofOfPossessionValid,
      };
      trusted.recordsChanged(tenant, [
        { collection: 'certificate', id: described.fingerprint, expected: undefined, value: JSON.stringify(stored) },
      ]);
    };
    let checks = 0;
    const { verify } = X509Certificate.prototype;
    X509Certificate.prototype.verify = function counted(this: X509Certificate, key) {
      checks += 1;
      return verify.call(this, key);
    };
    t.teardown(() => {
      X509Certificate.prototype.verify = verify;
    });
    const chainOf = (issued: Issued): X509Certificate[] => [new X509Certificate(issued.certificate)];
    const tenantOf = (chain: readonly X509Certificate[], wanted?: number): number | string => {
      checks = 0;
      try {
        return trusted.anchorOf(chain, Date.now(), wanted).tenant;
      } catch (error) {
        return (error as Error).message;
      }
    };
    const issue = (name: string): Issued =>
      factory.issue(name, undefined, { commonName: 'Plant CA', isAuthority: true, keyId: '01:02:03:04' });
    for (let count = 0; count < OTHERS; count += 1) trust(OTHER, issue(`other-${count}`), true);
    const authority = issue('mine');
    const device = chainOf(factory.issue('device', authority, { commonName: 'device-1' }));
    const second = chainOf(factory.issue('second', authority, { commonName: 'device-2' }));
    trust(MINE, authority, true);
    t.match(tenantOf(device), /more than 20 keys.*accounts\/certificate-checks/);
    t.equal(checks, CHECKS_MAX);
    t.equal(tenantOf(device), MINE, 'found after some logins');
    t.ok(checks <= CHECKS_MAX, `${checks} checks`);
    t.equal(tenantOf(second), MINE, 'then at once, for every device');
    t.ok(checks <= CHECKS_MAX, `${checks} checks`);
    t.equal(tenantOf(chainOf(factory.issue('third', authority, { commonName: 'device-3' })), MINE), MINE);
    t.equal(checks, 1, 'of a tenant that is named only its own are checked');
    tenantOf(device);
    tenantOf(device);
    t.equal(tenantOf(device), MINE);
    t.equal(checks, 0, 'results are remembered');

    trust(MINE, authority, false);
    const unproven = chainOf(factory.issue('fourth', authority, { commonName: 'device-4' }));
    t.match(tenantOf(unproven), /prove possession/, 'what was not checked may be proven by another tenant');
    t.equal(tenantOf(unproven, MINE), MINE);
    trust(OTHER, authority, true);
    t.equal(tenantOf(second), OTHER, 'a proof wins, of the same key');
  },
);
