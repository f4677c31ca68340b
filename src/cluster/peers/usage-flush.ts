/**
 * Usage statistics of a cluster (accounts/tenants/usage.ts): each node counts what it does and writes increments down
 * every minute. Who reads them asks all nodes to write now, so that the answer does not depend on the node that gives
 * it.
 */
import type { Log } from '../../ports/log.ts';
import { NodeUnreachable } from '../../ports/cluster/node-messages.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';
import type { Member } from '../../ports/cluster/leases.ts';

const SUBJECT = 'usage-flush';
/** The counts of a node that does not answer within this time are missing, for a minute at most. */
const TIMEOUT_MS = 3_000;

/** accounts/tenants/usage.ts of this node. */
export interface LocalUsage {
  flush(): Promise<void>;
}

export interface UsageFlushOptions {
  readonly messages: NodeMessages;
  readonly leases: { readonly members: readonly Member[] };
  readonly log: Log;
}

export class UsageFlush {
  readonly #options: UsageFlushOptions;
  readonly #local: LocalUsage;

  /** Begins to answer other nodes. */
  constructor(local: LocalUsage, options: UsageFlushOptions) {
    this.#options = options;
    this.#local = local;
    options.messages.answer(SUBJECT, async () => {
      await local.flush();
      return new Uint8Array();
    });
  }

  /** Everything that was counted before, on whichever node, is in the history. @throws what the history throws. */
  async flush(): Promise<void> {
    const { messages, leases } = this.#options;
    const others = leases.members.map(({ nodeId }) => nodeId).filter((nodeId) => nodeId !== messages.nodeId);
    await Promise.all([this.#local.flush(), ...others.map((nodeId) => this.#ask(nodeId))]);
  }

  async #ask(nodeId: string): Promise<void> {
    const { messages, log } = this.#options;
    try {
      await messages.request(nodeId, SUBJECT, new Uint8Array(), TIMEOUT_MS);
    } catch (error) {
      if (!(error instanceof NodeUnreachable)) throw error;
      log.warn(
        { node: nodeId, error: error.message },
        'a node did not answer with its counts of usage; it writes them within a minute',
      );
    }
  }
}
