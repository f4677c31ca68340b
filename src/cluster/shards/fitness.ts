/**
 * Who of the members should own shards: those that lack the least. A server that is away for all nodes is missed by one
 * after the other, and found again so: until what all of them say has stayed the same for a while, it does not count,
 * and nothing moves.
 */
import type { Lack, Member } from '../../ports/cluster/leases.ts';

const RANK: Readonly<Record<Lack, number>> = { history: 1, documents: 2 };
const rankOf = (lacks: Lack | undefined): number => (lacks === undefined ? 0 : RANK[lacks]);

export class Fitness {
  readonly #settleMs: number;
  readonly #seen = new Map<string, Lack | undefined>();
  #settled: ReadonlyMap<string, Lack | undefined> = new Map();
  #changedAt = Number.NEGATIVE_INFINITY;
  /** Even the best of them lack something: what has an owner among them stays, also where it is uneven. */
  isHeld = false;

  /** @param settleMs longer than nodes differ in noticing that a server is away, or back. */
  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /**
   * To be called now and then, also when nothing has changed.
   * @param members that may own shards. A new one counts as it says, at once. @param now monotonic, ms.
   * @returns those of them that should own shards; empty only when there are no members.
   */
  fittest(members: readonly Member[], now: number): Member[] {
    const settled = new Map(this.#settled);
    for (const { nodeId, lacks } of members) {
      if (!this.#seen.has(nodeId)) settled.set(nodeId, lacks);
      else if (this.#seen.get(nodeId) !== lacks) this.#changedAt = now;
      this.#seen.set(nodeId, lacks);
    }
    for (const nodeId of [...this.#seen.keys()]) {
      if (members.some((member) => member.nodeId === nodeId)) continue;
      this.#seen.delete(nodeId);
      settled.delete(nodeId);
    }
    this.#settled = now - this.#changedAt >= this.#settleMs ? new Map(this.#seen) : settled;
    const best = Math.min(...members.map(({ nodeId }) => rankOf(this.#settled.get(nodeId))));
    this.isHeld = members.length > 0 && best > 0;
    return members.filter(({ nodeId }) => rankOf(this.#settled.get(nodeId)) === best);
  }
}
