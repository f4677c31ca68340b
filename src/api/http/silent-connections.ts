/**
 * HTTP connections that have not sent a whole request: when the places run out the oldest gives way to the new one, so
 * that silence keeps no user out. One that is alone at its address stays while there are others: those who come again
 * at once, faster than requests are read, do not push it out.
 */
import { addressKey } from './connection-guard.ts';

/** More are not looked at for one whose address has others. */
const LOOKED_AT_MAX = 64;

export class SilentConnections<C> {
  /** In order of arrival, with what counts as their address. */
  readonly #all = new Map<C, string>();
  readonly #ofAddress = new Map<string, Set<C>>();

  get size(): number {
    return this.#all.size;
  }

  /** @param address in any notation. */
  arrived(one: C, address: string): void {
    const key = addressKey(address);
    this.#all.set(one, key);
    const same = this.#ofAddress.get(key);
    if (same === undefined) this.#ofAddress.set(key, new Set([one]));
    else same.add(one);
  }

  /** It has sent a request, or is closed. */
  delete(one: C): void {
    const key = this.#all.get(one);
    if (key === undefined) return;
    this.#all.delete(one);
    const same = this.#ofAddress.get(key);
    same?.delete(one);
    if (same?.size === 0) this.#ofAddress.delete(key);
  }

  /** Deletes all of an address; all there are when it is ''. */
  deleteAddress(address: string): void {
    const key = address === '' ? '' : addressKey(address);
    for (const one of address === '' ? this.#all.keys() : (this.#ofAddress.get(key) ?? [])) this.#all.delete(one);
    if (address === '') this.#ofAddress.clear();
    else this.#ofAddress.delete(key);
  }

  /** Takes out the one to close for a new connection. */
  take(): C | undefined {
    const [oldest] = this.#all.keys();
    let found = oldest;
    let count = 0;
    for (const [one, key] of this.#all) {
      count += 1;
      if (count > LOOKED_AT_MAX) break;
      if ((this.#ofAddress.get(key)?.size ?? 0) > 1) {
        found = one;
        break;
      }
    }
    if (found !== undefined) this.delete(found);
    return found;
  }
}
