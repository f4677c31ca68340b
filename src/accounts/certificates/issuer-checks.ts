/**
 * Checks of signatures of certificates. Names prove nothing: every tenant can upload authorities with the subject of
 * another one's, and a check of a signature costs about 0.1 ms. So one login gets a bounded number of them, results are
 * remembered, and a key is checked once however many certificates have it.
 */
import type { X509Certificate } from 'node:crypto';
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { upTo } from '../../pacing/lru-bound.ts';

/** Signatures that one login may check. */
export const CHECKS_MAX = 20;
/** Name of the limit. */
export const CHECKS_LIMIT = 'accounts/certificate-checks';
/** Results that are remembered. */
const REMEMBERED_MAX = 20_000;

/** Of the public key of a certificate. */
export const keyOf = (certificate: X509Certificate): string =>
  createHash('sha256')
    .update(certificate.publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64');

/** What one login has left. */
export class CheckBudget {
  left = CHECKS_MAX;
  /** A check was not made. */
  isExhausted = false;
}

export class IssuerChecks {
  readonly #known = new LRUCache<string, boolean>(upTo(REMEMBERED_MAX));

  /**
   * Whether the key of `issuer` signed the certificate; names and extensions are compared too.
   * @param options.name of the certificate, `options.key` of the issuer (`keyOf`). @returns undefined when the budget
   * is spent.
   */
  isIssuer(
    certificate: X509Certificate,
    issuer: X509Certificate,
    options: { name: string; key: string; budget: CheckBudget },
  ): boolean | undefined {
    if (!issuer.ca || !certificate.checkIssued(issuer)) return false;
    const { name, key, budget } = options;
    const id = `${name} ${key}`;
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    if (budget.left === 0) {
      budget.isExhausted = true;
      return undefined;
    }
    budget.left -= 1;
    const result = certificate.verify(issuer.publicKey);
    this.#known.set(id, result);
    return result;
  }
}

interface KeyGroup {
  readonly key: string;
  readonly fingerprints: Set<string>;
}

/** Trusted certificates of one subject by their keys, in the order in which the keys are checked. */
export class SubjectKeys {
  readonly #groups: KeyGroup[] = [];

  get isEmpty(): boolean {
    return this.#groups.length === 0;
  }

  add(key: string, fingerprint: string): void {
    const group = this.#groups.find((one) => one.key === key);
    if (group === undefined) this.#groups.push({ key, fingerprints: new Set([fingerprint]) });
    else group.fingerprints.add(fingerprint);
  }

  remove(fingerprint: string): void {
    const index = this.#groups.findIndex(({ fingerprints }) => fingerprints.has(fingerprint));
    if (index < 0) return;
    this.#groups[index].fingerprints.delete(fingerprint);
    if (this.#groups[index].fingerprints.size === 0) this.#groups.splice(index, 1);
  }

  /**
   * Calls `check` with each key and its certificates until it gives undefined. A key that was right comes first next
   * time, and when the checks did not suffice, those that were wrong come last: so the right one is found after some
   * logins, however many other tenants have added.
   */
  check(check: (key: string, fingerprints: ReadonlySet<string>) => boolean | undefined): void {
    const right: KeyGroup[] = [];
    const wrong: KeyGroup[] = [];
    for (const group of this.#groups) {
      const result = check(group.key, group.fingerprints);
      if (result === undefined) {
        const rest = this.#groups.filter((one) => !right.includes(one) && !wrong.includes(one));
        this.#groups.splice(0, this.#groups.length, ...right, ...rest, ...wrong);
        return;
      }
      (result ? right : wrong).push(group);
    }
    if (right.length > 0) this.#groups.splice(0, this.#groups.length, ...right, ...wrong);
  }
}
