/** Which proxies are believed when they tell for whom and under which name they ask (`--trust-proxy`). */
import { BlockList, isIP } from 'node:net';

const HOPS = /^[1-9]\d?$/;

export const PROXIES_RULE =
  'no, yes, a number of proxies from 1 to 99, or addresses and networks such as 10.0.0.0/8, comma separated';

export class TrustedProxies {
  /**
   * The place from the right of the named value (host, protocol, port, path) that counts; Infinity: the first. 0: none
   * counts.
   */
  readonly #hops: number;
  readonly #networks: BlockList | undefined;

  /** @throws Error for another text than the rule allows. */
  constructor(setting = 'no') {
    const isByAddress = setting !== 'no' && setting !== 'yes' && !HOPS.test(setting);
    this.#hops = setting === 'no' ? 0 : HOPS.test(setting) ? Number(setting) : Infinity;
    this.#networks = isByAddress ? networksOf(setting) : undefined;
  }

  /**
   * @param connection its other end is read only when proxies are known by address.
   * @returns from which place from the right the named values of a request are taken: 0 for none, Infinity for the
   * first.
   */
  hopsOf(connection: { readonly remoteAddress: string }): number {
    return this.#networks === undefined || isIn(this.#networks, connection.remoteAddress) ? this.#hops : 0;
  }

  /**
   * @param told by whom each proxy was asked, the nearest proxy's last; without ports. @returns the client; '' for an
   * empty list.
   */
  clientAmong(told: readonly string[]): string {
    const networks = this.#networks;
    if (networks !== undefined) return told.findLast((address) => !isIn(networks, address)) ?? told[0] ?? '';
    return told[Math.max(0, told.length - (this.#hops === Infinity ? 1 : this.#hops))] ?? '';
  }
}

/** @param list comma separated. @returns the value `hops` places from the right, or the first one. */
export const valueOfHop = (list: string, hops: number): string => {
  const values = list.split(',');
  return values[Math.max(0, values.length - hops)];
};

function isIn(networks: BlockList, address: string): boolean {
  const plain = address.split('%', 1)[0];
  const family = isIP(plain);
  return family !== 0 && networks.check(plain, family === 6 ? 'ipv6' : 'ipv4');
}

function networksOf(setting: string): BlockList {
  const networks = new BlockList();
  for (const part of setting.split(',')) {
    const [address, length, ...more] = part.trim().split('/');
    const family = isIP(address);
    const bits = family === 6 ? 128 : 32;
    const prefix = length === undefined ? bits : Number(length);
    const isRight = family !== 0 && more.length === 0 && /^\d{1,3}$/.test(length ?? '0') && prefix <= bits;
    if (!isRight) throw new Error(`${part.trim() || '(empty)'} is not an address or a network`);
    networks.addSubnet(address, prefix, family === 6 ? 'ipv6' : 'ipv4');
  }
  return networks;
}
