/**
 * Which node has an MQTT session in memory: one at a time. A node that opens a session claims it in the connection registry
 * and asks the node that had it to give it up (issue: a device may reconnect to any node and finds its subscriptions,
 * queued messages and QoS 2 state).
 */
import type { Log } from '../../ports/log.ts';
import type { SessionName, SessionsElsewhere } from '../../mqtt/sessions/registry.ts';
import type { ConnectionRegistry } from '../../ports/cluster/connection-registry.ts';
import { NodeUnreachable } from '../../ports/cluster/node-messages.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';

const SUBJECT = 'session-give-up';
/** Longer than a session waits for what is on its way to the store (mqtt/sessions/registry.ts). */
const GIVE_UP_TIMEOUT_MS = 8_000;
/**
 * Asked of a node that takes no part: it has just begun and is not known yet, has ended (which is told at once), or
 * hangs.
 */
const PRESENT_SUBJECT = 'session-node';
const PRESENT_TIMEOUT_MS = 1_000;
/** Claims under way at once after the registry has forgotten. */
const RECLAIMS_AT_ONCE = 200;

/** The sessions of this node (mqtt/sessions/registry.ts). */
export interface LocalSessions {
  giveUp(tenantNumber: number, key: string): Promise<void>;
  inMemory(): Iterable<SessionName>;
  isInMemory(tenantNumber: number, key: string): boolean;
}

export interface SessionTakeoverOptions {
  readonly registry: ConnectionRegistry;
  readonly messages: NodeMessages;
  /** Whether the node takes part now; what one that has died held is free. */
  readonly isMember: (nodeId: string) => boolean;
  readonly log: Log;
}

interface Wanted {
  readonly tenant: number;
  readonly key: string;
}

export class SessionTakeover implements SessionsElsewhere {
  readonly #options: SessionTakeoverOptions;
  #local: LocalSessions | undefined;
  #endForgotten: (() => void) | undefined;

  constructor(options: SessionTakeoverOptions) {
    this.#options = options;
  }

  /** Begins to answer other nodes. */
  start(local: LocalSessions): void {
    this.#local = local;
    const { messages, registry } = this.#options;
    messages.answer(SUBJECT, async (payload) => {
      const { tenant, key } = JSON.parse(Buffer.from(payload).toString()) as Wanted;
      await local.giveUp(tenant, key);
      return new Uint8Array();
    });
    messages.answer(PRESENT_SUBJECT, () => new Uint8Array());
    this.#endForgotten = registry.onForgotten(() => {
      void this.#claimAgain();
    });
  }

  stop(): void {
    this.#endForgotten?.();
  }

  /**
   * @throws PlatformError `general/documents-unavailable` when the registry is away: the client is told to come again.
   */
  async taken({ tenantNumber, key, name }: SessionName): Promise<void> {
    const { registry, messages, log } = this.#options;
    // By session, not by connection: a session may outlive its connection in a node's memory.
    const former = await registry.claim(tenantNumber, key, messages.nodeId, name);
    if (former === undefined || former.nodeId === messages.nodeId) return;
    const isMember = this.#options.isMember(former.nodeId);
    try {
      if (!isMember) await messages.request(former.nodeId, PRESENT_SUBJECT, new Uint8Array(), PRESENT_TIMEOUT_MS);
      const wanted: Wanted = { tenant: tenantNumber, key };
      await messages.request(former.nodeId, SUBJECT, Buffer.from(JSON.stringify(wanted)), GIVE_UP_TIMEOUT_MS);
    } catch (error) {
      if (!(error instanceof NodeUnreachable)) throw error;
      // It has ended, or it hangs: what it acknowledged is in the journal, and what it says of the session later is
      // refused. A node that died had thousands of them.
      const level = isMember ? 'warn' : 'debug';
      log[level](
        { tenantNumber, session: key, node: former.nodeId, error: error.message },
        'the node that had the session does not answer',
      );
    }
  }

  left({ tenantNumber, key, name }: SessionName): void {
    const { registry, messages, log } = this.#options;
    registry.release(tenantNumber, key, messages.nodeId, name).catch((error: Error) => {
      log.debug(
        { tenantNumber, session: key, error: error.message },
        'a session that left could not be released; the next claim finds it free',
      );
    });
  }

  /** Whether any node has the session in memory. */
  async isInMemory(tenantNumber: number, key: string): Promise<boolean> {
    if (this.#local?.isInMemory(tenantNumber, key)) return true;
    const holder = await this.#options.registry.holder(tenantNumber, key);
    return (
      holder !== undefined && holder.nodeId !== this.#options.messages.nodeId && this.#options.isMember(holder.nodeId)
    );
  }

  /** What another node has claimed since is old here. */
  async #claimIfFree({ tenantNumber, key, name }: SessionName): Promise<void> {
    const { registry, messages } = this.#options;
    const holder = await registry.holder(tenantNumber, key);
    if (holder === undefined || holder.nodeId === messages.nodeId)
      await registry.claim(tenantNumber, key, messages.nodeId, name);
  }

  async #claimAgain(): Promise<void> {
    const { log } = this.#options;
    let claims: Promise<unknown>[] = [];
    for (const session of [...(this.#local?.inMemory() ?? [])]) {
      const { tenantNumber, key } = session;
      claims.push(
        this.#claimIfFree(session).catch((error: Error) => {
          log.warn({ tenantNumber, session: key, error: error.message }, 'a session could not be claimed again');
        }),
      );
      if (claims.length < RECLAIMS_AT_ONCE) continue;
      await Promise.all(claims);
      claims = [];
    }
    await Promise.all(claims);
  }
}
